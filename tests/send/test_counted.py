"""Tokens of prompts: each text is counted once, behind a head as it is sent, and a large file not to its end."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from llmload.load import lengths, reading
from llmload.load.mix import Mix
from llmload.send import counted
from llmload.send.counted import Remembering


class Asked:
    """Counts four characters as a token, and remembers what it was asked."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        self.texts += texts
        return [len(text) // 4 for text in texts]


def test_no_text_is_asked_twice() -> None:
    """Neither in one call nor in two; the order of the answers is that of the texts."""
    asked = Asked()
    count = Remembering(asked)
    assert count(["aaaa", "bbbbbbbb", "aaaa"]) == [1, 2, 1]
    assert count(["bbbbbbbb", "cccccccccccc"]) == [2, 3]
    assert asked.texts == ["aaaa", "bbbbbbbb", "cccccccccccc"]
    assert count([]) == []
    assert count.known("aaaa")
    assert not count.known("d")


def test_what_was_fitted_is_not_counted_again() -> None:
    """The fit has counted every built-in prompt at the length that it was cut to."""
    scenario = reading.load("smoke")
    asked = Asked()
    count = Remembering(asked)
    mix = Mix(scenario, lengths.fit(scenario, count, 0))
    before = len(asked.texts)
    found = counted.tokens(scenario, mix, count)
    assert len(asked.texts) == before
    lead = lengths.typical_lead(scenario)
    assert found == {name: len(lead + text) // 4 for _, name, text in mix.prompts()}
    assert len(set(asked.texts)) == len(asked.texts)


def test_a_data_file_is_counted_behind_a_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or bare where the scenario has no heads; of a larger file than is waited for, the beginning."""
    (tmp_path / "own.txt").write_text("aaaa\nbbbbbbbb\ncccccccccccc\n")
    (tmp_path / "own.toml").write_text('[[class]]\nname = "own"\npath = "own.txt"\n')
    scenario = reading.load(str(tmp_path / "own.toml"))
    bare = replace(scenario, cache_busting=False)
    assert counted.tokens(bare, Mix(bare), Remembering(Asked())) == {"own-1": 1, "own-2": 2, "own-3": 3}
    lead = len(lengths.typical_lead(scenario))
    assert lead
    found = counted.tokens(scenario, Mix(scenario), Remembering(Asked()))
    assert found == {f"own-{at}": (lead + 4 * at) // 4 for at in (1, 2, 3)}
    monkeypatch.setattr(counted, "AT_MOST", 2)
    assert counted.tokens(bare, Mix(bare), Remembering(Asked())) == {"own-1": 1, "own-2": 2}
