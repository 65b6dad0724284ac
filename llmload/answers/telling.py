"""Which pairs of answers tell most, to be shown side by side. Pure."""

from collections.abc import Iterable

from llmload.answers.judging import Judged

MOST = 12


def choose(judged: Iterable[Judged], most: int = MOST) -> list[Judged]:
    """The most telling pairs; those that are identical are left out.

    In this order: only one side is right; digits changed places; only one is sound; numbers differ; the least alike.
    """
    apart = [one for one in judged if one.identical is not True]
    return sorted(apart, key=_rank)[:most]


def _rank(one: Judged) -> tuple[int, float, str]:
    differing = one.differing
    if one.right is not None and one.right[0] != one.right[1]:
        place = 0 if one.right[0] else 1
    elif differing is not None and differing.swapped:
        place = 2
    elif one.sound[0] != one.sound[1]:
        place = 3
    elif differing:
        place = 4
    else:
        place = 5
    return place, 1.0 if one.similarity is None else one.similarity, one.asked.id
