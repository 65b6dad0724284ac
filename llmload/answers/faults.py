"""What is wrong with an answer by itself, whatever was asked: empty, garbled, repeated in a loop. Pure.

Each is exact, so that it can be worked out by hand; none knows whether the answer is right.
"""

import re
import unicodedata

import numpy as np

BAD_SHARE = 0.01
"""Garbled: more than this share of the characters is none that a text has, and …"""
BAD_AT_LEAST = 2
"""… so many of them: an answer that is cut within a sign of several tokens ends in one."""
MOJIBAKE_AT_LEAST = 3
"""Garbled: so many pairs of characters that are UTF-8 read as Latin-1 or Windows-1252 (`Ã¤`, `â€™`)."""
WORDS_AT_LEAST = 10
"""Garbled: of at least so many Latin words of 5 letters and more …"""
VOWELLESS_SHARE = 0.5
"""… more than this share has no vowel."""

LOOP_REPEATS = 4
"""A loop: the same piece so often in a row …"""
LOOP_CHARS = 80
"""… and so many characters of it, all together …"""
LOOP_LONGEST = 400
"""… from a piece of at most so many characters …"""
LOOP_WITHIN = 20_000
"""… within the last so many of the answer."""

_BLOCK = (LOOP_CHARS - LOOP_CHARS // LOOP_REPEATS) // 2
_VOWEL = re.compile("[aeiouy]", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{5,}")
_MOJIBAKE = re.compile(
    "[\u00c2\u00c3][\u0080-\u00bf\u0152-\u0192\u2018-\u203a\u20ac\u2122]|\u00e2\u20ac[\u0080-\u2122]"
)


def empty(text: str) -> bool:
    """Whether nothing is said."""
    return not text.strip()


def garbled(text: str) -> str | None:
    """Why an answer is garbled, in words; None if it is not.

    - more than 1 % of its characters, and 2 at least, are U+FFFD, control characters, unassigned, of private use or
      lone surrogates;
    - 3 pairs of characters at least are UTF-8 that was read as a code page of single bytes;
    - it has 10 Latin words of 5 letters and more at least, and more than half of them have no vowel.
    """
    bad = sum(text.count(sign) for sign in set(text) if unpresentable(sign))
    if bad >= BAD_AT_LEAST and bad > BAD_SHARE * len(text):
        return f"{bad} of {len(text)} characters are none that a text has"
    if (pairs := len(_MOJIBAKE.findall(text))) >= MOJIBAKE_AT_LEAST:
        return f"{pairs} pairs of characters are UTF-8 read as single bytes"
    words = [plain for word in _WORD.findall(text) if (plain := _latin(word)) is not None]
    without = sum(_VOWEL.search(word) is None for word in words)
    if len(words) >= WORDS_AT_LEAST and without > VOWELLESS_SHARE * len(words):
        return f"{without} of {len(words)} words have no vowel"
    return None


def unpresentable(sign: str) -> bool:
    """Whether a character has no place in a text: U+FFFD, controls apart from tab and line ends, unassigned ones."""
    return sign == "\ufffd" or (unicodedata.category(sign) in {"Cc", "Cn", "Co", "Cs"} and sign not in "\t\n\r")


def loop(text: str) -> str | None:
    """The piece that is repeated over and over; None if there is none.

    A piece of 1 to 400 characters that comes 4 times in a row at least, 80 characters all together at least, within
    the last 20,000. Anywhere, if it has a letter or a digit; a piece of other signs only at the end: a rule or a
    table's head is one in the middle of an answer.
    """
    text = text.rstrip()[-LOOP_WITHIN:]
    if not _repeats(text):
        return None
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    for period in range(1, min(LOOP_LONGEST, len(codes) // LOOP_REPEATS) + 1):
        needed = max(LOOP_CHARS, LOOP_REPEATS * period) - period
        apart = np.flatnonzero(codes[period:] != codes[:-period])
        edges = np.concatenate(([-1], apart, [len(codes) - period]))
        runs = np.diff(edges) - 1
        for at in np.flatnonzero(runs >= needed):
            start = int(edges[at]) + 1
            piece = text[start : start + period]
            at_end = at == len(runs) - 1
            if piece.strip() and (at_end or any(sign.isalnum() for sign in piece)):
                return piece
    return None


def _repeats(text: str) -> bool:
    """Whether there can be a loop: what most texts have none of costs little to see.

    In a loop 60 characters at least in a row (80 less a piece of 20, three of a longer piece) are those of a piece
    before, so that one of the blocks of 30 into which a text is cut stands once more within a piece before it.
    """
    return any(
        text.find(text[at : at + _BLOCK], max(0, at - LOOP_LONGEST), at + _BLOCK - 1) >= 0
        for at in range(_BLOCK, len(text) - _BLOCK + 1, _BLOCK)
    )


def _latin(word: str) -> str | None:
    """A word in plain letters; None for one of another script."""
    plain = "".join(sign for sign in unicodedata.normalize("NFD", word) if not unicodedata.combining(sign))
    return plain if plain.isascii() else None
