"""What a request body asks for, and the sentence for one that asks wrongly. Pure: bytes in, `Asked` or `Refused` out.

Counts the prompt's tokens on the way, since the context limit is part of what is checked.
"""

from dataclasses import dataclass
from typing import Any

import orjson

from llmload.simulate import tokens

HEAD_CHARS = 80
"""So much of the prompt's beginning goes into the truth file, to tell requests apart."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One completion request, checked."""

    chat: bool
    stream: bool
    include_usage: bool
    prompt_tokens: int
    limit: int
    """Most tokens of the answer: what was asked for, or what is left of the context."""
    limited: bool
    """Whether a limit was asked for."""
    min_tokens: int
    ignore_eos: bool
    head: str


class Refused(Exception):
    """A request that gets an error: status and the fields of OpenAI's error object."""

    def __init__(self, message: str, *, status: int = 400, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.param = param
        self.code = code

    def as_dict(self) -> dict[str, Any]:
        """The error in OpenAI's form."""
        return error_dict(self.message, self.status, param=self.param, code=self.code)


def error_dict(message: str, status: int, *, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    """An error in OpenAI's form."""
    kind = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}.get(
        status, "invalid_request_error" if status < 500 else "server_error"
    )
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def body_of(body: bytes) -> dict[str, Any]:
    """The JSON object of a request body. Raises Refused."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refused(f"the body is no valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise Refused(f"the body must be a JSON object, got {type(value).__name__}")
    return value


def read(body: bytes, *, chat: bool, model: str, max_context: int, letters: int = tokens.LETTERS) -> Asked:
    """Read the body of a completion request to a server of `model`. Raises Refused with the status to answer.

    `letters`: of a token of its tokenizer, at most.
    """
    value = body_of(body)
    if not isinstance(value.get("model"), str):
        raise Refused("you must name a model: model must be a text", param="model")
    if value["model"] != model:
        message = f"The model `{value['model'][:100]}` does not exist; this server has `{model}`."
        raise Refused(message, status=404, param="model", code="model_not_found")
    if value.get("n", 1) not in (1, None):
        raise Refused("n must be 1: this server gives one choice", param="n")
    stream = _flag(value, "stream")
    options = value.get("stream_options")
    if options is not None and not stream:
        raise Refused("stream_options is only allowed with stream = true", param="stream_options")
    if options is not None and not isinstance(options, dict):
        raise Refused("stream_options must be an object", param="stream_options")
    head, prompt_tokens = _chat(value, letters) if chat else _text(value, letters)
    limit = _limit(value, prompt_tokens, max_context)
    min_tokens = _whole(value, "min_tokens", 0) or 0
    room = max_context - prompt_tokens
    if limit is not None and min_tokens > limit:
        raise Refused(f"min_tokens ({min_tokens}) must not exceed max_tokens ({limit})", param="min_tokens")
    return Asked(
        chat=chat,
        stream=stream,
        include_usage=_flag(options or {}, "include_usage"),
        prompt_tokens=prompt_tokens,
        limit=room if limit is None else limit,
        limited=limit is not None,
        min_tokens=min(min_tokens, room),
        ignore_eos=_flag(value, "ignore_eos"),
        head=head[:HEAD_CHARS],
    )


def _chat(value: dict[str, Any], letters: int) -> tuple[str, int]:
    """Text of the last user message, and tokens of the chat."""
    try:
        texts = tokens.texts_of(value.get("messages"))
    except ValueError as error:
        raise Refused(str(error), param="messages") from None
    users = [text for text, message in zip(texts, value["messages"], strict=True) if message["role"] == "user"]
    return (users or texts)[-1], tokens.count_chat(texts, letters) + count_tools(value, letters)


def count_tools(value: dict[str, Any], letters: int = tokens.LETTERS) -> int:
    """Tokens of the tools, which a chat template writes into the prompt as JSON."""
    tools = value.get("tools")
    return tokens.count(orjson.dumps(tools).decode(), letters) if tools else 0


def _text(value: dict[str, Any], letters: int) -> tuple[str, int]:
    """Text and tokens of a completions prompt: a text, a list with one text, or a list of token ids."""
    prompt = value.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str):
        prompt = prompt[0]
    if isinstance(prompt, str):
        return prompt, tokens.count(prompt, letters)
    if isinstance(prompt, list) and prompt and all(type(item) is int for item in prompt):
        return str(prompt[:20]), len(prompt)
    raise Refused("prompt must be one text or a list of token ids", param="prompt")


def _limit(value: dict[str, Any], prompt_tokens: int, max_context: int) -> int | None:
    name = "max_completion_tokens" if value.get("max_completion_tokens") is not None else "max_tokens"
    limit = _whole(value, name, 1)
    if prompt_tokens + (limit or 1) > max_context:
        total = prompt_tokens + (limit or 1)
        raise Refused(
            f"This model's maximum context length is {max_context} tokens. However, you requested {total} tokens"
            f" ({prompt_tokens} in the prompt, {limit or 1} in the completion). Please reduce the length of either.",
            param="messages" if "messages" in value else "prompt",
            code="context_length_exceeded",
        )
    return limit


def _whole(value: dict[str, Any], name: str, least: int) -> int | None:
    number = value.get(name)
    if number is None:
        return None
    if type(number) is not int or number < least:
        raise Refused(f"{name} must be a whole number of at least {least}, got {str(number)[:40]}", param=name)
    return number


def _flag(value: dict[str, Any], name: str) -> bool:
    flag = value.get(name)
    if flag is not None and not isinstance(flag, bool):
        raise Refused(f"{name} must be true or false", param=name)
    return bool(flag)
