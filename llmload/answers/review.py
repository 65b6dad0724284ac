"""A blind review: pairs of answers in random order for people to judge, and what came of it. Texts only; pure.

Which of A and B is the candidate is drawn for each pair and stands in a key of its own, so that who reviews cannot
know. Cells that a spreadsheet would take for a formula get an apostrophe before them, which shows that they are text.
"""

import csv
import random
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from llmload.answers.judging import Asked
from llmload.answers.rates import sign
from llmload.answers.scoring import sides, swapped
from llmload.chance import Interval
from llmload.exits import Stop

COLUMNS = ("number", "workload", "prompt", "A", "B", "better")
KEY = ("number", "id", "A", "B")
TIES = {"=", "'=", "tie", "same", "equal", "0"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_LONGEST = 30_000
"""Characters of a cell; spreadsheets take 32,767."""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What the reviewers said: pairs in which each side was better, ties, and those that were left open."""

    baseline: int
    candidate: int
    ties: int
    left: int

    @property
    def interval(self) -> Interval | None:
        """Of the share that the candidate won, ties left out."""
        return sign(self.candidate, self.baseline)[0]

    @property
    def words(self) -> str:
        """One sentence."""
        text = f"people found the candidate better in {self.candidate}, the baseline in {self.baseline}, no difference "
        text += f"in {self.ties}" + (f"; {self.left} were left open" if self.left else "")
        interval, p = sign(self.candidate, self.baseline)
        if interval is None:
            return f"{text}: no preference to count"
        share = self.candidate / (self.candidate + self.baseline)
        word = "no preference shown" if p > 0.05 else f"they prefer the {'candidate' if share > 0.5 else 'baseline'}"
        part, low, high = (f"{100 * each:.0f} %" for each in (share, *interval))
        return f"{text}: {part} of those decided [{low}, {high}], sign test p = {p:.2g}: {word}"


def choose(pairs: Sequence[Asked], most: int, seed: int) -> list[Asked]:
    """Up to so many pairs that both sides answered, and not the same, in random order."""
    apart = [one for one in pairs if one.baseline.came and one.candidate.came
             and one.baseline.text.strip() != one.candidate.text.strip()]  # fmt: skip
    random.Random(f"{seed}/review").shuffle(apart)  # noqa: S311  (an order, no secret)
    return apart[:most]


def sheet(pairs: Sequence[Asked], seed: int) -> str:
    """The sheet as CSV, with an empty column `better` for A, B or =."""
    rows = [
        (
            str(number),
            one.workload,
            one.prompt or f"(prompt {one.id})",
            *(answer.text for answer in sides(one, seed)),
            "",
        )
        for number, one in enumerate(pairs, 1)
    ]
    return _csv(COLUMNS, rows)


def key(pairs: Sequence[Asked], seed: int) -> str:
    """Who is A and who is B, as CSV."""
    names = {False: ("baseline", "candidate"), True: ("candidate", "baseline")}
    return _csv(KEY, [(str(at), one.id, *names[swapped(one, seed)]) for at, one in enumerate(pairs, 1)])


def page(pairs: Sequence[Asked], seed: int) -> str:
    """The sheet as one page to read from; what is decided is written into the CSV."""
    parts = []
    for number, one in enumerate(pairs, 1):
        a, b = (escape(answer.text) for answer in sides(one, seed))
        prompt = escape(one.prompt or f"(prompt {one.id})")
        parts.append(
            f"<h2>{number} <small>{escape(one.workload)}</small></h2>\n<pre>{prompt}</pre>\n"
            f"<div><section><h3>A</h3><pre>{a}</pre></section><section><h3>B</h3><pre>{b}</pre></section></div>"
        )
    return _PAGE.replace("{{pairs}}", "\n".join(parts))


def read(filled: str, told: str, where: str) -> Reviewed:
    """What a filled sheet says, by its key. Raises Stop(USAGE) that names `where` and the row."""
    who = {row["number"]: row for row in _rows(told, KEY, f"{where}: its key")}
    counts = dict.fromkeys(("baseline", "candidate", "ties", "left"), 0)
    seen = set()
    for row in _rows(filled, COLUMNS[:1] + COLUMNS[-1:], where):
        number, said = row["number"].strip(), row["better"].strip().lower()
        if number not in who or number in seen:
            why = "is there twice" if number in seen else "is not in the key"
            raise Stop(f"{where}: pair {number!r} {why}; is this the key of this sheet?")
        seen.add(number)
        if said in {"a", "b"}:
            side = who[number][said.upper()]
            if side not in {"baseline", "candidate"}:
                raise Stop(f"{where}: its key: pair {number}: expected baseline or candidate, got {side!r}")
            counts[side] += 1
        elif said in TIES or not said:
            counts["ties" if said else "left"] += 1
        else:
            raise Stop(f"{where}: pair {number}: expected A, B, = or nothing in the column better, got {said!r}")
    return Reviewed(**counts)


def guarded(text: str) -> str:
    """A cell that no spreadsheet runs, without the characters that none can show."""
    text = "".join(sign for sign in text if sign.isprintable() or sign in "\n\t")[:_LONGEST]
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text


class _Lines(list[str]):
    """Where a CSV writer writes."""

    write = list.append


def _csv(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = _Lines()
    writer = csv.writer(lines, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([guarded(cell) for cell in row] for row in rows)
    return "".join(lines)


def _rows(text: str, needed: Sequence[str], where: str) -> list[dict[str, str]]:
    text = text.removeprefix("\ufeff")
    first = text.split("\n", 1)[0]
    delimiter = ";" if first.count(";") > first.count(",") else ","  # as spreadsheets save it in some countries
    try:
        rows = list(csv.DictReader((f"{line}\n" for line in text.split("\n")), delimiter=delimiter))
    except csv.Error as error:
        raise Stop(f"{where}: no CSV: {error}") from None
    missing = [name for name in needed if not rows or name not in rows[0]]
    if missing:
        raise Stop(f"{where}: expected rows with the columns {', '.join(needed)}; missing: {', '.join(missing)}")
    return [{name: value or "" for name, value in row.items() if isinstance(value, str | None)} for row in rows]


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Blind review</title><style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
div { display: flex; gap: 1rem; } section { flex: 1; min-width: 0; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f4f4f4; padding: .6rem; border-radius: 4px; }
h2 { margin-top: 2.5rem; border-top: 1px solid #ccc; padding-top: 1rem; } small { color: #666; }
</style></head><body><h1>Blind review</h1>
<p>Which answer is better, A or B? Write A, B or = into the column <b>better</b> of review.csv, or leave it empty.</p>
{{pairs}}
</body></html>
"""
