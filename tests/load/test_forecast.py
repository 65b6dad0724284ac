"""What a run will take, by hand."""

from pathlib import Path

import pytest

from llmload.load import forecast, reading


def test_a_forecast_by_hand() -> None:
    """At one in flight smoke has 2 warm-ups, one of each class, and 5 of each in the window, so 6 short and 6 medium.

    Prompts: 6 * 120 + 6 * 250 = 2,220 tokens. Answers: 6 * 16 + 6 * 32 = 288.
    """
    step = forecast.steps(reading.load("smoke"))[0]
    assert (step.concurrency, step.warmup, step.window) == (1, 2, 10)
    assert (step.input_tokens, step.output_tokens) == (2220, 288)
    assert (step.least_s, step.most_s) == (2.0, 60.0)


def test_the_window_waits_for_the_rarest_class() -> None:
    """The mix has 5, 3 and 2 of ten: a hundred of the rarest are five hundred in all."""
    assert {step.window for step in forecast.steps(reading.load("mixed"))} == {500}


def test_cost() -> None:
    """2,000,000 tokens at 0.15 and 500,000 at 0.60 a million: 0.30 + 0.30."""
    scenario = reading.load("smoke", [("cost.per_million_input", "0.15"), ("cost.per_million_output", "0.6")])
    assert forecast.cost(scenario, 2_000_000, 500_000) == 0.6
    assert forecast.cost(reading.load("smoke"), 1, 1) is None
    assert "cost" in forecast.of(scenario)


def test_the_text() -> None:
    """The table, its sum, and what the figures stand for."""
    text = forecast.of(reading.load("smoke", [("load.max_requests", "50"), ("load.max_tokens_total", "9000")]))
    assert text == (
        "smoke: Does it work at all: a few short requests, over in seconds. Too few for any percentile\n"
        "\n"
        "  short: 1 of 2 requests, U(80,160) prompt tokens, at most 16 answer tokens\n"
        "  medium: 1 of 2 requests, U(200,300) prompt tokens, at most 32 answer tokens\n"
        "\n"
        "  in flight  time at least  warm-up  window  input tokens  output tokens\n"
        "          1            2 s        2      10         2,220            288\n"
        "          4            2 s        8      10         3,330            432\n"
        "        all            4 s       10      20         5,550            720\n"
        "\n"
        "A window lasts 2 s and until 5 requests of each class were sent, but no longer than 30 s:\n"
        "more requests than shown if the server is fast, fewer if it is slow.\n"
        "In all at least 4 s; at most 2 min, and what the warm-up takes beyond 0 s a step.\n"
        "Requests of the drain come on top, at least one for each in flight.\n"
        "The run ends at 50 requests.\n"
        "The run ends when 9,000 output tokens were asked for."
    )


def test_a_soak_is_held_for_hours_and_takes_disk() -> None:
    """100 tokens at 50 a second and 0.2 s are 2.2 s a request: 3,605 s for two in flight, 65 for one."""
    text = forecast.of(reading.load("soak"))
    assert "The step with 8 in flight is held for 4 h, by time alone.\nAny other window lasts 1 min;" in text
    assert "\n          8            4 h " in text
    given = [("load.steps", "1,2"), ("load.hold_s", "1h"), ("load.window_s", "60"), ("load.warmup_s", "5")]
    only = [("class.short.max_tokens", "100"), ("class.medium.max_tokens", "100"), ("load.window_requests", "0")]
    requests, needed = forecast.disk(reading.load("smoke", [*given, *only]), workers=2)
    assert requests == round((65 * 1 + 3605 * 2) / 2.2)
    assert needed == pytest.approx(requests * (2 * (800 + 700) + 160) + 3670 * 3500, rel=1e-4)


def test_a_forecast_by_rate() -> None:
    """At 2 and 5 a second for 10 s of warm-up and a minute: 20 and 120, 50 and 300; half of them of each class.

    Prompts of 120 and 250 tokens, answers of 16 and 32: 140 requests are 70 * 370 and 70 * 48 tokens.
    """
    wanted = [("load.kind", "rate"), ("load.rates", "2,5"), ("load.warmup_s", "10s"), ("load.window_s", "1m")]
    scenario = reading.load("smoke", [*wanted, ("load.window_requests", "0")])
    first, second = forecast.steps(scenario)
    assert (first.concurrency, first.rate, first.warmup, first.window) == (None, 2.0, 20, 120)
    assert (first.input_tokens, first.output_tokens) == (70 * 370, 70 * 48)
    assert (second.warmup, second.window, second.least_s, second.most_s) == (50, 300, 70.0, 70.0 + 30.0)
    text = forecast.of(scenario).splitlines()
    assert text[5:9] == [
        "  requests/s  time at least  warm-up  window  input tokens  output tokens",
        "           2     1 min 10 s       20     120        25,900          3,360",
        "           5     1 min 10 s       50     300        64,750          8,400",
        "         all     2 min 20 s       70     420        90,650         11,760",
    ]
    assert text[10:] == [
        "A window lasts 1 min.",
        "Requests arrive by the schedule, however long answers take; one that finds 512 in flight is not sent.",
        "In all at least 2 min 20 s; at most 3 min 20 s, and what the warm-up takes beyond 10 s a step.",
        "Requests of the drain come on top, those that arrive until the last measured one has ended.",
    ]


def test_a_window_by_rate_waits_for_the_rarest_class() -> None:
    """A hundred of one in five are 500 requests: 250 s at 2 a second, 60 s at 10, and never longer than the cap."""
    wanted = [("load.kind", "rate"), ("load.rates", "2,10"), ("load.warmup_s", "0"), ("load.window_s", "1m")]
    slow, fast = forecast.steps(reading.load("mixed", wanted))
    assert (slow.least_s, slow.window, fast.least_s, fast.window) == (250.0, 500, 60.0, 600)
    (capped,) = forecast.steps(reading.load("mixed", [*wanted[:1], ("load.rates", "0.5"), *wanted[2:]]))
    assert (capped.least_s, capped.window) == (600.0, 300)


def test_windows_by_time_alone() -> None:
    """With no number of requests to wait for, none is made up."""
    text = forecast.of(reading.load("mixed", [("load.window_s", "2h"), ("load.window_requests", "0")]))
    assert "by time" in text
    assert "A window lasts 2 h; how many requests that makes depends on the server." in text


def test_prompts_of_a_file_are_estimated(tmp_path: Path) -> None:
    """Four characters a token, and the limits of the prompts themselves."""
    (tmp_path / "data.jsonl").write_text(
        f'{{"prompt": "{"x" * 400}", "max_tokens": 10}}\n{{"prompt": "{"y" * 200}"}}\n'
    )
    (tmp_path / "s.toml").write_text(
        '[load]\nsteps = [1]\nwindow_requests = 10\n[[class]]\nname = "own"\npath = "data.jsonl"\nmax_tokens = 30\n'
    )
    scenario = reading.load(str(tmp_path / "s.toml"))
    step = forecast.steps(scenario)[0]
    assert (step.input_tokens, step.output_tokens) == (13 * 75, 13 * 20)
    assert "75 (estimated) prompt tokens" in forecast.of(scenario)
