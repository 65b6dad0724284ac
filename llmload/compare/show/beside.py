"""Two answers side by side, what differs marked. Gives markup, with everything escaped."""

import re
from difflib import SequenceMatcher

from markupsafe import Markup, escape

from llmload.plain import one_line

MOST = 3_000
"""Characters of a text that are shown."""


def plain(text: str) -> str:
    """A text as it may be shown: its lines stay, what steers a terminal or turns text goes, a long one is cut."""
    lines = "\n".join(one_line(line) for line in text[:MOST].splitlines())
    return lines + (f" … ({len(text) - MOST:,} more characters)" if len(text) > MOST else "")


def marked(first: str, second: str) -> tuple[Markup, Markup]:
    """Both texts as markup, with <mark> around the words that are not in the other."""
    left, right = (re.findall(r"\s+|[^\s]+", plain(text)) for text in (first, second))
    out: tuple[list[Markup], list[Markup]] = ([], [])
    for tag, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for place, words in enumerate((left[a:b], right[c:d])):
            text = escape("".join(words))
            if text:
                out[place].append(text if tag == "equal" else Markup("<mark>{}</mark>").format(text))
    return Markup("").join(out[0]), Markup("").join(out[1])
