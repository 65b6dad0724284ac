"""`llmload collect RUN SPOOL…`: completes a run by what workers wrote down, and reports it."""

import argparse
from pathlib import Path

from llmload.cli import report
from llmload.record import collect


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("run", metavar="RUN", type=Path, help="run folder, as runs/20261201T120000Z-mixed")
    parser.add_argument(
        "spools",
        metavar="SPOOL",
        nargs="*",
        type=Path,
        help="a worker's spool, as llmload-spool/20261201T120000Z-mixed/w1.jsonl on its machine, or a folder of such; "
        "those in the run folder are taken in any case",
    )


def main(args: argparse.Namespace) -> int:
    """Take the spools in, say what came of it, and report the run; returns what `llmload report` does."""
    from llmload.report import facts

    facts.run_of(args.run)  # a damaged run.json is left as it is
    for taken in collect.collect(args.run, args.spools):
        print(taken.words)
    parser = argparse.ArgumentParser()
    report.add_arguments(parser)
    return report.main(parser.parse_args(["--", str(args.run)]))
