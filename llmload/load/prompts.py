"""Believable prompts of any length, written from the templates and word lists in `texts/`.

A kind (`short`: customer service, `medium`: IT tickets, `long`: contract review, `handbook`: the shared prefix) is one
TOML file. The same kind and number always give the same text, whatever the seed of a run; the seed decides how long
each is. This file knows no token, no run and no request: lengths are characters.

A kind's file:

- `[words]`: lists of words. `{name}` in a template is one of them, the same all through a prompt; `{name*}` is a new
  one at every place. Words may hold templates themselves. `#` is a digit. `{section}` and `{item}` number clauses,
  `{clock}` is a time of day that moves on.
- `[shared]`: named lists of slots. A slot is a list of sentences that say the same in other words; one is taken.
- `[[topic]]`: `body`, a list of slots, of `"@name"` (the shared slots of that name) and of `"@shuffle a b c"` (those
  shared lists in an order of the prompt's own); `end`, the variants of the question, which is always kept; `rows`,
  a heading and then line templates for an attachment that goes on as long as there is room.
- `notes`: remarks that fill the room left before the question; `closings`: what fills the rest behind it.
"""

import random
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any

KINDS = ("short", "medium", "long")
"""The built-in sources of a class: `builtin:short` and so on."""

_WORD = re.compile(r"\{(\w+)(\*?)\}")
_DIGIT = re.compile("#")
_ARTICLE = re.compile(r"\b([Aa]) (?=[aei]|o(?!ne))")


class _Pen:
    """Fills templates for one prompt: remembers its words, counts its clauses, moves its clock on."""

    def __init__(self, words: dict[str, list[str]], key: str) -> None:
        self.words = words
        self.key = key
        self.random = random.Random(key)  # noqa: S311  (texts, no secrets)
        self.section = 0
        self.item = 0
        self.seconds = self.random.randrange(6 * 3600, 18 * 3600)
        self.kept: dict[str, str] = {}

    def write(self, template: str) -> str:
        """The template with its words and digits filled in."""
        filled = _ARTICLE.sub(r"\1n ", _WORD.sub(self._word, template))
        return _DIGIT.sub(lambda _: str(self.random.randrange(10)), filled)

    def _word(self, match: re.Match[str]) -> str:
        name, fresh = match.groups()
        if name == "section":
            self.section, self.item = self.section + 1, 0
            return str(self.section)
        if name == "item":
            self.item += 1
            return f"{self.section}.{self.item}"
        if name == "clock":
            self.seconds = (self.seconds + self.random.randrange(1, 90)) % 86400
            return f"{self.seconds // 3600:02}:{self.seconds // 60 % 60:02}:{self.seconds % 60:02}"
        if fresh:
            return self.write(self.random.choice(self.words[name]))
        if name not in self.kept:
            # Chosen by name, not by turn: a prompt keeps its words whatever length it is cut to.
            own = _Pen(self.words, f"{self.key}/{name}")
            own.kept = self.kept
            self.kept[name] = ""  # a word that holds itself stays empty there
            self.kept[name] = own.write(own.random.choice(self.words[name]))
        return self.kept[name]


@cache
def _kind(name: str) -> dict[str, Any]:
    file = resources.files("llmload.load") / "texts" / f"{name}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def _slots(kind: dict[str, Any], body: list[Any], pen: _Pen) -> Iterator[list[str]]:
    for entry in body:
        if not isinstance(entry, str):
            yield entry
        elif entry.startswith("@shuffle "):
            names = entry.split()[1:]
            pen.random.shuffle(names)
            for name in names:
                yield from kind["shared"][name]
        else:
            yield from kind["shared"][entry.removeprefix("@")]


def _body(kind: dict[str, Any], topic: dict[str, Any], pen: _Pen) -> Iterator[str]:
    """The body piece by piece, then the rows of its attachment over and over, without end."""
    for variants in _slots(kind, topic["body"], pen):
        yield pen.write(pen.random.choice(variants))
    heading, *templates = topic["rows"]
    yield pen.write(heading) + "\n" + pen.write(pen.random.choice(templates))
    while True:
        for template in pen.random.sample(templates, len(templates)):
            yield "\n" + pen.write(template)


def _joined(text: str, piece: str) -> str:
    """`piece` as it follows on `text`: with the break or space that belongs before it and the right first letter."""
    words = piece.lstrip("\n")
    if text.endswith(",") and not words.startswith("I "):  # after "Hello,"
        return f" {words[:1].lower()}{words[1:]}"
    line = text[text.rfind("\n") + 1 :]
    if not text:
        lead = ""
    elif piece.startswith("\n"):
        lead = piece[: -len(words)]
    elif len(line) < len(text) and not (line[:1].isalpha() and line.endswith((".", "?"))):
        lead = "\n\n"  # behind a numbered clause or the lines of an attachment
    else:
        lead = " "
    return f"{lead}{words[:1].upper()}{words[1:]}"


def render(kind_name: str, number: int, characters: int) -> str:
    """Prompt `number` of a kind in at most `characters` characters: sentences from its beginning, then its question.

    Only whole sentences and lines are left out. The question alone is the shortest text there is, so a smaller
    number of characters gives it all the same.
    """
    kind = _kind(kind_name)
    topic = kind["topic"][number % len(kind["topic"])]
    pen = _Pen(kind["words"], f"{kind_name}/{number}")
    # Question and notes draw apart from the body, so that neither changes with the length of the other.
    draw = random.Random(f"{kind_name}/{number}/end")  # noqa: S311
    end = pen.write(draw.choice(topic["end"]))
    room = characters - len(end) - 2
    text = ""
    for piece in _body(kind, topic, pen):
        addition = _joined(text, piece)
        if len(text) + len(addition) > room:
            break
        text += addition
    for note in draw.sample(kind["notes"], len(kind["notes"])):
        addition = _joined(text, pen.write(note))
        if len(text) + len(addition) <= room:
            text += addition
    text += _joined(text, end)
    closings = [closing for closing in kind["closings"] if len(text) + 1 + len(closing) <= characters]
    return f"{text} {max(closings, key=len)}" if closings else text
