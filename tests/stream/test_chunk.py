"""What one payload says: texts by kind, errors in their many forms, usage."""

import json
from typing import Any

import pytest

from llmload.stream import chunk, usage


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"delta": {"content": "A"}}, ("A", "", "")),
        ({"delta": {"content": ""}}, ("", "", "")),
        ({"delta": {"content": None}}, ("", "", "")),
        ({"delta": None, "finish_reason": "stop"}, ("", "", "")),
        ({"delta": {"reasoning_content": "t"}}, ("", "t", "")),
        ({"delta": {"reasoning": "t"}}, ("", "t", "")),
        ({"delta": {"reasoning": "t", "reasoning_content": "t"}}, ("", "t", "")),
        ({"delta": {"content": "A", "reasoning_content": "t"}}, ("A", "t", "")),
        ({"delta": {"refusal": "No"}}, ("", "", "No")),
        ({"delta": {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": ""}}]}}, ("", "", "f")),
        ({"delta": {"tool_calls": [{"function": {"arguments": "{}"}}, {"function": {"name": "g"}}]}}, ("", "", "{}g")),
        ({"delta": {"tool_calls": None, "function_call": {"name": "f", "arguments": "{"}}}, ("", "", "f{")),
        ({"delta": {"content": [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]}}, ("AB", "", "")),
        ({"delta": {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}]}}, ("", "t", "")),
        ({"message": {"content": "A"}}, ("A", "", "")),
        ({"text": "A"}, ("A", "", "")),
        ({"text": None}, ("", "", "")),
        ({"delta": "A", "text": 3}, ("", "", "")),
        ({"delta": {"content": 5, "tool_calls": "x", "refusal": {}}}, ("", "", "")),
    ],
)
def test_generated_text_by_kind(choice: dict[str, Any], expected: tuple[str, str, str]) -> None:
    """Content, reasoning and the rest are told apart, whatever a server calls them."""
    assert expected == chunk.generated(choice)


@pytest.mark.parametrize(
    ("payload", "name", "expected"),
    [
        ({"error": None, "choices": []}, b"", None),
        ({"choices": [{"index": 0}]}, b"", None),
        ({"type": "ping"}, b"ping", None),
        ({"error": {"message": "boom", "code": 500}}, b"", ("stream_error", "boom")),
        ({"error": "overloaded"}, b"", ("overloaded", "overloaded")),
        ({"error": {"message": "slow down", "code": 429}}, b"", ("rate_limited", "slow down")),
        ({"error": {"message": "x", "type": "rate_limit_exceeded"}}, b"", ("rate_limited", "x")),
        ({"error": {"message": "no capacity", "code": 503}}, b"", ("overloaded", "no capacity")),
        ({"error": {"message": "Too many requests"}}, b"", ("rate_limited", "Too many requests")),
        ({"message": "boom", "code": 500}, b"error", ("stream_error", "boom")),
        ({"message": "boom", "code": 500}, b"", ("stream_error", "boom")),
        ({"object": "error", "message": "boom"}, b"", ("stream_error", "boom")),
        ({"detail": "worker lost"}, b"", ("stream_error", "worker lost")),
        ({"detail": [{"msg": "bad"}]}, b"", ("stream_error", '[{"msg": "bad"}]')),
        ({"choices": [{"index": 0, "error": {"message": "up"}}]}, b"", ("stream_error", "up")),
        ({"error": {"message": "the year 1429 was bad", "code": 500}}, b"", ("stream_error", "the year 1429 was bad")),
    ],
)
def test_errors_in_their_forms(payload: dict[str, Any], name: bytes, expected: tuple[str, str] | None) -> None:
    """An error is found in whatever form it comes, with its kind and its words."""
    error = chunk.error_of(payload, name)
    assert expected == (None if error is None else (chunk.kind_of_error(error), chunk.words_of(error)))


def test_load_takes_what_servers_really_send() -> None:
    """Lone surrogates, NaN and broken UTF-8 are read; what is no JSON is a ValueError, however deep."""
    assert chunk.load(b'{"a": "\\ud83d"}') == {"a": "\ud83d"}
    assert str(chunk.load(b'{"a": NaN}')["a"]) == "nan"
    assert chunk.load(b'{"a": "\xff"}') == {"a": "\ufffd"}
    for bad in (b"", b"{", b"1,2", b"[" * 100_000):
        with pytest.raises(ValueError):  # noqa: PT011  (the words are the parser's own)
            chunk.load(bad)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 3}, usage.Usage(5, 3)),
        ({"input_tokens": 5, "output_tokens": 3.0}, usage.Usage(5, 3)),
        ({"prompt_tokens": "5", "completion_tokens": True}, usage.Usage()),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 8,
                "completion_tokens_details": {"reasoning_tokens": 7},
                "prompt_tokens_details": {"cached_tokens": 6},
            },
            usage.Usage(9, 8, 7, 6),
        ),
        (
            {"prompt_tokens": 9, "completion_tokens_details": None, "prompt_cache_hit_tokens": 4},
            usage.Usage(9, None, None, 4),
        ),
    ],
)
def test_usage_in_its_names(value: dict[str, Any], expected: usage.Usage) -> None:
    """Counts are whole numbers or nothing; details may be missing or null."""
    assert expected == usage.read(json.loads(json.dumps(value)))
