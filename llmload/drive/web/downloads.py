"""The files of runs as the web page gives them out: which runs there are, and tables and pages made when asked for.

Names that come from outside are only ever compared with what lies in the runs folder, and never become part of a
path. Knows neither Flask nor a run that is going on.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from gevent.lock import BoundedSemaphore

from llmload.drive import reporter
from llmload.exits import Exit, Stop
from llmload.record import runfolder

SUMMARY = "summary.json"
REPORTED = {
    "table.csv": "text/csv; charset=utf-8",
    SUMMARY: "application/json",
    "report.html": "text/html; charset=utf-8",
    "report.md": "text/markdown; charset=utf-8",
}
"""Files that `llmload report` makes, with their types."""
FILES = {**REPORTED, runfolder.REQUESTS: "application/x-ndjson"}
"""Everything that can be had of a run."""

LATEST = "latest"
"""Instead of a run's name: the one that began last."""
LISTED = 200
CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Found:
    """A file of a run."""

    run: str
    path: Path
    name: str
    size: int

    def chunks(self) -> Iterator[bytes]:
        """What was in it when it was asked for: it may grow meanwhile."""
        left = self.size
        with self.path.open("rb") as file:
            while left > 0 and (data := file.read(min(CHUNK, left))):
                left -= len(data)
                yield data


class Runs:
    """The runs in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._one = BoundedSemaphore(1)
        self._known: dict[str, tuple[tuple[int, int], dict[str, Any]]] = {}

    def folders(self) -> dict[str, Path]:
        """Run folders by name, the one that began last first."""
        try:
            entries = list(os.scandir(self.root))
        except OSError:
            return {}
        found = [
            (folder / runfolder.RUN, folder)
            for entry in entries
            if entry.is_dir(follow_symlinks=False) and (folder := Path(entry.path))
        ]
        there = [folder for run, folder in found if run.is_file() and not run.is_symlink()]
        there.sort(key=lambda folder: (self._facts(folder)["started_at"] or 0.0, folder.name), reverse=True)
        return {folder.name: folder for folder in there}

    def listed(self) -> list[dict[str, Any]]:
        """What the page shows of them."""
        return [
            {"run": name, **self._facts(folder), "files": list(FILES)}
            for name, folder in list(self.folders().items())[:LISTED]
        ]

    def find(self, run: str, name: str) -> Found:
        """A file of a run, made first if it is not there or older than what it is made from.

        Raises Stop(USAGE) if there is no such run or file, Stop(UNJUDGED) if it cannot be made.
        """
        folders = self.folders()
        folder = next(iter(folders.values()), None) if run == LATEST else folders.get(run)
        if folder is None:
            raise Stop(f"there is no run {run!r} in {self.root}; /llmload/runs lists those that are there")
        if name not in FILES:
            raise Stop(f"a run has no file {name!r} to give out; expected one of: {', '.join(FILES)}")
        path = folder / name
        if name in REPORTED and not self._fresh(folder, name):
            with self._one:
                if not self._fresh(folder, name):
                    make(folder)
        if path.is_symlink() or not path.is_file():
            raise Stop(f"the run {folder.name} has no {name} yet")
        return Found(folder.name, path, name, path.stat().st_size)

    def _fresh(self, folder: Path, name: str) -> bool:
        made = modified(folder / name)
        return made > 0 and made >= max(modified(folder / source) for source in (runfolder.RUN, runfolder.REQUESTS))

    def _facts(self, folder: Path) -> dict[str, Any]:
        """What run.json says of a run, and the verdict of its report if there is one; None for what is not said.

        Read again only if they have changed.
        """
        at = modified(folder / runfolder.RUN), modified(folder / SUMMARY)
        known = self._known.get(folder.name)
        if known is None or known[0] != at:
            try:
                run = runfolder.read_run(folder)
            except Stop:
                run = {}
            facts = {key: run.get(key) for key in ("started_at", "ended_at", "verdict")}
            facts["verdict"] = self._judged(folder) or facts["verdict"]
            facts["scenario"] = (run.get("scenario") or {}).get("name")
            known = self._known[folder.name] = (at, facts)
        return known[1]

    def _judged(self, folder: Path) -> str | None:
        """The verdict of a run's report, None without a report or where records came since."""
        if not self._fresh(folder, SUMMARY):
            return None
        try:
            return str(orjson.loads((folder / SUMMARY).read_bytes())["verdict"])
        except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
            return None


def modified(path: Path) -> int:
    """When a file was last written, 0 if there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def make(folder: Path) -> None:
    """Have the files of a run made. Raises Stop(UNJUDGED) if they cannot be."""
    done = reporter.behind(folder)
    if done.returncode in {int(Exit.USAGE), int(Exit.UNJUDGED)} or done.returncode not in set(Exit):
        why = done.stderr.decode(errors="replace").strip().splitlines()
        raise Stop(f"the report of {folder.name} cannot be made: {why[-1] if why else 'no word why'}", Exit.UNJUDGED)
