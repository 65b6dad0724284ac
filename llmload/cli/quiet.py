"""Waits until a server has nothing left to do, as far as it tells by its own metrics."""

import contextlib
import http.client
import re
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llmload.record import runfolder

LIMIT_S = 60.0
"""So long it is waited for …"""
LOOK_S = 0.5
"""… and it is looked at so often."""
ANSWER_S = 2.0
"""A page may take so long …"""
LARGEST = 1 << 24
"""… and so many bytes of it are read."""
_NAME = re.compile(r"[A-Za-z_:][\w:]*")


def wait(folder: Path, ask: Callable[[], str] | None = None, limit_s: float = LIMIT_S) -> float | None:
    """Wait until the server of a run says that nothing runs and nothing waits; gives how many still do after `limit_s`.

    None if it does not tell. `ask` gives the text of its page of metrics, by default that which the run looked at.
    """
    url, names = page(runfolder.read_run(folder))
    if not names or url is None:
        return None
    ask = ask or (lambda: fetched(url))
    deadline = time.monotonic() + limit_s
    while True:
        busy = None
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
            busy = total(ask(), names)
        if not busy or time.monotonic() > deadline:
            return busy
        time.sleep(LOOK_S)


def page(run: dict[str, Any]) -> tuple[str | None, set[str]]:
    """The page of metrics that a run looked at, and the names under which it tells of requests that run or wait."""
    sampling = run.get("sampling")
    server = sampling.get("server") if isinstance(sampling, dict) else None
    if not isinstance(server, dict) or not isinstance(server.get("names"), dict):
        return None, set()
    told = [server["names"].get(name) for name in ("running", "waiting")]
    return server.get("source"), {name for text in told if isinstance(text, str) for name in _NAME.findall(text)}


def fetched(url: str) -> str:
    """A page, without any proxy. Raises OSError, ValueError or HTTPException."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + ANSWER_S
    found = bytearray()
    with opener.open(url, timeout=ANSWER_S) as answer:
        while piece := answer.read1(1 << 16):
            found += piece
            if len(found) > LARGEST or time.monotonic() > deadline:
                raise TimeoutError
    return found.decode(errors="replace")


def total(text: str, names: set[str]) -> float:
    """The sum of these series on a page, whatever their labels."""
    found = 0.0
    for line in text.splitlines():
        match = _NAME.match(line)
        if match and match[0] in names:
            with contextlib.suppress(ValueError):
                found += float(re.sub(r"\{.*\}", "", line[match.end() :]).split()[0])
    return found
