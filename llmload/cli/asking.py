"""The options with which answers are asked for and judged, and what they do: for `llmload ab` and `llmload compare`.

Asking is done in a process of its own (`questioning`).
"""

import argparse
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmload.cli import aside, scorer
from llmload.exits import Stop
from llmload.load import options
from llmload.load.scenario import Scenario

if TYPE_CHECKING:
    from llmload.answers.known import Known
    from llmload.answers.review import Reviewed
    from llmload.cli.questioning import Job
    from llmload.compare.answering.answering import Answers, Wanted

SHEET, KEY, PAGE = "review.csv", "review-key.csv", "review.html"


def whole(least: int, most: int) -> Any:
    """An argument type: a whole number between these."""

    def read(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"expected a whole number from {least} to {most:,}, got {text}")
        return value

    read.__name__ = "whole number"
    return read


def seconds(text: str) -> float:
    """An argument type: seconds above 0."""
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"expected seconds above 0, got {text}")
    return value


def add_judging(parser: argparse.ArgumentParser) -> None:
    """The options of both commands: how answers are judged."""
    add = parser.add_argument_group("answers").add_argument
    add("--facts", metavar="FILE", help="JSON lines that say what is expected of answers: id, prompt, must_contain …")
    add("--score", metavar="COMMAND", help="your own scorer: JSON lines in, for each a number from 0 to 1 out")
    add(
        "--score-timeout",
        metavar="S",
        type=seconds,
        default=scorer.TIMEOUT_S,
        help="seconds that the scorer may take (600)",
    )
    add(
        "--review-sheet",
        metavar="N",
        type=whole(1, 100_000),
        default=0,
        help=f"write {SHEET} and {PAGE} with N pairs of answers for a blind review, and {KEY} apart from them",
    )
    add("--review", metavar="FILE", help=f"read such a sheet back, filled; its key ({KEY}) lies beside it")


def add_asking(parser: argparse.ArgumentParser) -> None:
    """The further options of `llmload ab`: whether and how both sides are asked."""
    add = parser.add_argument_group("asking for answers").add_argument
    add(
        "--check-answers",
        action="store_true",
        help="ask both sides questions with known answers and prompts of the scenario, at temperature 0",
    )
    add("--answer-prompts", metavar="N", type=whole(0, 10_000), default=10, help="how many prompts of each class (10)")
    add(
        "--answer-tokens",
        metavar="N",
        type=whole(1, 100_000),
        help="output tokens for each (each question says its own)",
    )
    add("--answers-in-flight", metavar="N", type=whole(1, 64), default=4, help="how many are asked at a time (4)")


def judging(args: Namespace) -> "Wanted":
    """What the options ask for. Raises Stop(USAGE)."""
    from llmload.compare.answering.answering import Wanted

    return Wanted(
        facts=facts(args),
        score=None if args.score is None else scorer.command(args.score, args.score_timeout),
        sheet=args.review_sheet,
        reviewed=None if args.review is None else reviewed(Path(args.review)),
    )


def facts(args: Namespace) -> "tuple[Known, ...]":
    """The user's own questions. Raises Stop(USAGE) for a file that holds none, with the line."""
    from llmload.answers import known

    return () if args.facts is None else known.read(text_of(Path(args.facts)), args.facts)


def text_of(path: Path) -> str:
    """A text file. Raises Stop(USAGE)."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise Stop(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Stop(f"{path}: no UTF-8 text; save the file as UTF-8") from error


def reviewed(path: Path) -> "Reviewed":
    """What a filled sheet says. Raises Stop(USAGE)."""
    from llmload.answers import review

    sheet, key = text_of(path), path.parent / KEY
    try:
        return review.read(sheet, text_of(key), str(path))
    except Stop as stop:
        if key.is_file():
            raise
        raise Stop(f"--review {path}: its key must lie beside it: {stop.message}") from None


def check_no_sheet(folder: Path) -> None:
    """Raises Stop(USAGE) if a sheet lies in the folder: it may be filled, and is never overwritten."""
    there = next((folder / name for name in (SHEET, PAGE, KEY) if (folder / name).exists()), None)
    if there is not None:
        raise Stop(f"{there}: is there already; it may be filled, so move it before a new one")


def write_sheet(answers: "Answers | None", folder: Path) -> list[Path]:
    """Write the sheet for a blind review, if one was asked for; gives the files. Raises Stop(USAGE)."""
    from llmload.answers import review

    if answers is None or not answers.sheet:
        return []
    pairs, seed = answers.sheet, answers.seed
    files = {
        SHEET: "\ufeff" + review.sheet(pairs, seed),  # so that a spreadsheet takes it for UTF-8
        PAGE: review.page(pairs, seed),
        KEY: "\ufeff" + review.key(pairs, seed),
    }
    for name, text in files.items():
        try:
            with (folder / name).open("x", encoding="utf-8", newline="") as file:
                file.write(text)
        except FileExistsError:
            raise Stop(f"{folder / name}: is there already; it may be filled, so move it before a new one") from None
        except OSError as error:
            raise Stop(f"{folder / name}: cannot be written: {error.strerror}") from error
    return [folder / name for name in files]


def ask(folder: Path, args: Namespace, baseline: Scenario, candidate: Scenario) -> Path:
    """Ask both sides the same, write answers.jsonl into the folder, and give its path.

    Prompts are those of the baseline's scenario. Raises Stop: USAGE for questions that are none, UNMEASURABLE for an
    endpoint that cannot be asked, INCOMPLETE if it was stopped.
    """
    from llmload.cli.questioning import perform

    job = planned(folder, args, (baseline, candidate))
    aside.run(perform, job, "stopped while asking for answers; what came is in answers.jsonl")
    return job.path


def check(args: Namespace, scenario: Scenario) -> None:
    """Raises Stop(USAGE), before hours of runs go by, for questions that are none, or if there will be no answers."""
    from llmload.cli import questioning

    if args.check_answers:
        questioning.questions(planned(Path(), args, (scenario, scenario)))
        return
    wanted = [f"--{name.replace('_', '-')}" for name in ("facts", "score", "review_sheet") if getattr(args, name)]
    if wanted and not getattr(args, "save_text", False):
        raise Stop(f"{wanted[0]}: needs answers; add --check-answers, or --save-text")


def planned(folder: Path, args: Namespace, scenarios: tuple[Scenario, Scenario]) -> "Job":
    """What is asked of whom. Raises Stop(USAGE) for a file of facts that is none."""
    from llmload.cli.questioning import Job

    model = getattr(args, "model", None)
    return Job(
        folder=folder,
        hosts=(args.baseline, args.candidate),
        models=(getattr(args, "baseline_model", None) or model, getattr(args, "candidate_model", None) or model),
        scenarios=scenarios,
        facts=facts(args),
        prompts=args.answer_prompts,
        tokens=args.answer_tokens,
        in_flight=args.answers_in_flight,
        options=reach(args),
    )


def reach(args: Namespace) -> dict[str, Any]:
    """What the options say about reaching endpoints, as fields of SendOptions. Raises Stop(USAGE)."""
    found = {
        name: value
        for name in ("proxy", "ca", "insecure", "allow_http_key")
        if (value := getattr(args, name, None)) is not None
    }
    timeout = getattr(args, "connect_timeout", None)
    return found if not timeout else {**found, "connect_timeout": options.seconds(timeout, "--connect-timeout")}
