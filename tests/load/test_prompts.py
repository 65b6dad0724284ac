"""Prompts written from templates: what makes them believable, and what makes them fit."""

import itertools
import re
import tomllib
from importlib import resources

import pytest

from llmload.load.prompts import KINDS, render

TYPICAL = {"short": 870, "medium": 1600, "long": 13000, "handbook": 4000}
"""Characters of a text of the usual length."""


@pytest.mark.parametrize("kind", TYPICAL)
@pytest.mark.parametrize("scale", [0.1, 0.5, 1, 3])
def test_no_text_is_longer_than_asked_and_few_are_much_shorter(kind: str, scale: float) -> None:
    """A text fills its room but for a few words, so that any length of tokens can be hit within a few."""
    room = round(TYPICAL[kind] * scale)
    for number in range(50):
        text = render(kind, number, room)
        floor = len(render(kind, number, 1))
        assert len(text) <= max(room, floor)
        assert len(text) >= room - 12 or room < 150


@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_prompts_are_a_hundred_texts(kind: str) -> None:
    """They differ, and most of their sentences do, not only a name in them."""
    texts = [render(kind, number, TYPICAL[kind]) for number in range(100)]
    assert len(set(texts)) == 100
    assert len({text[:200] for text in texts}) >= 95
    for first, second in itertools.pairwise(texts):
        shared = set(first.split(". ")) & set(second.split(". "))
        assert len(shared) <= len(first.split(". ")) * 0.4


@pytest.mark.parametrize("kind", TYPICAL)
def test_a_text_never_changes(kind: str) -> None:
    """The same kind and number give the same text, whoever asked for what before."""
    before = render(kind, 3, 700)
    render(kind, 4, 900)
    assert render(kind, 3, 700) == before


def test_one_known_text() -> None:
    """Texts are part of what makes two runs comparable: a change of them is a change of the load."""
    assert render("short", 3, 300) == (
        "Hello, and thanks for reading this. I would like to end my Starter subscription. We moved to Lyon, where the "
        "service is not on offer. Whenever I press \"end membership\", the page offers me a discount and then sends me "
        "back to the start. My phone number has not changed. When does my subscription end?"
    )  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_question_is_always_there(kind: str) -> None:
    """However short a text is cut, it ends with what is asked, and a longer one asks the same."""
    for number in range(50):
        question = render(kind, number, 1)
        assert question[-1] in ".?"
        for room in (len(question) + 80, TYPICAL[kind]):
            text = render(kind, number, room)
            asked = question if question in text else question[:1].lower() + question[1:]
            assert asked in text[-len(question) - 60 :]


@pytest.mark.parametrize("kind", TYPICAL)
@pytest.mark.parametrize("scale", [0.3, 1, 2])
def test_texts_are_clean(kind: str, scale: float) -> None:
    """No template shows, no sentence begins small, no article is wrong, no space is doubled."""
    for number in range(50):
        text = render(kind, number, round(TYPICAL[kind] * scale))
        assert not re.search(r"[{}#*@]", text), text
        assert "  " not in text
        assert "\n\n\n" not in text
        assert not re.search(r"\ba [aei]\w", text, re.IGNORECASE), text
        assert not re.search(r"[a-z]{2}[.?] [a-z]", text), text
        assert text == text.strip()
        assert text[0].isupper()


@pytest.mark.parametrize("kind", TYPICAL)
def test_every_word_of_a_template_is_defined(kind: str) -> None:
    """A name without a list would fail only for the prompt that takes it."""
    file = (resources.files("llmload.load") / "texts" / f"{kind}.toml").read_text(encoding="utf-8")
    data = tomllib.loads(file)
    used = set(re.findall(r"\{(\w+)\*?\}", "\n".join(line for line in file.splitlines() if not line.startswith("#"))))
    assert used <= set(data["words"]) | {"section", "item", "clock"}
    assert set(data["words"]) <= used, "a list that nothing uses"
    for topic in data["topic"]:
        names = [name for entry in topic["body"] if isinstance(entry, str) for name in entry.strip("@").split()]
        assert set(names) - {"shuffle"} <= set(data["shared"])


def test_clauses_are_numbered() -> None:
    """A contract counts its clauses from 1 on without a hole."""
    text = render("long", 0, 13000)
    sections = [int(number) for number in re.findall(r"^(\d+)\. ", text, re.MULTILINE)]
    assert sections == list(range(1, len(sections) + 1))
    assert len(sections) > 10
