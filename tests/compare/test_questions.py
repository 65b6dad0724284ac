"""What a reader should ask of a comparison, answered from its parts; what they cannot say is said."""

from dataclasses import replace

import pytest

from llmload.compare import questions
from llmload.compare.answering.quality import Answers, ClassQuality
from llmload.compare.claims.claims import Claim
from llmload.compare.claims.conditions import CONDITIONS, Condition
from llmload.compare.comparison import Compared
from llmload.compare.differing.differences import Difference, Standing
from llmload.compare.figures import FIGURES
from llmload.compare.money import money
from llmload.compare.questions import Question
from llmload.compare.sides import Pair, Side
from llmload.compare.verdict.verdict import WORDS, Verdict
from llmload.compare.words import X
from llmload.load.scenario import Cost
from llmload.report import building
from tests.compare import folders
from tests.compare.madecells import cell, compared, deciding, level

CLAIM = Claim("14x e2e_p95", FIGURES["e2e_p95"], 14.0, 8.0, None, "Example Ltd")
ALL_KNOWN = tuple(Condition(name, None, "as it was", "as it was", "unstated") for name in CONDITIONS)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """Three rounds a side of a mix, few requests each, of a priced scenario."""
    root = tmp_path_factory.mktemp("sides")
    how = {
        "steps": (1, 8),
        "requests": 20,
        "workloads": {"short": {"weight": 3.0}, "long": {"weight": 1.0, "input_tokens": 3000}},
        "scenario": {"cost": Cost(gpu_hour=36.0, gpus=1, currency="EUR")},
    }
    sides = [
        Side(name, tuple(building.compute(path) for path in folders.rounds(root / name, 3, seed=seed, **how)))
        for name, seed in (("baseline", 1), ("candidate", 9))
    ]
    return Pair("mixed", *sides, (level(1), level(8)), (), ("short", "long", "all"), interleaved=True)


def whole(pair: Pair, word: str = "supported", **more: object) -> Compared:
    """A comparison of these sides whose deciding cell says 14.2 times, of rounds of 90, 100 and 110."""
    decides = cell("e2e_p95", 14.2, 13.5, 15.0, at=8, deciding=True, values=((90.0, 110.0, 100.0), (7.0, 7.0, 7.0)))
    facts: dict[str, object] = {"pair": pair, "deciding": deciding(at=8), "conditions": ALL_KNOWN} | more
    cells = facts.pop("cells", (decides,))
    return compared(Verdict(word, "", (), WORDS[word]), cells, **facts)  # type: ignore[arg-type]


def asked(found: Compared, claim: Claim | None = None) -> dict[str, Question]:
    """The questions by themselves."""
    return {item.question: item for item in questions.of(found, claim)}


def difference(name: str, standing: Standing) -> Difference:
    """One way in which sides differ."""
    return Difference(name, "a", "b", standing, f"the {name} differs")


def test_everything_is_answered(pair: Pair) -> None:
    """Eight questions of a comparison that has it all."""
    quality = ClassQuality("short", 100, 0.9, 0.9, (None, None), 0, None, None, 0.5, ())
    found = asked(
        whole(
            pair,
            answers=Answers((quality,), (), loss=False, words=()),
            money=money.compute(pair, 1000),
            differences=(difference("engine", "variable under test"),),
        ),
        CLAIM,
    )
    assert len(found) == 8
    assert all(item.known for item in found.values())
    answers = {name: item.answer for name, item in found.items()}
    assert answers["Which figure was claimed, and which was measured?"] == (
        f"claimed: 14{X} of E2E p95 at 8; measured: 14.2{X} of E2E p95 at 8 in flight over all classes, "
        "over all attempts, failures included, 95 % interval 13.5 to 15.0"
    )
    assert answers["Under which conditions?"] == (
        "left unstated by the claimant: model, input, output limit, hardware, software, concurrency, metric; "
        "under test: engine"
    )
    assert answers["Does my load look like this?"].startswith("it was short 75 % (200 tokens in, ")
    assert "long 25 % (3,000 tokens in, " in answers["Does my load look like this?"]
    assert "at 1, 8 in flight; the verdict is about 8 in flight" in answers["Does my load look like this?"]
    assert answers["What did it cost?"].startswith("1,000 requests ")
    assert answers["Was it repeated, and how much do rounds differ?"] == (
        "yes: 3 rounds of the baseline, 3 of the candidate, one beside the other; from the smallest to the largest the "
        "figure that decides differs: the baseline's by 20 %, the candidate's by 0 %"
    )
    assert answers["Who measured it, and on what?"].startswith(
        "claimed by Example Ltd; measured from bench-1 on as it was, first run "
    )
    assert answers["Are the answers still right?"] == (
        "no loss beyond the limit was shown; short: 90 % of 100 identical"
    )
    assert answers["What would change the verdict?"] == (
        f"an interval that begins below 14{X} less the tolerance; it begins at 13.5{X}"
    )


def test_what_these_runs_cannot_say(pair: Pair) -> None:
    """One round a side, no answers, no price, nothing known, no figure: each says so."""
    one = replace(
        pair,
        baseline=Side("baseline", pair.baseline.rounds[:1]),
        candidate=Side("candidate", pair.candidate.rounds[:1]),
    )
    unknown = tuple(Condition(name, None, None, None, "unknown") for name in CONDITIONS)
    found = asked(whole(one, "cannot be judged", cells=(), conditions=unknown))
    silent = [name for name, item in found.items() if not item.known]
    assert silent == [
        "Which figure was claimed, and which was measured?",
        "Under which conditions?",
        "What did it cost?",
        "Was it repeated, and how much do rounds differ?",
        "Who measured it, and on what?",
        "Are the answers still right?",
    ]
    assert found["Was it repeated, and how much do rounds differ?"].answer.startswith(
        "no: 1 round of the baseline, 1 of the candidate; these runs cannot say by how much"
    )
    assert found["What would change the verdict?"].answer == "the figure that decides, measured on both sides"


@pytest.mark.parametrize("word", WORDS)
def test_every_verdict_has_an_answer_to_what_would_change_it(pair: Pair, word: str) -> None:
    """None is forgotten; a difference that was accepted is doubted besides."""
    accepted = (difference("driver", "accepted"), difference("prompts", "undeclared"))
    answer = asked(whole(pair, word, differences=accepted), CLAIM)["What would change the verdict?"].answer
    if word == "not comparable":
        assert answer == "declaring what differs: --changed (under test) or --accept (borne) prompts"
    else:
        assert answer.endswith("; and doubt about what was accepted: driver")


def test_rounds_of_which_one_never_finished_have_no_spread(pair: Pair) -> None:
    """Infinite in a round: by how much rounds differ cannot be told, and is no 0."""
    decides = cell("e2e_p95", 0.0, at=8, deciding=True, values=((90.0, 110.0), (7.0, float("inf"))))
    found = asked(whole(pair, "not supported", cells=(decides,)))
    assert found["Was it repeated, and how much do rounds differ?"].answer.endswith("differs: the baseline's by 20 %")
