"""Secrets are found by value and by shape, said by line and kind, and what is none is let pass."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.record import leaks
from llmload.record.leaks import Find

SECRETS = {
    "Bearer abcdef12": "a bearer token",
    'bearer  "x" Bearer aVeryLongTokenWithoutDigits': "a bearer token",
    "Authorization: Basic dXNlcjpwYXNz": "an Authorization header",
    '{"authorization": "abcdefgh"}': "an Authorization header",
    "--header api-key=12345678": "an API key",
    'X_API_KEY: "abcdefgh9"': "an API key",
    "key sk-proj-abcdef12345": "a key (sk-…)",
    '"hf_abcdefghijklmnop"': "a Hugging Face token (hf_…)",
    "nvapi-0123456789abcdef": "an NVIDIA key (nvapi-…)",
    "ghp_0123456789abcdefghij": "a GitHub token",
    "AKIAABCDEFGHIJKLMNOP": "an AWS key",
    "eyJhbGciOiJI.eyJzdWIiOiIx.abc": "a signed token (JWT)",
    "http://user:pass@host/v1": "a user and password in a URL",
    "-----BEGIN RSA PRIVATE KEY-----": "a private key",
    '"password": "hunter2hunter2"': "a password",
    "DB_PASSWD=hunter2hunter2": "a password",
    "Set-Cookie: session=abcdefgh1": "a cookie",
}

HARMLESS = (
    "the key is sent as `Authorization: Bearer` already",
    "401: bearer authentication is needed",
    "http://…@host:8000/v1 and https://medium.com/@user:x",
    '"key_env":"OPENAI_API_KEY","max_tokens_field":"auto"',
    "a desk-side task-force, risk-adjusted-returns",
    "--allow-http-key",
    '<script>url("data:image/png;base64,AAAA")</script>',
    "chf_amount_in_january_2026",
    "I forgot my password: please send me a new one before 2027",
)


@pytest.mark.parametrize("text", SECRETS)
def test_what_looks_like_a_secret_is_found(text: str) -> None:
    """Each shape, in the line in which it stands."""
    assert Find(2, SECRETS[text]) in list(leaks.find([b"nothing here", text.encode()], {}))


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_none_is_let_pass(text: str) -> None:
    """Words about keys, hidden passwords, and names of variables."""
    assert not list(leaks.find([text.encode()], {}))


def test_values_are_found_as_they_may_be_written() -> None:
    """As text, in JSON, in HTML and in a URL; what is found is named by its variable and not shown."""
    value = 'a"b<c>/d é'
    secrets = leaks.secrets_of({"MY_TOKEN": f" {value}\n"})
    written = [value, r"a\"b<c>/d é", "a&quot;b&lt;c&gt;/d é", "a%22b%3Cc%3E%2Fd%20%C3%A9", 'a\\"b<c>/d \\u00e9', "a"]
    lines = [text.encode() for text in written]
    assert list(leaks.find(lines, secrets)) == [Find(line, "the value of MY_TOKEN") for line in (1, 2, 3, 4, 5)]


@given(st.binary(min_size=8, max_size=30), st.binary(max_size=5), st.binary(max_size=5))
def test_a_value_is_found_in_base64(value: bytes, before: bytes, behind: bytes) -> None:
    """As in `Basic …`, whatever stands before and behind it there."""
    line = base64.b64encode(before + value + behind)
    assert Find(1, "the value of KEY") in list(leaks.find([line], {"KEY": value}))


def test_which_variables_are_looked_for() -> None:
    """Those named, and those called like a secret; short values are stand-ins that may stand anywhere."""
    environment = {
        "OPENAI_API_KEY": "EMPTY",
        "HF_TOKEN": "12345678",
        "OWN": "abcdefghi",
        "HOME": "/home/somebody",
        "db_password": "long enough",
    }
    assert leaks.secrets_of(environment, ["OWN", "NOT_SET"]) == {
        "HF_TOKEN": b"12345678",
        "OWN": b"abcdefghi",
        "db_password": b"long enough",
    }


@given(st.text(min_size=8).filter(lambda text: len(text.strip()) >= leaks.SHORTEST), st.text(), st.text())
def test_a_value_is_found_wherever_it_stands(value: str, before: str, behind: str) -> None:
    """Any value, in any line."""
    secrets = leaks.secrets_of({"A_KEY": value})
    line = f"{before}{value.strip()}{behind}".encode("utf-8", "surrogatepass")
    assert Find(1, "the value of A_KEY") in list(leaks.find([line], secrets))
