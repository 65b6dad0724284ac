"""Which GPUs are meant by numbers and beginnings of UUIDs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.sidecar.backend import Absent
from llmload.sidecar.nvml.choose import Found, choose

TWO = [Found(0, "GPU-ab12", "H100"), Found(1, "GPU-ab34", "L4")]


def test_none_means_all() -> None:
    """Nothing was asked for."""
    assert choose([], TWO) == TWO


def test_a_beginning_that_two_have() -> None:
    """It is not guessed which is meant."""
    with pytest.raises(Absent, match=r"GPU 'gpu-ab' could be any of GPU-ab12, GPU-ab34; write more of its UUID"):
        choose(["gpu-ab"], TWO)


@pytest.mark.parametrize("word", ["2", "x", "", "-1", "²", "GPU-ab125"])
def test_what_is_not_there(word: str) -> None:
    """The sentence names what is."""
    with pytest.raises(Absent, match=r"no GPU .* here; .* of: 0 \(GPU-ab12, H100\), 1 \(GPU-ab34, L4\)"):
        choose([word], TWO)


@given(st.sets(st.text("0123456789abcdef", min_size=8, max_size=8), min_size=1, max_size=8), st.data())
def test_whole_uuids_and_numbers_choose_exactly_those(uuids: set[str], data: st.DataObject) -> None:
    """However they are written and however often."""
    found = [Found(number, f"GPU-{uuid}") for number, uuid in enumerate(sorted(uuids))]
    wanted = data.draw(st.lists(st.sampled_from(found), min_size=1))
    words = [data.draw(st.sampled_from([str(one.number), one.uuid, one.uuid.upper()])) for one in wanted]
    assert choose(words, found) == [one for one in found if one in wanted]
