"""The key is found wherever it would be written down, and is never shown."""

from typing import Any

import pytest

from llmload.exits import Exit, Stop
from llmload.load import secrets

KEY = "sk-secret-XYZ/1"


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ({"scenario": {"headers": {"X-Foo": f"Bearer {KEY}"}}}, "scenario.headers.X-Foo"),
        ({"scenario": {"classes": [{}, {"extra_body": {"api_key": KEY}}]}}, "scenario.classes[1].extra_body.api_key"),
        ({"scenario": {"labels": {KEY: "a"}}}, "scenario.labels (the name of a value in it)"),
        ({"--host": f"http://127.0.0.1:9/v1?api_key={KEY}"}, "--host"),
        ({"--host": "http://127.0.0.1:9/v1?api_key=sk-secret-XYZ%2F1"}, "--host"),
        ({"the command": ("llmload", "run", "--label", f"a={KEY}")}, "the command[3]"),
    ],
)
def test_a_key_that_would_be_written_is_refused(written: dict[str, Any], place: str) -> None:
    """Exit code 2 and a sentence that says where, without the value."""
    with pytest.raises(Stop) as stopped:
        secrets.check("MY_KEY", f"{KEY}\n", written)
    assert stopped.value.code == Exit.USAGE
    assert stopped.value.message.startswith(f"{place}: holds the value of MY_KEY")
    assert "XYZ" not in stopped.value.message


@pytest.mark.parametrize("key", [None, "", "none", "EMPTY", "sk-another-key"])
def test_other_keys_and_stand_ins_are_no_matter(key: str | None) -> None:
    """No key, one that does not occur, and a word of fewer than eight characters, which may stand anywhere."""
    secrets.check("MY_KEY", key, {"scenario": {"labels": {"a": f"none {KEY} EMPTY"}, "seed": 1, "model": None}})


def test_a_key_in_place_of_its_variable_is_refused_unseen() -> None:
    """`key_env` set to the key itself, as in a locustfile's class."""
    with pytest.raises(Stop) as stopped:
        secrets.check(KEY, None, {})
    assert stopped.value.code == Exit.USAGE
    assert "XYZ" not in stopped.value.message
