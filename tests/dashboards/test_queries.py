"""Every query of every panel and rule against a real Prometheus: of a real run with a sidecar, and of seeded hours.

The run is two runs at once, in a closed loop and by rate, against a simulator that fails at times; the sidecar reads a
stand-in for NVIDIA's driver, on which much is wrong.
"""

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dashboards.draw.fill import seconds
from llmload import ports
from tests.cli import commands
from tests.dashboards import boards, history, prometheus
from tests.dashboards.boards import Target, Time
from tests.dashboards.prometheus import RULES, SHIPPED, Prometheus
from tests.sidecar import stub
from tests.simulate import child

RECORDED = [rule["record"] for rule in RULES if "record" in rule]
ALERTS = {rule["alert"]: rule["expr"] for rule in RULES if "alert" in rule}

CLASS = """
[slo]
ttft_ms = 100
tpot_ms = 50
e2e_ms = 1000
itl_max_ms = 200

[[class]]
name = "short"
source = "builtin:short"
input_tokens = 60
max_tokens = 12
prompts = 10
"""
CLOSED = f"""
[load]
steps = [1, 4]
warmup_requests = 1
warmup_s = 0.1
window_s = 2
window_requests = 2
drain_limit_s = 5
settle_s = 0.1
{CLASS}
"""
BY_RATE = f"""
[load]
kind = "rate"
rates = [20]
max_in_flight = 2
warmup_s = 0.5
window_s = 4
drain_limit_s = 5
settle_s = 0.1
{CLASS}
"""
TTFT_S, ITL_S, SLOTS = 0.05, 0.01, 4
WATTS = (400, 300)
HELD_DOWN = 0.2
"""Share of the time in which GPU 0 is too hot, by the counter."""
DRIVER: dict[str, stub.Value] = {
    "grow.energy.0": WATTS[0] * 1000,
    "grow.energy.1": WATTS[1] * 1000,
    "grow.field.74": 500_000_000,
    "grow.field.252.0": HELD_DOWN * 1e9,
    "reasons.0": 0x44,
    "grow.field.197": 5_000_000,
    "grow.field.198": 7_000_000,
    "grow.field.138": 1000,
    "grow.field.139": 1000,
    "field.94": 3,
    "field.3": 5,
    "field.4.0": 2,
    "mode": None,
}
"""What is wrong with it: GPU 0 is too hot and has uncorrected errors, and the compute mode is not supported."""

BELIEVABLE = {
    "percentunit": (0, 10),
    "s": (0, 60),
    "watt": (1, 2000),
    "joule": (0, 1e8),
    "bytes": (0, 1e13),
    "Bps": (0, 1e12),
    "celsius": (1, 110),
    "hertz": (1e8, 1e10),
    "suffix: tok/s": (0, 1e6),
    "reqps": (0, 1e4),
    "cps": (0, 1e4),
    "short": (0, 1e7),
    "locale": (0, 1e8),
}
"""By unit: from, to."""
SIGNED = {
    ("load", 504): "clocks of workers against the master's",
    ("soak", 101): "drift",
    ("soak", 201): "drift",
    ("soak", 202): "drift",
    ("soak", 103): "growth of memory",
    ("soak", 402): "growth of memory",
}
"""Panels of differences, by number."""
OVER = 1.2
"""Looks of the sidecar and scrapes are not in step, so that over a few seconds a share of time may be over 1."""
EMPTY = {
    "gpu-804C": "errors of AMD's library; the GPUs are NVIDIA's",
    "soak-206C": "arrivals per second; the soak is a closed loop",
}
"""Queries that have no series here, and why."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What Prometheus has of the run, and when what was so."""

    prometheus: Prometheus
    time: Time
    """When both runs were there."""
    lost_at: float
    """A GPU was lost."""
    gone_at: float
    """All processes had ended."""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """A Prometheus with the shipped rules that scraped it all."""
    folder = tmp_path_factory.mktemp("seen")
    loads = {"closed": CLOSED, "rate": BY_RATE}
    free: set[int] = set()
    while len(free) < 3:
        free.add(ports.free())
    gpu_port, *rest = free
    metrics = dict(zip(loads, rest, strict=True))
    driver = stub.build(folder, 2)
    driver.set(DRIVER)
    with contextlib.ExitStack() as alive, contextlib.ExitStack() as gone:
        timing = ("--ttft-ms", f"{TTFT_S * 1000:g}", "--itl-ms", f"{ITL_S * 1000:g}", "--slots", str(SLOTS))
        server = gone.enter_context(child.running(*timing, "--failures", "429=0.1,cut=0.1"))
        engine_port = int(server.url.rpartition(":")[2])
        config = prometheus.shipped({"llmload": metrics["closed"], "llmload-gpu": gpu_port, "llm-server": engine_port})
        config["scrape_configs"][0]["static_configs"][0]["targets"].append(f"127.0.0.1:{metrics['rate']}")
        stored = alive.enter_context(prometheus.running(folder, config))
        given = {name: driver.env()[name] for name in ("LD_LIBRARY_PATH", "NVML_STUB_STATE", "NVML_STUB_CALLS")}
        gone.enter_context(command("sidecar", "--port", str(gpu_port), "--interval", "250ms", cwd=folder, **given))
        held = 'ALERTS{alertname="LlmloadGpuThrottled",alertstate="firing"}'
        stored.until(lambda it: it.ask(held))  # a rate needs two scrapes, and the load may be over soon
        for name, text in loads.items():
            (folder / f"{name}.toml").write_text(text)
        running = [
            commands.start(
                "run", f"{name}.toml", "--host", server.url, "--metrics-port", str(metrics[name]), "--processes", "1",
                "--run-folder", name, "--no-report", cwd=folder,
            )
            for name in loads
        ]  # fmt: skip
        for process in running:
            gone.callback(process.terminate)
        stored.until(lambda it: len(it.ask("llmload_requests_total")) > 1 and it.ask("llmload_gpu_up"), 90)
        driver.set(xids="0:79,1:31")
        said = "".join(commands.end(process).all for process in running)
        asked_for = "max by (instance) ({__name__=~'llmload_step_target_.*'})"
        spans = [item["values"] for item in stored.over(asked_for, time.time() - 600, time.time(), 0.5)]
        assert len(spans) == len(loads), said[:2000]
        began, ended = max(values[0][0] for values in spans), min(values[-1][0] for values in spans)
        driver.set({"lost.1": 1})
        stored.until(lambda it: it.ask("gpu:up:count < 2"))
        lost_at = time.time()
        gone.close()
        stored.until(lambda it: not it.ask("up == 1") and not it.ask("gpu:up:count"))
        yield Seen(stored, Time(began, ended, 1, 1), lost_at, time.time())


@contextlib.contextmanager
def command(*words: str, cwd: Path, **environment: str) -> Iterator[None]:
    """Run `llmload` while the block runs."""
    process = commands.start(*words, cwd=cwd, **environment)
    try:
        yield
    finally:
        process.terminate()
        process.communicate(timeout=60)


def values_of(found: list[list[float]]) -> list[float]:
    """Of all series together, without the points at which there is nothing to divide by."""
    return [value for series in found for value in series if not math.isnan(value)]


def believe(target: Target, found: list[list[float]]) -> None:
    """At least one series, and each value such as its unit has them, and on the panel's axis."""
    values = values_of(found)
    if str(target) in EMPTY:
        assert not values, f"{target}: it has values, so it is no exception any more"
        return
    assert values, f"{target.panel}: no value of {target.legend}: {target.expr}"
    least, most = BELIEVABLE[target.unit]
    if (target.board, target.number) in SIGNED:
        least = -most
    if target.most is not None:
        most = min(most, target.most * OVER)
    assert least <= min(values) <= max(values) <= most, (target.panel, target.legend, min(values), max(values))


# A run


@pytest.mark.parametrize("target", [*boards.targets("load"), *boards.targets("gpu")], ids=str)
def test_a_query_of_a_run(target: Target, seen: Seen) -> None:
    """It has series, with values that can be."""
    believe(target, boards.asked(seen.prometheus, target, seen.time))


def test_figures_are_those_of_the_simulator_and_of_the_driver(seen: Seen) -> None:
    """What was set is what is seen."""

    def now(query: str) -> float:
        [item] = seen.prometheus.ask(query, seen.time.end)
        return float(item["value"][1])

    def growth(counter: str) -> float:
        [item] = seen.prometheus.ask(f"{counter}[1m]", seen.time.end)
        (begin, first), (end, last) = item["values"][0], item["values"][-1]
        return (float(last) - float(first)) / (end - begin)

    for gpu, watts in enumerate(WATTS):
        assert growth(f'llmload_gpu_energy_joules_total{{gpu="{gpu}"}}') == pytest.approx(watts, rel=0.2)
    held = growth('llmload_gpu_clock_event_seconds_total{gpu="0",reason="hw_thermal"}')
    assert held == pytest.approx(HELD_DOWN, rel=0.2)
    assert TTFT_S <= now("run:ttft_seconds:p50_5m") < 10 * TTFT_S
    assert ITL_S * 0.8 <= now("run:inter_token_latency_seconds:p50_5m") < 3 * ITL_S
    assert 0.03 < now("run:error_ratio:rate5m") < 0.5
    assert now("gpu:up:count") == len(WATTS)
    assert now("server:running + server:waiting") <= SLOTS + 2


@pytest.mark.parametrize("name", RECORDED)
def test_a_recording_rule_has_values(name: str, seen: Seen) -> None:
    """In a run, by the rules as they are shipped."""
    found = [float(item["value"][1]) for item in seen.prometheus.ask(name, seen.time.end)]
    assert found
    assert all(0 <= number < 1e6 for number in found), found


HOLDS = {
    "LlmloadGpuThrottled": (1, 1, 1),
    "LlmloadGpuXid": (1, 1, 0),
    "LlmloadGpuEccUncorrected": (1, 1, 0),
    "LlmloadErrorRatio": (1, 1, 1),
    "LlmloadNotSent": (1, 1, 1),
    "LlmloadGpuLost": (0, 1, 0),
    "LlmloadGpuCountFell": (0, 1, 0),
    "LlmloadSidecarWentAway": (0, 0, 1),
    "LlmloadServerWentAway": (0, 0, 1),
}
"""Series for which an alert's condition holds: in mid-run, with a GPU lost, and with all processes ended.

GPU 0 is too hot, has uncorrected errors and XID 79; XID 31 is a program's fault. Runs that end as they should went
nowhere. What looks minutes back still holds at the end.
"""
BUSY = (
    "LlmloadBehindSchedule",
    "LlmloadLoopLag",
    "LlmloadWorkerBusy",
    "LlmloadWorkerClock",
    "LlmloadGpuHostClock",
    "LlmloadScrapeSlow",
)
"""They tell of this machine, which may be busy."""


@pytest.mark.parametrize("name", ALERTS)
def test_the_condition_of_an_alert(name: str, seen: Seen) -> None:
    """Of real series it holds when it should, and does not when it should not."""
    moments = (seen.time.end, seen.lost_at, seen.gone_at)
    found = tuple(len(seen.prometheus.ask(ALERTS[name], at)) for at in moments)
    if name not in BUSY:
        assert found == HOLDS.get(name, (0, 0, 0))


def test_alerts_of_real_rules_fire(seen: Seen) -> None:
    """Those that do not wait; and Prometheus has no rule that it could not evaluate."""
    query = 'ALERTS{alertstate="firing"}'
    assert {"LlmloadGpuXid", "LlmloadGpuThrottled", "LlmloadGpuEccUncorrected"} <= {
        item["metric"]["alertname"] for item in seen.prometheus.ask(query, seen.time.end)
    }
    groups = seen.prometheus.get("rules")["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len(rules) == len(RULES)
    assert [rule for rule in rules if rule["health"] != "ok"] == []


@pytest.mark.parametrize("name", ["load", "gpu", "soak"])
def test_variables_and_marks_of_a_board(name: str, seen: Seen) -> None:
    """Each variable has something to choose, and each mark is somewhere."""
    board = boards.read(name)
    variables = {item["name"]: item for item in board["templating"]["list"] if item["type"] == "query"}
    assert variables
    for variable in variables.values():
        assert boards.choices(seen.prometheus, variable["query"]["query"], seen.time), variable["name"]
    marks = [mark for mark in board["annotations"]["list"] if "expr" in mark]
    assert marks
    for mark in marks:
        found = seen.prometheus.over(boards.filled(mark["expr"], seen.time, 1), seen.time.begin, seen.time.end, 1)
        assert found, mark["name"]


# Six hours

HOURS = 6
SCRAPE_S = 30
END = 1_764_547_200.0
BEGIN = END - HOURS * 3600


@pytest.fixture(scope="module")
def soaked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Prometheus, Time]]:
    """A Prometheus that has six hours of a soak, and of them what the recording rules would have made."""
    folder = tmp_path_factory.mktemp("soaked")
    text, stored = folder / "history.txt", str(folder / "tsdb")
    text.write_text(history.openmetrics(HOURS, SCRAPE_S, END))
    blocks = ("tsdb", "create-blocks-from")
    done = prometheus.promtool(*blocks, "openmetrics", "--max-block-duration=24h", str(text), stored)
    assert done.returncode == 0, done.stderr
    with prometheus.running(folder, {"global": {}}) as raw:
        raw.until(lambda it: it.ask("up", END))
        done = prometheus.promtool(
            *blocks, "rules", f"--start={BEGIN:.0f}", f"--end={END:.0f}", f"--url={raw.url}", "--eval-interval=5m",
            f"--output-dir={stored}", str(SHIPPED / "rules" / "recording.yml"),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    with prometheus.running(folder, {"global": {}}) as whole:
        whole.until(lambda it: it.ask("server:running", END))
        yield whole, Time(BEGIN, END, SCRAPE_S, SCRAPE_S)


@pytest.mark.parametrize("target", boards.targets("soak"), ids=str)
def test_a_query_of_a_soak(target: Target, soaked: tuple[Prometheus, Time]) -> None:
    """It has series over hours, with values that can be."""
    whole, time_ = soaked
    believe(target, boards.asked(whole, target, time_))


def test_a_soak_shows_what_was_put_into_it(soaked: tuple[Prometheus, Time]) -> None:
    """Drift, growth and the restart."""
    whole, time_ = soaked
    targets = {str(item): item for item in boards.targets("soak")}

    def values(name: str) -> list[float]:
        return values_of(boards.asked(whole, targets[name], time_))

    hourly = history.HOURLY_DRIFT / (1 + history.HOURLY_DRIFT * (HOURS - 1))
    assert values("soak-201A")[-1] == pytest.approx(hourly, abs=0.02)
    assert values("soak-202A")[-1] == pytest.approx(0, abs=0.005)
    assert values("soak-103A")[-1] == pytest.approx(history.HOURLY_CREEP_BYTES, rel=0.01)
    assert values("soak-105A") == [1]
    attempts = values("soak-301A")
    per_s = sum(rate for rate, _ in history.CLASSES.values())
    assert attempts == pytest.approx([per_s * 3600] * HOURS, rel=0.05)


def test_alerts_of_a_soak(soaked: tuple[Prometheus, Time]) -> None:
    """Those that tell of what was put into it, and no others."""
    whole, _ = soaked
    held = set()
    for rule in (rule for rule in RULES if "alert" in rule):
        for item in whole.over(rule["expr"], BEGIN, END, SCRAPE_S):
            times = [moment for moment, _ in item["values"]]
            waits = int(seconds(rule.get("for", "0s")) / SCRAPE_S)
            if any(b - a == waits * SCRAPE_S for a, b in zip(times, times[waits:], strict=False)):
                held.add(rule["alert"])
    assert held == {
        "LlmloadGpuMemoryCreep", "LlmloadErrorRatio", "LlmloadServerRestarted", "LlmloadServerPreempts",
        "LlmloadServerWentAway",
    }  # fmt: skip
