"""Whether two sides may be compared: every difference between them, and who declared it.

What can differ is a list of sorts (`differing`), each made of parts that are read from every round. A difference is the
variable under test where --changed names its sort or that very part, accepted where --accept does, and undeclared
otherwise. What is known of one side alone is a note, and so is a declared change of which nothing was seen. Rounds of
one side that differ among themselves are told too; --changed is about the sides, so that only --accept covers these.

`engine` is the engine and its version. Its flags are a sort of their own: whoever tests another engine with other flags
changed two things, and says so by two names.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from llmload.compare.differing.asking import ASKING
from llmload.compare.differing.hardware import HARDWARE
from llmload.compare.differing.health import health
from llmload.compare.differing.measuring import MEASURING
from llmload.compare.differing.part import Part, Sort, Texts, shown
from llmload.compare.differing.serving import SERVING
from llmload.compare.sides import Level, Pair, Side
from llmload.exits import Stop

__all__ = ["SORTS", "SYNONYMS", "Difference", "check_names", "find", "health"]

Standing = Literal["variable under test", "accepted", "undeclared", "note"]
"""`note`: a difference that spoils nothing, or something that is unknown on one side."""
UNKNOWN = "unknown"

SORTS: tuple[Sort, ...] = (*SERVING, *HARDWARE, *ASKING, *MEASURING)

SYNONYMS: dict[str, tuple[str, ...]] = {
    "gpu": ("hardware",),
    "software": ("engine", "flags", "driver"),
    "server": ("engine", "flags"),
    "client": ("generator",),
    "cache": ("cache_busting",),
    "output": ("output_limits", "output_lengths"),
}
"""Further names, and the sorts that each stands for."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One way in which the sides differ. `name` is what --changed and --accept call it."""

    name: str
    baseline: str
    candidate: str
    standing: Standing
    words: str
    """One sentence."""


@dataclass(frozen=True, slots=True)
class _Held:
    """One part, held: its values by role, one per round, and what differs."""

    sort: Sort
    part: Part
    values: dict[str, list[Any]]
    texts: Texts | None
    within: dict[str, Texts]

    @property
    def unknown(self) -> tuple[str, ...]:
        """The roles of which nothing is known."""
        return tuple(role for role, values in self.values.items() if not values)

    def touches(self, level: Level) -> bool:
        """Whether a value of levels has this one, on either side."""
        return any(level.label in value for values in self.values.values() for value in values)

    def labelled(self, text: str) -> str:
        """A value with the part's words before it, where the sort has several parts."""
        return f"{self.part.words} {text}".strip() if len(self.sort.parts) > 1 else text

    def side(self, role: str) -> str:
        """A side's value in words."""
        values = self.values[role]
        return self.labelled(shown(self.part.pool(values))) if values else UNKNOWN


def check_names(names: Iterable[str], flag: str) -> tuple[str, ...]:
    """Names as --changed and --accept take them, several joined by commas among them; spelt as in SORTS.

    `flag` is named in the sentence. Raises Stop(USAGE) for a name that is none.
    """
    parts = {part.key for sort in SORTS for part in sort.parts}
    sorts = [sort.name for sort in SORTS]
    known = {*sorts, *SYNONYMS, *parts}
    found = []
    for text in (piece for name in names for piece in name.split(",")):
        name = text.strip().lower().replace("-", "_").replace(" ", "_")
        if name not in known:
            near = get_close_matches(name, sorted(known), n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise Stop(f"{flag}: no difference is called {text.strip()!r}; expected one of: {', '.join(sorts)}{hint}")
        found.append(name)
    return tuple(dict.fromkeys(found))


def find(
    pair: Pair, changed: Collection[str], accepted: Collection[str], decides: Level | None = None
) -> tuple[Difference, ...]:
    """Every difference between the sides of a pair, in the order of SORTS, and what was declared and not seen.

    What spoils levels is a note where it spoils others than the one that `decides`.

    Raises Stop: USAGE for a name that is none, UNJUDGED for a prompts.jsonl that cannot be read.
    """
    tested = check_names(changed, "--changed")
    allowed = check_names(accepted, "--accept")
    found: list[Difference] = []
    held: list[_Held] = []
    for sort in SORTS:
        mine = [_hold(sort, part, pair) for part in sort.parts if _counts(part, held)]
        held += mine
        found += _across(sort, mine, tested, allowed, decides)
        found += _within(sort, mine, allowed)
        found += _unknown(sort, mine)
    return tuple(found + [note for name in tested for note in _unseen(name, held)])


def _counts(part: Part, held: Sequence[_Held]) -> bool:
    """Lengths of answers are held in tokens, and in characters where tokenizers differ."""
    if part.key not in ("output_tokens", "output_chars"):
        return True
    unlike = any(item.texts for item in held if item.sort.name == "tokenizer")
    return unlike == (part.key == "output_chars")


def _hold(sort: Sort, part: Part, pair: Pair) -> _Held:
    sides = {"baseline": pair.baseline, "candidate": pair.candidate}
    values = {role: _known(part, side) for role, side in sides.items()}
    mine, theirs = values["baseline"], values["candidate"]
    texts = part.hold(part.pool(mine), part.pool(theirs)) if mine and theirs else None
    within: dict[str, Texts] = {}
    for role, known in values.items() if part.within else ():
        unlike = next((two for other in known[1:] if (two := part.hold(known[0], other))), None)
        if unlike is not None:
            within[role] = unlike
    return _Held(sort, part, values, texts, within)


def _known(part: Part, side: Side) -> list[Any]:
    """The values of those rounds in which it is known."""
    return [value for built in side.rounds if (value := part.read(built)) is not None]


def _covers(names: Collection[str], item: _Held) -> bool:
    """Whether the names speak of this part."""
    wide = {sort for name in names for sort in SYNONYMS.get(name, (name,))}
    return item.sort.name in wide or item.part.key in wide


def _across(
    sort: Sort, held: Sequence[_Held], tested: Collection[str], allowed: Collection[str], decides: Level | None
) -> Iterator[Difference]:
    """The differences between the sides, one of each standing at most."""

    def standing(item: _Held) -> Standing:
        if item.part.note or (item.part.of_levels and decides is not None and not item.touches(decides)):
            return "note"
        if _covers(tested, item):
            return "variable under test"
        return "accepted" if _covers(allowed, item) else "undeclared"

    unlike = [(item, item.texts) for item in held if item.texts is not None]
    for kind in dict.fromkeys(standing(item) for item, _ in unlike):
        mine = [(item, texts) for item, texts in unlike if standing(item) == kind]
        said = "; ".join(f"{item.labelled(one)} against {other}" for item, (one, other) in mine)
        cures = {item.part.cure for item, _ in mine}
        declare = f"; {cures.pop()}" if len(cures) == 1 and "" not in cures else _declare(sort.name)
        yield Difference(
            sort.name,
            "; ".join(item.labelled(one) for item, (one, _) in mine),
            "; ".join(item.labelled(other) for item, (_, other) in mine),
            kind,
            f"{_spoken(sort)}: {said}{declare if kind == 'undeclared' else ''}",
        )


def _declare(name: str) -> str:
    return f"; nobody declared it: --changed {name} if it is what is tested, --accept {name} if it may differ"


def _spoken(sort: Sort) -> str:
    return sort.name.replace("_", " ")


def _within(sort: Sort, held: Sequence[_Held], allowed: Collection[str]) -> Iterator[Difference]:
    """The rounds of one side that differ among themselves."""
    for role in ("baseline", "candidate"):
        for noted in (False, True):
            mine = [item for item in held if role in item.within and item.part.note is noted]
            if not mine:
                continue
            said = "; ".join(f"{item.labelled(item.within[role][0])} and {item.within[role][1]}" for item in mine)
            free = all(_covers(allowed, item) for item in mine)
            declare = "" if noted or free else f"; a side is one thing: --accept {sort.name} if it may differ"
            yield Difference(
                sort.name,
                said if role == "baseline" else "",
                said if role == "candidate" else "",
                "note" if noted else "accepted" if free else "undeclared",
                f"the rounds of the {role} differ in {_spoken(sort)}: {said}{declare}",
            )


def _unknown(sort: Sort, held: Sequence[_Held]) -> Iterator[Difference]:
    """What is known of one side alone, a note."""
    for role, other in (("baseline", "candidate"), ("candidate", "baseline")):
        mine = [item for item in held if item.unknown == (role,) and not item.part.optional]
        if mine:
            known = "; ".join(item.side(other) for item in mine if _short(item.values[other])) or "known"
            what = ", ".join(item.part.words for item in mine if item.part.words) or _spoken(sort)
            of = "" if what == _spoken(sort) else f" ({what})"
            yield Difference(
                sort.name,
                UNKNOWN if role == "baseline" else known,
                UNKNOWN if role == "candidate" else known,
                "note",
                f"unknown on the {role}'s side: {_spoken(sort)}{of}",
            )


def _short(values: Sequence[Any]) -> bool:
    """Whether a value is one that a person can read as it is."""
    return isinstance(values[0], str | int | float | bool | tuple)


def _unseen(name: str, held: Sequence[_Held]) -> Iterator[Difference]:
    """A declared change of which nothing was seen, a note."""
    mine = [item for item in held if _covers((name,), item)]
    if any(item.texts for item in mine):
        return
    missing = {role for item in mine for role in item.unknown if not item.part.optional}
    known = [item for item in mine if not item.unknown]
    if known:
        why = "as far as it is known, both sides are alike in it" if missing else "both sides are alike in it"
    else:
        why = "it is unknown on " + (f"the {missing.pop()}'s side" if len(missing) == 1 else "both sides")
    tell = [
        "; ".join(item.side(role) for item in mine if item.values[role] and _short(item.values[role])) or UNKNOWN
        for role in ("baseline", "candidate")
    ]
    yield Difference(
        name,
        tell[0],
        tell[1],
        "note",
        f"{name.replace('_', ' ')}: declared as changed, but no difference was seen: {why}",
    )
