"""The seven conditions: what a claimant stated, held against what the runs had, as far as a machine can tell."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmload.compare import sides
from llmload.compare.claims import claims, conditions, stated
from llmload.compare.figures import FIGURES
from llmload.compare.ratios.cells import Deciding
from llmload.compare.sides import Level
from llmload.report import building, seven
from llmload.report.building import Built
from tests.compare import folders
from tests.compare.altered import GONE, altered, pair_of

E2E = Deciding(FIGURES["e2e_p95"], Level(8, None), "all")
GPU = {"gpu": "0", "name": "NVIDIA H100 80GB HBM3", "memory_total_bytes": 81559 << 20}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A run of two classes on a GPU, with names as they are in the wild."""
    built = building.compute(
        folders.make(
            tmp_path_factory.mktemp("runs") / "a", seed=1, steps=(8,), requests=40,
            workloads={"short": {"input_tokens": 200}, "long": {"input_tokens": 3000, "tokens": 100}},
        )
    )  # fmt: skip
    return altered(
        built,
        sending__model="meta-llama/Llama-3.1-8B-Instruct",
        environment__server__model="meta-llama/Llama-3.1-8B-Instruct",
        environment__server__engine="vllm",
        environment__server__version="0.9.1.post1",
        environment__gpus=[GPU, GPU],
        scenario__classes__0__max_tokens=89,
        scenario__classes__1__max_tokens=412,
    )


def claimed(**named: str) -> claims.Claim:
    """A claim with conditions that were stated."""
    return claims.Claim(
        "c", FIGURES["e2e_p95"], 2.0, stated={key.replace("_", " "): text for key, text in named.items()}
    )


def test_nothing_stated(run: Built) -> None:
    """Each is listed as what the claimant does not say, beside what the runs had in the words of the report."""
    found = conditions.against(claimed(), pair_of(run, run), E2E)
    assert (
        tuple(item.name for item in found) == conditions.CONDITIONS == tuple(item.name for item in seven.of(run.facts))
    )
    assert {item.standing for item in found} == {"unstated"}
    assert [item.words for item in found] == [
        "the claimant does not say which model, with which weights",
        "the claimant does not say on what input",
        "the claimant does not say up to how many output tokens",
        "the claimant does not say on what hardware",
        "the claimant does not say with what software",
        "the claimant does not say at what concurrency",
        "the claimant does not say which figure is meant",
    ]
    assert [item.baseline for item in found] == [item.text for item in seven.of(run.facts)]


def test_no_claim(run: Built) -> None:
    """What the runs had stands by itself; what one side does not tell is unknown."""
    blind = altered(run, environment__gpus=GONE)
    found = {item.name: item for item in conditions.against(None, pair_of(run, blind), E2E)}
    assert found["hardware"].standing == "unknown"
    assert found["hardware"].words == "unknown of the candidate"
    assert (found["hardware"].stated, found["hardware"].candidate) == (None, None)
    assert found["model"].standing == "unstated"


@pytest.mark.parametrize(
    ("name", "text", "standing"),
    [
        ("model", "Llama 3.1 8B", "as stated"),
        ("model", "llama3.1-8b instruct, FP8 weights", "as stated"),
        ("model", "Llama 3.1 70B", "differs"),
        ("model", "Llama 3.1 8B, FP16", "differs"),
        ("model", "Llama 3.1 8B, tuned by ourselves", "cannot be told"),
        ("model", "a small model", "cannot be told"),
        ("model", "", "cannot be told"),
        ("hardware", "2x H100 80GB", "as stated"),
        ("hardware", "2 \N{MULTIPLICATION SIGN} NVIDIA H100", "as stated"),
        ("hardware", "h100", "as stated"),
        ("hardware", "8x H100", "differs"),
        ("hardware", "2x A100 80GB", "differs"),
        ("hardware", "H100 94GB", "cannot be told"),
        ("hardware", "a large server", "cannot be told"),
        ("software", "vLLM", "as stated"),
        ("software", "vLLM 0.9.1, prefix cache off", "as stated"),
        ("software", "vLLM v0.9", "as stated"),
        ("software", "vLLM 0.10", "differs"),
        ("software", "vLLM 0.10 against 0.9.1", "as stated"),
        ("hardware", "H100 and A100", "cannot be told"),
        ("model", "Llama 3.1 8B and 70B", "cannot be told"),
        ("software", "SGLang 0.4", "differs"),
        ("software", "an engine of our own", "cannot be told"),
        ("concurrency", "8", "as stated"),
        ("concurrency", "8 users at once", "as stated"),
        ("concurrency", "32", "differs"),
        ("concurrency", "1 to 64", "cannot be told"),
        ("concurrency", "many", "cannot be told"),
        ("output limit", "89", "differs"),  # not that of long
        ("output limit", "short answers", "cannot be told"),
        ("input", "3,000 tokens", "differs"),  # of all classes together
        ("input", "questions of customers", "cannot be told"),
        ("input", "GSM8K", "cannot be told"),
        ("metric", "e2e_p95", "as stated"),
        ("metric", "p95 latency, end to end", "as stated"),
        ("metric", "95th percentile end-to-end latency", "as stated"),
        ("metric", "median time to first token", "differs"),
        ("metric", "output tokens per second", "differs"),
        ("metric", "latency", "cannot be told"),
    ],
)
def test_standings(run: Built, name: str, text: str, standing: str) -> None:
    """The same and different only where that is beyond doubt."""
    claim = claimed(**{name.replace(" ", "_"): text})
    found = next(item for item in conditions.against(claim, pair_of(run, run), E2E) if item.name == name)
    assert (found.standing, found.stated) == (standing, text)


@pytest.mark.parametrize(
    ("name", "text", "standing"),
    [("output limit", "89", "as stated"), ("output limit", "max_tokens of 128", "differs"),
     ("input", "200 tokens", "as stated"), ("input", "205", "as stated"), ("input", "240 tokens", "differs")],
)  # fmt: skip
def test_the_class_that_decides(run: Built, name: str, text: str, standing: str) -> None:
    """Input and limit are those of the class that decides."""
    deciding = Deciding(FIGURES["e2e_p95"], Level(8, None), "short")
    claim = claimed(**{name.replace(" ", "_"): text})
    found = next(item for item in conditions.against(claim, pair_of(run, run), deciding) if item.name == name)
    assert found.standing == standing


def test_words(run: Built) -> None:
    """Which side it is, and why."""
    other = altered(run, environment__gpus=[GPU | {"name": "NVIDIA A100 80GB"}] * 2, environment__server__version=GONE)
    claim = claimed(model="Llama 3.1 70B", hardware="2x A100", software="vLLM 0.9.1", concurrency="32", input="text")
    found = {item.name: item for item in conditions.against(claim, pair_of(run, other), E2E)}
    assert found["model"].words == "both sides differ from what was stated: 70b is not what it had"
    assert found["hardware"].words == "the candidate is as stated; the baseline: a100 is not what it had"
    assert found["software"].words == (
        "unknown of the candidate, so that it cannot be held against what was stated: its version is not known"
    )
    assert found["concurrency"].words == "what decides differs from what was stated: 8 in flight decide, not 32"
    assert found["input"].words == "stated in words, which only a reader can hold against what the runs had"
    assert found["hardware"].candidate is not None
    assert "A100" in found["hardware"].candidate


def test_unknown_sides(run: Built) -> None:
    """What was stated of something that a run does not tell is unknown; limits are in its requests all the same."""
    blind = altered(
        run, environment=GONE, sending=GONE, scenario__classes=[{"name": "short"}],
    )  # fmt: skip
    claim = claimed(model="Llama", hardware="H100", software="vLLM", output_limit="5")
    found = {item.name: item.standing for item in conditions.against(claim, pair_of(blind, blind), E2E)}
    assert found["hardware"] == found["software"] == "unknown"
    assert found["output limit"] == "cannot be told"


def test_unknown_is_what_the_head_of_a_run_calls_so(run: Built) -> None:
    """A machine without a GPU is known, and cannot be held against a GPU; an engine without its version is marked."""
    here = {"cpu": "AMD EPYC", "cores": 2, "memory_bytes": 24 << 30, "path": {"loopback": True}}
    found = altered(
        run, environment__gpus=GONE, environment__client=here, environment__server__version=GONE
    )  # fmt: skip
    heads = {item.name: item.shown for item in seven.of(found.facts)}
    assert heads["hardware"] == "AMD EPYC, 2 cores, 24 GiB; no GPU was seen"
    assert heads["software"].endswith("? its version")
    for claim in (claimed(hardware="1x H100", software="vLLM 0.9"), None):
        told = {item.name: item for item in conditions.against(claim, pair_of(found, found), E2E)}
        assert {name: item.baseline for name, item in told.items()} == heads
        assert told["hardware"].standing == ("unstated" if claim is None else "cannot be told")
    unknown = altered(run, environment=GONE)
    told = {
        item.name: item for item in conditions.against(claimed(hardware="a server"), pair_of(unknown, unknown), E2E)
    }
    assert (told["hardware"].baseline, told["hardware"].standing) == (None, "unknown")


def test_rounds_that_differ_are_all_told(run: Built) -> None:
    """All texts of a side, and the worst of its standings."""
    other = altered(run, environment__server__version="0.10.0")
    pair = pair_of((run, run), (run, other))
    found = {item.name: item for item in conditions.against(claimed(software="vLLM 0.9.1"), pair, E2E)}
    assert (found["software"].candidate or "").count(" | ") == 1
    assert found["software"].standing == "differs"
    assert found["software"].words == "the candidate differs from what was stated: version 0.10.0 is not 0.9.1"
    turned = {item.name: item for item in conditions.against(None, pair_of((run, other), (other, run)), E2E)}
    assert turned["software"].baseline == turned["software"].candidate == found["software"].candidate
    assert conditions.alike(turned["software"])


def test_a_phrase_states_its_figure_and_level(run: Built) -> None:
    """`14x e2e_p95@8` says which figure is meant, and at what concurrency."""
    found = {item.name: item for item in conditions.against(claims.read("14x e2e_p95@8"), pair_of(run, run), E2E)}
    assert found["metric"].standing == found["concurrency"].standing == "as stated"
    assert found["model"].standing == "unstated"


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_every_figure_is_known_by_its_words(run: Built, figure: Any) -> None:
    """A phrase states its figure in words that hold against the figure itself."""
    claim = claims.read(f"2x {figure.key}")
    deciding = Deciding(figure, Level(8, None), "all")
    assert stated.metric(claim.stated["metric"], run, deciding) == ("as stated", "")


@settings(max_examples=40)
@given(
    text=st.text(max_size=30) | st.from_regex(r"[0-9]{0,4}x? ?[a-zA-Z]{0,4}[0-9.,]{0,5} ?(tokens|GB)?", fullmatch=True)
)
def test_any_text_can_be_stated(run: Built, text: str) -> None:
    """Nothing that a claimant says ends in a traceback."""
    for hold in stated.HOLDS.values():
        standing, why = hold(text, run, E2E)
        assert standing in conditions.WORST
        assert why.isprintable()


def test_means_of_rounds_make_no_second_text(tmp_path: Path) -> None:
    """Rounds whose prompts came out at 200 and 201 tokens had one input; other levels are two, and both stand."""
    rounds = [
        building.compute(folders.make(tmp_path / f"r{n}", seed=n, requests=20, input_tokens=n, steps=steps))
        for n, steps in ((200, (1,)), (205, (1, 8)))
    ]
    side = sides.Side("baseline", tuple(rounds))
    pair = sides.Pair("s", side, side, (Level(1, None),), (), ("short", "all"), interleaved=False)
    found = {item.name: item for item in conditions.against(None, pair, E2E)}
    assert found["input"].baseline == next(one.text for one in seven.of(rounds[0].facts) if one.name == "input")
    assert (found["concurrency"].baseline or "").count(" | ") == 1
