"""The text of a metrics page, whole, broken and hostile."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.gather.page import read
from llmload.gather.seen import Sample


def everything(_: str) -> bool:
    """All names are wanted."""
    return True


def test_text_and_openmetrics_are_the_same_here() -> None:
    """Types, help, exemplars, timestamps, units and the end mark change nothing about the values."""
    page = (
        "# HELP a_total Of a.\n# TYPE a counter\n# UNIT a seconds\n"
        'a_total{b="}",c="x\\"y"} 5 # {trace_id="t"} 0.5 1764543200.5\nd 1.5 1764543200000\n\n# EOF\n'
    )
    assert read(page, everything).samples == [
        Sample("a_total", {"b": "}", "c": 'x"y'}, 5.0),
        Sample("d", {}, 1.5),
    ]


def test_a_broken_line_costs_itself_alone() -> None:
    """Lines before and behind it are read, and it is told."""
    page = read('a 1\nb{c="d" 2\ne{f=g} 3\nh x\nh 4\n<html>\n', everything)
    assert page.samples == [Sample("a", {}, 1.0), Sample("h", {}, 4.0)]
    assert page.broken == ['b{c="d" 2', "e{f=g} 3", "h x"]


def test_what_is_not_wanted_is_not_looked_at() -> None:
    """A broken line of somebody else's name is nobody's fault."""
    page = read("a 1\nb_bucket{ 2\n", lambda name: name == "a")
    assert (page.samples, page.broken) == ([Sample("a", {}, 1.0)], [])


def test_no_value_is_no_sample() -> None:
    """NaN and the infinities are left out; of a doubled series the last counts."""
    page = read('a NaN\nb +Inf\nc -Inf\nd{x="1"} 1\nd{x="1"} 2\nd{x="2"} 3\ne 1e999\n', everything)
    assert page.samples == [Sample("d", {"x": "1"}, 2.0), Sample("d", {"x": "2"}, 3.0)]


@pytest.mark.parametrize("digits", [400, 5000])
def test_a_number_without_end_is_no_sample(digits: int) -> None:
    """More digits than a float or an int takes."""
    page = read(f"a 1\nb {'9' * digits}\n", everything)
    assert page.samples == [Sample("a", {}, 1.0)]


@given(st.text(st.sampled_from('ab{}=",\\ \n#19.eN_+-\t\r\x00é'), max_size=60))
def test_no_text_breaks_the_reading(text: str) -> None:
    """Any text gives finite samples and broken lines, and raises nothing."""
    page = read(text, everything)
    assert all(math.isfinite(sample.value) for sample in page.samples)
