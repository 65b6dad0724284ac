"""gpu.jsonl and server.jsonl to the blocks of a row: tables worked by hand, lines that come late, twice or garbled."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.report import building, gates
from llmload.report.telemetry import Telemetry, gpu_of, gpus, restarts, server_of, servers
from tests.report.sampled import METRICS, PAGE, constant, every, gpu, look, served, telemetry
from tests.report.synthetic import START, lines, record, step, write
from tests.report.worked import rows_of

H100: dict[str, Any] = {
    "memory_total_bytes": 80e9,
    "power_limit_watts": 700,
    "utilization_ratio": 0.9,
    "temperature_celsius": 60,
}


def block(found: Telemetry, begin: float, end: float, tokens: float | None = None) -> dict[str, Any]:
    """The block `gpu` of a window that there is one of."""
    got = gpu_of(found, START + begin, START + end, tokens)
    assert got is not None
    return got


def busy(at: float) -> dict[str, Any]:
    """Two GPUs of 300 and 100 W, from 10 s on 600 and 100; one hits its power limit in every other second."""
    joules = 300 * at if at < 10 else 3000 + 600 * (at - 10)
    first = gpu(
        0, energy_joules=9000 + joules, power_watts=300 if at < 11 else 600, memory_used_bytes=40e9 + at,
        clock_event_seconds__sw_power_cap=7 + at / 2, clock_event_seconds__hw_thermal=3, **H100,
    )  # fmt: skip
    second = {**H100, "utilization_ratio": 0.5, "temperature_celsius": 40 + at}
    return look(at, first, gpu(1, energy_joules=100 * (at + 50), memory_used_bytes=30e9, **second), age=0.4)


def test_a_block_worked_by_hand(tmp_path: Path) -> None:
    """Power and energy are sums, utilization is a mean, memory the highest sum; 2,000 tokens in 10 s."""
    found = telemetry(tmp_path, every(0.5, -5, 30, busy))
    assert orjson.dumps(gpu_of(found, np.float64(START), np.float64(START + 10), 2000))  # numpy's numbers stay outside
    assert block(found, 0, 10, 2000) == {
        "n_gpus": 2,
        "utilization_mean": pytest.approx(0.7),
        "memory_used_max_bytes": 70_000_000_010,
        "power_mean_watts": pytest.approx(400),
        "energy_joules": pytest.approx(4000),
        "joules_per_output_token": pytest.approx(2),
        "joules_idle_subtracted": None,
        "tokens_per_s_per_gpu": 100,
        "temperature_max_celsius": 60,
        "throttled_seconds": {"sw_power_cap": pytest.approx(5)},
        "coverage": pytest.approx(1),
    }
    assert block(found, 10, 20)["power_mean_watts"] == pytest.approx(700)
    assert block(found, 10, 20)["joules_per_output_token"] is None
    assert gpu_of(found, START + 100, START + 110) is None
    assert gpu_of(telemetry(tmp_path), START, START + 10) is None


def test_idle_power_is_taken_off(tmp_path: Path) -> None:
    """100 W while idle, 400 W in the window: 4,000 J, of them 3,000 for the load."""
    drawn = [look(at, gpu(energy_joules=100 * at if at < 10 else 1000 + 400 * (at - 10))) for at in range(-1, 30)]
    found = telemetry(tmp_path, drawn, sampling={"idle": {"from_s": START + 1, "to_s": START + 5}})
    assert block(found, 12, 22)["energy_joules"] == pytest.approx(4000)
    assert block(found, 12, 22)["joules_idle_subtracted"] == pytest.approx(3000)
    found = telemetry(tmp_path, drawn, sampling={"idle": {"from_s": START + 13, "to_s": START + 17}})
    assert block(found, 1, 9)["energy_joules"] == pytest.approx(800)
    assert block(found, 1, 9)["joules_idle_subtracted"] is None  # never -2,400: what drew 400 W was not idle


ENERGY = ("power_mean_watts", "energy_joules", "joules_per_output_token", "tokens_per_s_per_gpu")


def test_a_gpu_that_is_lost_is_never_the_power_of_the_rest(tmp_path: Path) -> None:
    """100 W each; one is gone 3 s into 10 s: both were there, a third was seen of one, and no sum is told."""
    both = constant(100, 20)
    both = [
        {**line, "gpus": [*line["gpus"], gpu(1, up=line["at"] - START < 3, energy_joules=100 * (line["at"] - START))]}
        for line in both
    ]
    found = telemetry(tmp_path, both)
    got = block(found, 0, 10, 500)
    assert got["n_gpus"] == 2
    assert got["coverage"] == pytest.approx(0.25)
    assert [got[key] for key in ENERGY] == [None] * 4
    later = block(found, 10, 14, 500)
    assert (later["n_gpus"], later["power_mean_watts"], later["tokens_per_s_per_gpu"]) == (1, pytest.approx(100), 125)


def test_a_page_that_falls_silent_is_no_loss_of_its_gpus(tmp_path: Path) -> None:
    """Nobody said that the second page's GPU is gone: the next window has no sum either."""
    silent = [{**line, "source": "http://b/metrics"} for line in constant(100, 8, number=1)]
    got = block(telemetry(tmp_path, [*constant(100, 40), *silent]), 20, 30, 500)
    assert (got["n_gpus"], got["power_mean_watts"], got["tokens_per_s_per_gpu"], got["coverage"]) == (1, None, None, 0)


def test_a_counter_that_was_set_back_counts_its_pieces(tmp_path: Path) -> None:
    """100 W; the driver is loaded anew at 5 s and counts from 0: the half second before it is missing."""
    drawn = [look(at + 0.5, gpu(energy_joules=5000 + 100 * at if at < 5 else 100 * (at - 4.5))) for at in range(-3, 15)]
    assert block(telemetry(tmp_path, drawn), 0, 10)["energy_joules"] == pytest.approx(950)


def test_energy_without_a_counter_is_power_over_time(tmp_path: Path) -> None:
    """And power that the driver averages over a second is not that of the step before."""
    power = [look(at + 0.2, gpu(power_watts=150 if at < 0 else 250 if at == 0 else 350)) for at in range(-5, 20)]
    got = block(telemetry(tmp_path, power), 0, 10)
    assert (got["power_mean_watts"], got["energy_joules"]) == (350, 3500)


def test_energy_that_was_told_again_is_not_new(tmp_path: Path) -> None:
    """A page that has new values every 5 s and is looked at every second: 200 W, none of it lost at the edges."""
    stale = [look(at, gpu(energy_joules=200 * (at // 5) * 5), age=None) for at in range(-10, 40)]
    assert block(telemetry(tmp_path, stale), 2, 18)["power_mean_watts"] == pytest.approx(200)


def test_of_two_sources_the_fuller_one_counts(tmp_path: Path) -> None:
    """The second tells of the same GPU every other second and of 7,000 W: it is passed over, and told."""
    other = [{**line, "source": "prometheus"} for line in constant(7000, 30)[::2]]
    found = telemetry(tmp_path, [*other, *constant(300, 30)])
    assert block(found, 0, 10)["power_mean_watts"] == pytest.approx(300)
    assert found.passed_over == (("GPU-0", "prometheus"),)


@given(st.randoms(use_true_random=False), st.floats(0, 5), st.booleans())
def test_lines_that_come_late_and_twice_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, draw: random.Random, age: float, all_twice: bool
) -> None:
    """In any order, some or all of them doubled and as old as may be: the block is that of the lines in order."""
    folder = tmp_path_factory.getbasetemp() / "late"
    ordered = every(1, -3.5, 15.5, busy)
    wanted = block(telemetry(folder, ordered), 0, 12, 100)
    mixed = [{**line, "at": line["at"] + age, "mono_ns": None, "age_s": line["age_s"] + age} for line in ordered]
    mixed += draw.sample(mixed, len(mixed) if all_twice else 7)
    draw.shuffle(mixed)
    got = block(telemetry(folder, mixed), 0, 12, 100)
    assert orjson.loads(orjson.dumps(got)) == {
        key: pytest.approx(value, rel=1e-6) if isinstance(value, float) else value for key, value in wanted.items()
    }


@given(st.floats(-3600, 3600).filter(lambda jump: abs(jump) > 1), st.integers(3, 30))
def test_a_clock_that_is_set_changes_nothing(tmp_path_factory: pytest.TempPathFactory, jump: float, place: int) -> None:
    """The wall clock of who writes jumps, its monotonic clock does not: 300 W all the same, and one jump is told."""
    folder = tmp_path_factory.getbasetemp() / "set"
    steady = constant(300, 30)
    found = telemetry(folder, [{**line, "at": line["at"] + jump * (n >= place)} for n, line in enumerate(steady)])
    assert block(found, 0, 20)["energy_joules"] == pytest.approx(6000)
    assert block(found, 0, 20)["coverage"] == pytest.approx(1)
    assert [source.sets for source in found.sources] == [1]


WRONG = [
    b"{", b"[1]", b'"x"', b"{}", b'{"at": "now", "source": "a"}', b'{"at": 1e999, "source": "a"}',
    b'{"at": 5, "source": 7, "gpus": []}', b'{"at": -5, "source": "a"}',
    b'{"at": 5, "source": "a", "gpus": [{"uuid": 3}]}',
    b'{"at": 5, "source": "a", "gpus": [{"uuid": "x", "values": [1]}]}',
    b'{"at": 5, "source": "a", "gpus": [{"uuid": "x", "up": "yes"}]}', b"\xff\xfe",
]  # fmt: skip
ODD = [
    b'{"at": 5, "source": "a", "gpus": {"uuid": "GPU-0"}}', b'{"at": 5, "source": "a", "gpus": [3, null]}',
    b'{"at": 5, "source": "a", "gpus": [{"uuid": "GPU-0", "info": 3, "gpu": {}}], "host": 3}',
    b'{"at": 5, "source": "a", "mono_ns": "x", "age_s": [], "host": {"load1": {}}}',
    b'{"at": 5, "source": "a", "gpus": [{"uuid": "GPU-0", "values": {"energy_joules": "NaN", "power_watts": true}}]}',
    b'{"at": 5, "source": "a", "paused": false}', b'{"at": 5, "error": 3}', b'{"at": 5}',
]  # fmt: skip


def test_lines_that_are_none_are_counted(tmp_path: Path) -> None:
    """What is garbled costs itself and nothing else, in both files; a cut last line is no line."""
    good = b"".join(orjson.dumps(line) + b"\n" for line in constant(300, 20))
    for name in ("gpu.jsonl", "server.jsonl"):
        (tmp_path / name).write_bytes(b"\n".join([*WRONG, *ODD]) + b"\n" + good + b'{"at": 17960000')
    write(tmp_path, [record(0)])
    built = building.compute(tmp_path)
    assert built.facts.telemetry.unreadable == 2 * len(WRONG) - 3  # server.jsonl has no rows of GPUs
    assert built.summary["rows"][-1]["gpu"]["power_mean_watts"] == pytest.approx(300)


@pytest.mark.parametrize("value", [1e16, -1e16, 1e308, -1e308, "300", True, None, [300], {"a": 300}])
def test_a_value_that_cannot_be_is_not_told(tmp_path: Path, value: Any) -> None:
    """In one sample of twenty it is as if left out; and an age that cannot be is as if it were not told."""

    def odd(at: float, else_: float) -> Any:
        return value if at == 9.5 else else_

    told = every(1, -0.5, 19.5, lambda at: look(at, gpu(power_watts=odd(at, 300), memory_used_bytes=odd(at, 2 << 30))))
    told[3]["age_s"] = value
    queue = every(1, -0.5, 19.5, lambda at: served(at, queue_seconds_sum=odd(at, at + 1), queue_seconds_count=at + 1))
    found = telemetry(tmp_path, told, queue)
    got, server = block(found, 0, 19), server_of(found, START, START + 19)
    assert server is not None
    assert [got["power_mean_watts"], got["memory_used_max_bytes"], server["queue_time_mean_ms"]] == [
        pytest.approx(300), 2 << 30, pytest.approx(1000)
    ]  # fmt: skip


def test_a_gpu_that_tells_nothing_is_not_down(tmp_path: Path) -> None:
    """It is there, and that is all: no value is known, and nothing is said of a loss."""
    found = telemetry(tmp_path, [look(at) | {"gpus": [{"uuid": "GPU-9", "up": True}]} for at in range(20)])
    got = block(found, 2, 12, 100)
    assert len(found.gpus[0].down) == 0
    assert {key: value for key, value in got.items() if value is not None} == {
        "n_gpus": 1, "tokens_per_s_per_gpu": 10, "coverage": pytest.approx(1)
    }  # fmt: skip


KEYS = ["at", "source", "gpus", "uuid", "up", "values", "age_s", "host", "mono_ns", "info", "paused", "error", "names"]
ATOMS = st.sampled_from([None, True, -1, 2**60, 0.5, 1e300, "", "x", PAGE])
JSON = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from([*KEYS, "engine", "running", "energy_joules"]), inner, max_size=5)
    ),
    max_leaves=15,
)


@given(JSON)
def test_no_line_makes_the_reader_fall(tmp_path_factory: pytest.TempPathFactory, line: Any) -> None:
    """Whatever JSON stands in a line, alone or with a moment and a source."""
    folder = tmp_path_factory.getbasetemp() / "odd"
    both = [line, {"at": START, "source": PAGE, **(line if isinstance(line, dict) else {"gpus": line})}]
    found = telemetry(folder, both, both)
    gpu_of(found, START - 5, START + 5)
    server_of(found, START - 5, START + 5)


def engine(at: float) -> dict[str, Any]:
    """Each second 10 requests end, each of 4 ms in the queue, 40 of prefill and 800 of decoding; 30 % of hits."""
    return served(
        at, running=8, waiting=2, kv_cache_usage_ratio=0.4 + at / 100, preemptions=3 + (at >= 5),
        prefix_queries_tokens=1000 * at, prefix_hits_tokens=300 * at, output_tokens=2000 * at,
        queue_seconds_sum=0.04 * at, queue_seconds_count=10 * at, prefill_seconds_sum=0.4 * at,
        prefill_seconds_count=10 * at, decode_seconds_sum=8 * at, decode_seconds_count=10 * at,
        drafted_tokens=100 * at, accepted_tokens=60 * at, start_time_seconds=1000,
    )  # fmt: skip


def test_a_server_worked_by_hand(tmp_path: Path) -> None:
    """Means of the window's own requests, from sums and counts; shares from both counters."""
    found = telemetry(tmp_path, server=every(1, 0, 40, engine))
    assert server_of(found, START + 10, START + 30) == {
        "engine": "vllm",
        "running_mean": 8,
        "waiting_mean": 2,
        "kv_cache_usage_max": pytest.approx(0.7),
        "preemptions": 0,
        "prefix_cache_hit_share": pytest.approx(0.3),
        "queue_time_mean_ms": pytest.approx(4),
        "prefill_time_mean_ms": pytest.approx(40),
        "decode_time_mean_ms": pytest.approx(800),
        "speculation_acceptance": pytest.approx(0.6),
    }
    assert (server_of(found, START + 2, START + 30) or {})["preemptions"] == 1
    assert server_of(found, START + 50, START + 60) is None


def test_what_a_server_does_not_tell_is_blank(tmp_path: Path) -> None:
    """Another engine tells only how many run, and ratios: they are means, all else is None and not 0."""
    found = telemetry(tmp_path, server=every(1, 0, 20, lambda at: served(at, running=3, prefix_hit_ratio=0.2)))
    got = server_of(found, START + 2, START + 12) or {}
    assert {key: value for key, value in got.items() if value is not None} == {
        "engine": "vllm", "running_mean": 3, "prefix_cache_hit_share": pytest.approx(0.2)
    }  # fmt: skip


@pytest.mark.parametrize("change", [{"start_time_seconds": 2000.0}, {"output_tokens": 5.0}])
def test_a_restart_is_seen(tmp_path: Path, change: dict[str, float]) -> None:
    """By the moment of its start, or by counters that begin anew; only in windows in which it may have been."""
    told = [served(at, **({"output_tokens": 100.0 * at} | (change if at > 20 else {}))) for at in range(40)]
    told = [{**line, "values": {"start_time_seconds": 1000.0, **line["values"]}} for line in told]
    found = telemetry(tmp_path, server=told)
    windows = [restarts(found, START + a, START + a + 10) for a in (5, 15, 25, 10.5, 20.5)]
    assert windows == [[], [START + 21], [], [START + 21], [START + 21]]


def test_what_is_seen_within_half_a_minute_is_one_restart(tmp_path: Path) -> None:
    """Another start at 21 s, a counter that falls at 23 s; and another start at 60 s."""
    starts = [1000.0 + 1000 * (at > 20) + 1000 * (at > 59) for at in range(80)]
    counted = [100.0 * at if at < 23 else at for at in range(80)]
    told = [served(at, start_time_seconds=starts[at], output_tokens=counted[at]) for at in range(80)]
    assert restarts(telemetry(tmp_path, server=told), START, START + 79) == [START + 21, START + 60]


def test_rows_have_the_blocks(tmp_path: Path) -> None:
    """In the row of all classes alone; 300 W for 10 s and ten tokens are 300 J a token. A gate can ask for them."""
    lines(tmp_path / "gpu.jsonl", constant(300, 20))
    lines(tmp_path / "server.jsonl", every(1, -2, 15, engine))
    (row,) = rows_of(tmp_path, [record(0)])
    assert row["gpu"]["joules_per_output_token"] == pytest.approx(300)
    assert row["server"]["running_mean"] == 8
    assert (tuple(row["gpu"]), tuple(row["server"])) == (gpus.BLOCK, servers.BLOCK)
    assert [one["gpu"] for one in building.compute(tmp_path).summary["rows"]][:-1] == [None]
    assert gates.judge(gates.parse("gpu.joules_per_output_token<=300.1@1"), [row]).holds
    assert gates.judge(gates.parse("server.engine==vllm"), [row]).holds
    assert gates.judge(gates.parse("gpu.throttled_seconds.hw_thermal==0"), [row]).words == "not measured at 1"
    assert not gates.judge(gates.parse("server.waiting_mean<1"), [row]).holds


def test_a_step_without_a_window_has_none(tmp_path: Path) -> None:
    """Neither block, whatever was sampled."""
    lines(tmp_path / "gpu.jsonl", constant(300, 20))
    (row,) = rows_of(tmp_path, [record(0, phase="warmup")], steps=[step(0, 1, None, None)])
    assert (row["gpu"], row["server"]) == (None, None)


def test_pauses_and_failed_looks_are_told(tmp_path: Path) -> None:
    """From when to when nothing was sampled on purpose, and how many looks failed with which words."""
    mark = {"source": METRICS, "mono_ns": None}
    told = [
        {"at": START + 1, "paused": True, **mark},
        {"at": START + 9, "paused": False, **mark},
        {"at": START + 10, "error": "refused", **mark},
    ]
    (source,) = telemetry(tmp_path, server=told).sources
    assert (source.looks, source.failed, source.errors) == (1, 1, ((START + 10, "refused"),))
    assert source.pauses == ((START + 1, START + 9),)
