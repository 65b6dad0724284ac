"""The options that `llmload run` and the Locust command share."""

import argparse

import pytest

from llmload.exits import Exit, Stop
from llmload.load import options, reading


def parsed(*words: str) -> argparse.Namespace:
    """Parse words with the shared options alone."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for flags, keywords in options.OPTIONS:
        parser.add_argument(*flags, **keywords)
    return parser.parse_args(words)


def test_nothing_typed_changes_nothing() -> None:
    """Defaults give no override and no word."""
    assert options.overrides(parsed()) == []
    assert options.words(parsed()) == []


def test_overrides_are_dotted_keys() -> None:
    """Each option names the key it sets; --set comes behind --duration, so that it wins."""
    args = parsed(
        "--model", "m", "--steps", "1,4", "--duration", "1.5m", "--connect-timeout", "500ms",
        "--set", "load.window_requests=7", "--set", "extra_body.a=b=c", "--label", "engine=v 2",
    )  # fmt: skip
    assert options.overrides(args) == [
        ("model", "m"),
        ("load.kind", "steps"),
        ("load.steps", "1,4"),
        ("load.duration_s", "90"),
        ("limits.connect_s", "0.5"),
        ("load.window_requests", "7"),
        ("extra_body.a", "b=c"),
        ("labels.engine", "v 2"),
    ]


def test_facts_are_those_of_the_environment() -> None:
    """--fact is short for --set environment.KEY=VALUE, and stays text."""
    args = parsed("--fact", "weights=Q4_K_M of a=b", "--fact", "gpus=2", "--environment", "m.json")
    found = options.overrides(args)
    assert found == [("environment.weights", "Q4_K_M of a=b"), ("environment.gpus", "2")]
    assert reading.load("smoke", found).environment == {"weights": "Q4_K_M of a=b", "gpus": "2"}
    assert parsed(*options.words(args)) == args
    with pytest.raises(Stop, match="--fact: expected KEY=VALUE, got 'weights'"):
        options.overrides(parsed("--fact", "weights"))


def test_rates_are_a_kind_of_load() -> None:
    """--rates alone makes a load by rate of any scenario; both kinds at once are refused."""
    assert options.overrides(parsed("--rates", "2,5")) == [("load.kind", "rate"), ("load.rates", "2,5")]
    assert reading.load("mixed", options.overrides(parsed("--rates", "2,5"))).load.rates == (2.0, 5.0)
    assert reading.load("rate", options.overrides(parsed("--steps", "3"))).load.levels == ((3, None),)
    with pytest.raises(Stop, match="--steps and --rates exclude each other") as caught:
        options.overrides(parsed("--rates", "2", "--steps", "1"))
    assert caught.value.code is Exit.USAGE


@pytest.mark.parametrize(
    ("option", "key"),
    [("connect-timeout", "connect_s"), ("first-token-limit", "ttft_s"), ("stall-limit", "stall_s"),
     ("request-limit", "total_s")],
)  # fmt: skip
def test_time_limits_have_options(option: str, key: str) -> None:
    """Each sets its key of [limits]; what is no duration is a sentence with the option's name."""
    assert options.overrides(parsed(f"--{option}", "1.5m")) == [(f"limits.{key}", "90")]
    assert getattr(reading.load("mixed", options.overrides(parsed(f"--{option}", "7s"))).limits, key) == 7.0
    with pytest.raises(Stop, match=f"--{option}: expected a duration"):
        options.overrides(parsed(f"--{option}", "soon"))


def test_words_parse_back() -> None:
    """The words of parsed options give the same options again."""
    args = parsed("--steps", "1", "--set", "a=1", "--set", "b=2", "--insecure", "--out", "x y", "--label", "k=v")
    assert parsed(*options.words(args)) == args


@pytest.mark.parametrize(("text", "port"), [(None, None), ("0", 0), ("9836", 9836), ("65535", 65535)])
def test_a_port_for_metrics_is_passed_on_as_it_was_asked_for(text: str | None, port: int | None) -> None:
    """Also the default one: who asks for it must have it, who does not can do without."""
    args = parsed(*(() if text is None else ("--metrics-port", text)))
    assert options.metrics_port(args) == port
    assert options.words(args) == ([] if text is None else ["--metrics-port", text])


@pytest.mark.parametrize("text", ["", "-1", "65536", "http", "1.5", "²"])
def test_a_wrong_port_is_named(text: str) -> None:
    """What is no port stops with the option's name."""
    with pytest.raises(Stop, match=r"^--metrics-port: expected a number from 0 to 65535, got ") as caught:
        options.metrics_port(parsed("--metrics-port", text) if text != "-1" else argparse.Namespace(metrics_port="-1"))
    assert caught.value.code is Exit.USAGE


@pytest.mark.parametrize("text", ["", "0", "0s", "-1s", "20x", "s", "1 2s", "nan", "inf", "1h 30m", "true"])
def test_a_wrong_duration_is_named(text: str) -> None:
    """What is no duration over 0 stops with the option's name."""
    with pytest.raises(Stop, match=r"^--duration: expected a duration") as caught:
        options.seconds(text, "--duration")
    assert caught.value.code is Exit.USAGE


@pytest.mark.parametrize(
    ("text", "value"),
    [("20", 20), ("20s", 20), ("1.5m", 90), ("2h", 7200), ("500ms", 0.5), ("1h30m", 5400), ("1e3", 1000)],
)
def test_durations(text: str, value: float) -> None:
    """A duration is what it is in a scenario: a number with a unit, seconds without, or several in one."""
    assert options.seconds(text, "--duration") == value
    assert reading.load("smoke", [("load.window_s", text)]).load.window_s == value


@pytest.mark.parametrize("text", ["load.steps", "=1", " =1"])
def test_a_pair_needs_key_and_equals(text: str) -> None:
    """--set and --label want KEY=VALUE."""
    with pytest.raises(Stop, match="expected KEY=VALUE"):
        options.pair(text, "--set")
