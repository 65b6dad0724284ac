"""Forms of a base URL (F11): each leads to the one right place or is refused with what was computed."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from llmload.exits import Stop
from llmload.send.target import resolve, split


@pytest.mark.parametrize(
    ("given_url", "expected"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000//v1//", "http://127.0.0.1:8000/v1"),
        ("127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("localhost:8000", "http://localhost:8000/v1"),
        ("http://h/S01/v1", "http://h/S01/v1"),
        ("http://h/S01/v1/chat/completions", "http://h/S01/v1"),
        ("http://h/S01/v1/completions/", "http://h/S01/v1"),
        ("http://h/v1/models", "http://h/v1"),
        ("http://h/S01/v1?api-version=2", "http://h/S01/v1?api-version=2"),
        ("http://h/v1/chat/completions?a=b&c=", "http://h/v1?a=b&c="),
        ("https://API.example.com", "https://api.example.com/v1"),
        ("https://h:443/v1", "https://h/v1"),
        ("http://h:80/v1", "http://h/v1"),
        ("http://[::1]:8000", "http://[::1]:8000/v1"),
        ("https://h/api/v3", "https://h/api/v3"),
        ("https://h/v1beta/openai/", "https://h/v1beta/openai"),
        (
            "https://h/openai/deployments/d/chat/completions?api-version=1",
            "https://h/openai/deployments/d?api-version=1",
        ),
        ("  http://h/v1 ", "http://h/v1"),
    ],
)
def test_each_form_leads_to_one_place(given_url: str, expected: str) -> None:
    """F11: and what was resolved is read back as it is."""
    target = resolve(given_url)
    assert target.base_url == expected
    assert split(target.base_url) == target


@pytest.mark.parametrize(
    "url", ["", "http://", "ftp://h/v1", "http://h:port/v1", "http://h:99999", "http:///v1", "http://a b/v1"]
)
def test_what_is_no_url_is_refused(url: str) -> None:
    """F11: with a sentence, never with a traceback."""
    with pytest.raises(Stop, match=r"URL|scheme"):
        resolve(url)


def test_credentials_in_the_url_are_refused_without_repeating_them() -> None:
    """They would land in files."""
    with pytest.raises(Stop, match="OPENAI_API_KEY") as stop:
        resolve("http://user:pa55@h/v1")
    assert "pa55" not in stop.value.message
    for url in ("http://user:pa55/w@h/v1", "user:pa55@h:port", "ftp://user:pa55@h", "http://user:pa55@h\\x"):
        with pytest.raises(Stop, match="…@h") as stop:
            resolve(url)
        assert "pa55" not in stop.value.message


def test_places_beside_the_base_url() -> None:
    """A server's own pages lie beside the version segment; the query goes along."""
    target = resolve("http://h/S01/v1?k=1")
    assert target.path_of("models") == "/S01/v1/models?k=1"
    assert target.path_of("/tokenize") == "/S01/tokenize?k=1"
    assert resolve("http://h").path_of("/metrics") == "/metrics"
    assert resolve("http://h/v1/chat/completions").path_of("models") == "/v1/models"


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://127.0.0.1", True),
        ("http://localhost:1", True),
        ("http://[::1]", True),
        ("http://127.9.9.9", True),
        ("http://10.0.0.1", False),
        ("http://h", False),
    ],
)
def test_this_machine(url: str, loopback: bool) -> None:
    """A key may go over plain http only within it."""
    assert resolve(url).loopback is loopback


SEGMENTS = some.sampled_from(["", "v1", "S01", "openai", "v2", "chat", "completions", "models", "a-b"])


@given(segments=some.lists(SEGMENTS, max_size=5), query=some.sampled_from(["", "?a=b"]))
def test_no_form_doubles_a_slash_or_a_version(segments: list[str], query: str) -> None:
    """Whatever the path, the base URL is clean, and resolving it again changes nothing unless no version is in it."""
    target = resolve("http://h/" + "/".join(segments) + query)
    assert "//" not in target.path
    assert not target.path.endswith("/")
    assert target.path.count("/v1") <= max(segments.count("v1"), 1)
    assert split(target.base_url) == target
