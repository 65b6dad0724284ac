"""The rounds of an ab: both sides in turn, each round a run as `llmload run` makes it, and the books in ab.json.

The first run finds out where prompts have to be cut to have their lengths; all others have them cut there, so that both
sides get the same texts whatever their tokenizers are. Knows nothing of what is compared afterwards.
"""

import argparse
import os
import sys
import textwrap
import time
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console

from llmload.cli import aside, asking, attend, looking, quiet, run
from llmload.exits import Exit, Stop
from llmload.load import forecast, kept, options, reading
from llmload.load.scenario import Scenario
from llmload.load.sources import all_hidden, without_password
from llmload.load.spans import span
from llmload.record import clock, rounds, runfolder
from llmload.record.rounds import BASELINE, CANDIDATE, SIDES, Round, Rounds
from llmload.send import target

SCENARIO = "scenario.json"
"""The scenario of all rounds, resolved, with the lengths of prompts as soon as they are known."""
MOST_ROUNDS = 100
LAST_ROUND = 255
"""Of a scenario."""
SHOWN = 200
"""Characters of a reason that is shown."""
INDENT = "     "
OF_SIDE = ("model", "set", "gpu", "server-metrics", "server-log")
"""Options of a run that each side may have for itself."""
FOR_BOTH = ("model", "steps", "rates", "duration", "set", "label", *options.LIMITS)
"""Options that are in the scenario of all runs, once that is written."""


class Contest:
    """Both sides of an ab, from its plan to its last round."""

    def __init__(self, args: Namespace) -> None:
        """Read and check everything. Raises Stop(USAGE)."""
        self.args = args
        self.console = run.screen()
        self.hosts: dict[str, str] = {side: getattr(args, side) or "" for side in SIDES}
        if not all(self.hosts.values()):
            raise Stop("--baseline URL and --candidate URL are needed: the two endpoints; for one of two models, twice")
        self.urls = {side: target.resolve(host).base_url for side, host in self.hosts.items()}
        if not 1 <= args.rounds <= MOST_ROUNDS:
            raise Stop(f"--rounds: expected 1 to {MOST_ROUNDS}, got {args.rounds}")
        if args.processes < 1:
            raise Stop(f"--processes: expected 1 or more, got {args.processes}")
        self.pause_s = 0.0 if args.pause in ("0", "0s") else options.seconds(args.pause, "--pause")
        self.folder = Path(args.resume or ".")
        self.books = Rounds({}, clock.now())
        self.claimed: int | None = None
        if args.resume is None:
            self.scenario = reading.load(args.scenario, options.overrides(args))
        else:
            self.books = rounds.read(self.folder)
            there = [item for item in self.books.rounds if (self.folder / item.run / runfolder.RUN).exists()]
            self.books.rounds = there
            self.scenario = reading.load(str(self.folder / SCENARIO))
            self.check_same()
        if not self.scenario.load.levels:
            raise Stop(f"{args.scenario}: has no steps to run")
        if self.head_round(CANDIDATE, args.rounds - 1) > LAST_ROUND:
            raise Stop(
                f"round={self.scenario.round}: the last of these rounds would be above {LAST_ROUND}; begin lower"
            )
        self.scenarios = {side: self.first(side) for side in SIDES}

    # What is run

    def head_round(self, side: str, round_: int) -> int:
        """The scenario's round of a run, which gives its prompts their heads: the same for both sides.

        But where both are one endpoint, whose prefix cache would answer the second of two runs from the first.
        """
        own = MOST_ROUNDS if side == CANDIDATE and self.urls[BASELINE] == self.urls[CANDIDATE] else 0
        return self.scenario.round + own + round_

    def words(self, side: str, round_: int, *, made: bool = True) -> Namespace:
        """The options of one run, as of `llmload run`. `made`: whether the scenario of all runs is written already."""
        own = Namespace(**vars(self.args))
        if made:  # what is for both is in it
            for name in FOR_BOTH:
                setattr(own, name.replace("-", "_"), None)
        own.model = getattr(self.args, f"{side}_model") or own.model
        own.set = [
            *(own.set or ()),
            f"round={self.head_round(side, round_)}",
            *(getattr(self.args, f"{side}_set") or ()),
        ]
        own.gpu = [*(self.args.gpu or ()), *(getattr(self.args, f"{side}_gpu") or ())]
        for name in ("server_metrics", "server_log"):
            setattr(own, name, getattr(self.args, f"{side}_{name}") or getattr(self.args, name))
        own.out, own.run_folder = str(self.folder / side), None
        own.load, own.observer_check, own.no_report = options.PLAN, None, False
        parser = argparse.ArgumentParser()
        run.add_arguments(parser)
        more = ["--host", self.hosts[side], "--processes", str(self.args.processes)]
        scenario = str(self.folder / SCENARIO) if made else self.args.scenario
        return parser.parse_args([*more, *options.words(own), "--", scenario])

    def scenario_of(self, side: str) -> Scenario:
        """The scenario of a side, with the lengths of prompts that are known now."""
        return run.read(self.words(side, 0), self.hosts[side])

    def first(self, side: str) -> Scenario:
        """The scenario of a side before its first run. Raises Stop(USAGE) in the words that were typed."""
        try:
            return run.read(self.words(side, 0, made=self.args.resume is not None), self.hosts[side])
        except Stop as stop:
            raise Stop(self.of_side(side, stop.message), stop.code) from None

    def of_side(self, side: str, sentence: str) -> str:
        """A sentence of a run, with the options of the side where those were typed."""
        words = looking.typed(side)
        for name in OF_SIDE:
            flag = name.replace("-", "_")
            if getattr(self.args, f"{side}_{flag}") and not (name == "gpu" and self.args.gpu):  # else it is of either
                words[f"--{name}"] = f"--{side}-{name}"
        for text in getattr(self.args, f"{side}_set") or ():
            key = text.partition("=")[0].strip()
            words[f"{key} (from the command line)"] = f"{key} (from --{side}-set)"
        return looking.renamed(sentence, words)

    def check_same(self) -> None:
        """Raises Stop(USAGE) if what is to be resumed had other endpoints."""
        for side in SIDES:
            before = self.books.about.get(side)
            was = before.get("host") if isinstance(before, dict) else None
            if was != without_password(self.hosts[side]):
                raise Stop(f"{self.folder / rounds.FILE}: its {side} is {was}; resume it with the same endpoints")

    def perform(self) -> int:
        """Run what has not been run yet; gives the highest exit code, or that of what ended it before its time."""
        if self.args.resume is not None:
            self.only_one()  # before anything is sent into the load of another
        if self.args.check_answers or not self.whole:
            self.look()
        self.begin()
        self.console.print(self.plan(), highlight=False, markup=False, soft_wrap=True)
        done = {(item.side, item.round): item for item in self.books.rounds}
        order = list(rounds.order(self.args.rounds))
        codes = [item.exit_code for item in done.values()]
        interrupts = attend.Interrupts()
        last: Path | None = None
        for at, (side, round_) in enumerate(order, 1):
            if (side, round_) in done:
                continue
            self.say(f"\n{at}/{len(order)}  round {round_ + 1}  {side:<9}  {self.urls[side]}", "bold")
            try:
                if last is not None:
                    self.pause(last)
                code, last = self.one(side, round_, interrupts)
            except KeyboardInterrupt:
                code = Exit.INCOMPLETE
            codes.append(code)
            late = interrupts.count > 0 and code not in rounds.GONE
            if late:
                code = Exit.INCOMPLETE  # of the command: the run itself has come to its end
            if code in rounds.GONE:
                codes = [code]
                self.say(f"\n{goes_on(code, late=late)}:\n  llmload ab --resume {self.folder}", "yellow")
                break
        else:
            self.books.ended_at = clock.now()
        self.books.write(self.folder)
        return max(codes, default=Exit.OK)

    @property
    def whole(self) -> bool:
        """Whether all rounds are there."""
        there = {(item.side, item.round) for item in self.books.rounds if item.whole}
        return there.issuperset(rounds.order(self.args.rounds))

    def look(self) -> None:
        """Raises Stop if one of both cannot be measured: the candidate's turn comes late, and it may be night."""
        self.say("looking at both endpoints …", "dim")
        sys.stdout.flush()
        how = asking.reach(self.args)
        sides = tuple(looking.Side(side, self.hosts[side], self.scenarios[side], how) for side in SIDES)
        aside.run(looking.perform, sides, "stopped before the first run; nothing was recorded")

    def begin(self) -> None:
        """Make the folder, or tidy up the one that is resumed. Raises Stop."""
        if self.args.resume is None:
            self.folder = runfolder.create(Path(self.args.out), f"{self.scenario.name}-ab")
            self.books.about = {
                "scenario": self.scenario.name,
                "pause_s": self.pause_s,
                **{side: self.about(side) for side in SIDES},
                "command": all_hidden(run.typed()),
            }
            self.keep(self.scenario)
            self.only_one()
        if self.args.resume is not None:
            self.books.rounds = [item for item in self.books.rounds if item.whole]
            self.books.ended_at = None
            self.set_aside()
        self.books.write(self.folder)

    def only_one(self) -> None:
        """Be the only process that makes rounds of this folder, until it ends. Raises Stop(USAGE)."""
        try:
            self.claimed = runfolder.claim(self.folder)
        except Stop:
            raise Stop(f"{self.folder}: an llmload ab makes its rounds now; wait for its end, or end it") from None
        except OSError as error:
            raise runfolder.cannot_write(self.folder, error) from error

    def let_go(self) -> None:
        """Leave the folder to others."""
        if self.claimed is not None:
            os.close(self.claimed)

    def about(self, side: str) -> dict[str, Any]:
        """What ab.json says of a side."""
        return {
            "host": without_password(self.hosts[side]),
            "model": getattr(self.args, f"{side}_model") or self.scenario.model,
            "set": list(getattr(self.args, f"{side}_set") or ()),
        }

    def set_aside(self) -> None:
        """Move runs that are no round out of the folders of both sides. Raises Stop(USAGE) if one still goes on."""
        known = {item.run for item in self.books.rounds}
        for side in SIDES:
            for path in sorted((self.folder / side).glob("*")):
                if path.is_dir() and f"{side}/{path.name}" not in known:
                    os.close(runfolder.claim(path))
                    (self.folder / rounds.STOPPED).mkdir(exist_ok=True)
                    path.rename(self.folder / rounds.STOPPED / f"{side}-{path.name}")

    def keep(self, scenario: Scenario) -> None:
        """Write the scenario from which all runs are made. Raises Stop."""
        self.scenario = scenario
        try:
            runfolder.write_json(self.folder / SCENARIO, reading.resolved(scenario))
        except OSError as error:
            raise runfolder.cannot_write(self.folder / SCENARIO, error) from error

    def one(self, side: str, round_: int, interrupts: attend.Interrupts) -> tuple[int, Path | None]:
        """One run; gives its exit code and its folder, None if it did not begin."""
        made: list[Path] = []
        began = time.monotonic()
        started_at = clock.now()

        def behind(console: Console, folder: Path) -> None:
            made.append(folder)
            for line, style in result(folder, time.monotonic() - began):
                text = indented(line, console.width) if console.is_terminal else f"{INDENT}{line}"
                console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)

        args = self.words(side, round_)
        scenario = run.read(args, self.hosts[side])
        try:
            code = run.perform(
                args, scenario, self.hosts[side], run.typed(), brief=True, behind=behind, interrupts=interrupts
            )
        except Stop as stop:
            if interrupts.count:
                print("llmload ab: stopped before the load of this run began", file=sys.stderr)
            else:
                print(f"llmload ab: {self.of_side(side, stop.message)}", file=sys.stderr)
            code = stop.code
        if not made:
            return code, None
        (folder,) = made
        self.books.rounds.append(Round(side, round_, f"{side}/{folder.name}", started_at, int(code)))
        self.books.write(self.folder)
        if self.scenario.fitted is None and code not in rounds.GONE:
            ran = kept.read(folder / runfolder.RUN)
            if ran.same_texts(reading.resolved(self.scenario)):
                self.keep(replace(self.scenario, fitted=ran.fitted))
        return code, folder

    def pause(self, last: Path) -> None:
        """Let the last run's server come to rest."""
        time.sleep(self.pause_s)
        left = quiet.wait(last)
        if left:
            self.say(f"{INDENT}its server still has {left:g} requests after {quiet.LIMIT_S:g} s; going on", "yellow")

    # What is said

    def say(self, words: str, style: str = "") -> None:
        """A line on the screen."""
        self.console.print(words, style=style, highlight=False, markup=False, soft_wrap=True)

    def plan(self) -> str:
        """What will be run, and how long at least."""
        each = sum(step.least_s for step in forecast.steps(self.scenario))
        order = list(rounds.order(self.args.rounds))
        left = len(order) - len(self.books.rounds)
        letters = " ".join("A" if side == BASELINE else "B" for side, _ in order)
        least = each * left + self.pause_s * max(0, left - 1)
        count = f"{self.args.rounds} rounds" if self.args.rounds != 1 else "1 round"
        lines = [f"{self.scenario.name}: {count} of each side, {letters}; {span(least)} at least"]
        if self.books.rounds:
            lines.append(f"{len(self.books.rounds)} of {len(order)} runs are there already")
        width = max(map(len, self.urls.values()))
        for letter, side in zip("AB", SIDES, strict=True):
            model, own = getattr(self.args, f"{side}_model") or self.scenario.model, getattr(self.args, f"{side}_set")
            more = [f"model {model}"] if model else []
            more += [f"with {', '.join(own)}"] if own else []
            lines.append(f"  {letter}  {side:<9}  {self.urls[side]:<{width}}  {', '.join(more)}".rstrip())
        if self.about(BASELINE) | {"host": self.urls[BASELINE]} == self.about(CANDIDATE) | {
            "host": self.urls[CANDIDATE]
        }:
            lines.append("Both sides are the same: this shows how far runs differ by themselves (A/A).")
        if self.args.rounds < 3:
            lines.append("Fewer than three rounds of each side give figures, and no verdict.")
        if not self.args.dry_run:
            lines.append(f"in {self.folder}")
        return "\n".join(lines)


def goes_on(code: int, *, late: bool) -> str:
    """The words before the command that goes on with what was stopped. `late`: the run before was over already."""
    if late:
        return "Stopped there: that run was over, and counts; exit code 6 is the command's. This goes on with it"
    if code == Exit.INCOMPLETE:
        return "Stopped there. This goes on with it"
    return (
        "Stopped there. Mend what is told above; then this goes on with it, also with further options of a side, as "
        "--candidate-model"
    )


def result(folder: Path, seconds: float) -> list[tuple[str, str]]:
    """The lines on a run that is over, with their styles."""
    path = folder / "summary.json"
    try:
        summary = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return [("there is no summary of it", "yellow")]
    rows = [row for row in summary["rows"] if row["workload"] == "all"]
    last = max(rows, key=lambda row: row["concurrency"] or row["rate"] or 0, default=None)
    verdict = summary["verdict"]
    parts = [f"{verdict:<10}"]
    if last is not None:
        level = f"{last['concurrency']} in flight" if last["concurrency"] is not None else f"{last['rate']:g}/s"
        parts.append(f"E2E p95 {milliseconds((last['e2e_ms'] or {}).get('all'))} at {level}")
        parts.append(f"{last['ok']:,} of {last['started']:,} ok")
    lines = [("  ".join([*parts, span(round(seconds))]), "green" if verdict == "OK" else "yellow")]
    return lines + [(shortened(reason), "yellow") for reason in summary["reasons"] if verdict != "OK"]


def indented(text: str, width: int) -> str:
    """A line as a paragraph below the head of its run."""
    return textwrap.fill(text, width, initial_indent=INDENT, subsequent_indent=INDENT)


def milliseconds(spread: Any) -> str:
    """The p95 of a spread over all attempts, for people."""
    value = spread.get("p95") if isinstance(spread, dict) else None
    if value is None:
        return "unknown"
    if not isinstance(value, (int, float)):
        return "infinite"
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.3g} ms"


def shortened(text: str) -> str:
    """A reason on one line."""
    line = text.splitlines()[0]
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"
