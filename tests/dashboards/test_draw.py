"""The renderer: what is put in for variables and intervals, numbers with units, pictures of what a Prometheus says."""

import json
import math
import threading
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from dashboards.draw.__main__ import OUT, main
from dashboards.draw.ask import Prometheus
from dashboards.draw.fill import filled, seconds, step
from dashboards.draw.page import Page
from dashboards.draw.panels import KINDS, color_at
from dashboards.draw.units import told
from tests.dashboards import boards

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0123, "s", "12.3 ms"), (1.5, "s", "1.50 s"), (0, "s", "0 s"), (0.0004, "s", "400 µs"),
        (0.995, "percentunit", "99.5 %"), (1, "percentunit", "100 %"), (2**31, "bytes", "2 GiB"),
        (512, "bytes", "512 B"), (612.4, "watt", "612 W"), (12345, "joule", "12.3 kJ"), (1.98e9, "hertz", "1.98 GHz"),
        (61, "celsius", "61 °C"), (1234567, "locale", "1,234,567"), (850.5, "suffix: tok/s", "850 tok/s"),
        (1500, "short", "1.50 k"), (3, "short", "3"), (-0.000001, "percentunit", "0 %"), (math.nan, "s", ""),
    ],
)  # fmt: skip
def test_numbers_with_units(value: float, unit: str, text: str) -> None:
    """Three figures, and a prefix where there is one."""
    assert told(value, unit) == text


def test_what_is_put_in() -> None:
    """Grafana's rules: a rate needs four scrapes or a step and one; all is all; one may be chosen."""
    expr = 'rate(a{job=~"$job", uuid=~"${uuid}"}[$__rate_interval]) / increase(b[$__interval]) + c[$__range]'
    given = {"step_s": 2.0, "range_s": 180.0, "scrape_s": 1.0}
    assert filled(expr, **given, chosen={"uuid": "GPU-1"}) == (
        'rate(a{job=~".+", uuid=~"GPU-1"}[4000ms]) / increase(b[2000ms]) + c[180000ms]'
    )
    assert filled("rate(a[$__rate_interval])", step_s=60, range_s=3600, scrape_s=15) == "rate(a[75000ms])"
    assert [seconds(text) for text in ("now-6h", "90s", "5m", "500ms")] == [21600, 90, 300, 0.5]
    assert (step(180, 1), step(21600, 1), step(180, 10)) == (1, 90, 10)
    with pytest.raises(ValueError, match="got 'a while'"):
        seconds("a while")


def test_a_colour_is_that_of_the_highest_threshold_below() -> None:
    """Red under 90 %, orange from there, green from 99 %, as the board has it."""
    [panel] = [item for item in boards.panels(boards.read("load")) if item["id"] == 101]
    thresholds = panel["fieldConfig"]["defaults"]["thresholds"]
    red, orange, green = (color_at(value, thresholds) for value in (0.5, 0.9, 0.995))
    assert len({red, orange, green}) == 3
    assert color_at(0.8999, thresholds) == red


class Answers(BaseHTTPRequestHandler):
    """A Prometheus that has two series of everything, or refuses."""

    def do_POST(self) -> None:
        """Answer, as its API does."""
        asked = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        labels = [
            {"le": le, "gpu": le, "uuid": f"GPU-{le}", "reason": "hw_thermal", "job": "llmload", "instance": "a:1",
             "run": "a-run", "step": "0", "workload": "short"} for le in ("0.1", "+Inf")
        ]  # fmt: skip
        at = float(asked.get("time", asked.get("end", ["0"]))[0])
        if self.path.endswith("/query"):
            result = [{"metric": item, "value": [at, "1"]} for item in labels]
        else:
            result = [{"metric": item, "values": [[at - n, str(n % 2)] for n in (9, 6, 3, 0)]} for item in labels]
        body = json.dumps({"data": {"result": result}}).encode()
        self.send_response(400 if "refuse" in self.path else 200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where it answers."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_every_kind_of_panel_is_drawn(url: str, tmp_path: Path) -> None:
    """Of a board with one of each and both tables; the one that has nothing to show is named."""
    board, chosen = boards.read("load"), {}
    for item in [panel for name in ("load", "soak", "gpu") for panel in boards.panels(boards.read(name))]:
        chosen.setdefault((item["type"], bool(item.get("transformations") and item.get("interval"))), item)
    chosen["empty", False] = {**next(boards.panels(board)), "title": "nothing", "targets": []}
    board["panels"] = list(chosen.values())
    path = tmp_path / "board.png"
    assert {kind for kind, _ in chosen} == {*KINDS, "empty"}
    assert Page(board, Prometheus(url), 1000.0, 1010.0, 1.0).picture(path) == ["nothing"]
    assert path.read_bytes().startswith(PNG)


def test_no_prometheus(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence, and no picture; without --out none would have come to the README's."""
    monkeypatch.setattr("dashboards.draw.__main__.OUT", tmp_path)
    assert main(["http://127.0.0.1:9"]) == 3
    assert capsys.readouterr().err.startswith("no Prometheus answers at http://127.0.0.1:9: ")
    assert list(tmp_path.iterdir()) == []
    assert OUT.relative_to(Path(__file__).parents[2]).parts == ("runs", "pictures")


def test_a_refusal_names_the_query(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what Prometheus said."""
    assert main([f"{url}/refuse", "--board", "load", "--out", str(tmp_path)]) == 3
    assert "llmload_step_start_timestamp_seconds" in capsys.readouterr().err
