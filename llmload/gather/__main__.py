"""`python -m llmload.gather`: samples GPUs' pages and a server's own metrics while its parent conducts a run.

Orders come as JSON lines on standard input, answers go as JSON lines to standard output. The first line is the order:

    {"folder": the run's folder, "anchor_s": Unix seconds at which `perf_counter` was 0, "every_s": 1.0,
     "gpu": [URLs], "server": URL or null, "server_asked": false for a guess, whose silence is no fault,
     "server_log": path or null, "prometheus": URL or null, "selector": '{job="llmload-gpu"}' or null,
     "ca": file or null, "insecure": false}

All but the first two may be left out. Each source is looked at once, and answered is:

    {"say": "ready",
     "gpu": [{"source", "ok", "error", "kind", "gpus": [{"uuid", "name"}], "clock_offset_ms"}],
     "server": {"source", "ok", "error", "engine", "names"} or null,
     "log": {"source", "ok", "error"} or null,
     "prometheus": {"source", "ok", "error", "version", "gpus", "clock_offset_ms"} or null}

From then on gpu.jsonl and server.jsonl are written (llmload/record/samples.py), each source at its own pace. Then:

    {"do": "pause"}   → {"say": "paused", "went_on": [sources that go on sampling by themselves]}
    {"do": "resume"}  → {"say": "resumed"}
    {"do": "stop", "from_s": …, "to_s": …}  → one last look, for Prometheus the fetch of that time (Unix seconds), then
        {"say": "over", "looks": {source: n}, "failed": {source: n of them}, "notes": [sentences],
         "prometheus": {"source", "version", "scrape_interval_s", "clock_offset_ms", "gpus", "queries",
            "pieces"} or null}

and it ends with 0. The end of standard input and SIGTERM are a stop without last looks and without an answer; SIGINT
is for the parent, which says what is to be done. What is no order is answered {"say": "error", "error": sentence}.
Nothing that a source does ends this process.
"""

import contextlib
import json
import signal
import sys
from typing import Any

import orjson

from llmload.exits import Exit
from llmload.gather.sampler import Order, Sampler


class _Ended(Exception):
    """SIGTERM came."""


def main() -> int:
    """Take orders until it is over."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    sampler: Sampler | None = None
    try:
        try:
            sampler = _ordered(sys.stdin.buffer.readline())
            if sampler is None:
                return Exit.USAGE
            _say(say="ready", **sampler.begin())
            for line in sys.stdin.buffer:  # UTF-8, whatever the terminal is
                if _do(sampler, line):
                    return Exit.OK
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # here, where one that comes just now is still caught
    except (_Ended, BrokenPipeError):
        pass
    if sampler is not None:
        sampler.end()
    return Exit.OK


def _end(*_: object) -> None:
    raise _Ended


def _ordered(line: bytes) -> Sampler | None:
    """The sampler of an order; None, and an answer, for what is none."""
    try:
        given: dict[str, Any] = orjson.loads(line)
        return Sampler(Order(**{**given, "gpu": tuple(given.get("gpu", ()))}))
    except (ValueError, TypeError, AttributeError) as error:
        _say(say="error", error=f"no order: {error}")
        return None


def _do(sampler: Sampler, line: bytes) -> bool:
    """Do as told; True if that was the last."""
    try:
        command = orjson.loads(line)
        what = command["do"]
        if what == "stop":
            command["from_s"], command["to_s"] = float(command["from_s"]), float(command["to_s"])
    except (ValueError, TypeError, KeyError):
        what = None
    if what == "pause":
        _say(say="paused", went_on=sampler.pause())
    elif what == "resume":
        sampler.resume()
        _say(say="resumed")
    elif what == "stop":
        _say(say="over", **sampler.end((command["from_s"], command["to_s"])))
        return True
    else:
        _say(say="error", error="expected pause, resume or stop")
    return False


def _say(**words: object) -> None:
    print(json.dumps(words), flush=True)


if __name__ == "__main__":
    code = main()
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
    sys.exit(code)
