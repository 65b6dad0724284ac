"""How long answers are by themselves."""

import re
import statistics

import pytest

from llmload.simulate import lengths
from llmload.simulate.lengths import Lengths


def test_kinds_are_read():
    """One number or two, by kind."""
    assert lengths.parse("fixed:200") == Lengths("fixed", 200)
    assert lengths.parse("uniform:10,20") == Lengths("uniform", 10, 20)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("gamma:1,2", "unknown kind 'gamma'; expected one of: fixed, uniform, normal, lognormal"),
        ("fixed", "fixed takes one number"),
        ("normal:100", "normal takes two numbers"),
        ("normal:100,x", "normal takes two numbers"),
        ("fixed:inf", "fixed takes one number"),
        ("fixed:0", "at least 1 token"),
        ("uniform:20,10", "the higher bound comes second"),
    ],
)
def test_wrong_lengths_are_named(text, says):
    """Each mistake gets its sentence."""
    with pytest.raises(ValueError, match=re.escape(says)):
        lengths.parse(text)


def test_draws():
    """Fixed is fixed, uniform stays in its bounds, the others have their mean; nothing is below 1."""
    assert {lengths.parse("fixed:200").draw(1, number) for number in range(5)} == {200}
    assert {lengths.parse("uniform:3,5").draw(1, number) for number in range(100)} == {3, 4, 5}
    for text in ("normal:150,40", "lognormal:150,0.3"):
        drawn = [lengths.parse(text).draw(1, number) for number in range(3000)]
        assert statistics.mean(drawn) == pytest.approx(150, rel=0.02)
        assert drawn[:50] == [lengths.parse(text).draw(1, number) for number in range(50)]
    assert min(lengths.parse("normal:2,40").draw(1, number) for number in range(100)) == 1
