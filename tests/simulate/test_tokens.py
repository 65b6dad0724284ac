"""The simulator's own tokenizer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.simulate import tokens

ENGLISH = (
    "Dear support team, the replacement keyboard that you sent on 3 March works, but the delivery note lists two of"
    " them. Could you please check whether a second parcel is on its way, and tell me how to return it if so? My"
    " customer number is 4471-09; the order was placed through the company portal by our procurement department."
)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("hello", 1),
        ("hello world", 2),
        ("hello, world!", 4),
        ("replacement", 2),
        ("a  b", 3),
        ("\n\n", 1),
        ("naïve 北京", 2),
        ("4471-09", 3),
    ],
)
def test_pieces(text, count):
    """Worked by hand: six letters at most, a sign, or white space."""
    assert tokens.count(text) == count
    assert len(tokens.ids(text)) == count


def test_english_takes_about_four_characters():
    """Believable text comes to four to five characters a token."""
    assert 4.0 < len(ENGLISH) / tokens.count(ENGLISH) < 5.0


def test_equal_pieces_have_equal_ids():
    """An id depends on the piece alone."""
    first, second, third = tokens.ids(" now now now")
    assert first == second == third
    assert 0 <= first < tokens.VOCABULARY


def test_chat_template():
    """Four tokens a message and three for the turn that is to be answered."""
    assert tokens.count_chat(["hello world"]) == 2 + 7
    assert tokens.count_chat(["be brief", "hello world"]) == 4 + 11


def test_contents():
    """Texts, nothing, and lists of text parts are texts; a picture is not."""
    assert tokens.text_of("a") == "a"
    assert tokens.text_of(None) == ""
    assert tokens.text_of([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]) == "ab"
    assert tokens.text_of([{"type": "image_url", "image_url": {}}]) is None
    assert tokens.text_of(7) is None


def test_fewer_letters_make_more_tokens():
    """Where three letters make a token, " world" is two: " wor" and "ld"."""
    assert tokens.pieces("hello world", 3) == ["hel", "lo", " wor", "ld"]
    assert tokens.count_chat(["hello world"], 3) == 4 + 7


@given(st.text(), st.text())
def test_nearly_additive(left, right):
    """Cutting a text in two adds one token at most, which is what fitting prompts by their length needs."""
    assert 0 <= tokens.count(left) + tokens.count(right) - tokens.count(left + right) <= 1


@given(st.text())
def test_every_character_is_in_a_piece(text):
    """The pieces of a text are the text."""
    assert "".join(tokens.pieces(text)) == text
