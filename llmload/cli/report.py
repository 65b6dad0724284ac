"""`llmload report RUN…`: rebuilds tables and pages from run folders, also of runs that were killed."""

import argparse
import sys
from pathlib import Path

from llmload.cli import outlet
from llmload.exits import Exit, Stop
from llmload.load import options

FORMATS = ("table", "markdown", "csv", "json", "html")

UTF8 = ("json", "html")
"""Of these, those that are UTF-8 by their definition, whatever the terminal is."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("runs", metavar="RUN", nargs="+", type=Path, help="run folder, as runs/20261201T120000Z-mixed")
    parser.add_argument("--format", choices=FORMATS, default="table", help="what is printed (table)")
    parser.add_argument(
        "--gate",
        action="append",
        default=[],
        metavar="CONDITION",
        help="exit with 1 unless it holds, as 'ttft_ms.p50<=500' or 'short/success_share>=0.99@32'; repeatable",
    )
    parser.add_argument(
        "--max-fail-ratio",
        type=float,
        metavar="SHARE",
        help="exit with 1 if a larger share (0 to 1) of the measured attempts failed",
    )
    parser.add_argument("--bucket", metavar="TIME", help=options.BUCKET)
    parser.add_argument("--no-files", action="store_true", help="only print; write nothing into the run folders")


def main(args: argparse.Namespace) -> int:
    """Rebuild every run's files unless told not to, print the format asked for, return the highest exit code."""
    from rich.console import Console

    from llmload.report import building, files, gates, terminal

    for text in args.gate:
        gates.parse(text)  # before anything is read
    if args.max_fail_ratio is not None and not 0 <= args.max_fail_ratio <= 1:
        raise Stop(f"--max-fail-ratio: expected a share from 0 to 1, got {args.max_fail_ratio:g}")
    bucket_s = options.bucket_s(args)
    code = Exit.OK
    for folder in args.runs:
        built = building.compute(folder, args.gate, args.max_fail_ratio, bucket_s)
        if not args.no_files:
            files.write(built)
        if args.format == "table":
            console = Console()
            terminal.show(built, console if console.is_terminal else Console(width=terminal.WIDTH))
        else:
            if args.format in UTF8:
                outlet.as_utf8()
            sys.stdout.write(files.FORMATS[args.format](built))
            for sentence in built.failures:
                print(f"llmload report: {sentence}", file=sys.stderr)
        code = max(code, built.exit_code)
    return code
