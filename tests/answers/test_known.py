"""Questions with known answers: those that are shipped, and how a file of a user's own is read."""

import orjson
import pytest

from llmload.answers import known
from llmload.exits import Exit, Stop

RIGHT = {
    "sum-add-2": "47 + 38 = 85",
    "sum-add-big": "328,000,000",
    "sum-half": "Half of 3.5 is **1.75**.",
    "sum-inch": "25,4 cm",
    "sum-de": "250",
    "sum-fr": "900.",
    "code-sort": "3, 7, 19, 42",
    "code-sort-words": "apple, banana, mango, pear",
    "code-reverse": "maerts",
    "code-upper": "FIRST TOKEN",
    "code-vowel": "u, e",
    "code-json": '```json\n{"age": 36, "name": "Ada", "languages": ["en", "fr"]}\n```',
    "code-extract": '"AB-1234"',
    "code-csv": '[{"id": 1, "city": "Rome"}, {"id": 2, "city": "Oslo"}]',
    "code-slice": "bench",
    "code-mod": "2 3",
    "code-join": "a-b-c",
    "code-function": "```python\ndef add(a, b):\n    return a + b\n```",
    "code-sql": "SELECT COUNT(*) FROM orders;",
    "code-hex": "0xFF",
    "code-date": "2024-03-05",
    "code-weekday": "Wednesday",
    "code-de": "HAUS",
    "code-copy-number": "327,846,000",
    "code-copy-code": "`AB-1243-X7`",
    "code-copy-date": "2031-12-21.",
    "code-copy-words": "Blue lamp, green river, red stone",
    "code-copy-json": '{"tls": true, "port": 8017}',
}
"""A right answer to each shipped question of a kind of its own."""


def test_shipped_questions_are_told_apart() -> None:
    """Each has an id of its own, is answered rightly by a right answer, and not by its own words said back."""
    found = known.shipped()
    assert len({one.id for one in found}) == len(found) == 70
    assert {one.workload for one in found} == {"sums", "code"}
    for one in found:
        assert one.prompt is not None
        assert not one.right(one.prompt) or "json" in one.expected, one.id
        assert not one.right(""), one.id
        right = RIGHT.get(one.id) or str(one.expected["number"])
        assert one.right(right), one.id
        assert one.right(f"\n{right}\n"), one.id


@pytest.mark.parametrize(
    ("expected", "answer", "so"),
    [
        ({"number": 42}, "First 7, then 42, then 9", True),
        ({"number": 42, "where": "ends"}, "First 7, then 42, then 9", False),
        ({"number": 42, "where": "ends"}, "42, as 6 x 7 is 42 and not 41", True),
        ({"number": 42, "where": "ends"}, "6 x 7 = 42.", True),
        ({"number": 327846000}, "327.846.000 euros", True),
        ({"number": 327846000}, "327.486.000 euros", False),
        ({"number": 3.14, "tolerance": 0.01}, "3.15", True),  # exactly, in decimals
        ({"number": 3.14, "tolerance": 0.01}, "3.1501", False),
        ({"number": -5}, "It is -5.", True),
        ({"must_contain": "Paris"}, "PARIS it is", True),
        ({"must_contain": ["new  york", "paris"]}, "New York and Paris", True),
        ({"must_contain": ["rome", "paris"]}, "Paris", False),
        ({"must_not_contain": "rome"}, "Paris", True),
        ({"must_not_contain": ["rome", "paris"]}, "Paris", False),
        ({"must_contain": "paris", "must_not_contain": "rome"}, "Paris, not Rome", False),
        ({"regex": "^P.*s$"}, "Paris", True),
        ({"regex": "^P.*s$"}, "paris", False),
        ({"json": [1, 2]}, "Here: [1, 2].", True),
        ({"json": {"a": 1}}, '{"a": 2}', False),
        ({"json": {"a": 1}}, "no JSON {at all]", False),
    ],
)
def test_what_is_expected(expected: dict[str, object], answer: str, so: bool) -> None:
    """All of it must hold."""
    known.check(expected, "here")
    assert known.right(expected, answer) is so


def test_a_file_of_ones_own() -> None:
    """Blank lines are none; without a prompt a line speaks of the scenario's."""
    text = '\ufeff{"id": "q", "prompt": "Say 5", "number": 5, "max_tokens": 9}\n\n{"id": "short-003", "regex": "x"}\n'
    first, second = known.read(text, "facts.jsonl")
    assert (first.id, first.prompt, first.workload, first.max_tokens, first.expected) == (
        "q", "Say 5", "facts", 9, {"number": 5},
    )  # fmt: skip
    assert (second.prompt, second.expected) == (None, {"regex": "x"})


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "f.jsonl: line 2: no JSON"),
        ("[1]", "f.jsonl: line 2: expected a JSON object, got list"),
        ("{}", "f.jsonl: line 2: id: expected text, got None"),
        ('{"id": 7, "number": 1}', "line 2: id: expected text, got 7"),
        ('{"id": "a"}', "line 2: nothing is expected of the answer; name one of: must_contain"),
        ('{"id": "a", "tolerance": 1}', "line 2: nothing is expected"),
        ('{"id": "a", "regex": "x", "tolerance": 1}', "line 2: tolerance: belongs to number"),
        ('{"id": "a", "numbre": 1}', "line 2: unknown member 'numbre'"),
        ('{"id": "a", "number": "1"}', "line 2: number: expected a number, got '1'"),
        ('{"id": "a", "number": true}', "line 2: number: expected a number, got True"),
        ('{"id": "a", "number": 1, "tolerance": -1}', "line 2: tolerance: expected 0 or more"),
        ('{"id": "a", "number": 1, "where": "end"}', "line 2: where: expected anywhere or ends"),
        ('{"id": "a", "regex": "("}', "line 2: regex: no regular expression"),
        ('{"id": "a", "regex": 1}', "line 2: regex: no regular expression"),
        ('{"id": "a", "must_contain": []}', "line 2: must_contain: expected a text"),
        ('{"id": "a", "must_contain": [""]}', "line 2: must_contain: expected a text"),
        ('{"id": "a", "json": 1}', "line 2: json: expected an object or a list"),
        ('{"id": "a", "number": 1, "max_tokens": 0}', "line 2: max_tokens: expected a whole number"),
        ('{"id": "a", "number": 1, "prompt": " "}', "line 2: prompt: expected text"),
        ('{"id": "first", "number": 1}', "line 2: the id 'first' was there before"),
    ],
)
def test_a_broken_line_is_a_sentence(line: str, words: str) -> None:
    """With file and line."""
    with pytest.raises(Stop) as caught:
        known.read(f'{{"id": "first", "number": 1}}\n{line}\n', "f.jsonl")
    assert words in caught.value.message
    assert caught.value.code is Exit.USAGE


def test_an_empty_file_is_none() -> None:
    """It says what a line looks like."""
    with pytest.raises(Stop, match="no question in it"):
        known.read("\n", "f.jsonl")


def test_expectations_survive_json() -> None:
    """They are kept beside answers."""
    for one in known.shipped():
        assert orjson.loads(orjson.dumps(one.expected)) == one.expected
