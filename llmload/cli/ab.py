"""`llmload ab SCENARIO --baseline URL --candidate URL`: both sides in turn, round by round, and the comparison.

The rounds are `contest`, the answers `asking`, the comparison `compare`: here they come one after the other.
"""

import argparse
import sys
from argparse import Namespace
from pathlib import Path

from llmload.cli import asking, attend, compare, run
from llmload.cli.contest import FOR_BOTH, OF_SIDE, SCENARIO, Contest
from llmload.cli.parser import Parser
from llmload.exits import Exit, Stop
from llmload.load import forecast, options
from llmload.record import rounds
from llmload.record.rounds import SIDES

NOT_HERE = {"--load", "--run-folder", "--observer-check", "--no-report"}
"""Options of a run that make no sense for several."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options: its own, those of `llmload run`, and those of `llmload compare`."""
    parser.epilog = f"--dry-run tells how long it takes. {compare.CODES}"
    add = parser.add_argument
    add("scenario", nargs="?", default="mixed", help="scenario file, or the name of a shipped one (mixed)")
    add("--baseline", metavar="URL", help="the endpoint that is there")
    add("--candidate", metavar="URL", help="the endpoint that is said to be better")
    add("-H", "--host", metavar="URL", help=argparse.SUPPRESS)
    add("--rounds", type=int, default=3, metavar="N", help="runs of each side; a verdict needs three (3)")
    add("--pause", default="5s", metavar="TIME", help="between two runs, so that none disturbs the next (5s)")
    add("--resume", metavar="FOLDER", type=Path, help="go on with an ab that was stopped: FOLDER alone is enough")
    add("--no-compare", action="store_true", help="only run; llmload compare FOLDER compares later")
    for side in SIDES:
        group = parser.add_argument_group(f"for the {side} alone, on top of what is for both")
        for flags, keywords in options.OPTIONS:
            if flags[-1].removeprefix("--") in OF_SIDE:
                own = {**keywords, "help": keywords["help"].partition(";")[0]}
                group.add_argument(f"--{side}-{flags[-1].removeprefix('--')}", **own)
    both = parser.add_argument_group("of each run, as in llmload run")
    for flags, keywords in options.OPTIONS:
        if flags[-1] not in NOT_HERE:
            both.add_argument(*flags, **keywords)
    run.add_processes(parser)
    run.add_dry_run(parser)
    asking.add_asking(parser)
    compare.add_options(parser)


def main(args: Namespace) -> int:
    """Check all that can be checked, run the rounds, ask for answers if that is wanted, compare."""
    if args.host:
        raise Stop("--host: there are two endpoints here: name them with --baseline URL and --candidate URL")
    if args.resume is not None and not (args.baseline or args.candidate):
        args = again(args.resume)
    contest = Contest(args)
    asking.check(args, contest.scenario)
    check_compared(args, contest)
    if args.dry_run:
        print(f"{contest.plan()}\n\nOne of these runs:\n\n{forecast.of(contest.scenario)}")
        return Exit.OK
    try:
        with attend.ended_as_by_ctrl_c():
            return perform(args, contest)
    finally:
        contest.let_go()


def check_compared(args: Namespace, contest: Contest) -> None:
    """Raises Stop(USAGE) for what the comparison could not do, before hours have passed."""
    wanted = compare.asked(args)
    if args.review_sheet and args.resume is not None:
        asking.check_no_sheet(contest.folder)
    claim = wanted.claim
    asked = [("--concurrency", wanted.level, "all"), ("--workload", None, wanted.workload or "all")]
    if claim is not None:
        level = None if wanted.level is not None else claim.concurrency
        workload = None if wanted.workload is not None else claim.workload
        where = args.claim.strip() if args.claim.strip().lower().endswith(".toml") else f"--claim {args.claim!r}"
        asked.append((where, level, workload or "all"))
    asked += [(f"--gate {gate.text!r}", gate.level, gate.workload) for gate in wanted.gates]
    for where, level, workload in asked:
        for scenario in contest.scenarios.values():
            run.check_row(where, workload, level, scenario)


def perform(args: Namespace, contest: Contest) -> int:
    """All that takes its time; gives the exit code."""
    code = contest.perform()
    if contest.books.ended_at is None:
        return code
    if args.check_answers:
        try:
            asking.ask(contest.folder, args, *(contest.scenario_of(side) for side in SIDES))
        except Stop as stop:
            print(f"llmload ab: {stop.message}", file=sys.stderr)
            code = max(code, stop.code)
            if stop.code == Exit.INCOMPLETE:
                contest.say(f"\nThis compares what is there:\n  llmload compare {contest.folder}", "yellow")
                return code
    later = f"\nAll runs are there. This compares them:\n  llmload compare {contest.folder}"
    if args.no_compare:
        contest.say(later)
        return code
    try:
        judged = compare.run(args, [str(contest.folder)])
    except Stop as stop:  # a scorer that fails, say
        print(f"llmload ab: {stop.message}", file=sys.stderr)
        contest.say(later, "yellow")
        return max(code, stop.code)
    if code > judged:
        contest.say(f" exit code of all of it {code}, as told above", "yellow")
    return max(code, judged)


def again(folder: Path) -> Namespace:
    """The options with which an ab was begun. Raises Stop(USAGE) if they hold what was not written down."""
    words = rounds.read(folder).about.get("command")
    if not isinstance(words, list) or words[1:2] != ["ab"] or any("…" in str(word) for word in words):
        raise Stop(
            f"{folder / rounds.FILE}: does not tell the whole command (passwords are not kept); type it again with "
            "--resume"
        )
    parser = Parser(prog="llmload ab", allow_abbrev=False)
    add_arguments(parser)
    new = parser.parse_args(run.typed()[2:])
    for name in FOR_BOTH:
        if getattr(new, name.replace("-", "_")):
            own = f"; --baseline-{name} and --candidate-{name} can be added" if name in OF_SIDE else ""
            raise Stop(
                f"--{name}: what is for both is settled in {folder / SCENARIO}, from which all rounds are made{own}"
            )
    return parser.parse_args([*map(str, words[2:]), *run.typed()[2:]])
