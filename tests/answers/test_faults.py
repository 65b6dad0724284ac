"""What is wrong with an answer by itself, worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.answers import faults, language
from llmload.answers.alike import identical, similarity

GERMAN = "Der Fluss fließt durch das Tal, und die Menschen leben von ihm. Sie fischen und bewässern ihre Felder."
ENGLISH = "The river runs through the valley, and the people live by it. They fish and they water their fields."
FRENCH = "La rivière traverse la vallée, et les gens en vivent. Ils pêchent et ils arrosent leurs champs chaque jour."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A plain answer, with a tab\tand a\nline.", None),
        ("héhé", None),
        ("42 \ufffd", None),  # cut within a sign
        ("ab\ufffd\ufffdcd", "2 of 6 characters are none that a text has"),
        ("x" * 198 + "\x00\x01", None),  # exactly 1 %
        ("x" * 197 + "\x00\x01\ue000", "3 of 200 characters are none that a text has"),
        ("fÃ¼r schÃ¶ne MÃ¤uler", "3 pairs of characters are UTF-8 read as single bytes"),
        ("itâ€™s, â€œsoâ€\u009d", "3 pairs of characters are UTF-8 read as single bytes"),
        ("für schöne Mäuler, Ärger, SÃO PAULO", None),
        (" ".join(["xkcdf", "bcdfg", "qwrtz"] * 4), "12 of 12 words have no vowel"),
        (" ".join(["xkcdf"] * 9), None),  # too few to tell
        (" ".join(["xkcdf", "river"] * 6), None),  # half of them, not more
        ("это обычный русский текст без каких-либо ошибок внутри строки " * 2, None),
    ],
)
def test_garbled(text: str, words: str | None) -> None:
    """Each kind, and what only looks like it."""
    assert faults.garbled(text) == words


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("I think so. " * 7, "I think so. "),  # 84 characters but for the last space: 83
        ("I think so. " * 6, None),  # 71 characters
        ("word " * 15, None),
        ("abcdefghijklmnopqrstuvwxyz " * 3, None),  # three times
        ("abcdefghijklmnopqrstuvwxyz " * 4 + "abc", "abcdefghijklmnopqrstuvwxyz "),
        ("!" * 80, "!"),
        ("!" * 79, None),
        ("A table:\n" + "-" * 100 + "\na | b", None),  # a rule amid an answer
        ("so it is " * 12 + "and then it went on to something else", "so it is "),
        ("1. a river\n2. a brook\n3. a lake\n4. a sea\n5. a pond\n6. a ditch\n7. a canal\n8. a fjord\n9. a bay", None),
        ("", None),
    ],
)
def test_loop(text: str, piece: str | None) -> None:
    """Four times at least and 80 characters at least; signs alone only at the end."""
    assert faults.loop(text) == piece


@given(st.text(min_size=20, max_size=30), st.text(max_size=50), st.integers(6, 10))
def test_any_repeated_piece_is_found_at_the_end(piece: str, before: str, times: int) -> None:
    """Whatever is repeated, and whatever stands before it, unless it is white space alone."""
    piece = f"{piece}a"
    assert faults.loop(before + piece * times) is not None


@given(st.text(max_size=200))
def test_any_text_can_be_looked_at(text: str) -> None:
    """None breaks it; every text is like itself."""
    faults.garbled(text)
    assert faults.loop(text) is None or len(text) >= 80
    assert identical(text, text)
    assert similarity(text, text) == 1


def test_similarity_is_over_words() -> None:
    """2 · 3 common words / (4 + 5 words)."""
    assert similarity("the river is wide", "the river is deep today") == pytest.approx(6 / 9)
    assert similarity("the river", "no word in common") == 0
    assert similarity("", " ") == 1
    assert identical("a b\n", "a b")
    assert not identical("a b", "a  b")


def test_languages_are_told_where_there_is_enough_text() -> None:
    """Short texts, code and numbers are in none."""
    assert [language.of(text) for text in (GERMAN, ENGLISH, FRENCH)] == ["de", "en", "fr"]
    assert language.of("Ja, so ist es.") is None
    assert language.of(f"```python\n{ENGLISH}\n```") is None
    assert language.of("12 34 56 78 " * 30 + "abcdefgh " * 8) is None


@pytest.mark.parametrize(
    ("prompt", "baseline", "candidate", "strays"),
    [
        (GERMAN, GERMAN, ENGLISH, (False, True)),
        (GERMAN, ENGLISH, GERMAN, (True, False)),
        (GERMAN, ENGLISH, ENGLISH, (False, False)),  # a translation that was asked for
        (GERMAN, GERMAN, "Ja.", (False, False)),
        (None, GERMAN, ENGLISH, (False, True)),
        (FRENCH, GERMAN, ENGLISH, (False, True)),
    ],
)
def test_who_left_the_language(prompt: str | None, baseline: str, candidate: str, strays: tuple[bool, bool]) -> None:
    """Only where the two are in different languages."""
    assert language.strays(prompt, baseline, candidate) == strays


@given(
    st.text("ab ", max_size=60),
    st.text("abc1 .", min_size=1, max_size=60),
    st.integers(1, 90),
    st.text("ab ", max_size=60),
)
def test_no_loop_is_missed_for_speed(before: str, piece: str, times: int, behind: str) -> None:
    """What says at once that there is none is right whatever stands around a loop and wherever it begins."""
    text = before + piece * times + behind
    found = faults.loop(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faults, "_repeats", lambda _text: True)
        assert faults.loop(text) == found
