"""A sidecar as a process of its own, for tests and benches: started, asked over HTTP, ended."""

import contextlib
import os
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

LIMIT_S = 60.0
Page = dict[tuple[str, ...], float]
"""Values by name and the labels' values but the UUID's."""


@dataclass
class Child:
    """A running sidecar; what it says is read as it comes."""

    process: "subprocess.Popen[str]"
    said: list[str] = field(default_factory=list)
    """Lines of both outputs, so far."""

    @property
    def url(self) -> str:
        """Where it listens; waits until it says so."""
        found = self.until(lambda: re.search(r"http://127\.0\.0\.1:\d+", "\n".join(self.said)))
        return str(found[0])

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, str, Mapping[str, str]]:
        """Status, body and headers of an answer."""
        request = urllib.request.Request(self.url + path, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
                return answer.status, answer.read().decode(), dict(answer.headers)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode(), dict(error.headers)

    def page(self) -> Page:
        """Its metrics."""
        text = self.ask("/metrics")[1]
        return {
            (sample.name, *(value for name, value in sample.labels.items() if name != "uuid")): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def value(self, *key: str) -> float | None:
        """One value of the page, without `llmload_gpu_` in its name."""
        return self.page().get((f"llmload_gpu_{key[0]}", *key[1:]))

    def first(self) -> None:
        """Wait until it has values."""
        self.until(lambda: self.value("collect_success"))

    def until(self, true: Callable[[], Any], timeout_s: float = LIMIT_S) -> Any:
        """Wait until something is true, and give it."""
        deadline = time.monotonic() + timeout_s
        while not (value := true()):
            assert time.monotonic() < deadline, f"it never came true; it said: {self.said}"
            time.sleep(0.03)
        return value

    def end(self, number: int | None = None) -> int:
        """Its exit code, after this signal if one is given."""
        if number is not None:
            self.process.send_signal(number)
        code = self.process.wait(LIMIT_S)
        self.until(lambda: not any(thread.name == f"reads {self.process.pid}" for thread in threading.enumerate()))
        return code


@contextlib.contextmanager
def running(*words: str, env: Mapping[str, str] | None = None) -> Iterator[Child]:
    """Run `llmload sidecar` on a free port with these arguments while the block runs."""
    command = [sys.executable, "-m", "llmload", "sidecar", "--port", "0", *words]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**(env or os.environ), "COLUMNS": "120"},
    )
    child = Child(process)

    def read() -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                child.said.append(line.rstrip("\n"))

    reader = threading.Thread(target=read, name=f"reads {process.pid}", daemon=True)
    reader.start()
    try:
        yield child
    finally:
        process.kill()
        process.wait()
        reader.join()
