"""May two sides be compared: every sort of difference is seen, named and given its standing; nothing else is."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmload.compare.differing import differences, lengths, measuring, serving
from llmload.compare.sides import Level
from llmload.exits import Exit, Stop
from llmload.record import prompts
from llmload.report import building
from llmload.report.building import Built
from tests.compare import folders
from tests.compare.altered import GONE, altered, pair_of

Maker = Callable[..., Built]
GPU = {
    "gpu": "0", "uuid": "GPU-0", "name": "NVIDIA H100 80GB HBM3", "memory_total_bytes": 80 << 30,
    "driver_version": "570.1", "cuda_version": "12.8", "power_limit_watts": 700.0, "mig": False, "shared": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    """Plays a run and computes it; the same once only."""
    root = tmp_path_factory.mktemp("runs")
    known: dict[str, Built] = {}

    def make(**how: Any) -> Built:
        key = repr(sorted(how.items()))
        if key not in known:
            path = root / str(len(known))
            known[key] = building.compute(folders.make(path, **{"seed": 1, "steps": (4,), "requests": 40, **how}))
        return known[key]

    return make


@pytest.fixture(scope="module")
def run(played: Maker) -> Built:
    """A run with a GPU."""
    return played(gpu={})


CASES: list[tuple[str, dict[str, Any], str]] = [
    ("model", {"sending__model": "n"}, "model: name m against n"),
    ("model", {"environment__server__parameters": 7, "_": {"environment__server__parameters": 8}},
     "parameters 8 against 7"),
    ("weights", {"environment__server__quantization": "int4"}, "weights: quantization fp8 against int4"),
    ("weights", {"environment__server__model_root": "/elsewhere/n"}, "file or repository m against n"),
    ("weights", {"environment__server__quantization_bits": 4}, "bits per weight 8 against 4"),
    ("tokenizer", {"environment__tokenizer__probe_tokens": 80}, "the probe text has 97 tokens against 80 tokens"),
    ("tokenizer", {"environment__tokenizer__name": "n"}, "tokenizer: name m against n"),
    ("engine", {"environment__server__engine": "vllm"}, "engine: name made-up against vllm"),
    ("engine", {"environment__server__version": "1.1"}, "engine: version 1.0 against 1.1"),
    ("engine", {"environment__told__version": "1.1"}, "version 1.0 against 1.1 (told; the server says 1.0)"),
    ("flags", {"environment__server__prefix_cache": True}, "flags: prefix cache off against on"),
    ("flags", {"environment__server__tensor_parallel": 2}, "flags: tensor parallel 1 against 2"),
    ("hardware", {"environment__gpus": [GPU, GPU]}, "GPUs 1 x NVIDIA H100 80GB HBM3 against 2 x NVIDIA H100 80GB HBM3"),
    ("hardware", {"environment__gpus": [GPU | {"memory_total_bytes": 40 << 30}]}, "GiB of a GPU 80 against 40"),
    ("hardware", {"environment__gpus": [GPU | {"power_limit_watts": 400.0}]}, "power limit in W 700 against 400"),
    ("hardware", {"environment__gpus": [GPU | {"mig": True}]}, "MIG off against on"),
    ("hardware", {"environment__machine": {"cores": 2}, "_": {"environment__machine": {"cores": 4}}},
     "cores 4 against 2"),
    ("driver", {"environment__gpus": [GPU | {"driver_version": "580.2"}]}, "driver: version 570.1 against 580.2"),
    ("driver", {"environment__gpus": [GPU | {"cuda_version": "13.0"}]}, "driver: CUDA 12.8 against 13.0"),
    ("prompts", {"scenario__seed": 2}, "prompts: seed 1 against 2"),
    ("prompts", {"scenario__classes__0__weight": 2.0}, "prompts: weights short 1 against short 2"),
    ("prompts", {"scenario__classes__0__digest": "b", "_": {"scenario__classes__0__digest": "a"}},
     "short a against short b"),
    ("prompts", {"scenario__classes__0__source": "file"}, "sources short builtin:short against short file"),
    ("prompts", {"preflight__fit": {"short-000": 900}}, "1 prompt of 800 characters against 1 prompt of 900"),
    ("output_limits", {"scenario__classes__0__max_tokens": 99}, "output limits: short N(64,12.8) against short 99"),
    ("sampling", {"scenario__temperature": 0.7}, "sampling: temperature short 0 against short 0.7"),
    ("sampling", {"scenario__temperature": None}, "temperature short 0 against short not set"),
    ("sampling", {"scenario__classes__0__temperature": 0.7}, "temperature short 0 against short 0.7"),
    ("sampling", {"scenario__extra_body": {"top_k": 5}}, "extra_body short not set against short {top_k: 5}"),
    ("sampling", {"scenario__classes__0__ignore_eos": True}, "ignore_eos short off against short on"),
    ("sampling", {"scenario__classes__0__min_tokens": 5}, "min_tokens short not set against short 5"),
    ("sampling", {"sending__left_out": ["ignore_eos"]}, "refused by the server none against ignore_eos"),
    ("api", {"scenario__api": "completions"}, "api: API chat against completions"),
    ("api", {"scenario__stream": False}, "api: streaming on against off"),
    ("cache_busting", {"scenario__cache_busting": False}, "cache busting: unique heads on against off"),
    ("cache_busting", {"scenario__classes__0__shared_prefix_share": 0.5},
     "share of requests with it short 0 against short 0.5"),
    ("slo", {"scenario__slo__ttft_ms": 500.0}, "slo: short not set against short {ttft_ms: 500.0}"),
    ("connections", {"sending__fresh": True}, "connections: keep-alive against fresh"),
    ("window", {"scenario__load__window_s": 5.0}, "window: seconds 1 against 5"),
    ("window", {"scenario__load__warmup_s": 9.0}, "window: warm-up seconds 0 against 9"),
    ("window", {"scenario__load__drain_limit_s": 9.0}, "window: drain seconds 120 against 9"),
    ("limits", {"scenario__limits__total_s": 30.0}, "limits: total_s 600 against 30"),
    ("limits", {"sending__ttft_s": 7.0}, "limits: ttft_s 120 against 7"),
    ("generator", {"environment__client__host": "bench-2"}, "generator: host bench-1 against bench-2"),
    ("generator", {"workers__w1": {}}, "generator: workers 1 against 2"),
    ("network", {"environment__client__path__loopback": True},
     "the endpoint is another machine against on the machine that"),
    ("network", {"environment__client__path__rtt_ms__p50": 1.7}, "network: round trip 0.3 ms against 1.7 ms"),
    ("network", {"environment__client__path__proxy": "http://p"}, "network: proxy not set against http://p"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "words"), CASES)
def test_a_difference_is_seen_by_its_name(run: Built, name: str, change: dict[str, Any], words: str) -> None:
    """One thing is changed: one difference, undeclared, with both values and what to do."""
    before = change.get("_", {})
    mine, theirs = altered(run, **before), altered(run, **{key: value for key, value in change.items() if key != "_"})
    (only,) = [item for item in differences.find(pair_of(mine, theirs), (), ()) if item.standing != "note"]
    assert (only.name, only.standing) == (name, "undeclared")
    assert words in only.words
    assert only.words.endswith(
        f"nobody declared it: --changed {name} if it is what is tested, --accept {name} if it may differ"
    )
    assert only.baseline in only.words


def test_every_sort_is_tried() -> None:
    """A new sort of difference comes with a case; no two names are the same."""
    tried = {name for name, _, _ in CASES} | {"output_lengths", "environment", "versions"}
    assert tried == {sort.name for sort in differences.SORTS}
    keys = [part.key for sort in differences.SORTS for part in sort.parts]
    assert len(keys) == len(set(keys))
    assert not differences.SYNONYMS.keys() & {*keys, *(sort.name for sort in differences.SORTS)}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"sending__base_url": "http://elsewhere:9000/v1", "environment__server__url": "http://elsewhere:9000/v1"},
        {"environment__server__address": "10.0.0.10:8000", "environment__client__path__address": "10.0.0.10:8000"},
        {"environment__server__model_root": "/elsewhere/m"},
        {"environment__client__path__rtt_ms__p50": 1.5},  # 2 x 0.3 and a millisecond
        {"environment__told__version": "1.0"},
        {"environment__told__prefix_cache": "false", "environment__server__prefix_cache": GONE},
        {"environment__told__tensor_parallel": "1", "environment__server__tensor_parallel": GONE},
        {"environment__told__quantization_bits": "8", "environment__server__quantization_bits": GONE},
        {"scenario__round": 2},
        {"environment__gpus": [GPU | {"uuid": "GPU-7", "memory_total_bytes": int((80 << 30) * 0.99)}]},
        {"command": ["other"], "run": "other", "started_at": 1.0},
    ],
)
def test_what_is_none(run: Built, change: dict[str, Any]) -> None:
    """Runs that are alike have no difference, and no note; another address is none."""
    assert differences.find(pair_of(run, altered(run, **change)), (), ()) == ()


@pytest.mark.parametrize(
    ("changed", "accepted", "standings"),
    [
        (["engine"], ["flags"], {"engine": "variable under test", "flags": "accepted"}),
        (["version"], [], {"engine": "variable under test", "flags": "undeclared"}),
        (["software"], [], {"engine": "variable under test", "flags": "variable under test"}),
        (["engine,slots"], ["Flags"], {"engine": "variable under test", "flags": "accepted"}),
        (["engine"], ["prefix-cache"], {"engine": "variable under test", "flags": "accepted"}),
        (["engine"], ["engine", "server"], {"engine": "variable under test", "flags": "accepted"}),
    ],
)  # fmt: skip
def test_who_declared_it(run: Built, changed: list[str], accepted: list[str], standings: dict[str, str]) -> None:
    """By its sort, by its part or by a wider name; what is tested needs no acceptance."""
    other = altered(run, environment__server__version="1.1", environment__server__prefix_cache=True)
    found = differences.find(pair_of(run, other), changed, accepted)
    assert {item.name: item.standing for item in found if item.standing != "note"} == standings


def test_parts_of_one_sort_may_stand_differently(run: Built) -> None:
    """Who declares one flag has declared no other."""
    other = altered(run, environment__server__tensor_parallel=2, environment__server__prefix_cache=True)
    found = differences.find(pair_of(run, other), ["tensor_parallel"], [])
    assert [(item.standing, item.baseline, item.candidate) for item in found] == [
        ("undeclared", "prefix cache off", "prefix cache on"),
        ("variable under test", "tensor parallel 1", "tensor parallel 2"),
    ]


def test_the_unknown_is_a_note(run: Built) -> None:
    """Known of one side alone: a note with what the other has. Known of none: nothing, for the seven list it."""
    blind = altered(run, environment__server__engine=GONE, environment__server__version=GONE)
    (note,) = differences.find(pair_of(blind, run), (), ())
    assert (note.name, note.standing, note.baseline) == ("engine", "note", "unknown")
    assert note.candidate == "name made-up; version 1.0"
    assert note.words == "unknown on the baseline's side: engine (name, version)"
    assert differences.find(pair_of(blind, blind), (), ()) == ()


def test_a_declared_change_that_was_not_seen(run: Built) -> None:
    """A note: the sides are alike, or nobody can say."""
    (note,) = differences.find(pair_of(run, run), ["engine"], ["driver"])
    assert note.words == "engine: declared as changed, but no difference was seen: both sides are alike in it"
    assert (note.standing, note.baseline, note.candidate) == ("note", *2 * ["name made-up; version 1.0"])
    blind = altered(run, environment__server={}, environment__gpus=GONE)
    assert differences.find(pair_of(blind, blind), ["engine"], [])[-1].words.endswith("it is unknown on both sides")
    assert differences.find(pair_of(run, blind), ["engine"], [])[-1].words.endswith(
        "it is unknown on the candidate's side"
    )


def test_rounds_of_one_side(run: Built) -> None:
    """A side is one thing: its rounds may not differ unless that is accepted; to name it as changed is not enough."""
    other = altered(run, environment__server__version="1.1")
    pair = pair_of((run, run, other), (run, run, run))
    (found,) = [item for item in differences.find(pair, ["engine"], ()) if item.standing != "note"]
    assert (found.name, found.standing) == ("engine", "undeclared")
    assert found.words.startswith(
        "the rounds of the baseline differ in engine: version 1.0 and 1.1; a side is one thing"
    )
    (accepted,) = differences.find(pair, (), ["engine"])
    assert accepted.standing == "accepted"


def test_notes_only(run: Built) -> None:
    """Levels, versions of what measured, the scheme and remarks spoil nothing."""
    other = altered(
        run,
        versions={"llmload": "0.2.0", "python": "3.11.2"},
        sending__base_url="https://10.0.0.9:8000/v1",
        environment__told={"rack": "B"},
    )
    found = differences.find(pair_of(altered(run, environment__told={"rack": "A"}), other), (), ())
    assert {item.name for item in found} == {"versions", "network", "environment"}
    assert {item.standing for item in found} == {"note"}
    assert any("llmload 0.1.0, locust 2.47.0 against llmload 0.2.0, locust not set" in item.words for item in found)


def test_levels_are_a_note(played: Maker) -> None:
    """Levels that one side lacks are left out of the comparison; those that both have stand."""
    pair = pair_of(played(), played(steps=(2, 4), seed=2))
    assert [(item.name, item.standing) for item in differences.find(pair, (), ()) if "levels" in item.words] == [
        ("window", "note")
    ]


def test_classes_of_one_side_are_told_once(played: Maker) -> None:
    """Settings of a class are held where both have it."""
    both = played(workloads={"short": {}, "long": {"tokens": 200}})
    found = differences.find(pair_of(played(), both), (), ["output_lengths"])
    assert [(item.name, item.baseline, item.candidate) for item in found if item.standing != "note"] == [
        ("prompts", "classes short", "classes long, short")
    ]


@pytest.mark.parametrize(("answer", "seen"), [(1.0, False), (0.97, False), (0.9, True), (1.1, True)])
def test_lengths_of_answers(played: Maker, answer: float, seen: bool) -> None:
    """Over 5 % of the tokens, prompt by prompt."""
    found = differences.find(pair_of(played(), played(seed=2, answer=answer)), (), ())
    assert ["output_lengths"] * seen == [item.name for item in found]


def test_lengths_in_characters_where_tokenizers_differ(played: Maker) -> None:
    """Other tokens for the same text: as many characters are as long."""
    other = played(seed=2, probe_tokens=120, answer=1.2, chars_per_token=4.2 / 1.2)
    assert {item.name for item in differences.find(pair_of(played(), other), (), ())} == {"tokenizer"}
    longer = played(seed=2, probe_tokens=120, answer=1.2)
    found = differences.find(pair_of(played(), longer), ["tokenizer"], ())
    assert "characters in short at 4 in flight" in found[-1].words


def test_the_same_prompts_with_other_counts(played: Maker) -> None:
    """Tokenizers are told apart by the prompts, where no probe text was counted; a head may be a token longer."""
    mine, theirs = (
        altered(played(seed=seed, input_tokens=n, scenario={"seed": 1}), environment__tokenizer=GONE, preflight__fit={})
        for seed, n in ((1, 200), (2, 250))
    )
    theirs = altered(theirs, scenario__classes=mine.facts.scenario["classes"])
    (found,) = differences.find(pair_of(mine, theirs), (), ())
    assert (found.name, found.baseline, found.candidate) == (
        "tokenizer",
        "the same prompts have 200.0 tokens on average",
        "the same prompts have 250.0 tokens on average",
    )


def test_prompts_by_their_digests(played: Maker, run: Built, tmp_path: Path) -> None:
    """prompts.jsonl tells which texts differ, and how many tokens the same text has."""
    sides = []
    for name, sha, tokens in (("a", "1", 10), ("b", "2", 12)):
        folder = tmp_path / name
        folder.mkdir()
        lines = [prompts.Prompt("short-000", "short", sha, 40, 10, "server")]
        lines += [prompts.Prompt(f"short-{n:03}", "short", f"same-{n}", 40, tokens, "server") for n in (1, 2)]
        prompts.write(folder, lines)
        sides.append(replace(run, folder=folder))
    found = differences.find(pair_of(sides[0], sides[1]), (), ())
    assert [(item.name, item.baseline, item.candidate) for item in found] == [
        ("tokenizer", "the same prompts have 10.0 tokens on average", "the same prompts have 12.0 tokens on average"),
        ("prompts", "texts 3 prompts", "texts another text in 1 of them"),
    ]
    (tmp_path / "a" / "prompts.jsonl").write_text("{\n")
    from llmload.compare.differing.prompts import listing

    listing.cache_clear()
    with pytest.raises(Stop, match="no valid JSON") as stop:
        differences.find(pair_of(sides[0], sides[1]), (), ())
    assert stop.value.code == Exit.UNJUDGED


def test_lengths_by_hand() -> None:
    """Five prompts of both: 10 and 11 tokens each differ; with a spread that hides it they do not. Few: all answers."""

    def of(*values: float) -> lengths.Sums:
        return {f"p{at}": (1, value, value * value) for at, value in enumerate(values)}

    assert lengths.apart(of(*[10] * 5), of(*[11] * 5)) == (10.0, 11.0)
    assert lengths.apart(of(*[20] * 5), of(*[21] * 5)) is None  # 1 of 21 is less than 5 %
    # differences -9, 11, -9, 11, 1: mean 1, standard error 4.5
    assert lengths.apart(of(10, 10, 10, 10, 10), of(1, 21, 1, 21, 11)) is None
    assert lengths.apart(of(10), of(30)) is None  # one answer each: chance cannot be told
    assert lengths.apart({"a": (4, 40.0, 400.0)}, {"b": (4, 80.0, 1600.0)}) == (10.0, 20.0)
    pooled = lengths.pool([{("c", 1.0, "w"): of(10)}, {("c", 1.0, "w"): of(30)}])
    assert pooled == {("c", 1.0, "w"): {"p0": (2, 40.0, 1000.0)}}


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["engin"], "--changed: no difference is called 'engin'; expected one of: model, weights, tokenizer"),
        (["engine,drivr"], "no difference is called 'drivr'.*did you mean driver\\?"),
        ([""], "no difference is called ''"),
    ],
)
def test_names_that_are_none(names: list[str], words: str) -> None:
    """A slip of the pen is a usage error with what was meant."""
    with pytest.raises(Stop, match=words) as stop:
        differences.check_names(names, "--changed")
    assert stop.value.code == Exit.USAGE


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers(-5, 10**6) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "p50", "gpu", "x"]), inner),
    max_leaves=6,
)
PLACES = sorted({
    *(path for _, change, _ in CASES for path in change if path != "_" and not path.startswith(("scenario__cl", "w"))),
    "environment", "environment__client", "environment__client__path", "environment__server", "environment__told",
    "environment__machine", "environment__tokenizer", "sending", "preflight", "versions", "scenario__classes",
    "scenario__environment", "scenario__fitted", "scenario__classes__0__tools", "scenario__classes__0__slo",
    "scenario__headers", "environment__client__path__rtt_ms",
})  # fmt: skip


@settings(max_examples=30)
@given(place=st.sampled_from(PLACES), value=JSON)
def test_a_run_that_was_changed_by_hand_is_read_without_a_fall(run: Built, place: str, value: Any) -> None:
    """Whatever stands anywhere: differences and the health of runs are told, on either side."""
    other = altered(run, **{place: value})
    for pair in (pair_of(run, other), pair_of(other, run)):
        for item in differences.find(pair, ["engine"], ()):
            assert item.words.isprintable()
        differences.health(pair)


def test_health(played: Maker, run: Built) -> None:
    """Sentences on runs that are not whole, failures and shared GPUs; none of runs that are well."""
    assert differences.health(pair_of(run, run)) == ()
    failing = played(fail_share=0.2, seed=3)
    (row,) = [row for row in failing.summary["rows"] if row["workload"] == "all"]
    share = f"{1 - row['success_share']:.0%}".replace("%", " %")
    n, failed = row["started"], row["started"] - row["ok"]
    assert differences.health(pair_of(run, failing)) == (
        (
            f"failures are unlike at 4 in flight: 0 of the baseline's 40 attempts failed (0 %), {failed} of the "
            f"candidate's {n} attempts failed ({share}); percentiles over all attempts count them as never finished"
        ),
    )
    assert differences.health(pair_of(failing, failing)) == tuple(
        f"{failed} of the {role}'s {n} attempts failed at 4 in flight ({share})" for role in ("baseline", "candidate")
    )
    hurt = replace(run, verdict=replace(run.verdict, word="DEGRADED", reasons=("3 records are lost", "more")))
    step = replace(run.steps[0], health=replace(run.steps[0].health, bound=True))
    shared = altered(run, environment__gpus=[GPU | {"shared": True}])
    assert differences.health(pair_of((hurt, replace(run, steps=(step,))), shared)) == (
        "round 1 of the baseline is DEGRADED: 3 records are lost (and 1 more)",
        "round 2 of the baseline is generator-bound at 4, which says nothing about the server",
        "the candidate ran on a shared GPU: GPU 0; what the others do is in its figures",
        "unlike numbers of rounds: 2 of the baseline, 1 of the candidate",
    )
    both = replace(hurt, verdict=replace(hurt.verdict, reasons=("step 4 is generator-bound: late",)), steps=(step,))
    assert differences.health(pair_of(run, both)) == (
        "the candidate is DEGRADED: generator-bound at 4, which says nothing about the server",
    )
    (item,) = differences.find(pair_of(run, both), (), ())
    assert (item.name, item.baseline, item.candidate) == (
        "generator", "generator-bound levels none", "generator-bound levels 4"
    )  # fmt: skip
    for level, standing in ((4, "undeclared"), (32, "note")):  # what decides at another level is not spoilt
        (item,) = differences.find(pair_of(run, both), (), (), Level(level, None))
        assert (item.name, item.standing) == ("generator", standing)
    rows = [row | {"planned": 80, "not_sent": 20} for row in run.summary["rows"]]
    assert differences.health(pair_of(run, replace(run, summary=run.summary | {"rows": rows}))) == (
        (
            "25 % of the candidate's 80 planned requests not sent at 4 in flight, too many being in flight: no "
            "percentile here counts them"
        ),
    )
    cold, warm = (
        replace(run, facts=replace(run.facts, records=run.facts.records.assign(cached_tokens=n))) for n in (5.0, 120.0)
    )
    assert differences.health(pair_of(cold, warm)) == (
        (
            "a prefix cache held 2.5 % of the baseline's prompt tokens, 60 % of the candidate's: first tokens come "
            "sooner by that alone"
        ),
    )
    assert differences.health(pair_of(warm, warm)) == differences.health(pair_of(run, warm)) == ()
    rounds = tuple(altered(run, scenario__round=n) for n in (0, 1, 3))
    assert differences.health(pair_of(rounds, rounds))[0] == (
        "the baseline has no round 2, though it has later ones: skipped, or taken out"
    )


def _bound(run: Built, *levels: int) -> Built:
    """The run with these levels, at each of which its generator was the bottleneck."""
    first = run.steps[0]
    steps = [
        replace(first, step=replace(first.step, concurrency=level), health=replace(first.health, bound=True))
        for level in levels
    ]
    return replace(run, steps=tuple(steps))


def test_levels_that_were_spoilt_are_a_set(run: Built) -> None:
    """Which round was bound at which level first is no difference; another set of levels is, told in their order."""
    one, other = (_bound(run, 16, 4), _bound(run, 4)), (_bound(run, 4), _bound(run, 16))
    assert differences.find(pair_of(one, other), (), ()) == ()
    assert differences.find(pair_of(one, other[::-1]), (), ()) == ()
    (item,) = differences.find(pair_of(one, (*other, _bound(run, 2))), (), ())
    assert (item.baseline, item.candidate) == ("generator-bound levels 4, 16", "generator-bound levels 2, 4, 16")
    assert measuring.together([("10/s", "2.5/s"), ("2.5/s", "2/s")]) == ("2/s", "2.5/s", "10/s")


def test_models_that_answer_as_often_are_no_difference(run: Built) -> None:
    """Of two models behind one name, each with half of the answers, it does not matter which answered first."""
    places = np.flatnonzero(run.facts.ok)
    sides = []
    for order in (["m", "n"], ["n", "m"]):
        names = np.full(len(run.facts.records), None, dtype=object)
        for place, at in enumerate(places[: len(places) // 2 * 2]):
            names[at] = order[place % 2]
        records = run.facts.records.assign(served_model=pd.Series(names, dtype="str"))
        sides.append(replace(run, facts=replace(run.facts, records=records)))
    assert [serving.served_model(side) for side in sides] == ["m", "m"]
