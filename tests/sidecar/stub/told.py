"""A process that has NVIDIA's backend and does with it what it is told: NVML is one per process.

`Told` is the test's end of it. Knows nothing of the sidecar's own process.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import IO, Any, cast


class Told:
    """The backend in the other process."""

    def __init__(self, words: IO[str], answers: IO[str]) -> None:
        self._words, self._answers = words, answers

    def __call__(self, do: str, **how: Any) -> Any:
        """What came of it: a value, or `(name, sentence)` of what was raised."""
        self._words.write(json.dumps({"do": do, **how}) + "\n")
        self._words.flush()
        answer = json.loads(self._answers.readline())
        return tuple(answer["raised"]) if "raised" in answer else answer["gave"]

    def read(self, *, slow: bool = True) -> list[dict[str, Any]]:
        """The readings; that nothing is raised is taken for granted."""
        readings = self("read", slow=slow)
        assert isinstance(readings, list), readings
        return cast("list[dict[str, Any]]", readings)

    def errors(self) -> dict[tuple[str, str], int]:
        """Errors so far."""
        return {(operation, error): n for operation, error, n in self("errors")}


@contextmanager
def told(env: Mapping[str, str], gpus: Sequence[str] = (), *, processes: bool = False) -> Iterator[Told]:
    """Such a process; the backend is not open yet."""
    order = json.dumps({"gpus": list(gpus), "processes": processes})
    child = subprocess.Popen(
        [sys.executable, "-m", __name__, order], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdin
    assert child.stdout
    with child, child.stdin, child.stdout:
        try:
            yield Told(child.stdin, child.stdout)
        except BaseException:
            child.kill()
            raise
    assert child.returncode == 0


def main() -> None:
    """Obey, until there is no more to obey."""
    import pynvml

    from llmload.sidecar.backend import Absent, Gone, Hopeless, backend

    order = json.loads(sys.argv[1])
    it = backend("nvml", order["gpus"], processes=order["processes"])
    for line in sys.stdin:
        what = json.loads(line)
        gave: Any = None
        try:
            match what["do"]:
                case "open":
                    it.open()
                case "read":
                    gave = [asdict(reading) for reading in it.read(slow=what["slow"])]
                case "close":
                    it.close()
                case "calls":
                    gave = it.calls
                case "errors":
                    gave = [[*pair, n] for pair, n in it.errors.items()]
                case "bytes":  # as old versions of the package answer
                    for name in ("nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlSystemGetDriverVersion"):
                        setattr(pynvml, name, getattr(pynvml, name).__wrapped__)
            answer = {"gave": gave}
        except (Absent, Gone, Hopeless) as error:
            answer = {"raised": [type(error).__name__, str(error)]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
