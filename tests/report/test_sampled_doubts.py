"""WARNINGS of what the GPUs and the server told: each where its trouble is, with its number, and not on a clean run."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from llmload.report.building import Built
from tests.report.sampled import PAGE, constant, every, gpu, look, served
from tests.report.synthetic import START, lines, record, second, step
from tests.report.test_doubts import none, only
from tests.report.worked import built_of

RECORDS = [record(n, sent=n * 0.19) for n in range(110)]
"""One in flight for 20.9 s: 10 tokens every 0.19 s, the first of them after 100 ms."""
END = 110 * 0.19
STEPS = [step(0, 1, 0, END)]


def run(
    folder: Path,
    gpus: Iterable[dict[str, Any]] = (),
    server: Iterable[dict[str, Any]] = (),
    records: list[dict[str, Any]] = RECORDS,
    **more: Any,
) -> Built:
    """A run of one step that was sampled like this."""
    folder.mkdir(parents=True, exist_ok=True)
    lines(folder / "gpu.jsonl", gpus)
    lines(folder / "server.jsonl", server)
    more = {"steps": STEPS, **more}
    return built_of(folder, records, generator=[second(at) for at in range(21)], **more)


def one(at: float, **values: Any) -> dict[str, Any]:
    """One GPU of 300 W that can draw 700, with more of its values."""
    return look(at, gpu(**{"energy_joules": 300 * at + 9000, "power_limit_watts": 700, **values}))


def engine(at: float, **values: float) -> dict[str, Any]:
    """A server that serves these records alone: 5.26 a second, first tokens after 99 ms by its clock."""
    n = at / 0.19
    told = {
        "running": 0.98, "waiting": 0, "output_tokens": 10 * n, "ttft_seconds_count": n, "ttft_seconds_sum": 0.099 * n,
        "preemptions": 0, "prefix_queries_tokens": 200 * n, "prefix_hits_tokens": 4 * n, "start_time_seconds": 1000,
    }  # fmt: skip
    return served(at, **{**told, **values})


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A run in which GPU and server did as they should."""
    idle = {"sampling": {"idle": {"from_s": START - 8, "to_s": START - 4}}}
    drawn = [
        one(at, energy_joules=9000 + (300 * at if at > -2 else 100 * at - 400), utilization_ratio=float(at > -2))
        for at in (n + 0.5 for n in range(-10, 25))
    ]
    return run(tmp_path_factory.mktemp("clean"), drawn, every(1, -5.5, 25.5, engine), run=idle)


def test_a_clean_run_has_none_of_them(clean: Built, tmp_path: Path) -> None:
    """The same warnings as without samples."""
    assert clean.summary["rows"][-1]["gpu"]["power_mean_watts"] == pytest.approx(300)
    assert clean.warnings == run(tmp_path).warnings


def test_throttled_and_capped(tmp_path: Path) -> None:
    """Heat for a tenth of the window spoils it; the power cap for half of it is told as what it is."""
    hot = every(1, -5.5, 25.5, lambda at: one(at, clock_event_seconds__hw_thermal=at / 10 + 9,
                                              clock_event_seconds__sw_thermal=50 * at + 900,
                                              clock_event_seconds__sw_power_cap=at / 2 + 9))  # fmt: skip
    built = run(tmp_path, hot)
    told = "GPU 0 2.1 s by hw_thermal at 1 in flight, GPU 0 1,045 s by sw_thermal at 1 in flight (the limit is 0.1 s)"
    assert f"{told}. Discard" in only(built, "throttled")
    words = only(built, "held the GPUs' clocks down")
    assert "the power limit of 700 W" in words
    assert "up to 50 % of the window" in words


def test_a_lost_gpu(tmp_path: Path) -> None:
    """In the window in which it went; where it was away all through; and its page that fell silent."""
    steps = [step(0, 1, 0, 10), step(1, 1, 11, END)]
    told = [look(at + 0.5, gpu(0, energy_joules=9 * at), gpu(1, up=at < 5, energy_joules=at)) for at in range(-3, 25)]
    built = run(tmp_path / "a", told, steps=steps)
    assert "GPU 1. Energy" in only(built, "a GPU was lost at 1 in flight")
    assert "how many of 2" in only(built, "GPU 1 was not there at all at 1 in flight")
    error = {"at": START + 12, "source": PAGE, "mono_ns": None, "error": "timed out after 1 s"}
    silent = [*(line for line in told if line["at"] - START < 5), error]
    words = only(run(tmp_path / "b", silent), "the GPUs were seen for as little as 22 %")
    assert "1 of 9 looks at http://gpu-host:9835/metrics failed (timed out after 1 s)" in words


def test_energy_that_is_not_whole(tmp_path: Path) -> None:
    """A counter that began anew, and a GPU that has none."""
    anew = [look(at + 0.5, gpu(energy_joules=300 * at + (9000 if at < 8 else 0))) for at in range(-3, 25)]
    only(run(tmp_path / "a", anew), "the energy counter of GPU 0 was set back at 1 in flight")
    only(
        run(tmp_path / "b", every(1, -3, 25, lambda at: look(at, gpu(power_watts=300)))), "GPU 0 has no energy counter"
    )


def test_a_gpu_that_was_busy_before(tmp_path: Path) -> None:
    """60 % of the time, or half of its power, before the first request."""
    idle = {"sampling": {"idle": {"from_s": START - 8, "to_s": START - 2}}}
    busy = every(1, -9.5, 25.5, lambda at: one(at, utilization_ratio=0.6))
    assert "GPU 0 was busy for 60 % of the time" in only(run(tmp_path / "a", busy, run=idle), "were not idle")
    built = run(tmp_path / "b", every(1, -9.5, 25.5, one), run=idle)
    assert "GPU 0 drew 43 % of its power limit" in only(built, "were not idle")


def test_errors_of_a_gpu(tmp_path: Path) -> None:
    """An XID that came in the run and an uncorrected ECC error; those of before, and corrected ones, are not told."""
    told = every(1, -3.5, 25.5, lambda at: one(at, ecc_errors__uncorrected=7 + (at > 9), ecc_errors__corrected=at + 9,
                                               **({"xid_errors__79": 1} if at > 9 else {})))  # fmt: skip
    assert "GPU 0 1 of XID 79, GPU 0 1 of ECC uncorrected." in only(run(tmp_path / "a", told), "GPUs told errors")


def test_errors_that_are_no_news(tmp_path: Path) -> None:
    """Seven that a look or two does not tell, or that are no number; who counts was started anew and saw two."""
    holes = every(1, -3.5, 25.5, lambda at: one(at, **({} if -4 < at < -1 or at == 9.5 else {"ecc_errors__sram": 7})))
    none(run(tmp_path / "a", holes), "GPUs told errors")
    none(run(tmp_path / "b", every(1, -3.5, 25.5, lambda at: one(at, xid_errors__79="x"))), "GPUs told errors")
    anew = every(1, -3.5, 25.5, lambda at: one(at, xid_errors__31=3 if at < 5 else 2))
    assert "GPU 0 2 of XID 31." in only(run(tmp_path / "c", anew), "GPUs told errors")


def test_a_source_that_never_answers(tmp_path: Path) -> None:
    """Its name, and what was said last."""
    mute = [{"at": START + at, "source": PAGE, "error": f"timed out {at}"} for at in range(20)]
    assert "http://gpu-host:9835/metrics could not be read in any of 20 looks (timed out 19)" in only(
        run(tmp_path, mute), "could not be read in any"
    )


def test_a_host_that_starves(tmp_path: Path) -> None:
    """Eight cores busy of eight, two of them stolen; swap, memory and TCP at their ends."""

    def host(at: float) -> dict[str, Any]:
        return one(at) | {"host": {
            "cpu_seconds.busy": 8 * at + 99, "cpu_seconds.steal": 2 * at + 99, "cpus": 8, "swapped_in_bytes": 1e6 * at,
            "memory_total_bytes": 100e9, "memory_available_bytes": 1e9, "tcp_segments_sent": 1000 * at,
            "tcp_retransmits": 20 * at,
        }}  # fmt: skip

    words = only(run(tmp_path, every(1, -3.5, 25.5, host)), "had too little of something")
    for part in ("90 % of its cores were busy", "5 % of its cores", "from swap", "5 % of its memory", "1 % of its TCP"):
        assert part in words


def test_sources_that_tell_twice_or_by_a_clock_that_was_set(tmp_path: Path) -> None:
    """And lines that cannot be read."""
    told = constant(300, 30)
    jumped = [{**line, "at": line["at"] + 60 * (n > 9), "source": "sidecar"} for n, line in enumerate(told[::2])]
    built = run(tmp_path, [*told, *jumped, {"at": "never"}])
    assert "sidecar was passed over" in only(built, "told by several sources")
    assert "sidecar (1 times)" in only(built, "the clock was set while samples were taken")
    only(built, "1 lines or rows of gpu.jsonl and server.jsonl cannot be read")


def test_prefix_hits_where_there_should_be_none(tmp_path: Path) -> None:
    """40 % found; not told where prompts may repeat, share a head, or where the template is that long."""
    warm = every(1, -5.5, 25.5, lambda at: engine(at, prefix_hits_tokens=80 * at / 0.19))
    assert "up to 40 % of the prompt tokens" in only(run(tmp_path / "a", server=warm), "in its prefix cache")
    none(run(tmp_path / "b", server=warm, cache_busting=False), "in its prefix cache")
    shared = [{"name": "short", "shared_prefix_share": 0.5}]
    none(run(tmp_path / "c", server=warm, classes=shared), "in its prefix cache")
    none(run(tmp_path / "d", server=warm, run={"preflight": {"overhead_tokens": 70}}), "in its prefix cache")


def test_prefix_hits_of_the_template_where_no_request_ended_well(tmp_path: Path) -> None:
    """Four prompts of 60 tokens, 25 of each found: 42 %, of which a template of 30 explains all, one of 16 27 %.

    By the requests in flight in the window, since there is no success to tell how long a prompt was.
    """
    cut = [record(n, sent=n * 5.0, outcome="total_timeout", end=5000) for n in range(4)]
    found = every(1, -5.5, 25.5, lambda at: engine(at, prefix_queries_tokens=12 * at, prefix_hits_tokens=5 * at))
    window = {"server": found, "records": cut, "steps": [step(0, 1, 0, 20)]}
    none(run(tmp_path / "a", **window, run={"preflight": {"overhead_tokens": 30}}), "in its prefix cache")
    words = only(run(tmp_path / "b", **window, run={"preflight": {"overhead_tokens": 16}}), "in its prefix cache")
    assert "up to 42 % of the prompt tokens" in words


def test_a_ratio_of_prefix_hits_without_a_success(tmp_path: Path) -> None:
    """Of an engine that tells no tokens looked up, and of prompts whose length nobody knows, nothing can be said."""
    cut = [record(n, sent=n * 5.0, outcome="total_timeout", end=5000) for n in range(4)]
    told = every(1, -5.5, 25.5, lambda at: served(at, running=0.98, prefix_hit_ratio=0.4))
    window = {"server": told, "steps": [step(0, 1, 0, 20)]}
    template = {"preflight": {"overhead_tokens": 10}}
    assert "up to 40 %" in only(run(tmp_path / "a", **window, records=cut), "in its prefix cache")
    none(run(tmp_path / "b", **window, records=cut, run=template), "in its prefix cache")
    assert "up to 40 %" in only(run(tmp_path / "c", **window, run=template), "in its prefix cache")


def test_preemptions(tmp_path: Path) -> None:
    """Three requests lost their place, with the cache 99 % full."""
    full = every(1, -5.5, 25.5, lambda at: engine(at, kv_cache_usage_ratio=0.99, preemptions=3 * (at > 5)))
    assert "3 at 1 in flight (KV cache up to 99 % full)" in only(run(tmp_path, server=full), "to make room")


def test_a_queue_in_front_of_free_places(tmp_path: Path) -> None:
    """Two wait although there are four slots; with one slot that is as it must be."""
    four, single = (
        every(1, -5.5, 25.5, lambda at, n=n: engine(at, waiting=2, slots=n))  # type: ignore[misc]
        for n in (4, 1)
    )
    words = only(run(tmp_path / "a", server=four), "in the server's queue although it has room for 4")
    assert "on average 2 of 1 at 1 in flight" in words
    none(run(tmp_path / "b", server=single, steps=[step(0, 1, 0, END)]), "in the server's queue")


def test_arrivals_that_come_together_queue_with_reason(tmp_path: Path) -> None:
    """Twelve at once, a second long, every four seconds: 3 in flight on average, and 8 wait behind four full slots."""
    bursts = [record(12 * n + k, sent=4 * n, gaps=(100.0,) * 9) for n in range(5) for k in range(12)]
    busy = every(0.5, -5.25, 25.75, lambda at: engine(at, slots=4, waiting=8 * (at > 0 and at % 4 < 1)))
    built = run(tmp_path, server=busy, records=bursts)
    row = built.summary["rows"][-1]
    assert row["in_flight_mean"] == pytest.approx(60 / END)
    assert row["server"]["waiting_mean"] > 1
    none(built, "in the server's queue")


@pytest.mark.parametrize(("theirs", "words"), [(0.05, "later than the server says"), (0.19, "sooner than the server")])
def test_first_tokens_by_both_clocks(tmp_path: Path, theirs: float, words: str) -> None:
    """100 ms here; 50 or 190 ms by the server's clock."""
    other = every(1, -5.5, 25.5, lambda at: engine(at, ttft_seconds_sum=theirs * at / 0.19))
    got = only(run(tmp_path, server=other), "first tokens came here")
    assert words in got
    assert f"100 ms against {theirs * 1000:.3g} ms at 1 in flight; the limit is 20 ms and 20 %" in got
    none(run(tmp_path / "whole", server=other, stream=False), "first tokens came here")


def test_tokens_by_both_counts(tmp_path: Path) -> None:
    """1,100 here; 1,210 there are told, 1,110 are within what crosses the edges; hidden tokens are never streamed."""
    more = every(1, -5.5, 25.5, lambda at: engine(at, output_tokens=11 * at / 0.19))
    assert "1,210 against 1,100 at 1 in flight" in only(run(tmp_path / "a", server=more), "other numbers of output")
    near = every(1, -5.5, 25.5, lambda at: engine(at, output_tokens=10.1 * at / 0.19))
    none(run(tmp_path / "b", server=near), "other numbers of output")
    hidden = [record(n, sent=n * 0.19, output_tokens=12, hidden_tokens=2) for n in range(110)]
    none(run(tmp_path / "c", server=more, records=hidden), "other numbers of output")


def test_tokens_that_the_server_counts_at_the_end_of_a_request(tmp_path: Path) -> None:
    """Eight at once, 100 tokens in 10 s each, over and over: 960 came in the 12 s, 1,600 ended; 1,760 are too many."""
    waves = [
        record(8 * n + k, sent=10 * n, gaps=(100.0,) * 99, phase="measure" if n else "warmup")
        for n in range(3)
        for k in range(8)
    ]
    steps = [step(0, 8, 9.05, 21.05)]
    for folder, each, told in (("a", 100, False), ("b", 110, True)):
        ended = every(1, -5.5, 35.5, lambda at, each=each: engine(at, output_tokens=9000 + 8 * each * (at // 10)))  # type: ignore[misc]
        built = run(tmp_path / folder, server=ended, records=waves, steps=steps)
        assert built.summary["rows"][-1]["output_tokens_per_s"] * 12 == pytest.approx(960)
        (only if told else none)(built, "other numbers of output tokens")


def test_a_server_that_was_started_anew(tmp_path: Path) -> None:
    """And whose log tells errors, which another source counts more often; a third of the looks failed."""
    told = every(1, -5.5, 25.5, lambda at: engine(at, start_time_seconds=1000 + 500 * (at > 9)))
    log = [served(n / 4, log_errors=4 * (n > 36)) | {"source": "vllm.log", "engine": None} for n in range(-20, 100)]
    failed = [{key: line[key] for key in ("at", "source")} | {"error": "HTTP 500"} for line in told[::3]]
    built = run(tmp_path, server=[*told, *failed, *log])
    assert built.summary["rows"][-1]["server"]["engine"] == "vllm"
    only(built, "the server was started anew at 1 in flight")
    assert "4 lines at 1 in flight" in only(built, "the server's log tells errors")
    assert "in 11 of 43 looks (HTTP 500)" in only(built, "metrics could not be read")
    once = [line | {"values": {"log_errors": line["values"]["log_errors"] // 4}} for line in log]
    assert "errors: 1 line at 1 in flight. Read" in only(run(tmp_path / "once", server=once), "the server's log tells")
