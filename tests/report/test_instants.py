"""Whether slow first tokens come when something is sampled: an effect that is there is told, and none that is not."""

import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmload.report import instants
from llmload.report.instants import Moments, Waits
from tests.report.synthetic import START, lines, record, second, step
from tests.report.worked import built_of

RANDOM = np.random.default_rng


def every(seconds: float, until: float = 600.0, took: float = 0.02, first: float = 3.0) -> dict[str, Moments]:
    """A page that is looked at so often."""
    at = np.arange(first, until, seconds)
    return {"a page": Moments(at, at + took)}


def load(seed: int, users: int = 4, until: float = 600.0) -> Waits:
    """Users that each ask again as soon as an answer of some 1.2 s has come; its first token comes after some 80 ms."""
    draw = RANDOM(seed)
    starts, waits = [], []
    for _ in range(users):
        now = draw.uniform(0, 1)
        while now < until:
            wait = draw.lognormal(math.log(0.08), 0.4)
            starts.append(now)
            waits.append(wait)
            now += wait + draw.uniform(0.9, 1.3)
    return Waits(np.array(starts), np.array(waits), np.zeros(len(starts), dtype=np.int64))


def stalled(waits: Waits, at: np.ndarray, reach: float, more: float) -> Waits:
    """The same on a server that stands still for a while at these moments: who waits then waits longer."""
    near = np.searchsorted(at, waits.start + waits.wait_s + reach) > np.searchsorted(at, waits.start)
    return Waits(waits.start, waits.wait_s + np.where(near, more, 0.0), waits.group)


def test_a_sample_every_15_s_that_makes_first_tokens_jump_is_found() -> None:
    """The known case: an exporter that is asked every 15 s, and who is near a first token then waits 300 ms more."""
    moments = every(15)
    at = moments["a page"].at
    (found,) = instants.find(stalled(load(1), at, 0.3, 0.3), moments)
    assert (found.source, found.every_s) == ("a page", 15)
    assert found.hit >= 25
    assert found.hit > 4 * found.expected
    assert found.p < 1e-9


@pytest.mark.parametrize("seconds", [0.25, 1, 5, 15, 60])
def test_nothing_is_found_where_nothing_is(seconds: float) -> None:
    """Forty loads that know nothing of the samples, and no alarm at any period."""
    assert not [seed for seed in range(40) if [*instants.find(load(seed, until=300), every(seconds, 300))]]


def test_a_load_in_step_with_the_sampling_is_no_effect() -> None:
    """Every request is sent 50 ms before a sample and waits 100 ms or so: all have one in their wait, slow or not."""
    start = np.arange(0, 600.0) + 0.95
    wait = RANDOM(1).uniform(0.09, 0.14, len(start))
    moments = every(1, 601, first=0.0)
    assert moments["a page"].inside(start, 0.09).all()
    assert not [*instants.find(Waits(start, wait, np.zeros(600, dtype=np.int64)), moments)]


def test_long_waits_are_no_effect() -> None:
    """Slow ones wait for 3 s and always have a sample in it, the others for 10 ms and hardly ever do."""
    start = np.arange(0, 600.0, 0.7)
    wait = np.where(np.arange(len(start)) % 20 == 0, 3.0, 0.01)
    assert not [*instants.find(Waits(start, wait, np.zeros(len(start), dtype=np.int64)), every(1))]


def test_it_is_told_by_requests_near_it() -> None:
    """For 5 minutes the server is slow at times, and looks come often and take long; then neither: no effect."""
    waits = load(2)
    slow = (waits.start < 300) & (RANDOM(3).random(len(waits.start)) < 0.1)
    often = np.arange(0, 300.0)
    at = np.concatenate((often, np.arange(300, 600, 10.0)))
    waits = Waits(waits.start, waits.wait_s + np.where(slow, 0.5, 0.0), waits.group)
    assert not [*instants.find(waits, {"a page": Moments(at, at + np.where(at < 300, 0.5, 0.02))})]


def test_the_more_sources_there_are_the_surer_one_has_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one source alone is found for is not enough where it is one of three."""
    moments = every(15)
    waits = stalled(load(1), moments["a page"].at, 0.3, 0.3)
    (found,) = instants.find(waits, moments)
    monkeypatch.setattr(instants, "CHANCE", 2 * found.p)
    assert [*instants.find(waits, moments)] == [found]
    assert not [*instants.find(waits, moments | {"b": every(1)["a page"], "c": every(2)["a page"]})]


def test_a_look_lasts_until_its_answer() -> None:
    """From 10 to 12 s; waits of 0.5 s from each of these on have it in them, or not."""
    look = Moments(np.array([10.0]), np.array([12.0]))
    assert look.inside(np.array([9.4, 9.5, 11.5, 12.0, 12.1]), 0.5).tolist() == [False, True, True, True, False]


def test_one_cause_counts_once() -> None:
    """Forty requests that one pause held up are one: a single bad moment beside a sample says nothing."""
    quiet = load(3)
    at = every(15)["a page"].at[20]
    start = np.concatenate((quiet.start, np.full(60, at - 0.1)))
    wait = np.concatenate((quiet.wait_s, np.full(60, 2.0)))
    begin, end, _ = instants.slow(Waits(start, wait, np.zeros(len(start), dtype=np.int64)))
    assert (end[np.searchsorted(begin, at) - 1] >= at).all()
    assert len(begin) == len(np.unique(begin))
    assert not [*instants.find(Waits(start, wait, np.zeros(len(start), dtype=np.int64)), every(15))]


def test_slow_ones_are_the_twentieth_part_of_each_group() -> None:
    """Of 40 short and 40 long waits the two longest each; 39 of a third are too few. Those that overlap are one."""
    start = np.arange(119, dtype=float)
    wait = np.concatenate((np.linspace(0.1, 0.2, 40), np.linspace(0.3, 1.5, 40), np.full(39, 9.0)))
    begin, end, others = instants.slow(Waits(start, wait, np.repeat([0, 1, 2], [40, 40, 39])))
    assert begin.tolist() == [38, 39, 78]
    assert end.tolist() == pytest.approx([38 + wait[38], 39 + wait[39], 79 + 1.5])
    assert len(others) == 115


def test_the_warning_names_the_page_and_the_numbers(tmp_path: Path) -> None:
    """A page that takes 200 ms every 15 s, and every first token that falls into that comes when it is over."""
    looks = [
        {"at": START + at, "source": "http://gpu:9400/metrics", "took_ms": 200, "gpus": []} for at in range(0, 600, 15)
    ]
    lines(tmp_path / "gpu.jsonl", looks)
    sent = [k * 0.49 for k in range(1200)]
    late = [15 * round(at / 15) - at for at in sent]  # how long after it was sent the next look begins
    ttft = [1000 * (near + 0.2) if -0.2 < near < 0.08 else 80.0 + k % 7 for k, near in enumerate(late)]
    built = built_of(
        tmp_path,
        [record(k, sent=at, ttft=ttft[k]) for k, at in enumerate(sent)],
        [step(0, 1, 0, 590)],
        generator=[second(at) for at in range(0, 590, 10)],
    )
    (warning,) = [text for text in built.warnings if "slow first tokens come" in text]
    assert warning.startswith("slow first tokens come when http://gpu:9400/metrics is asked (about every 15 s): ")
    assert "--sample-every" in warning


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7), st.integers(0, 7))
@settings(max_examples=40)
def test_the_chance_of_so_many_is_that_of_counting_all_cases(chances: list[float], hit: int) -> None:
    """Against every combination of events that come true and do not."""
    cases = product((0, 1), repeat=len(chances))
    told = sum(
        math.prod(p if yes else 1 - p for p, yes in zip(chances, case, strict=True))
        for case in cases
        if sum(case) >= hit
    )
    assert instants.at_least(hit, chances) == pytest.approx(told, abs=1e-12)
