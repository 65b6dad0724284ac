"""Metrics for Prometheus: after a real run every number is that of the records, also in a real Prometheus."""

import contextlib
import json
import math
import socket
import statistics
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from wsgiref.util import setup_testing_defaults

import gevent
import pytest
from prometheus_client import Metric, generate_latest
from prometheus_client.openmetrics import exposition
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from llmload.drive.exporter import Exporter, Families, Scrapes
from llmload.drive.feed import Feed
from llmload.exits import Exit, Stop
from llmload.load import options
from llmload.load.scenario import SLO, Load
from tests.dashboards import prometheus
from tests.drive import locusts
from tests.drive.locusts import Left, locust, scenario
from tests.live.played import about, worker
from tests.live.test_tally import line
from tests.report.synthetic import START, second, step
from tests.simulate import child

KEY = "sk-never-in-a-metric"


class Ran:
    """What a run left, and what was scraped of it."""

    def __init__(self, left: Left, text: str, stored: dict[str, list[dict[str, Any]]]) -> None:
        self.left = left
        self.text = text
        self.stored = stored
        self.families = {family.name: family for family in text_string_to_metric_families(text)}

    def values(self, name: str, *labels: str) -> dict[tuple[str, ...], float]:
        """Samples of a name, by some of their labels."""
        family = self.families[next(n for n in self.families if name.startswith(n) and name in names(self.families[n]))]
        return {tuple(s.labels[key] for key in labels): s.value for s in family.samples if s.name == name}


def names(family: Metric) -> set[str]:
    """The names of a family's samples."""
    return {sample.name for sample in family.samples}


QUERIES = {
    "requests": "last_over_time(llmload_requests_total[5m])",
    "ttft": "histogram_quantile(0.5, sum by (le) (last_over_time(llmload_ttft_seconds_bucket[5m])))",
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Two worker processes, several outcomes; scraped by hand and by a Prometheus to the end."""
    folder = tmp_path_factory.mktemp("metrics")
    file, port, text = scenario(folder, steps=[2, 4]), locusts.free_port(), ""
    file.write_text(file.read_text() + "\n[slo]\nttft_ms = 33.3\ntpot_ms = 11\n")
    given = ("--scenario", str(file), "--processes", "2", "--metrics-port", str(port))
    timing = ("--ttft-ms", "30", "--itl-ms", "5", "--failures", "429=0.2,cut=0.2", "--seed", "5")
    with (
        prometheus.running(folder, prometheus.scraping({"llmload": port})) as stored,
        child.running(*timing) as server,
        locust(folder, *given, "--host", server.url, OPENAI_API_KEY=KEY) as running,
    ):
        while running.process.poll() is None:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                text = answer.read().decode()
            time.sleep(0.2)
        left = running.end()
        assert stored.ready()
        return Ran(left, text, {name: stored.ask(query) for name, query in QUERIES.items()})


def test_every_counter_is_that_of_the_records(ran: Ran) -> None:
    """Requests by outcome and class, tokens, chunks, stalls; nothing was lost."""
    records = ran.left.records
    outcomes = Counter((row["outcome"], row["workload"]) for row in records)
    assert {"ok", "rate_limited", "stream_truncated"} <= {outcome for outcome, _ in outcomes}
    assert ran.values("llmload_requests_total", "outcome", "workload") == outcomes
    for name, field in (
        ("llmload_input_tokens_total", "input_tokens"),
        ("llmload_output_tokens_total", "output_tokens"),
        ("llmload_stream_chunks_total", "events"),
    ):
        sums: Counter[tuple[str, ...]] = Counter()
        for row in records:
            sums[(row["workload"],)] += row[field] or 0
        assert sums.total() > 0
        assert ran.values(name, "workload") == sums, name
    stalls = sum(gap > 200 for row in records if row["outcome"] == "ok" for gap in row["gaps_ms"])
    assert sum(ran.values("llmload_stalls_total", "workload").values()) == stalls
    assert ran.values("llmload_records_lost_total") == {(): 0.0}


def test_every_histogram_is_that_of_the_records(ran: Ran) -> None:
    """Number, sum and each bucket, of successes, class by class; loop lag from the generator's own lines."""
    good = [row for row in ran.left.records if row["outcome"] == "ok"]
    figures: dict[str, Any] = {
        "llmload_ttft_seconds": lambda row: [row["ttft_ms"]],
        "llmload_inter_token_latency_seconds": lambda row: row["gaps_ms"],
        "llmload_time_per_output_token_seconds": lambda row: [
            (row["last_token_ms"] - row["ttft_ms"]) / (row["output_tokens"] - 1)
        ],
        "llmload_request_duration_seconds": lambda row: [row["last_token_ms"]],
    }
    truth = {
        (name, workload): [ms / 1000 for row in good if row["workload"] == workload for ms in of(row)]
        for name, of in figures.items()
        for workload in ("short", "medium")
    }
    for (name, workload), values in truth.items():
        assert ran.values(f"{name}_count", "workload")[workload,] == len(values) > 0
        assert ran.values(f"{name}_sum", "workload")[workload,] == pytest.approx(sum(values))
        for (own, bound), n in ran.values(f"{name}_bucket", "workload", "le").items():
            if own == workload:
                assert n == sum(value <= float(bound) for value in values), (name, bound)
    lags = [lag for sample in ran.left.samples for lag in sample["loop_lag_ms"]]
    assert ran.values("llmload_event_loop_lag_seconds_count") == {(): len(lags)}
    assert ran.values("llmload_event_loop_lag_seconds_sum")[()] == pytest.approx(sum(lags) / 1000)


def test_gauges_of_a_run_that_is_over(ran: Ran) -> None:
    """Nobody sends, two workers were there, steps began and ended as run.json says, the run has a name."""
    steps = ran.left.run["steps"]
    for name, key in (("start", "started_at"), ("end", "ended_at")):
        times = ran.values(f"llmload_step_{name}_timestamp_seconds", "step", "concurrency")
        assert times == {(str(row["step"]), str(row["concurrency"])): pytest.approx(row[key]) for row in steps}
    assert ran.values("llmload_requests_in_flight") == ran.values("llmload_users") == {(): 0.0}
    assert ran.values("llmload_workers") == {(): 2.0}
    assert set(ran.values("llmload_worker_cpu_ratio", "worker")) == {("w0",), ("w1",)}
    assert set(ran.values("llmload_worker_clock_offset_seconds", "worker")) == {("w0",), ("w1",)}
    info = ran.families["llmload_run_info"].samples[0].labels
    assert (info["run"], info["model"], info["scenario"]) == (ran.left.run["run"], "simulated", "short")


def test_what_was_promised_is_a_bound(ran: Ran) -> None:
    """Of every histogram, so that the share that met it is a number and no guess."""
    for figure in ("ttft", "time_per_output_token", "inter_token_latency", "request_duration"):
        bounds = {bound for (bound,) in ran.values(f"llmload_{figure}_seconds_bucket", "le")}
        assert {"0.0333", "0.011", "0.2", "0.1", "+Inf"} <= bounds
        assert sum(float(bound) <= 0.1 for bound in bounds) > 20


def test_no_key_in_the_metrics(ran: Ran) -> None:
    """Nor anywhere in what was said."""
    assert KEY not in ran.text
    assert KEY not in ran.left.words


def test_promtool_finds_nothing(ran: Ran) -> None:
    """Names, units, help: what Prometheus' own checker looks for."""
    found = prometheus.promtool("check", "metrics", given=ran.text)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


def test_a_real_prometheus_has_the_last_values(ran: Ran) -> None:
    """The process waited for its last scrape; a quantile of its buckets lies near that of the records."""
    told = {
        (item["metric"]["outcome"], item["metric"]["workload"]): float(item["value"][1])
        for item in ran.stored["requests"]
    }
    assert told == Counter((row["outcome"], row["workload"]) for row in ran.left.records)
    median = statistics.median(row["ttft_ms"] / 1000 for row in ran.left.records if row["outcome"] == "ok")
    assert float(ran.stored["ttft"][0]["value"][1]) == pytest.approx(median, rel=0.5)


# Without a run


def exporter(port: str | None, *, sends: bool = False) -> tuple[Exporter, list[str]]:
    """An exporter, and what it says."""
    said: list[str] = []
    given = SimpleNamespace(metrics_port=port, metrics_host="127.0.0.1")
    voice: Any = SimpleNamespace(say=said.append)
    return Exporter(given, Feed(rows=False), voice, sends=sends), said


@pytest.fixture
def busy() -> Iterator[int]:
    """A port that somebody else has."""
    with contextlib.closing(socket.socket()) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        yield int(sock.getsockname()[1])


def test_a_default_port_that_is_taken_is_a_warning(busy: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run goes on without."""
    monkeypatch.setattr(options, "METRICS_PORT", busy)
    made, said = exporter(None)
    made.check()
    assert made.address is None
    words = "Address already in use; name another port by --metrics-port"
    assert said == [f"no metrics for Prometheus: cannot listen on 127.0.0.1:{busy}: {words}"]


@pytest.mark.parametrize(
    ("sends", "port", "words"),
    [
        (False, "{busy}", "--metrics-port: cannot listen on 127.0.0.1:{busy}: Address already in use"),
        (False, "70000", "--metrics-port: expected a number from 0 to 65535, got '70000'"),
        (False, "-1", "--metrics-port: expected a number from 0 to 65535, got '-1'"),
        (True, "{busy}", "--metrics-port: this process sends requests itself"),
    ],
)
def test_what_was_asked_for_and_cannot_be_had(busy: int, sends: bool, port: str, words: str) -> None:
    """No run begins."""
    made, _ = exporter(port.format(busy=busy), sends=sends)
    with pytest.raises(Stop) as caught:
        made.check()
    assert caught.value.message.startswith(words.format(busy=busy))
    assert caught.value.code is Exit.USAGE


@pytest.mark.parametrize(("sends", "port"), [(False, "0"), (True, "0"), (True, None)])
def test_off(sends: bool, port: str | None) -> None:
    """Nothing listens, and nothing is said."""
    made, said = exporter(port, sends=sends)
    made.check()
    assert (made.address, said) == (None, [])


def test_a_port_that_is_taken_ends_a_real_run_before_the_load(tmp_path: Path, busy: int) -> None:
    """Exit code 2, one sentence, no request."""
    given = ("--scenario", str(scenario(tmp_path)), "--processes", "1", "--metrics-port", str(busy))
    with locust(tmp_path, *given, "--host", "http://127.0.0.1:9") as running:
        left = running.end()
    assert left.code == Exit.USAGE
    assert left.complaint().startswith(f"--metrics-port: cannot listen on 127.0.0.1:{busy}")
    assert not (left.folder / "requests.jsonl").exists()


def asked(
    made: Exporter, path: str = "/metrics", method: str = "GET", query: str = "", **headers: str
) -> tuple[str, dict[str, str], bytes]:
    """Status, headers and body of an answer."""
    environ: dict[str, Any] = {"PATH_INFO": path, "REQUEST_METHOD": method, "REMOTE_ADDR": "127.0.0.1"}
    environ["QUERY_STRING"] = query
    environ |= {f"HTTP_{name.upper()}": value for name, value in headers.items()}
    setup_testing_defaults(environ)
    told: list[Any] = []
    body = b"".join(made.serve(environ, lambda status, answered: told.extend((status, dict(answered)))))
    return told[0], told[1], body


def test_answers() -> None:
    """Text, OpenMetrics and gzip as they are asked for; nothing elsewhere, nothing written."""
    made, _ = exporter("0")
    assert asked(made)[0] == "200 OK"
    assert asked(made, method="HEAD")[2] == b""
    assert asked(made, "/")[0] == "404 Not Found"
    assert asked(made, method="POST")[0].startswith("405")
    assert asked(made, accept="application/openmetrics-text")[2] == b"# EOF\n"
    assert asked(made, accept_encoding="gzip")[1]["Content-Encoding"] == "gzip"


def test_many_may_scrape(monkeypatch: pytest.MonkeyPatch) -> None:
    """One answer serves all for a moment, but never one from before the end; a query chooses nothing."""
    made, _ = exporter("0")
    tally = made._feed.tally
    tally.begin(about())
    monkeypatch.setattr("llmload.drive.exporter.FRESH_S", 3600.0)
    first = asked(made)[2]
    assert b"llmload_records_lost_total 0.0" in first
    tally.lost = 7
    assert asked(made)[2] == asked(made, query="name[]=llmload_users")[2] == first
    tally.end("DEGRADED", [], 8, START)
    assert b"llmload_records_lost_total 8.0" in asked(made)[2]


def test_nobody_is_waited_for_who_does_not_come_back() -> None:
    """One look is no scraper, and neither is one that stopped."""
    made, _ = exporter("0")
    asked(made)
    began = time.monotonic()
    made.linger(lambda: False)
    assert time.monotonic() - began < 5
    asked(made)
    made.linger(lambda: True)  # somebody pressed Ctrl-C
    assert time.monotonic() - began < 5


def test_who_scrapes_now_and_then_is_waited_for_and_it_is_said() -> None:
    """Scrapes that were five seconds apart: the process says how long it waits, and goes once the next one came."""
    made, said = exporter("0")
    times = Scrapes()
    now = time.monotonic()
    times.note(now - 5)
    times.note(now)
    made.scrapes["127.0.0.1", "None"] = times
    gevent.spawn_later(0.2, asked, made)
    made.linger(lambda: False)
    assert 0.2 <= time.monotonic() - now < 7
    assert said == ["waiting until Prometheus has the last values, at most 8 s; Ctrl-C ends it"]


def fed() -> Feed:
    """A feed in mid-run, with names that nobody should choose."""
    feed = Feed(rows=False)
    told = about('a "class"', "back\\slash", slo=SLO(e2e_ms=1234.5), load=Load(kind="rate", rates=(2.5,)))
    feed.tally.begin(told)
    feed.tally.look([step(0, None, end=None, rate=2.5)], [worker(users=3, in_flight=2, clock_offset_ms=-2.0)])
    feed.tally.record(line(0, workload='a "class"', scheduled_at=START - 0.25))
    feed.tally.record(line(1, workload="new\nline", outcome="connect_error"))
    feed.tally.sample(json.dumps(second(1.0, cpu=0.5)).encode())
    return feed


def test_odd_names_are_escaped_and_a_rate_is_a_target() -> None:
    """What is read back is what was named; the schedule's lag is there, and no concurrency."""
    page = generate_latest(Families(fed())).decode()
    families = {family.name: family for family in text_string_to_metric_families(page)}
    requests = {(s.labels["workload"], s.labels["outcome"]): s.value for s in families["llmload_requests"].samples}
    assert requests == {
        ('a "class"', "ok"): 1.0, ("back\\slash", "ok"): 0.0, ("new\nline", "ok"): 0.0,
        ("new\nline", "connect_error"): 1.0,
    }  # fmt: skip
    assert families["llmload_step_target_requests_per_second"].samples[0].value == 2.5
    assert "llmload_step_target_concurrency" not in families
    late = {(s.name, s.labels["workload"]): s.value for s in families["llmload_schedule_lag_seconds"].samples}
    assert late["llmload_schedule_lag_seconds_sum", 'a "class"'] == pytest.approx(0.25)
    assert families["llmload_worker_clock_offset_seconds"].samples[0].value == -0.002
    assert families["llmload_requests_in_flight"].samples[0].value == 2
    start = families["llmload_step_start_timestamp_seconds"].samples[0].labels
    assert (start["step"], start["rate"], start["concurrency"]) == ("0", "2.5", "")
    assert not any(math.isnan(sample.value) for family in families.values() for sample in family.samples)


def test_open_metrics() -> None:
    """The stricter format, which Prometheus asks for, holds the same families."""
    strict = openmetrics(exposition.generate_latest(Families(fed())).decode())
    plain = text_string_to_metric_families(generate_latest(Families(fed())).decode())
    assert {family.name for family in strict} == {family.name for family in plain}


def test_the_readme_names_every_metric() -> None:
    """Those of a closed loop and those of an open one."""
    closed = Feed(rows=False)
    closed.tally.begin(about())
    closed.tally.look([step(end=None)], [worker()])
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    names = {family.name for feed in (closed, fed()) for family in feed.families()}
    assert len(names) == 24
    assert [name for name in names if f"`{name}`" not in readme] == []


def test_steps_by_hand_are_bounded() -> None:
    """A person may set any number of levels; the latest hundred are told of."""
    feed = fed()
    feed.tally.look([step(n, 1 + n % 3) for n in range(500)], [worker()])
    page = generate_latest(Families(feed)).decode()
    assert page.count("llmload_step_start_timestamp_seconds{") == 100
    assert 'step="499"' in page


def test_a_fault_of_the_tally_ends_no_run(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """It is told once, and the figures stand still."""
    feed = fed()
    monkeypatch.setattr(feed.tally, "record", lambda _: 1 / 0)
    feed.records([b"{}"])
    feed.records([b"{}"])
    assert caplog.text.count("live figures stand still") == 1
    assert feed.snapshot()["totals"]["ok"] == 1
