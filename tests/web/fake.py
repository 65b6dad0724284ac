"""A stand-in for llmload's routes: the real page with figures that a test has made, so that days fit into a second."""

import contextlib
import math
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlparse

import orjson

from llmload.drive.web import routes

BEGAN = 1_790_000_000.0
CLASSES = ["short", "medium", "long"]
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
IDLE = {"run": None, "state": "idle", "rows": [], "marks": [], "workers": [], "history": {"t": []}}


class Fake:
    """What `/llmload/live` answers at the moment, and how often it was asked."""

    def __init__(self) -> None:
        self.answer: dict[str, Any] = IDLE
        self.asked: list[float] = []
        self.status = 200
        self.url = ""

    def live(self, since: float) -> dict[str, Any]:
        """The answer with only the later points."""
        self.asked.append(since)
        history = self.answer["history"]
        first = next((at for at, t in enumerate(history["t"]) if t > since), len(history["t"]))
        return {**self.answer, "history": later(history, first)}


def later(history: dict[str, Any], first: int) -> dict[str, Any]:
    """A history from a point on."""
    return {
        key: later(value, first) if isinstance(value, dict) else value[first:] if isinstance(value, list) else value
        for key, value in history.items()
    }


def later_until(history: dict[str, Any], end: int) -> dict[str, Any]:
    """A history up to a point."""
    return {key: later_until(value, end) if isinstance(value, dict) else value[:end] for key, value in history.items()}


@contextlib.contextmanager
def serving(base: str = "") -> Iterator[Fake]:
    """Serve the page below `base` while the block runs."""
    fake = Fake()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlparse(self.path)
            name = url.path.removeprefix(f"{base}/llmload").removeprefix("/")
            if name == "live":
                since = float(parse_qs(url.query).get("since", ["0"])[0])
                body, kind = orjson.dumps(fake.live(since)), "application/json"
            else:
                path = routes.PAGES / (name.removeprefix("static/") or routes.PAGE)
                body, kind = path.read_bytes(), TYPES.get(path.suffix, "text/plain")
            self.send_response(fake.status)
            for header, value in {**routes.HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}.items():
                self.send_header(header, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_port}{base}/llmload"
    try:
        yield fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def history(points: int, every_s: float = 1.0, *, steps: tuple[int, ...] = (1, 4, 8, 16, 32)) -> dict[str, Any]:
    """A run of so many points over these steps: times grow with the load and wave a little."""
    made: dict[str, Any] = {"t": [BEGAN + at * every_s for at in range(points)]}
    at_step = [min(len(steps) - 1, at * len(steps) // max(points, 1)) for at in range(points)]
    wave = [1 + 0.15 * math.sin(at / 7) + 0.05 * math.sin(at / 2) for at in range(points)]
    load = [steps[step] for step in at_step]
    made["step"], made["concurrency"] = at_step, load
    made["in_flight"] = [n if at % 9 else max(0, n - 1) for at, n in enumerate(load)]
    made["cpu_max"] = [0.03 + 0.012 * n * w for n, w in zip(load, wave, strict=True)]
    made["loop_lag_p99_ms"] = [0.4 + 0.06 * n * w for n, w in zip(load, wave, strict=True)]
    made["stamp_lag_ms"] = [0.1 + 0.03 * n * w for n, w in zip(load, wave, strict=True)]
    made["outcomes"] = {
        "rate_limited": [0.3 if n > 8 and at % 23 < 4 else 0.0 for at, n in enumerate(load)],
        "stream_truncated": [0.1 if n > 8 and at % 41 < 3 else 0.0 for at, n in enumerate(load)],
    }
    made["classes"] = {}
    for name, size in (("all", 1.0), ("short", 0.5), ("medium", 1.0), ("long", 2.2)):
        base = [(60 + 9 * n) * size * w for n, w in zip(load, wave, strict=True)]
        gap = [(10 + 0.6 * n) * w for n, w in zip(load, wave, strict=True)]
        columns = {
            "ttft": (base, 1.6, 2.4), "itl": (gap, 1.8, 3.0), "tpot": (gap, 1.2, 1.5),
            "e2e": ([b * 14 for b in base], 1.5, 1.8),
        }  # fmt: skip
        made["classes"][name] = {
            f"{measure}_{p}": [value * times for value in values]
            for measure, (values, p95, p99) in columns.items()
            for p, times in (("p50", 1.0), ("p95", p95), ("p99", p99))
        }
        made["classes"][name] |= {
            "tokens_per_s": [95 * n**0.8 * w * size / 2 for n, w in zip(load, wave, strict=True)],
            "requests_per_s": [1.1 * n**0.8 * w * size / 2 for n, w in zip(load, wave, strict=True)],
            "failed_per_s": [0.4 if n > 8 and at % 23 < 4 else 0.0 for at, n in enumerate(load)],
            "stalls": [3.0 if n > 8 and at % 31 < 6 else 0.0 for at, n in enumerate(load)],
        }
    return made


def figures(times: float = 1.0) -> dict[str, Any]:
    """The figures of a window."""
    return {
        "ttft_ms": {"n": 48, "p50": 131.4 * times, "p95": 204.9 * times, "p99": None},
        "itl_ms": {"n": 5210, "p50": 14.82, "p95": 22.1, "p99": 41.3},
        "tpot_ms": {"n": 48, "p50": 15.3, "p95": 19.0, "p99": None},
        "e2e_ms": {"n": 48, "p50": 1834.0 * times, "p95": 2950.5 * times, "p99": None},
        "output_tokens_per_s": 501.2 * times, "requests_per_s": 5.6 * times,
        "outcomes": {"ok": 53, "rate_limited": 2, "stream_truncated": 1}, "stalls_per_1000_gaps": 0.8,
    }  # fmt: skip


def rows(steps: tuple[int, ...], first: int = 0) -> list[dict[str, Any]]:
    """Rows of summary.json, as far as the page reads them."""
    return [
        {
            "step": step, "concurrency": n, "rate": None, "workload": name, "ok": 120 * n, "failed": 2 * (n > 4),
            "not_sent": 0, "lost": 0, "started": 120 * n + 2 * (n > 4), "token_source": "server",
            "success_share": 0.998 if n > 4 else 1.0,
            "ttft_ms": {
                "ok": {"n": 120 * n, "p50": 55.2 + n, "p95": 90.4 + 2 * n},
                "all": {"n": 120 * n, "p95": "inf" if n > 8 else 91.0 + 2 * n},
            },
            "itl_ms": {"ok": {"n": 400 * n, "p50": 10.1, "p99": 19.8 + n}}, "tpot_ms": {"ok": {"n": 120, "p50": 10.6}},
            "e2e_ms": {"ok": {"n": 120 * n, "p50": 890.0 + 20 * n, "p95": 1700.0 + 30 * n}},
            "output_tokens_per_s": 95.3 * n, "output_tokens_per_s_per_user": 94.1 - n, "stalls_per_1000_gaps": 0.0,
            "generator": {"bound": n >= 32} if name == "all" else None,
        }
        for step, n in enumerate(steps, first)
        for name in (*CLASSES, "all")
    ]  # fmt: skip


def running(points: int = 300, every_s: float = 1.0) -> dict[str, Any]:
    """A run in its fourth step."""
    past = history(points, every_s, steps=(1, 4, 8, 16))
    marks = [
        {"t": past["t"][past["step"].index(step)], "step": step, "concurrency": n, "rate": None}
        for step, n in enumerate((1, 4, 8, 16))
    ]
    now = past["t"][-1]
    return {
        "run": "20261130T201500Z-mixed", "scenario": "mixed", "kind": "steps", "state": "running", "verdict": None,
        "reasons": [], "now": now, "started_at": BEGAN - 4, "ended_at": None, "users": 16, "in_flight": 16,
        "step": {"index": 3, "concurrency": 16, "rate": None, "phase": "measure", "phase_since": now - 23,
                 "window_s": 23.0},
        "workers": [
            {"worker": f"w{n}", "host": "load-1", "cpu": 0.21 + n / 20, "loop_lag_p99_ms": 1.3, "stamp_lag_ms": 0.4,
             "streams": 8, "events_per_s": 248.0, "clock_offset_ms": -0.02, "clock_error_ms": 0.11,
             "silent_s": 0.4 if n < 2 else 7.2}
            for n in range(3)
        ],
        "totals": {"started": 4410, "ok": 4377, "failed": 14, "cancelled": 3, "not_sent": 0, "lost": 0,
                   "outcomes": {"ok": 4377, "rate_limited": 11, "stream_truncated": 3, "cancelled": 3}},
        "classes": CLASSES, "last10s": {name: figures() for name in ("all", *CLASSES)},
        "step_so_far": {name: figures(0.97) | {"sketched": False} for name in ("all", *CLASSES)},
        "rows": rows((1, 4, 8)), "history": past, "marks": marks,
    }  # fmt: skip


def ended() -> dict[str, Any]:
    """The same run when it is over, with something lost."""
    whole = running()
    return {
        **whole, "state": "ended", "verdict": "DEGRADED", "step": None, "step_so_far": None, "ended_at": whole["now"],
        "reasons": ["worker w2 (load-1) went missing in mid-run: its process is dead; 3 requests are lost",
                    "the load generator was the bottleneck at 32 in flight"],
        "rows": rows((1, 4, 8, 16, 32)), "in_flight": 0, "users": 0,
    }  # fmt: skip
