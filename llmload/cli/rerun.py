"""`llmload rerun RUN`: repeats a run elsewhere, with the same prompts in the same order.

What is repeated is the scenario as it was resolved, its seed, and where each prompt was cut: nothing is fitted anew, so
that another tokenizer counts other tokens of the same text. Processes, GPUs and all else that is no part of a scenario
is the caller's. At the end it says whether the sequence was the same.
"""

import argparse
from argparse import Namespace
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from llmload.cli import run
from llmload.exits import Exit, Stop
from llmload.load import kept, options, reading, sequence
from llmload.load.mix import Mix
from llmload.record import prompts, runfolder
from llmload.send import target


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options: those of `llmload run`, and the round."""
    parser.add_argument(
        "run", metavar="RUN", help="run folder, as runs/20261201T120000Z-mixed, also one that llmload pack left"
    )
    parser.add_argument(
        "--round",
        type=int,
        metavar="N",
        help="repeat it as round N: the same prompts behind new heads, so that a prefix cache that still holds the "
        "first run answers none of them (the same round, with the same heads)",
    )
    run.add_options(parser)


def main(args: Namespace) -> int:
    """Say what is repeated, run it, say whether it was the same."""
    if args.worker:
        raise Stop("--worker: a worker has everything from its master; start it with llmload run --worker")
    if args.load == options.BY_HAND:
        raise Stop("--by-hand: a run is repeated by its plan; use llmload run --web --by-hand")
    path = kept.find(args.run)
    if path is None or path.name != kept.RUN or kept.read(path).run is None:
        raise Stop(f"{args.run}: no run folder: expected one with the {kept.RUN} of a run in it", Exit.UNJUDGED)
    before = runfolder.read_run(path.parent)
    prompts.read(path.parent)  # one that is damaged is told now, not after an hour of load
    args.scenario = str(path.parent)
    if args.round is not None:
        args.set = [*(args.set or []), f"round={args.round}"]
    scenario = reading.load(args.scenario, options.overrides(args))
    console = run.screen()
    say(console, beginning(before, scenario.fitted is not None))
    if warning := same_heads(before, scenario.round, args.host):
        say(console, warning, "yellow")
    return run.main(args, partial(ended, path.parent, before))


def say(console: Console, words: str, style: str = "") -> None:
    """A sentence on the screen."""
    console.print(words, style=style, highlight=False, markup=False, soft_wrap=not console.is_terminal)


def beginning(before: dict[str, Any], fitted: bool) -> str:
    """What is repeated."""
    cut = (
        "prompts cut as they were there"
        if fitted
        else "prompts fitted anew: that run tells no lengths of them, or others are asked for"
    )
    return f"Again: {before.get('run')}, seed {before.get('seed')}, {cut}."


def same_heads(before: dict[str, Any], round_: int, host: str | None) -> str:
    """The warning that the same server may remember these very prompts; empty if there is no reason for it."""
    scenario = before.get("scenario")
    server = (before.get("environment") or {}).get("server") if isinstance(before.get("environment"), dict) else None
    there = server.get("url") if isinstance(server, dict) else None
    was = scenario.get("round", 0) if isinstance(scenario, dict) else 0
    if host is None or there is None or round_ != was or target.resolve(host).base_url != there:
        return ""
    return (
        "The same endpoint as then, and the same heads: a prefix cache that still holds that run answers from it. "
        f"--round {round_ + 1} makes the heads new."
    )


def ended(folder: Path, before: dict[str, Any], console: Console, new: Path) -> None:
    """Say whether the sequence was the same."""
    words, same = compared(folder, before, new)
    console.print()
    say(console, words, "" if same else "yellow")


def compared(folder: Path, before: dict[str, Any], new: Path) -> tuple[str, bool]:
    """Whether two runs had the same prompts in the same order, in words and as a flag."""
    run_id, old, now = before.get("run"), before.get("sequence"), runfolder.read_run(new).get("sequence")
    if not isinstance(old, dict) or not isinstance(now, dict):
        return f"Whether the sequence was that of {run_id} cannot be said: that run did not write it down.", False
    if old.get("prompts_sha256") != now.get("prompts_sha256"):
        return f"Not the prompts of {run_id}: {differing(folder, new)}.", False
    count = f"{now['prompts']:,} prompts" if now["prompts"] != 1 else "1 prompt"
    if old.get("order_sha256") == now.get("order_sha256"):
        order = str(now["order_sha256"])[:12]
        return f"The same {count} in the same order as in {run_id} (order_sha256 {order}…){counts(folder, new)}.", True
    if old.get("round") != now["round"] and order_in_round(new, old.get("round")) == old.get("order_sha256"):
        return (
            f"The same {count} in the same order as in {run_id}, behind new heads (round {now['round']})"
            f"{counts(folder, new)}."
        ), True
    return f"The same {count} as in {run_id}, in another order or with other output limits.", False


def order_in_round(folder: Path, round_: Any) -> str | None:
    """The digest of a run's order if it had been that round."""
    scenario = reading.from_resolved(runfolder.read_run(folder)["scenario"])
    if type(round_) is not int:
        return None
    scenario = replace(scenario, round=round_)
    return sequence.order_sha256(scenario, Mix(scenario))


def differing(folder: Path, new: Path) -> str:
    """How many prompts differ."""
    old = {item.prompt: item.sha256 for item in prompts.read(folder) or ()}
    own = {item.prompt: item.sha256 for item in prompts.read(new) or ()}
    changed = sum(1 for name, digest in own.items() if name in old and old[name] != digest)
    return f"{changed:,} differ, {len(own.keys() - old.keys()):,} are new, {len(old.keys() - own.keys()):,} are missing"


def counts(folder: Path, new: Path) -> str:
    """Tokens of all prompts, where both were counted and another tokenizer counts others; else nothing."""
    totals = []
    for place in (folder, new):
        listed = prompts.read(place) or ()
        counted = [item.tokens for item in listed if item.tokens is not None]
        if not counted or len(counted) < len(listed):
            return ""
        totals.append(sum(counted))
    if totals[0] == totals[1]:
        return ""
    return f"; another tokenizer: they have {totals[1]:,} tokens here and had {totals[0]:,} there"
