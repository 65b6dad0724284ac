"""Lines of samples, whole on the disk or not at all, from several threads; and the sentences that a run is told.

A disk that takes no more is told once. Each line is tried anew, so that the lines come again when there is room.
"""

import threading
from collections.abc import Mapping
from pathlib import Path

import orjson

from llmload.exits import Stop
from llmload.record.append import Appender


class Notes:
    """Sentences for who reads the report, each once, from any thread."""

    MOST = 50

    def __init__(self) -> None:
        self._sentences: dict[str, None] = {}
        self._lock = threading.Lock()

    def add(self, sentence: str) -> None:
        """Add a sentence."""
        with self._lock:
            if len(self._sentences) < self.MOST:
                self._sentences[sentence] = None

    def all(self) -> list[str]:
        """All of them, in their order."""
        with self._lock:
            return list(self._sentences)


class Lines:
    """One file of samples."""

    def __init__(self, path: Path, notes: Notes) -> None:
        self._path = path
        self._notes = notes
        self._file: Appender | None = None
        self._lock = threading.Lock()

    def write(self, *lines: Mapping[str, object]) -> None:
        """Append lines at once; what the disk does not take is told and lost."""
        with self._lock:
            try:
                if self._file is None:
                    self._file = Appender(self._path)
                self._file.append(orjson.dumps(line) for line in lines)
            except Stop as stop:
                self._notes.add(f"{stop.message}; samples are missing from then on")
                self._close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
