"""Single values of a scenario file."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.load import values
from llmload.load.scenario import Lengths


@pytest.mark.parametrize(
    ("text", "expected"), [("20s", 20.0), ("150ms", 0.15), ("10m", 600.0), ("1h", 3600.0), ("1h30m", 5400.0), (7, 7.0)]
)
def test_durations_in_seconds(text: Any, expected: float) -> None:
    """A time has its own unit, or is a number of the key's unit."""
    assert values.duration("s")(text) == expected


def test_durations_in_milliseconds() -> None:
    """The same texts serve keys in milliseconds."""
    assert (values.duration("ms")("1.5s"), values.duration("ms")(200)) == (1500.0, 200.0)


@pytest.mark.parametrize("text", ["20", "20 s", "s", "-3s", "1d", "", True, None, -1, float("nan"), float("inf"), [1]])
def test_refused_durations(text: Any) -> None:
    """What is no time is refused with an example of one."""
    with pytest.raises(ValueError, match=r'expected seconds as a number, or a time such as "20s"'):
        values.duration("s")(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (217, Lengths("fixed", 217, 0)),
        ("217", Lengths("fixed", 217, 0)),
        ("N(217,40)", Lengths("normal", 217, 40)),
        ("N( 217.5 , 0 )", Lengths("normal", 217.5, 0)),
        ("U(100,300)", Lengths("uniform", 100, 300)),
    ],
)
def test_lengths(text: Any, expected: Lengths) -> None:
    """A number, a normal and a uniform distribution."""
    assert values.lengths(text) == expected


@pytest.mark.parametrize("text", [0, -1, 1.5, True, "N(217)", "n(217,40)", "U(300,100)", "N(0,5)", 10**9, "", None])
def test_refused_lengths(text: Any) -> None:
    """A length is never below 1, and low is not above high."""
    with pytest.raises(ValueError, match="expected"):
        values.lengths(text)


@given(
    st.one_of(
        st.builds(Lengths, st.just("fixed"), st.integers(1, 10**7).map(float), st.just(0.0)),
        st.builds(
            Lengths,
            st.just("normal"),
            st.floats(1, 1e6).map(lambda x: round(x, 4)),
            st.floats(0, 1e6).map(lambda x: round(x, 4)),
        ),
        st.floats(1, 1e6).map(lambda x: Lengths("uniform", round(x, 3), round(x, 3) + 1)),
    )
)
def test_lengths_round_trip(lengths: Lengths) -> None:
    """What run.json holds is read to the same distribution."""
    assert values.lengths(values.lengths_json(lengths)) == lengths


def test_extra_body_lets_sampling_through() -> None:
    """Members that do not touch the measuring are the user's."""
    body = {"top_p": 0.9, "n": 1, "echo": False, "priority": 3, "chat_template_kwargs": {"enable_thinking": False}}
    assert values.extra_body(body) == body


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"n": 2}, "n: expected 1, got 2: several choices share one usage"),
        ({"best_of": 4}, "best_of: expected 1, got 4"),
        ({"echo": True}, "echo: expected false, got true: the prompt sent back would count as the first token"),
        ({"stream": True}, "stream: cannot be set here; set stream at the top of the scenario"),
        ({"stream_options": {}}, "stream_options: cannot be set here; set stream_usage"),
        ({"max_tokens": 5}, "max_tokens: cannot be set here; set max_tokens of the class"),
        ({"messages": []}, "messages: cannot be set here; prompts come from the classes"),
        ({"stop_at": float("inf")}, "stop_at: expected something that JSON can say"),
    ],
)
def test_extra_body_refuses_what_breaks_measuring(body: dict[str, Any], words: str) -> None:
    """A16m, B17: the sentence names the key to use instead, or what would go wrong."""
    with pytest.raises(ValueError, match=re.escape(words)):
        values.extra_body(body)


@pytest.mark.parametrize(
    "name",
    [
        "Authorization", "api-key", "X-API-Key", "Ocp-Apim-Subscription-Key", "X-Auth", "X-Amz-Security-Token",
        "Client-Secret", "Cookie", "X-Password", "X-CREDENTIALS", "Proxy-Authorization",
    ],
)  # fmt: skip
def test_no_secret_in_headers(name: str) -> None:
    """A key in a file would end up in run.json; the sentence says where it belongs and does not repeat it."""
    with pytest.raises(ValueError, match="a key never stands in a file") as caught:
        values.headers({name: "sk-secret"})
    assert "sk-secret" not in str(caught.value)


def test_headers_must_be_sendable() -> None:
    """A line break in a header would be a second header."""
    with pytest.raises(ValueError, match="no valid HTTP header"):
        values.headers({"X-Priority": "1\r\nX-Other: 2"})
    assert values.headers({"X-Priority": 1}) == {"X-Priority": "1"}
