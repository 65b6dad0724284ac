"""Who counts prompt tokens, what refusals are about."""

import sys
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from llmload.exits import Stop
from llmload.send import counting, refusals


def test_forms_of_tokenize() -> None:
    """The form that counts is found; one that answers nothing useful, as llama.cpp does to vLLM's, is passed over."""

    def vllm(body: dict[str, Any]) -> Any:
        return {"count": len(body["prompt"].split())} if "prompt" in body else None

    def llama(body: dict[str, Any]) -> Any:
        return {"tokens": body.get("content", "").split()}

    for post in (vllm, llama):
        count = counting.by_server(post, "m")
        assert count is not None
        assert count(["one two three four five six seven", ""]) == [7, 0]
    assert counting.by_server(lambda body: None, "m") is None


@pytest.mark.parametrize("count", ["many", 0, -5, True, 1, 7, 2.5, None, [1]])
def test_what_counts_every_text_alike_counts_nothing(count: Any) -> None:
    """Prompts that are fitted by it would grow for ever."""
    assert counting.by_server(lambda body: {"count": count}, "m") is None


def test_a_tokenizer_that_stops_counting_is_no_zero() -> None:
    """A count that fails in mid-work is a stop, never a length of 0."""
    answers = [{"count": 3}, {"count": 24}, None]
    count = counting.by_server(lambda body: answers.pop(0), "m")
    assert count is not None
    with pytest.raises(Stop, match="stopped counting"):
        count(["text"])


def test_a_tokenizer_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words are counted without special tokens; what is missing is named."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.enable_truncation(2)
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    assert counting.by_file(path)(["a b a", "b", ""]) == [3, 1, 0]
    with pytest.raises(Stop, match="no such tokenizer file"):
        counting.by_file(tmp_path / "x.json")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(Stop, match="no tokenizer file"):
        counting.by_file(tmp_path / "bad.json")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(Stop, match="extra `tokenizers`"):
        counting.by_file(path)


@pytest.mark.parametrize(
    ("samples", "learnt"),
    [
        ([(40, 20), (2000, 510)], (4.0, 10)),  # 1960 characters more are 490 tokens more; 20 - 40/4 are added
        ([(40, 4), (400, 100)], (4.0, 0)),  # fewer tokens than the ratio says: nothing is taken as added
        ([(45, 15)], (4.5, 5)),
        ([(45, 10), (450, 10)], (4.5, 0)),  # a server that counts the same for everything teaches nothing
        ([(0, 3), (40, 0)], None),
        ([], None),
    ],
)
def test_a_ratio_is_learnt(samples: list[tuple[int, int]], learnt: tuple[float, int] | None) -> None:
    """Two samples tell the template's tokens from those of the text."""
    assert counting.learn(samples) == learnt


def test_a_ratio_counts() -> None:
    """Characters over the ratio, at least one token."""
    assert counting.by_ratio(4.0)(["x" * 400, "x", ""]) == [100, 1, 1]


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
        "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096",
        "the request exceeds the available context size, try increasing it",
        "prompt has 9000 tokens the limit is 8192 shorten it",
        "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
    ],
)
def test_refusals_about_the_context(words: str) -> None:
    """Engines' own words for a prompt that is too long; none of them is about the field's name."""
    assert refusals.about_context(words)
    assert not refusals.about_limit(words)


@pytest.mark.parametrize(
    "words",
    [
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "unknown field max_completion_tokens",
        "body.max_tokens: Extra inputs are not permitted",
    ],
)
def test_refusals_about_the_limits_name(words: str) -> None:
    """The name of the limit is what is refused."""
    assert refusals.about_limit(words)
    assert not refusals.about_context(words)
    assert not refusals.about_stream_options(words)


def test_wishes_that_a_refusal_names() -> None:
    """Either or both; in a sentence about the context they only stand beside it."""
    assert refusals.wishes("Unrecognized request argument supplied: ignore_eos") == ("ignore_eos",)
    assert refusals.wishes("body.min_tokens, body.ignore_eos: extra fields") == ("ignore_eos", "min_tokens")
    assert refusals.wishes("min_tokens: the prompt is too long") == ()
    assert refusals.wishes("no") == ()


def test_refusals_about_stream_options() -> None:
    """By its own name or by what is in it."""
    assert refusals.about_stream_options("unknown field stream_options")
    assert refusals.about_stream_options("include_usage: extra fields not permitted")
    assert not refusals.about_stream_options("stream: expected a boolean")
