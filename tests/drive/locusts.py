"""Real Locust processes for tests: started, watched, interrupted, and what they left behind."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.drive import ready

MIXED = Path(__file__).parents[2] / "locustfiles" / "mixed.py"

CLASSES = """
[[class]]
name = "short"
source = "builtin:short"
weight = 0.5
input_tokens = 60
max_tokens = 10

[[class]]
name = "medium"
source = "builtin:medium"
weight = 0.5
input_tokens = 90
max_tokens = 40
"""

LOAD = {
    "steps": [1, 4, 2],
    "warmup_requests": 2,
    "warmup_s": 0.2,
    "window_s": 1.0,
    "window_requests": 0,
    "window_cap_s": 600,
    "drain_limit_s": 10,
    "settle_s": 0.2,
}
OF_STEPS = ("steps", "warmup_requests")


def scenario(folder: Path, **load: Any) -> Path:
    """A scenario file of two classes; `load` replaces values of its [load] table, those of steps if it has rates."""
    path = folder / "short.toml"
    usual = {key: value for key, value in LOAD.items() if "rates" not in load or key not in OF_STEPS}
    usual |= {"kind": "rate"} if "rates" in load else {}
    table = "\n".join(f"{key} = {json.dumps(value)}" for key, value in {**usual, **load}.items())
    path.write_text(f'name = "short"\n\n[load]\n{table}\n{CLASSES}')
    return path


def free_port() -> int:
    """A port that nobody listens on now."""
    with contextlib.closing(socket.socket()) as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


class Process(Protocol):
    """A process that was started here, of subprocess.Popen what is asked of it."""

    pid: int

    def poll(self) -> int | None: ...  # noqa: D102
    def wait(self, timeout: float | None = None) -> int: ...  # noqa: D102
    def send_signal(self, number: int, /) -> None: ...  # noqa: D102
    def kill(self) -> None: ...  # noqa: D102


@dataclass
class Running:
    """A Locust that runs, with its folder."""

    process: Process
    folder: Path
    log: Path

    def run(self) -> dict[str, Any]:
        """run.json, {} before there is one."""
        path = self.folder / "run.json"
        return json.loads(path.read_bytes()) if path.exists() else {}  # type: ignore[no-any-return]

    def until(self, done: Callable[[dict[str, Any]], Any], limit_s: float = 60.0) -> dict[str, Any]:
        """Wait until run.json says something; the test fails if Locust ends before or it takes too long."""
        deadline = time.monotonic() + limit_s
        while not done(run := self.run()):
            assert self.process.poll() is None, self.words()
            assert time.monotonic() < deadline, self.words()
            time.sleep(0.02)
        return run

    def until_measuring(self, step: int = 0) -> None:
        """Wait until the window of a step is open."""
        self.until(lambda run: len(run.get("steps", ())) > step and run["steps"][step]["window_started_at"])

    def end(self, limit_s: float = 60.0) -> "Left":
        """Wait for its end."""
        code = self.process.wait(limit_s)
        return Left(code, self.folder, self.words())

    def words(self) -> str:
        """What it has said."""
        return self.log.read_text(errors="replace")

    def workers(self) -> list[int]:
        """Process ids of its workers: of its children those in its session, in which the sampler of GPUs is not."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text().split() if os.getsid(int(pid)) == self.process.pid]


@dataclass(frozen=True)
class Left:
    """What a Locust left behind."""

    code: int
    folder: Path
    words: str

    @property
    def run(self) -> dict[str, Any]:
        """run.json."""
        return json.loads((self.folder / "run.json").read_bytes())  # type: ignore[no-any-return]

    @property
    def records(self) -> list[dict[str, Any]]:
        """All records, by worker and seq."""
        rows = [json.loads(line) for line in (self.folder / "requests.jsonl").read_bytes().splitlines()]
        return sorted(rows, key=lambda row: (row["worker"], row["seq"]))

    @property
    def spooled(self) -> list[dict[str, Any]]:
        """Lines of all spools."""
        spools = sorted((self.folder / "spool").iterdir())
        return [json.loads(line) for spool in spools for line in spool.read_bytes().splitlines()]

    @property
    def samples(self) -> list[dict[str, Any]]:
        """Lines of generator.jsonl."""
        return [json.loads(line) for line in (self.folder / "generator.jsonl").read_bytes().splitlines()]

    def count(self, *names: str) -> Counter[Any]:
        """Records by some of their fields."""
        return Counter(tuple(row[name] for name in names) for row in self.records)

    def complaint(self) -> str:
        """The sentence with which it stopped."""
        lines = [line for line in self.words.splitlines() if "/ERROR/llmload: " in line]
        assert lines, self.words
        return lines[-1].partition("/ERROR/llmload: ")[2]


@contextlib.contextmanager
def locust(
    folder: Path,
    *arguments: str,
    file: Path = MIXED,
    headless: bool = True,
    before: Sequence[str] = (),
    **environment: str,
) -> Iterator[Running]:
    """Run `locust` in a session of its own with these arguments while the block runs; all of it is ended behind it.

    `before` are words that stand before the command: a program that changes something and then becomes it.
    """
    run_folder, log = folder / "run", folder / "locust.log"
    words = [
        "-f", str(file), "--run-folder", str(run_folder), "--no-report",
        "--only-summary", "--master-bind-host", "127.0.0.1", "--master-bind-port", (port := str(free_port())),
        "--master-port", port, *(["--headless"] if headless else []), *arguments,
    ]  # fmt: skip
    names = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI_", "LLMLOAD_", "LOCUST_"))}
    names |= environment
    if before or "PYTHONPATH" in environment:  # something is changed before any package is read
        whole = [*before, sys.executable, "-m", "locust", *words]
        with log.open("wb") as out:
            process: Process = subprocess.Popen(
                whole, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=folder, env=names, start_new_session=True
            )
    else:
        process = ready.start(words, folder, log, names)
    try:
        yield Running(process, run_folder, log)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def agree(
    told: Callable[[], list[dict[str, Any]]], rows: list[dict[str, Any]], *, lost: int = 0, limit_s: float = 60.0
) -> None:
    """See that the server saw every request of these records, each once, and no other.

    `told` reads the server's own lines; it writes one when it is done with a request, so it is given its time. What was
    cut before an answer began may not have reached it. Nor may what a killed worker had begun, `lost` in number, of
    which there is no record: right before it sends a request it writes down that it does.
    """
    names = {f"{row['run']}-{row['worker']}-{row['seq']}": row for row in rows}
    sure = {name for name, row in names.items() if row["outcome"] != "cancelled" or row["http_status"] is not None}
    deadline = time.monotonic() + limit_s
    while not sure <= (seen := Counter(str(line["client_request"]) for line in told())).keys():
        assert time.monotonic() < deadline, sorted(sure - seen.keys())
        time.sleep(0.02)
    assert len(names) == len(rows)
    assert set(seen.values()) == {1}
    assert len(seen.keys() - names.keys()) <= lost


def gone(pids: list[int], limit_s: float = 60.0) -> bool:
    """Whether all these processes end within the limit."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if not any(alive(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False


def alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def in_flight(truth: list[dict[str, Any]], begin: float, end: float) -> tuple[int, float]:
    """Peak and time-weighted mean of requests at the server between two moments, from its own times.

    At one and the same time an end comes before a beginning.
    """
    changes = sorted(
        [(line["received_at"], 1) for line in truth] + [(line["end_at"], -1) for line in truth],
        key=lambda change: (change[0], change[1]),
    )
    now, peak, area, last = 0, 0, 0.0, begin
    for at, change in changes:
        if at > begin:
            peak = max(peak, now)
            area += now * (min(at, end) - last)
            last = min(at, end)
        if at >= end:
            break
        now += change
    return peak, (area + now * (end - last)) / (end - begin)
