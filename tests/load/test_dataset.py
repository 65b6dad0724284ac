"""Data files of a user's own."""

import hashlib
from pathlib import Path

import pytest

from llmload.exits import Exit, Stop
from llmload.load import dataset


def load(folder: Path, text: str | bytes, name: str = "data.jsonl") -> dataset.Dataset:
    """A data file with this text, read."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    dataset.load.cache_clear()
    return dataset.load(str(path))


def refused(folder: Path, text: str | bytes, name: str = "data.jsonl") -> str:
    """The sentence of a file that is refused, without its path."""
    with pytest.raises(Stop) as caught:
        load(folder, text, name)
    assert caught.value.code == Exit.USAGE
    return caught.value.message.removeprefix(f"{folder / name}: ")


def user(text: str) -> tuple[dict[str, str], ...]:
    """One message of the user."""
    return ({"role": "user", "content": text},)


def test_json_lines(tmp_path: Path) -> None:
    """Prompts, messages and limits, line by line; blank lines and other members are passed over."""
    text = (
        '{"prompt": "one", "id": 7}\n\n'
        '{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "two"}], "max_tokens": 5}\n'
        '{"prompt": "three", "expected_output_tokens": 9}'
    )
    data = load(tmp_path, text)
    assert data.digest == hashlib.sha256(text.encode()).hexdigest()
    assert data.entries == (
        dataset.Entry(1, user("one"), None),
        dataset.Entry(3, ({"role": "system", "content": "s"}, *user("two")), 5),
        dataset.Entry(4, user("three"), 9),
    )


def test_sharegpt(tmp_path: Path) -> None:
    """The first human turn counts; conversations without one are left out. As a list and as lines."""
    first = '{"id": "a", "conversations": [{"from": "gpt", "value": "x"}, {"from": "human", "value": "q"}]}'
    second = '{"id": "b", "conversations": [{"from": "gpt", "value": "y"}]}'
    expected = (dataset.Entry(1, user("q"), None),)
    assert load(tmp_path, f"[{first},\n {second}]", "share.json").entries == expected
    assert load(tmp_path, f"{first}\n{second}\n").entries == expected


def test_plain_lines(tmp_path: Path) -> None:
    """A .txt file is a prompt a line; a byte order mark is none of it."""
    assert load(tmp_path, b"\xef\xbb\xbfone\r\n\r\n two\n", "p.txt").entries == (
        dataset.Entry(1, user("one"), None),
        dataset.Entry(3, user("two"), None),
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", 'no prompt in it; expected at least one line such as {"prompt": "…"}'),
        ("\n\n", 'no prompt in it; expected at least one line such as {"prompt": "…"}'),
        ("[]", 'no prompt in it; expected at least one line such as {"prompt": "…"}'),
        ('{"prompt": "a"}\n{"prompt": ', "line 2: no valid JSON: "),
        ('[{"prompt": "a"},\n oops]', "line 2: no valid JSON: "),
        ('{"prompt": "a"}\n["b"]', "line 2: expected an object, got list"),
        ('{"prompt": ""}', "line 1: prompt: expected a text that is not empty"),
        ('{"text": "a"}', "line 1: expected one of prompt, messages and conversations, got none"),
        ('{"prompt": "a", "messages": []}', ("line 1: expected one of prompt, messages and conversations, got prompt "
         "and messages")),
        ('{"messages": []}', "line 1: messages: expected at least one message"),
        ('{"messages": [{"role": "user"}]}', "line 1: messages: expected role and content in each"),
        ('{"prompt": "a", "max_tokens": 0}', "line 1: max_tokens: expected a whole number of at least 1, got 0"),
        (b'{"prompt": "a"}\n{"prompt": "\xff"}', "line 2: no UTF-8 text; save the file as UTF-8"),
    ],
)  # fmt: skip
def test_broken_files(tmp_path: Path, text: str | bytes, sentence: str) -> None:
    """File and line, what was expected and what was got."""
    assert refused(tmp_path, text).startswith(sentence)


def test_a_missing_file(tmp_path: Path) -> None:
    """The system's own words say why."""
    with pytest.raises(Stop, match="cannot be read: No such file or directory"):
        dataset.load(str(tmp_path / "nothing.jsonl"))
