"""Every format of a report, by name, and the files that are written into the run folder."""

import contextlib
import re
from collections.abc import Callable
from json import dumps as escape
from pathlib import Path

import orjson

from llmload.exits import Exit, Stop
from llmload.report import csv_out, html, markdown, terminal
from llmload.report.building import Built


def json(built: Built) -> str:
    """summary.json. What a terminal would obey is escaped: to a program it is the same text."""
    text = orjson.dumps(built.summary, option=orjson.OPT_INDENT_2).decode() + "\n"
    return re.sub(r"[^ -~\n]", lambda sign: sign[0] if sign[0].isprintable() else escape(sign[0])[1:-1], text)


FORMATS: dict[str, Callable[[Built], str]] = {
    "table": terminal.text,
    "markdown": markdown.text,
    "csv": csv_out.text,
    "json": json,
    "html": html.text,
}
"""What `llmload report --format` takes."""

FILES = {"summary.json": "json", "table.csv": "csv", "report.md": "markdown", "report.html": "html"}
"""What is written, and in which format."""
SOAK = "soak.csv"
"""And of a soak this, its buckets."""


def write(built: Built) -> None:
    """Write all files, each replaced by rename. Raises Stop(USAGE) if that cannot be done."""
    for name, kind in FILES.items():
        _replace(built.folder / name, FORMATS[kind](built))
    if built.soak is not None:
        _replace(built.folder / SOAK, csv_out.soak(built.soak))
    else:
        (built.folder / SOAK).unlink(missing_ok=True)  # of a report with buckets, which this one has not


def _replace(path: Path, text: str) -> None:
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):  # half a file is nobody's, and takes room
            new.unlink(missing_ok=True)
        raise Stop(
            f"{path}: cannot be written: {error.strerror}; make room or make the folder writable, then run "
            f"`llmload report {path.parent}`",
            Exit.USAGE,
        ) from error
