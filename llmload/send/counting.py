"""Who counts the tokens of prompts: the server's own /tokenize, a tokenizer file, or characters per token.

Each kind is a function from texts to numbers of tokens, as `load.lengths.fit` takes it. Counts are of the bare text:
what the chat template adds is found out apart from it. Knows the forms of /tokenize of vLLM and SGLang (`prompt`,
answered with `count`) and of llama.cpp (`content`, answered with `tokens`). Sends nothing itself.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from llmload.exits import Exit, Stop
from llmload.load.lengths import CHARS_PER_TOKEN, Counter

Post = Callable[[dict[str, Any]], Any]
"""Sends a body to the server's /tokenize and gives the answer as JSON, or None if it is no success."""

SAMPLE = "The quick brown fox jumps over the lazy dog."
LONGER = " ".join([SAMPLE] * 8)
"""What answers the same to both counts nothing."""


Each = Callable[[Callable[[str], int], Sequence[str]], Iterable[int]]
"""Calls a function for each text, in any order or at once, and gives the results in the order of the texts."""


def by_server(post: Post, model: str, each: Each = map) -> Counter | None:
    """A counter that asks the server, or None if it has no /tokenize that counts.

    It raises Stop(UNMEASURABLE) if the server counted before and now does not.
    """

    def counted(form: str, text: str) -> int:
        return FORMS[form](post(body(form, text, model)))

    form = next((form for form in FORMS if 0 < counted(form, SAMPLE) < counted(form, LONGER)), None)
    if form is None:
        return None

    def one(text: str) -> int:
        return counted(form, text) if text else 0

    def count(texts: Sequence[str]) -> list[int]:
        counts = list(each(one, texts))
        if not all(counted or not text for text, counted in zip(texts, counts, strict=True)):
            raise Stop(
                "the server's /tokenize stopped counting in mid-work; try again, or count by "
                "--set token_counting=ratio instead",
                Exit.UNMEASURABLE,
            )
        return counts

    return count


def body(form: str, text: str, model: str) -> dict[str, Any]:
    """What a form of /tokenize wants. No special tokens: those belong to the template."""
    if form == "prompt":
        return {"model": model, "prompt": text, "add_special_tokens": False}
    return {"content": text}


def count_of(answer: Any) -> int:
    """Tokens in an answer of vLLM and SGLang; 0 if it holds none."""
    count = answer.get("count") if isinstance(answer, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else 0


def tokens_of(answer: Any) -> int:
    """Tokens in an answer of llama.cpp; 0 if it holds none."""
    tokens = answer.get("tokens") if isinstance(answer, dict) else None
    return len(tokens) if isinstance(tokens, list) else 0


FORMS: dict[str, Callable[[Any], int]] = {"prompt": count_of, "content": tokens_of}
"""Forms of /tokenize in the order in which they are tried, and how their answers are read."""


def by_file(path: Path) -> Counter:
    """A counter from a tokenizer.json: whole texts, no special tokens.

    Raises Stop(USAGE) if the file or the package that reads it is missing.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise Stop(f"{path}: reading it needs the extra `tokenizers`: pip install 'llmload[tokenizers]'") from None
    if not path.is_file():
        raise Stop(f"{path}: no such tokenizer file; name a tokenizer.json in the scenario's `tokenizer`")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises plain Exception
        raise Stop(f"{path}: no tokenizer file: {error}; expected a tokenizer.json") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda texts: [len(item) for item in tokenizer.encode_batch(list(texts), add_special_tokens=False)]


def by_ratio(chars_per_token: float) -> Counter:
    """A counter that estimates: characters over a ratio, rounded, at least 1."""
    return lambda texts: [max(1, round(len(text) / chars_per_token)) for text in texts]


def learn(samples: Sequence[tuple[int, int]]) -> tuple[float, int] | None:
    """Characters per token and the tokens that a template adds, from (characters, counted tokens) of prompts.

    Two samples of different lengths give both: ratio = difference in characters / difference in tokens, added =
    tokens - characters/ratio. One alone cannot tell them apart: the usual ratio is taken then, and what is counted
    beyond it is taken as added. None if there is no sample.
    """
    known = sorted({(chars, tokens) for chars, tokens in samples if chars > 0 and tokens > 0})
    if not known:
        return None
    (chars, tokens), (more_chars, more_tokens) = known[0], known[-1]
    if more_chars > chars and more_tokens > tokens:
        ratio = (more_chars - chars) / (more_tokens - tokens)
        added = tokens - chars / ratio
        return (ratio, round(added)) if added >= 0 else (more_chars / more_tokens, 0)
    return CHARS_PER_TOKEN, max(0, round(tokens - chars / CHARS_PER_TOKEN))
