"""One archive of a run, made so that it can be given away: no answers, no secrets, the same bytes each time.

What goes in is read, answers are taken out, and all of it is looked through before a byte of the archive is written.
"""

import contextlib
import gzip
import io
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import orjson

from llmload.exits import Stop
from llmload.record import leaks, prompts, runfolder, samples

FACTS = (
    runfolder.RUN, runfolder.REQUESTS, prompts.FILE, samples.GPU, samples.SERVER, runfolder.GENERATOR, runfolder.LOG,
)  # fmt: skip
REPORTS = ("report.md", "report.html", "table.csv", "summary.json", "soak.csv")
PROMPTS = "prompts"
SHOWN = 10
"""Finds that are told one by one."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A file of the archive."""

    name: str
    bytes: int
    answers: int
    """Answers that were taken out of it."""


def members(folder: Path, *, spools: bool) -> list[Path]:
    """The files of a run that are packed. `spools`: also those of workers, from which something is missing.

    What a link leads to outside of the folder is not the run's, and stays out.
    """
    found = [folder / name for name in (*FACTS, *REPORTS)]
    if spools:
        found += sorted((folder / runfolder.SPOOL).glob("*.jsonl"))
    found += sorted((folder / PROMPTS).glob("*"))
    home = folder.resolve()
    return [path for path in found if path.is_file() and path.resolve().is_relative_to(home)]


def write(
    archive: Path, root: str, files: Mapping[str, Path | bytes], mtime: int, secrets: Mapping[str, bytes]
) -> list[Packed]:
    """Write a .tar.gz with these files (name in the run folder: where it lies, or what it holds) in a folder `root`.

    Names sorted, owner 0, all of time `mtime`: equal files give equal archives. Raises Stop(USAGE) with file and line
    if something looks like a secret, or if a file cannot be read or the archive not be written; nothing is left then.
    """
    with tempfile.TemporaryDirectory(prefix="llmload-pack-") as name:
        try:
            packed = [_ready(Path(name) / str(at), key, files[key]) for at, key in enumerate(sorted(files))]
        except OSError as error:
            raise Stop(f"{error.filename or name}: cannot be packed: {error.strerror}") from error
        _check({item.name: Path(name) / str(at) for at, item in enumerate(packed)}, secrets)
        new = None
        try:
            new = runfolder.beside(archive)
            with (
                new.open("wb") as raw,
                gzip.GzipFile("", "wb", 6, raw, mtime=mtime) as zipped,
                tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar,
            ):
                for at, item in enumerate(packed):
                    with (Path(name) / str(at)).open("rb") as file:
                        tar.addfile(_header(f"{root}/{item.name}", item.bytes, mtime), file)
            new.replace(archive)
        except OSError as error:
            with contextlib.suppress(OSError):
                if new is not None:
                    new.unlink(missing_ok=True)
            raise Stop(f"{archive}: cannot be written: {error.strerror}; name another file with --out") from error
    return packed


def _header(name: str, size: int, mtime: int) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.size, header.mtime, header.mode = size, mtime, 0o644
    return header


def _ready(place: Path, name: str, source: Path | bytes) -> Packed:
    """Put what is packed to `place`, without answers."""
    with place.open("wb") as out, io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        if name == runfolder.REQUESTS or name.startswith(f"{runfolder.SPOOL}/"):
            taken = sum(_without_answer(line, out) for line in file)
        else:
            taken = 0
            shutil.copyfileobj(file, out)
    return Packed(name, place.stat().st_size, taken)


def _without_answer(line: bytes, out: IO[bytes]) -> bool:
    """Write a record without its answer; a line that is no record, or was cut, may hold one and is left out."""
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    if not isinstance(row, dict) or "text" not in row:
        out.write(line if line.endswith(b"\n") else line + b"\n")
        return False
    del row["text"]
    out.write(orjson.dumps(row) + b"\n")
    return True


def _check(files: Mapping[str, Path], secrets: Mapping[str, bytes]) -> None:
    found = [f"{name}, line {item.line}: {item.what}" for name, item in _finds(files, secrets)]
    if not found:
        return
    more = f"\n  and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    raise Stop(
        "nothing was packed: there is what looks like a secret in it:\n  "
        + "\n  ".join(found[:SHOWN])
        + f"{more}\ntake it out of the file, or leave the file out with --without NAME"
    )


def _finds(files: Mapping[str, Path], secrets: Mapping[str, bytes]) -> Iterator[tuple[str, leaks.Find]]:
    for name, path in files.items():
        with path.open("rb") as file:
            for item in leaks.find(file, secrets):
                yield name, item
