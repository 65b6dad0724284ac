"""`llmload compare BASELINE CANDIDATE…`: which is better, by how much, and whether a claim holds."""

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from llmload.cli import asking, outlet
from llmload.exits import Stop
from llmload.load import options

if TYPE_CHECKING:
    from llmload.compare import comparing
    from llmload.compare.comparison import Comparison
    from llmload.compare.sides import Pair

FORMATS = ("table", "markdown", "json", "html")
UTF8 = ("json", "html")
"""Of these, those that are UTF-8 by their definition, whatever the terminal is."""
RULE = {"gain": "gain", "least": "least", "success": "success_points"}
"""What --rule may set, and the field of `rule.Limits` that it is."""


CODES = (
    "Ends with 0 where the claim holds (or nothing was claimed), 1 where it, a gate or the answers do not, 2 where "
    "options or files are wrong, 3 where llmload ab cannot measure an endpoint, 4 where the two cannot be compared or "
    "judged, 5 where a run was DEGRADED, 6 where one was stopped."
)
"""What the exit codes mean, for --help."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.epilog = CODES
    parser.add_argument(
        "sides",
        metavar="SIDE",
        nargs="+",
        help="BASELINE CANDIDATE [MORE…], each [NAME=]RUN[,RUN…] or a folder of runs, which are its rounds; or the one "
        "folder that llmload ab left",
    )
    add_options(parser)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options apart from the sides: `llmload ab` takes them too."""
    add = parser.add_argument_group("comparing").add_argument
    add(
        "--claim",
        metavar="CLAIM",
        help="what is said to hold, as '14x e2e_p95' or '50%% faster ttft_p50@8'; or a claim.toml, which also says who "
        "said so and of what",
    )
    add(
        "--concurrency",
        metavar="N",
        type=positive,
        help="level that decides, requests in flight or a rate (the claim's; else the highest)",
    )
    add("--workload", metavar="CLASS", help="class that decides (the claim's; else all together)")
    add("--changed", metavar="NAMES", help="what was changed on purpose and is tested, as engine,driver")
    add(
        "--accept",
        metavar="NAMES",
        help="other differences that may be there, as network,window; any further one makes it not comparable",
    )
    add(
        "--gate",
        action="append",
        default=[],
        metavar="CONDITION",
        help="exit with 1 unless candidate / baseline keeps to it, as 'p95_e2e<=1.05' or 'short/success>=0.99@32'; "
        "repeatable",
    )
    add(
        "--tolerance",
        metavar="SHARE",
        type=share,
        default=0.05,
        help="part of the claimed factor that may be missing (0.05)",
    )
    add(
        "--rule",
        metavar="LIMITS",
        default="",
        help="limits of the rule of three ratios (speed-up, stability, memory), as gain=1.2,least=0.95,success=1",
    )
    add("--requests-per-month", metavar="N", type=positive, help="how many requests a month the costs are reckoned for")
    add("--format", choices=FORMATS, default="table", help="what is printed (table)")
    add("--html", metavar="FILE", type=Path, help="write the page there as well")
    add(
        "--no-files",
        action="store_true",
        help="only print; write nothing into a folder of llmload ab (not with --review-sheet)",
    )
    asking.add_judging(parser)


def positive(text: str) -> float:
    """A number above 0."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 < found < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number above 0, as 32 or 3e6, got {text!r}")
    return found


def share(text: str) -> float:
    """A share, as `0.05` or `5%`."""
    try:
        found = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        found = math.nan
    if not 0 <= found < 1:
        raise argparse.ArgumentTypeError(f"expected a share from 0 to under 1, as 0.05 or 5%, got {text!r}")
    return found


def main(args: argparse.Namespace) -> int:
    """Compare, print, write, return the exit code."""
    return run(args, args.sides)


def run(args: argparse.Namespace, operands: list[str]) -> int:
    """The same for these sides."""
    from rich.console import Console

    from llmload.compare import comparing, sides
    from llmload.compare.show import files, terminal
    from llmload.report.terminal import WIDTH

    wanted = asked(args)
    contest = sides.read(operands)
    places = sheet_places(contest.pairs, contest.ab or Path())
    if args.review_sheet:
        for place in places:
            asking.check_no_sheet(place)
    comparison = comparing.compute(contest, wanted)
    if args.format == "table":
        console = Console()
        terminal.show(comparison, console if console.is_terminal else Console(width=WIDTH))
    else:
        if args.format in UTF8:
            outlet.as_utf8()
        sys.stdout.write(files.FORMATS[args.format](comparison))
    sys.stdout.flush()  # a file that cannot be written takes nothing away from what is shown
    wrote: list[str] = []
    if contest.ab is not None and not args.no_files:
        files.write(comparison, contest.ab)
        wrote += [f"{contest.ab}/compare.html", "compare.md", "compare.json"]
    if args.html is not None:
        files.replace(args.html, files.FORMATS["html"](comparison))
        wrote.append(str(args.html))
    wrote += [str(path) for path in sheets(comparison, places)]
    if wrote:
        print(f" files:   {', '.join(wrote)}", file=sys.stdout if args.format == "table" else sys.stderr)
    return comparison.exit_code


def sheet_places(pairs: Sequence["Pair"], folder: Path) -> list[Path]:
    """Where the sheet of each pair goes: of several, each into a folder of its own."""
    if len(pairs) == 1:
        return [folder]
    return [folder / f"review-{at}-{pair.candidate.name}" for at, pair in enumerate(pairs, 1)]


def sheets(comparison: "Comparison", places: Sequence[Path]) -> Iterator[Path]:
    """Write the sheets of a blind review that were asked for."""
    for item, place in zip(comparison.compared, places, strict=True):
        if item.answers is not None and item.answers.sheet:
            try:
                place.mkdir(exist_ok=True)
            except OSError as error:
                raise Stop(f"{place}: cannot be made: {error.strerror}; it is for the review sheet") from error
            yield from asking.write_sheet(item.answers, place)


def asked(args: argparse.Namespace) -> "comparing.Wanted":
    """What the options ask for. Raises Stop(USAGE), before any run is read."""
    from llmload.compare import comparing
    from llmload.compare.claims import claims
    from llmload.compare.differing import differences
    from llmload.compare.rule import rule
    from llmload.compare.verdict import ratio_gates

    if args.no_files and args.review_sheet:
        raise Stop("--review-sheet writes files, and --no-files wants none; leave one of them out")
    if args.html is not None and not args.html.absolute().parent.is_dir():
        raise Stop(f"--html {args.html}: there is no folder {args.html.parent}; make it, or name another file")
    limits = {}
    for text in filter(None, args.rule.split(",")):
        key, value = options.pair(text, "--rule")
        if key not in RULE:
            raise Stop(f"--rule: unknown limit {key!r}; expected some of: {', '.join(RULE)}")
        try:
            limits[RULE[key]] = float(value)
        except ValueError:
            limits[RULE[key]] = math.nan
        if not 0 <= limits[RULE[key]] < math.inf:
            raise Stop(f"--rule: {key}: expected a number of 0 or more, got {value!r}")
    changed, accepted = names(args.changed), names(args.accept)
    differences.check_names(changed, "--changed")
    differences.check_names(accepted, "--accept")
    return comparing.Wanted(
        claim=None if args.claim is None else claims.read(args.claim),
        level=args.concurrency,
        workload=args.workload,
        changed=changed,
        accepted=accepted,
        gates=tuple(ratio_gates.parse(text) for text in args.gate),
        limits=rule.Limits(**limits),
        tolerance=args.tolerance,
        requests_per_month=args.requests_per_month,
        answers=asking.judging(args),
    )


def names(text: str | None) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]
