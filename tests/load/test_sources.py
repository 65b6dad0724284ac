"""What is sampled beside the load, from the options: what is typed, what it means, and what is wrong in a sentence."""

from pathlib import Path

import pytest

from llmload.exits import Exit, Stop
from llmload.load import options, reading, sources
from tests.load.test_options import parsed


def asked(*words: str) -> sources.Sources:
    """The sources of a command for the shipped mix, 1 to 32 in flight."""
    args = parsed(*words)
    return sources.asked(args, reading.load("mixed", options.overrides(args)))


def test_without_options_the_servers_own_page_is_looked_for() -> None:
    """Nothing is named, and nothing is left out; `off` leaves it out, and then there is nothing at all."""
    found = asked()
    assert (found.gpu, found.prometheus, found.server, found.every_s, found.repeated) == ((), None, None, 1.0, None)
    assert (found.none, found.named, found.tells_of_gpus) == (False, False, False)
    assert asked("--server-metrics", "off").none


def test_addresses_are_completed(tmp_path: Path) -> None:
    """Without a scheme it is http, without a page /metrics; a page and a query stay; a Prometheus has no page."""
    (tmp_path / "engine.log").touch()
    found = asked(
        "--gpu", "gpu-1:9835", "--gpu", "https://gpu-2/dcgm?x=1", "--prometheus", "prom:9090/", "--gpu-selector",
        '{job="dcgm"}', "--server-metrics", "http://10.0.0.1:8000/", "--server-log", str(tmp_path / "engine.log"),
        "--sample-every", "500ms",
    )  # fmt: skip
    assert found.gpu == ("http://gpu-1:9835/metrics", "https://gpu-2/dcgm?x=1")
    assert (found.prometheus, found.selector) == ("http://prom:9090", '{job="dcgm"}')
    assert (found.server, found.every_s) == ("http://10.0.0.1:8000/metrics", 0.5)
    assert found.server_log == str(tmp_path / "engine.log")
    assert (found.none, found.named, found.tells_of_gpus) == (False, True, True)


@pytest.mark.parametrize(("words", "step"), [((), 32), (("8",), 8)])
def test_the_step_that_is_repeated(words: tuple[str, ...], step: int) -> None:
    """The last one, or the one that is named; as words of a command it comes out as it went in."""
    assert asked("--observer-check", *words).repeated == step
    args = parsed("--observer-check", *words)
    assert parsed(*options.words(args)) == args


WRONG: dict[str, tuple[tuple[str, ...], str]] = {
    "no URL": (("--gpu", "ftp://x"), r"--gpu: expected a URL as http://gpu-host:9835/metrics, got 'ftp://x'"),
    "no host": (("--gpu", "http://"), r"--gpu: expected a URL"),
    "no port": (("--server-metrics", "http://x:port"), r"--server-metrics: expected a URL"),
    "two words": (("--prometheus", "a b"), r"--prometheus: expected a URL"),
    "a password": (("--gpu", "ftp://me:secret@x"), r"got 'ftp://…@x'"),
    "a password with a /": (("--gpu", "http://me:se/cret@x"), r"got 'http://…@x'"),
    "a password and no scheme": (("--gpu", "me:secret@x:port"), r"got '…@x:port'"),
    "twice": (("--gpu", "x:1", "--gpu", "http://x:1/metrics"), r"the same page is named twice"),
    "a selector of nothing": (("--gpu-selector", "{a='b'}"), r"--gpu-selector belongs to --prometheus"),
    "no selector": (("--prometheus", "x", "--gpu-selector", "job=dcgm"), r"--gpu-selector: expected labels in braces"),
    "no log": (("--server-log", "nowhere.log"), r"--server-log .*nowhere\.log: cannot be read: No such file"),
    "a folder": (("--server-log", "."), r"--server-log .*: cannot be read: Is a directory"),
    "too often": (("--sample-every", "100ms"), r"--sample-every: expected 250ms to 1h, got '100ms'"),
    "no time": (("--sample-every", "often"), r"--sample-every: expected a duration"),
    "no such step": (("--observer-check", "7"), r"no step of 7; expected one of: 1, 4, 8, 16, 32, or no number"),
    "a scenario for a step": (("--observer-check", "mixed"), r"no step of mixed"),
    "a rate": (("--observer-check", "--rates", "2"), r"--observer-check repeats a step of so many in flight"),
    "by hand": (("--observer-check", "--load", "by hand"), r"--observer-check repeats a step of so many in flight"),
    "nothing to pause": (("--observer-check", "--server-metrics", "off"), r"--observer-check: nothing is sampled"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_one_sentence(case: str) -> None:
    """Which option, what was got, what is expected; never a password."""
    words, sentence = WRONG[case]
    with pytest.raises(Stop, match=sentence) as caught:
        asked(*words)
    assert caught.value.code is Exit.USAGE
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://me:se:cr@t@host:1/a@b?c=d@e", "http://…@host:1/a@b?c=d@e"),
        ("--gpu=https://token@host", "--gpu=https://…@host"),
        ("me:secret@host:9835", "…@host:9835"),
        ("--gpu=me:secret@host", "--gpu=…@host"),
        ("http://host/metrics", "http://host/metrics"),
        ("host:9835/metrics?a=b:c@d", "host:9835/metrics?a=b:c@d"),
        ("model=org/name:tag@rev", "model=org/name:tag@rev"),
        ("me@host and 1:2", "me@host and 1:2"),
    ],
)
def test_users_and_passwords_are_left_out(text: str, shown: str) -> None:
    """Of every URL in a text, and nothing else."""
    assert sources.without_password(text) == shown


def test_queries_of_pages_are_left_out_of_a_command() -> None:
    """They may hold a token; those of the endpoint are part of where it is."""
    words = [
        "llmload",
        "run",
        "--gpu",
        "http://me:pw@a/m?token=t=1&b",
        "--prometheus=http://b?k=v",
        "--host",
        "http://c?v=1",
    ]
    assert sources.all_hidden(words) == [
        "llmload", "run", "--gpu", "http://…@a/m?…", "--prometheus=http://b?…", "--host", "http://c?v=1",
    ]  # fmt: skip
    words = ["--candidate-gpu", "http://a/m?token=t", "--baseline-server-metrics=b?k=v", "--candidate", "http://c?v=1"]
    assert sources.all_hidden(words) == [
        "--candidate-gpu", "http://a/m?…", "--baseline-server-metrics=b?…", "--candidate", "http://c?v=1",
    ]  # fmt: skip
    with pytest.raises(Stop, match=r"^--gpu: expected a URL as .*, got 'http://…@a:x/m\?…'$"):
        sources.url("http://me:pw@a:x/m?token=t", "--gpu")
