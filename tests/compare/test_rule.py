"""The rule of three ratios: on points, on intervals, and from run folders; what stands beside it."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.compare import sides
from llmload.compare.rule import rule, weighing
from llmload.compare.rule.rule import Limits, Ratio, Rule
from llmload.compare.rule.weighing import Success, decide
from llmload.compare.sides import Level, Pair
from llmload.exits import Exit, Stop
from tests.compare.folders import rounds

GIB = 1 << 30
ALL_OK = Success(300, 300)
NAMES = (rule.SPEEDUP, rule.STABILITY, rule.RESOURCES)


def test_the_two_from_the_source_of_the_rule() -> None:
    """4.2 times as fast with 1.8 times the jitter and 1 / 0.95 of the memory is refused, 2, 2, 2 passes."""
    assert decide(4.2, 1 / 1.8, 1 / 0.95, 0.0) == "not acceptable"
    assert decide(2, 2, 2, 0.0) == "acceptable"


@pytest.mark.parametrize(
    ("three", "loss", "word"),
    [
        ((1.3, 1.3, 0.95), 0.0, "acceptable"),
        ((1.3, 0.95, 1.3), 0.0, "acceptable"),
        ((0.95, 1.3, 1.3), 0.0, "acceptable"),
        ((1.3, 1.3, 0.949), 0.0, "not acceptable"),
        ((1.2, 1.3, 1.0), 0.0, "not acceptable"),  # two must exceed it
        ((9.0, 1.1, 1.1), 0.0, "not acceptable"),
        ((2.0, 2.0, 2.0), 1.0, "acceptable"),
        ((2.0, 2.0, 2.0), 1.01, "not acceptable"),
        ((2.0, 2.0, 2.0), -5.0, "acceptable"),
        ((0.0, 2.0, 2.0), 0.0, "not acceptable"),
        ((math.inf, 2.0, 1.0), 0.0, "acceptable"),
        ((None, 2.0, 2.0), 0.0, "cannot be judged"),
        ((2.0, None, 2.0), 0.0, "cannot be judged"),
        ((2.0, 2.0, None), 0.0, "cannot be judged"),
    ],
)
def test_on_points(three: tuple[float | None, float | None, float | None], loss: float, word: str) -> None:
    """At the limits and beside them, in every order."""
    assert decide(*three, loss) == word


RATIO = st.one_of(st.floats(0, 5), st.just(math.inf))


@given(st.tuples(RATIO, RATIO, RATIO), st.floats(-5, 5), st.integers(0, 3), st.floats(0, 5))
def test_a_better_ratio_never_turns_acceptable_into_not(
    three: tuple[float, float, float], loss: float, which: int, better: float
) -> None:
    """The rule is monotone in each of the ratios and in the success share; intervals rest on that."""
    if decide(*three, loss) == "acceptable":
        raised = [value + better if at == which else value for at, value in enumerate(three)]
        assert decide(raised[0], raised[1], raised[2], loss - better if which == 3 else loss) == "acceptable"


def ratio(name: str, gain: float | None, low: float | None = None, high: float | None = None) -> Ratio:
    """A ratio by hand."""
    return Ratio(name, gain, low, high, None if not gain else 1 / gain, "not measured" if gain is None else "")


def three(*ends: tuple[float, float, float] | tuple[float] | None) -> list[Ratio]:
    """Three ratios: (gain, low, high), a point, or nothing."""
    return [ratio(name, *(end or (None,))) for name, end in zip(NAMES, ends, strict=True)]


def weigh(ratios: Sequence[Ratio], before: Success = ALL_OK, after: Success = ALL_OK) -> tuple[str, str]:
    """The word and the first sentence."""
    word, words = weighing.weigh(ratios, before, after, Limits())
    return word, words[0].replace("\N{MULTIPLICATION SIGN}", "x")


def test_on_intervals() -> None:
    """Sure, refused, and too unsure: the sentence names what decides."""
    assert weigh(three((2.0, 1.9, 2.1), (1.5, 1.3, 1.7), (1.0,))) == (
        "acceptable",
        (
            "P95 speed-up 2.0x (1.9 to 2.1), stability 1.5x (1.3 to 1.7) exceed 1.2, resources 1.00x is at least 0.95, "
            "and the success share holds (100 % against 100 %)"
        ),
    )
    assert weigh(three((2.0, 1.9, 2.1), (1.5, 1.1, 1.9), (1.0,))) == (
        "cannot be judged",
        "stability 1.5x (1.10 to 1.90) is too unsure for limits of 1.2 and 0.95",
    )
    assert weigh(three((4.2, 4.0, 4.4), (0.56, 0.5, 0.6), (1.05,))) == (
        "not acceptable",
        (
            "stability 0.56x (0.50 to 0.60) is below 0.95; only P95 speed-up 4.2x (4.0 to 4.4) exceeds 1.2, and two "
            "are needed"
        ),
    )
    assert weigh(three((1.0,), (1.0,), (1.0,))) == (
        "not acceptable",
        "none of the three exceeds 1.2, and two are needed",
    )


def test_no_gpu_data() -> None:
    """It cannot be judged, and says in a second sentence where that would change nothing."""
    word, words = weighing.weigh(three((2.0, 1.9, 2.1), (2.0, 1.9, 2.1), None), ALL_OK, ALL_OK, Limits())
    assert (word, words) == ("cannot be judged", ("no GPU data",))
    word, words = weighing.weigh(three((2.0, 1.9, 2.1), (0.5, 0.4, 0.6), None), ALL_OK, ALL_OK, Limits())
    assert (word, words[0]) == ("cannot be judged", "no GPU data")
    assert words[1] == "the other ratios and the success share would be refused whatever the missing one is"


def test_lost_success() -> None:
    """A loss within a point passes, one that may be chance cannot be judged, one that is none fails."""
    good = three((2.0,), (2.0,), (2.0,))
    assert weigh(good, Success(1000, 1000), Success(990, 1000))[0] == "acceptable"
    word, why = weigh(good, Success(100, 100), Success(98, 100))
    assert (word, why) == (
        "cannot be judged",
        (
            "the success share (98 % against 100 %: of so few attempts that may be chance) is too unsure for limits of "
            "1.2 and 0.95"
        ),
    )
    word, why = weigh(good, ALL_OK, Success(210, 300))
    assert (word, why) == ("not acceptable", "the success share fell (70 % against 100 %)")
    assert weigh(good, Success(210, 300), ALL_OK)[0] == "acceptable"
    assert weigh(good, Success(0, 0), ALL_OK)[0] == "cannot be judged"


def test_limits_that_make_no_rule() -> None:
    """Said at once."""
    for bad in ({"gain": math.nan}, {"least": -1.0}, {"success_points": math.inf}, {"gain": 0.9}):
        with pytest.raises(Stop, match="limits of the rule") as met:
            Limits(**bad)
        assert met.value.code == Exit.USAGE


Make = Callable[..., Pair]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Two sides of `n` rounds of a mix at 8 in flight; `apart` is what the candidate has of its own."""

    def made(
        n: int = 3, *, gpu: tuple[float | None, float | None] = (30, 30), noise: float = 0.02, **apart: Any
    ) -> Pair:
        common: dict[str, Any] = {
            "steps": (8,), "requests": 120, "noise": noise, "name": "mixed",
            "workloads": {"short": {"tokens": 20}, "long": {"tokens": 80}},
        }  # fmt: skip
        found = []
        for at, name in enumerate(("baseline", "candidate")):
            told = gpu[at]
            how = common | ({} if told is None else {"gpu": {"memory_bytes": told * GIB}}) | (apart if at else {})
            rounds(tmp_path / name, n, seed=100 * at + 1, every=2, first=at, **how)
            found.append(str(tmp_path / name))
        return sides.read(found).pairs[0]

    return made


def judged(pair: Pair) -> Rule:
    """The rule at 8 in flight."""
    return rule.judge(pair, Level(8, None), Limits())


def of(found: Rule, name: str) -> Ratio:
    """One of its ratios."""
    return next(item for item in (*found.ratios, *found.beside) if item.name == name)


def test_a_uniform_speed_up_raises_stability_and_not_the_coefficient(make: Make) -> None:
    """Twice as fast in everything: the deviation halves, its part of the mean does not change; memory is flat."""
    found = judged(make(ttft_ms=50, itl_ms=5))
    speed, steady, memory = found.ratios
    assert speed.low is not None
    assert speed.high is not None
    assert speed.low < 2.0 < speed.high
    assert speed.gain == pytest.approx(2.0, rel=0.1)
    assert speed.raw == pytest.approx(1 / (speed.gain or 0))
    assert steady.gain == pytest.approx(2.0, rel=0.15)
    assert (memory.gain, memory.low, memory.high) == (1.0, 1.0, 1.0)
    assert "the peaks are the same within 2 %: an engine that preallocates" in memory.words
    assert of(found, rule.VARIATION).gain == pytest.approx(1.0, rel=0.15)
    assert found.success == (1.0, 1.0)
    assert found.word == "acceptable"
    assert "The three ratios are not independent" in found.words[1]
    assert {item.name for item in found.beside} >= {"TTFT p95", "ITL p99", "joules per token"}


def test_a_mix_hides_no_jitter(make: Make) -> None:
    """Twice the jitter in each class: pooled over short and long the lengths would be nearly all that is seen."""
    found = judged(make(pace_spread=0.4, ttft_spread=0.3))
    steady = of(found, rule.STABILITY)
    assert steady.gain is not None
    assert steady.gain < 0.7
    assert "short 0." in steady.words
    assert "long 0." in steady.words
    assert found.word == "not acceptable"


def test_one_run_a_side(make: Make) -> None:
    """Intervals are over requests, and it is said what they do not hold; memory is a point."""
    found = judged(make(1, gpu=(70, 75), itl_ms=5))
    speed, steady, memory = found.ratios
    for item in (speed, steady):
        assert item.low is not None
        assert item.gain is not None
        assert item.high is not None
        assert 0.5 * item.gain < item.low < item.gain < item.high < 2 * item.gain
    assert (memory.low, memory.high) == (None, None)
    assert "88 % and 94 % of the GPUs' memory were taken" in memory.words
    assert any("Of 1 + 1 runs the intervals are over requests" in words for words in found.words)


def test_a_candidate_that_fails_at_once_is_refused(make: Make) -> None:
    """Its p95 over all attempts is infinite, its success share 30 points lower."""
    found = judged(make(ttft_ms=50, itl_ms=5, fail_share=0.3))
    assert found.ratios[0].gain == 0
    assert found.word == "not acceptable"
    assert "P95 speed-up 0.00\N{MULTIPLICATION SIGN}" in found.words[0]
    assert "the success share fell" in found.words[0]


def test_a_percentile_that_is_infinite_in_one_round_is_unsure(make: Make, tmp_path: Path) -> None:
    """Neither refused nor acceptable: it may be anything."""
    make(ttft_ms=50, itl_ms=5)
    (third,) = rounds(
        tmp_path / "more", 1, seed=900, first=9, steps=(8,), requests=120, fail_share=0.3, name="mixed",
        workloads={"short": {"tokens": 20}, "long": {"tokens": 80}}, gpu={"memory_bytes": 30 * GIB},
    )  # fmt: skip
    candidate = f"{tmp_path / 'candidate'},{third}"
    found = judged(sides.read([str(tmp_path / "baseline"), candidate]).pairs[0])
    assert (found.ratios[0].gain, found.ratios[0].low, found.ratios[0].high) == (None, 0.0, math.inf)
    assert "the candidate's p95 falls on failures in 1 of 4 rounds" in found.ratios[0].words


def test_where_both_never_finish_nothing_is_judged(make: Make, tmp_path: Path) -> None:
    """Both percentiles are infinite."""
    make(ttft_ms=50)
    for at, name in enumerate(("one", "two")):
        rounds(tmp_path / name, 1, seed=at, steps=(8,), requests=60, fail_share=0.3)
    found = judged(sides.read([str(tmp_path / "one"), str(tmp_path / "two")]).pairs[0])
    assert found.word == "cannot be judged"
    assert "P95 speed-up: " in found.words[0]


def test_without_gpus(make: Make) -> None:
    """The words of the issue."""
    found = judged(make(1, gpu=(None, None), itl_ms=5))
    assert found.word == "cannot be judged"
    assert found.words[0] == "no GPU data"
    assert "joules per token" not in {item.name for item in found.beside}


def test_weights_as_the_servers_tell(make: Make) -> None:
    """8 billion parameters of 16 bits against 4: 14.9 GiB against 3.7."""
    server = {"parameters": 8_000_000_000, "quantization_bits": 4, "quantization": "awq", "weights_format": "awq"}
    found = of(judged(make(1, environment={"server": server})), rule.WEIGHTS)
    assert found.gain is None  # the baseline does not tell its parameters
    assert found.words == "safetensors, fp8, 8 bits against awq, awq, 4 bits, as the servers tell"
