"""Which requests fail: the list of shares, and the draw."""

import collections
import re

import pytest

from llmload.record.record import OUTCOMES
from llmload.simulate import failures
from llmload.simulate.failures import Failures


def test_a_list_is_read_in_order():
    """Statuses and named kinds, blanks allowed."""
    assert failures.parse("429=0.02, cut=0.01,error-event=0.5") == Failures(
        (("429", 0.02), ("cut", 0.01), ("error-event", 0.5))
    )
    assert failures.parse("") == Failures()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("429", "'429': expected KIND=SHARE"),
        ("stal=0.1", "unknown failure 'stal'; expected a status from 300 to 599 or one of: cut, reset"),
        ("200=0.1", "unknown failure '200'"),
        ("٤٢٩=0.1", "unknown failure"),
        ("429=2%", "expected a share from 0 to 1, got '2%'"),
        ("429=-0.1", "expected a share from 0 to 1"),
        ("429=nan", "expected a share from 0 to 1"),
        ("429=0.1,429=0.2", "'429' is named twice"),
        ("429=0.6,cut=0.6", "sum up to 1.2"),
    ],
)
def test_a_wrong_list_is_named(text, says):
    """Each wrong entry gets its own sentence."""
    with pytest.raises(ValueError, match=re.escape(says)):
        failures.parse(text)


def test_shares_come_out():
    """Of 20,000 requests the shares are hit within four standard errors, and the same ones fail again."""
    wanted = failures.parse("429=0.02,cut=0.1")
    picks = [wanted.pick(3, number, stream=True) for number in range(20_000)]
    counts = collections.Counter(picks)
    assert counts["429"] == pytest.approx(400, abs=4 * (20_000 * 0.02 * 0.98) ** 0.5)
    assert counts["cut"] == pytest.approx(2000, abs=4 * (20_000 * 0.1 * 0.9) ** 0.5)
    assert picks == [wanted.pick(3, number, stream=True) for number in range(20_000)]
    assert picks != [wanted.pick(4, number, stream=True) for number in range(20_000)]


def test_a_share_of_one_takes_all():
    """Nothing slips through, and without a list nothing fails."""
    assert {failures.parse("stall=1").pick(1, number, stream=True) for number in range(500)} == {"stall"}
    assert {Failures().pick(1, number, stream=True) for number in range(10)} == {None}


def test_kinds_of_streams_only():
    """A request for no stream is not hit by what only a stream can do."""
    assert failures.parse("json=1").pick(1, 0, stream=True) == "json"
    assert failures.parse("json=1").pick(1, 0, stream=False) is None


def test_place_of_the_failure():
    """Between the first and the last event, at the first if there is only one."""
    assert {failures.after(1, number, 4) for number in range(200)} == {1, 2, 3}
    assert {failures.after(1, number, 1) for number in range(20)} == {1}


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        (None, "ok"),
        ("429", "rate_limited"),
        ("503", "overloaded"),
        ("529", "overloaded"),
        ("500", "http_error"),
        ("404", "http_error"),
        ("502", "gateway_error"),
        ("522", "gateway_error"),
        ("307", "redirect"),
        ("cut", "stream_truncated"),
        ("stall", "stall_timeout"),
        ("no-done", "ok"),
        ("close", "stale_connection"),
    ],
)
def test_expected_outcomes(kind, outcome):
    """What a client should record, on a connection that was used before."""
    assert failures.expected(kind, first_on_connection=False) == outcome


def test_close_on_a_fresh_connection():
    """The same close is no_response where the connection is new."""
    assert failures.expected("close", first_on_connection=True) == "no_response"


@pytest.mark.parametrize("kind", failures.KINDS)
def test_every_kind_has_an_outcome_of_the_contract(kind):
    """No kind is left without a right answer."""
    assert failures.expected(kind, first_on_connection=True) in OUTCOMES
