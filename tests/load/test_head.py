"""The unique head of a request."""

import itertools

from llmload.load.head import head


def test_a_head_reads_like_a_reference() -> None:
    """The same in every version and on every machine, as both sides of a comparison depend on it."""
    assert head(1, 0, "measured", 0, 0) == "Case orange bell coal clay magnet shadow"
    assert head(1, 0, "measured", 0, 1) != head(1, 0, "measured", 0, 0)


def test_all_heads_of_two_rounds_differ() -> None:
    """One to one, so that no two requests of a run share a beginning, and all fit into the first 64 characters."""
    heads = [
        head(7, round_, phase, step, index)
        for round_ in range(2)
        for phase in ("preflight", "warmup", "measured")
        for step in (0, 1, 1023)
        for index in (*range(500), (1 << 28) - 1)
    ]
    assert len(set(heads)) == len(heads) == 2 * 3 * 3 * 501
    assert max(map(len, heads)) <= 46


def test_neighbours_share_no_beginning() -> None:
    """Requests one after the other differ from their first word on, all but about one in 256."""
    firsts = [head(1, 0, "measured", 0, index).split()[1] for index in range(1000)]
    assert sum(a == b for a, b in itertools.pairwise(firsts)) < 20


def test_another_seed_has_other_heads() -> None:
    """Two seeds share no plan."""
    assert not {head(1, 0, "measured", 0, i) for i in range(1000)} & {head(2, 0, "measured", 0, i) for i in range(1000)}
