"""Intervals by hand and against the slow way: bootstraps value by value, Student's t of the tables."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from llmload.compare.figures import FIGURES
from llmload.compare.ratios import bootstrap, drawing, intervals
from llmload.compare.ratios.attempts import Attempts
from llmload.compare.ratios.bootstrap import DRAWS, Ordered, ends, quotients, shares, weights
from llmload.report.percentiles import percentile

E2E_P95 = FIGURES["e2e_p95"]


@given(
    st.lists(st.tuples(st.sampled_from([1.0, 2.0, 2.5, 7.0, math.inf]), st.integers(0, 4)), min_size=1, max_size=40),
    st.sampled_from([50, 90, 95, 99]),
)
def test_a_percentile_of_weights_is_the_percentile_of_the_drawn_sample(
    pairs: list[tuple[float, int]], percent: int
) -> None:
    """For each draw: the units' values written out as often as the units were drawn, and report's own rule."""
    values, units = np.array([value for value, _ in pairs]), np.array([unit for _, unit in pairs])
    drawn = weights(5, 3)
    found = Ordered(values, units, drawn).percentile(percent)
    for draw in range(0, DRAWS, 97):
        sample = np.sort(np.repeat(values, drawn[draw][units].astype(int)))
        finite = sample[np.isfinite(sample)]
        expected = percentile(finite, percent, failures=len(sample) - len(finite))
        assert (expected is None and math.isnan(found[draw])) or found[draw] == pytest.approx(expected)


def test_many_values_lie_in_many_blocks_and_are_found_all_the_same() -> None:
    """Of 5,000 values of 300 units in 70 blocks each percentile is that of the sample written out."""
    draw = np.random.default_rng(5)
    values, units, drawn = draw.lognormal(size=5000), draw.integers(300, size=5000), weights(300, 1)
    ordered = Ordered(values, units, drawn)
    for percent in (50, 95, 99):
        found = ordered.percentile(percent)
        for at in (0, 17, DRAWS - 1):
            sample = np.sort(np.repeat(values, drawn[at][units].astype(int)))
            assert found[at] == pytest.approx(percentile(sample, percent))


def test_weights_are_draws_with_replacement() -> None:
    """Every draw has as many units as there are, each once on average, with the variance of a draw: 1 - 1/m."""
    drawn = weights(50, 1)
    assert drawn.shape == (DRAWS, 50)
    assert (drawn.sum(axis=1) == 50).all()
    assert drawn.var() == pytest.approx(1 - 1 / 50, rel=0.03)
    assert (weights(50, 1) == drawn).all()
    assert (weights(50, 2) != drawn).any()


def test_a_mean_and_a_rate_are_quotients_of_sums() -> None:
    """Three requests of 1, 2 and 6 tokens that took 1, 1 and 2 s: in each draw tokens / seconds of what was drawn."""
    tokens, seconds, units = np.array([1.0, 2.0, 6.0]), np.array([1.0, 1.0, 2.0]), np.arange(3)
    drawn = weights(3, 1)
    found = quotients(tokens, seconds, units, drawn)
    for at in range(20):
        assert found[at] == pytest.approx((drawn[at] @ tokens) / (drawn[at] @ seconds))


def test_the_standard_error_of_a_bootstrapped_mean_is_the_formula() -> None:
    """Of 400 values it is sd / sqrt(n), within what 1,000 draws can tell (2 % each)."""
    values = np.random.default_rng(2).normal(10, 2, 400)
    found = quotients(values, np.ones(400), np.arange(400), weights(400, 1))
    assert found.std() == pytest.approx(values.std() / 20, rel=0.1)


def test_a_share_without_a_failure_is_not_certain() -> None:
    """0 of 100 failed: the upper end of a failure share is about 2.5 %, not 0, and of 0 of 1,000 a tenth of that."""
    assert 0.015 < 1 - np.quantile(shares(100, 100, 1), 0.025) < 0.035
    assert 0.0015 < 1 - np.quantile(shares(1000, 1000, 1), 0.025) < 0.0035


def test_ends_turn_round_where_higher_is_better() -> None:
    """Baseline 10, candidate 5: of a latency the gain is 2, of a rate 0.5."""
    ten, five = np.full(DRAWS, 10.0), np.full(DRAWS, 5.0)
    assert ends(ten, five, lower=True) == bootstrap.Ends(2.0, 2.0)
    assert ends(ten, five, lower=False) == bootstrap.Ends(0.5, 0.5)


def test_a_candidate_that_is_infinite_in_some_draws_has_a_gain_of_0_there() -> None:
    """Infinite in 10 % of the draws: the low end is 0, the high end as before."""
    candidate = np.full(DRAWS, 5.0)
    candidate[: DRAWS // 10] = np.inf
    assert ends(np.full(DRAWS, 10.0), candidate, lower=True) == bootstrap.Ends(0.0, 2.0)


def test_draws_in_which_both_are_infinite_say_nothing_and_widen_both_ends() -> None:
    """Both infinite in 10 %: anything from 0 to infinity; in more than half, no interval."""
    one, two = np.full(DRAWS, 10.0), np.full(DRAWS, 5.0)
    one[: DRAWS // 10] = two[: DRAWS // 10] = np.inf
    assert ends(one, two, lower=True) == bootstrap.Ends(0.0, math.inf)
    one[: DRAWS // 2 + 1] = two[: DRAWS // 2 + 1] = np.inf
    assert ends(one, two, lower=True) is None


def test_paired_rounds_are_student_s_t_on_log_ratios() -> None:
    """Gains 1.1, 1.2, 1.3: mean log 0.17944, sd 0.08364, t(2) 4.3027: 0.9718 to 1.4734; scipy's p."""
    logs = np.log([1.1, 1.2, 1.3])
    found = intervals.contrast([logs], [1.0])
    assert found.middle == pytest.approx(1.1972, abs=1e-4)
    assert (found.low, found.high) == (pytest.approx(0.9726, abs=1e-3), pytest.approx(1.4737, abs=1e-3))
    assert found.p == pytest.approx(stats.ttest_1samp(logs, 0).pvalue)


@given(
    st.lists(st.floats(5, 7), min_size=2, max_size=6),
    st.lists(st.floats(5, 7), min_size=2, max_size=6),
)
def test_rounds_apart_are_welch_s_t(one: list[float], two: list[float]) -> None:
    """The chance is scipy's; the interval excludes 1 exactly where the chance is under 5 %."""
    assume(min(np.std(one), np.std(two)) > 1e-3)
    found = intervals.contrast([one, two], [1.0, -1.0])
    assert found.p == pytest.approx(stats.ttest_ind(one, two, equal_var=False).pvalue, abs=1e-9)
    assert (found.p < 0.05) == (found.low > 1 or found.high < 1)


def test_rounds_that_do_not_vary_make_a_point() -> None:
    """Memory that is 4 GiB in each round of one side and 2 GiB of the other: exactly 2, and no chance."""
    logs = [math.log(4)] * 3, [math.log(2)] * 3
    found = intervals.contrast(logs, [1.0, -1.0])
    assert (found.low, found.high, found.p) == (pytest.approx(2), pytest.approx(2), 0.0)
    assert intervals.contrast([logs[0], logs[0]], [1.0, -1.0]).p == 1.0


def test_a_variation_that_is_known_is_not_forgotten_where_a_few_rounds_are_alike() -> None:
    """With at least 0.1 of standard deviation in each round, three equal rounds a side make no point."""
    logs = [0.1] * 3, [0.0] * 3
    found = intervals.contrast(logs, [1.0, -1.0], [0.1, 0.1])
    assert found.low < 1 < found.high
    error = 0.1 * math.sqrt(2 / 3)
    assert math.log(found.high) == pytest.approx(0.1 + stats.t.ppf(0.975, 4) * error)


def attempts(e2e: np.ndarray, prompts: list[str | None] | None = None, gaps: int = 0, step: float = 1.0) -> Attempts:
    """Attempts with these times; `gaps` gaps each, all alike within a request, as its own E2E latency says."""
    n = len(e2e)
    ok = np.isfinite(e2e)
    names = [f"p{at}" for at in range(n)] if prompts is None else prompts
    return Attempts(
        workload=np.full(n, "short", dtype=object),
        prompt=np.array(names, dtype=object),
        times=dict.fromkeys(("ttft_ms", "tpot_ms", "e2e_ms"), e2e),
        ok=ok,
        good=ok,
        tokens=np.ones(n),
        chars=np.ones(n),
        seconds=np.where(ok, e2e, 0.0),
        gaps_ms=np.repeat(e2e * step, gaps),
        owner=np.repeat(np.arange(n), gaps),
    )


def interval(baseline: Attempts, candidate: Attempts, key: str = "e2e_p95") -> tuple[float, float, bool]:
    """The interval of a gain, and whether it is paired by prompt."""
    one, two, paired = drawing.sides([baseline], [candidate])
    figure = FIGURES[key]
    drawn = [drawing.drawn(side, "all", figure, closed=True) for side in (one, two)]
    assert drawn[0] is not None
    assert drawn[1] is not None
    found = ends(drawn[0], drawn[1], lower=figure.lower)
    assert found is not None
    return found.low, found.high, paired


def test_prompts_that_match_are_drawn_on_both_sides_at_once() -> None:
    """A candidate that is 1.5 times as fast at every prompt: no doubt about the ratio, however prompts differ."""
    base = np.random.default_rng(3).lognormal(6, 0.5, 100)
    assert interval(attempts(base), attempts(base / 1.5)) == (pytest.approx(1.5), pytest.approx(1.5), True)
    other: list[str | None] = [f"q{at}" for at in range(100)]
    low, high, paired = interval(attempts(base), attempts(base / 1.5, other))
    assert not paired
    assert low < 1.3
    assert high > 1.7


@pytest.mark.parametrize(
    ("names", "paired"),
    [
        ([f"p{at}" for at in range(100)], True),
        ([f"p{at % 19}" for at in range(100)], False),
        ([f"p{at}" if at < 91 else "new" for at in range(100)], True),
        ([f"p{at}" if at < 80 else "new" for at in range(100)], False),
        ([None] * 100, False),
    ],
    ids=["same", "too few", "nearly all", "too many others", "no ids"],
)
def test_when_prompts_match(names: list[str | None], paired: bool) -> None:
    """Twenty common prompts that carry nine of ten requests of both sides."""
    times = np.linspace(100, 200, 100)
    assert interval(attempts(times), attempts(times, names))[2] is paired


def test_gaps_of_one_request_are_drawn_together() -> None:
    """100 requests with 50 equal gaps each: the interval is as wide as of 100 gaps, not as of 5,000."""
    draw = np.random.default_rng(4)
    one, two = draw.lognormal(3, 0.2, 100), draw.lognormal(3, 0.2, 100)
    alone = [None] * 100
    low, high, _ = interval(attempts(one, alone, gaps=50), attempts(two, alone, gaps=50), "itl_p50")
    single_low, single_high, _ = interval(attempts(one, alone, gaps=1), attempts(two, alone, gaps=1), "itl_p50")
    assert high / low == pytest.approx(single_high / single_low, rel=0.03)
    assert high / low > 1.05


def test_a_rate_in_closed_loop_follows_the_seconds_in_flight() -> None:
    """Twice as long in flight at every prompt: half the rate without a doubt, as a part of what was measured 1."""
    times = np.random.default_rng(6).lognormal(0, 0.3, 200)
    low, high, _ = interval(attempts(times), attempts(times * 2), "requests")
    assert (low, high) == (pytest.approx(1.0), pytest.approx(1.0))
    one, _, _ = drawing.sides([attempts(times)], [attempts(times)])
    found = drawing.drawn(one, "all", FIGURES["requests"], closed=True)
    assert found is not None
    expected = 200 / (one.drawn[:, one.units[0]] @ times) / (200 / times.sum())
    assert found == pytest.approx(expected, rel=1e-5)


def test_the_same_runs_have_the_same_interval() -> None:
    """Seeds are fixed."""
    draw = np.random.default_rng(8)
    one, two = attempts(draw.lognormal(6, 0.3, 80)), attempts(draw.lognormal(6, 0.3, 80))
    assert interval(one, two) == interval(one, two)
