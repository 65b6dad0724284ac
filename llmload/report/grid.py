"""A table as lines of text: headings of groups over headings of columns, numbers under one another, marks beside.

Pure: knows strings only. `lines` does not fold; `parts` says how a table that is too wide is cut into several.
"""

from collections.abc import Sequence
from dataclasses import dataclass

BETWEEN_GROUPS = "  "


@dataclass(frozen=True, slots=True)
class Head:
    """One column's headings; `group` stands over all neighbours of the same group."""

    group: str
    heading: str
    left: bool = False


def lines(heads: Sequence[Head], cells: Sequence[Sequence[str]], marks: str = "") -> list[str]:
    """The table: a line of groups, one of headings, a rule, a line per row. `marks` are signs that may end a cell."""
    columns = [_column([row[place] for row in cells], marks) for place in range(len(heads))]
    widths = [
        max(len(head.heading), *(len(cell) for cell in column), 1) for head, column in zip(heads, columns, strict=True)
    ]
    spans = _spans(heads)
    for first, last in spans:  # a group's name may be longer than its columns
        short = len(heads[first].group) - sum(widths[first : last + 1]) - (last - first)
        widths[first] += max(0, short + (2 if last > first else 0) * (short > -2))
    over = [
        _over(heads[first].group, sum(widths[first : last + 1]) + last - first, heads[first].left, last > first)
        for first, last in spans
    ]
    headings = [_fit(head.heading, width, head.left) for head, width in zip(heads, widths, strict=True)]
    rows = [
        [_fit(column[place], width, head.left) for head, column, width in zip(heads, columns, widths, strict=True)]
        for place in range(len(cells))
    ]
    text = [_join(spans, row) for row in [headings, *rows]]
    return [BETWEEN_GROUPS.join(over).rstrip(), text[0], "─" * len(text[0]), *(row.rstrip() for row in text[1:])]


def parts(
    heads: Sequence[Head], cells: Sequence[Sequence[str]], keep: int, width: int, marks: str = ""
) -> list[list[int]]:
    """The columns of each table that a wide one is cut into, so that none has lines of over `width` characters.

    The first `keep` columns stand in each; groups stay whole, and one that is too wide by itself stands alone.
    """
    first = list(range(keep))
    found = [first]
    for begin, end in _spans(heads[keep:]):
        group = list(range(keep + begin, keep + end + 1))
        places = [*found[-1], *group]
        wide = len(lines([heads[at] for at in places], [[row[at] for at in places] for row in cells], marks)[2]) > width
        if wide and len(found[-1]) > keep:
            found.append([*first, *group])
        else:
            found[-1] = places
    return found


def _column(cells: list[str], marks: str) -> list[str]:
    """Cells with room for marks where any of them has one, so that digits stand under digits."""
    room = max((len(cell) - len(cell.rstrip(marks)) for cell in cells), default=0) if marks else 0
    if not room:
        return cells
    return [(bare := cell.rstrip(marks)) + cell[len(bare) :].ljust(room) for cell in cells]


def _spans(heads: Sequence[Head]) -> list[tuple[int, int]]:
    """First and last column of each group; a column of no group is a group of its own."""
    spans: list[tuple[int, int]] = []
    for place, head in enumerate(heads):
        if spans and head.group and heads[spans[-1][0]].group == head.group:
            spans[-1] = (spans[-1][0], place)
        else:
            spans.append((place, place))
    return spans


def _over(name: str, width: int, left: bool, wide: bool) -> str:
    """A group's heading: over several columns with a rule left and right of it."""
    if not wide:
        return _fit(name, width, left)
    return f" {name} ".center(width, "─") if name and len(name) + 2 <= width else name.center(width)


def _fit(words: str, width: int, left: bool) -> str:
    return words.ljust(width) if left else words.rjust(width)


def _join(spans: Sequence[tuple[int, int]], parts: Sequence[str]) -> str:
    return BETWEEN_GROUPS.join(" ".join(parts[first : last + 1]) for first, last in spans)
