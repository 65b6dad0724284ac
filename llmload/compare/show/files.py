"""Every format of a comparison, by name, and the files that are written beside what `llmload ab` measured."""

import contextlib
from collections.abc import Callable
from pathlib import Path

from llmload.compare.comparison import Comparison
from llmload.compare.show import data, html, markdown, terminal
from llmload.exits import Exit, Stop
from llmload.record import runfolder

FORMATS: dict[str, Callable[[Comparison], str]] = {
    "table": terminal.text,
    "markdown": markdown.text,
    "json": data.text,
    "html": html.text,
}
"""What `llmload compare --format` takes."""
FILES = {"compare.json": "json", "compare.md": "markdown", "compare.html": "html"}
"""What is written, and in which format."""


def write(comparison: Comparison, folder: Path) -> None:
    """Write all files, each replaced by rename. Raises Stop(USAGE) if that cannot be done."""
    for name, kind in FILES.items():
        replace(folder / name, FORMATS[kind](comparison))


def replace(path: Path, text: str) -> None:
    """Write a file, never half of it. Raises Stop(USAGE) if that cannot be done."""
    new = None
    try:
        new = runfolder.beside(path)
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):  # half a file is nobody's, and takes room
            if new is not None:
                new.unlink(missing_ok=True)
        raise Stop(
            f"{path}: cannot be written: {error.strerror}; make room, or name a file in a folder that is there and "
            "may be written to",
            Exit.USAGE,
        ) from error
