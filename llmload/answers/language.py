"""Which language an answer is in, where it is long enough to tell (py3langid). Pure.

Short texts, code and lists of numbers are in no language that could be told, and nothing is said of them.
"""

import re
from functools import cache
from typing import Any

LETTERS_AT_LEAST = 60
"""Letters that a text must have, outside of code."""
SURE = 0.95
"""How sure the identifier must be of its language, of 1."""
_READ = 2000
"""Characters that are looked at."""
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def of(text: str) -> str | None:
    """The language of a text, as a code of two or three letters; None if it cannot be told for sure."""
    words = _CODE.sub(" ", text)[:_READ]
    letters = sum(sign.isalpha() for sign in words)
    if letters < LETTERS_AT_LEAST or letters < len(words.replace(" ", "")) / 2:
        return None
    code, sure = _identifier().classify(words)
    return str(code) if sure >= SURE else None


def strays(prompt: str | None, baseline: str, candidate: str) -> tuple[bool, bool]:
    """Which of two answers left the language that was expected of it.

    Only where the two are in different languages: both in another language than the prompt's is what was asked for.
    Of those, the one that is not in the prompt's; if the prompt's cannot be told, or neither is in it, the candidate.
    """
    first, second = of(baseline), of(candidate)
    if first is None or second is None or first == second:
        return False, False
    asked = None if prompt is None else of(prompt)
    return (True, False) if asked == second else (False, True)
