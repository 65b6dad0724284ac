"""A comparison as a whole: what everything was found to be. Plain data, which `show` renders; computes nothing."""

from dataclasses import dataclass

from llmload.compare.answering.answering import Answers
from llmload.compare.claims.claims import Claim
from llmload.compare.claims.conditions import Condition
from llmload.compare.differing.differences import Difference
from llmload.compare.kinds.kinds import Kind
from llmload.compare.money.money import Money
from llmload.compare.questions import Question
from llmload.compare.ratios.cells import Cell, Deciding
from llmload.compare.ratios.changes import Changes
from llmload.compare.rule.rule import Rule
from llmload.compare.sides import Pair
from llmload.compare.verdict.verdict import Verdict
from llmload.exits import Exit


@dataclass(frozen=True, slots=True)
class GateJudged:
    """A gate on ratios: whether it holds, and the words for it."""

    text: str
    holds: bool
    words: str


@dataclass(frozen=True, slots=True)
class Compared:
    """One baseline against one candidate with one scenario."""

    pair: Pair
    deciding: Deciding
    verdict: Verdict
    differences: tuple[Difference, ...]
    conditions: tuple[Condition, ...]
    cells: tuple[Cell, ...]
    rule: Rule | None
    kinds: tuple[Kind, ...]
    answers: Answers | None
    money: Money | None
    capabilities: tuple[tuple[str, str, str], ...]
    """(what, baseline, candidate), each in words."""
    questions: tuple[Question, ...]
    gates: tuple[GateJudged, ...]
    warnings: tuple[str, ...]

    @property
    def decided(self) -> Cell | None:
        """The cell that decides, if it could be computed."""
        return next((cell for cell in self.cells if cell.deciding), None)


@dataclass(frozen=True, slots=True)
class Comparison:
    """All pairs, one per scenario and candidate; the verdict of all is the worst of them."""

    claim: Claim | None
    compared: tuple[Compared, ...]
    changes: tuple[Changes, ...]
    warnings: tuple[str, ...]
    """What is about no single pair: scenarios that only one side has."""
    exit_code: Exit
    together: str = ""
    """What several pairs say together, one sentence; empty where there is one."""
    ab: str | None = None
    """The folder of `llmload ab`, if that is what is compared."""
