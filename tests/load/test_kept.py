"""A scenario out of a run folder: the same load, the same texts, and one sentence for what cannot be had again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from llmload.exits import Stop
from llmload.load import dataset, kept, lengths, reading, sequence
from llmload.load.mix import Mix
from llmload.load.scenario import Scenario

RATE = ("load.kind", "rate"), ("load.rates", "2,5")
KINDS: dict[str, tuple[tuple[str, str], ...]] = {
    "steps": (),
    "rate": RATE,
    "gamma": (*RATE, ("load.arrivals", "gamma"), ("load.burstiness", "0.5")),
    "soak": (("load.hold_s", "2h"),),
    "no temperature": (("temperature", "none"),),
}


def ran(folder: Path, scenario: Scenario, **members: Any) -> Path:
    """A run folder with run.json alone."""
    folder.mkdir(exist_ok=True)
    run = {"run": "r1", "scenario": reading.resolved(scenario), "preflight": {"fit": {}}, "sequence": {}, **members}
    (folder / kept.RUN).write_bytes(orjson.dumps(run))
    return folder


@pytest.mark.parametrize("name", [*reading.shipped()])
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_gives_back_its_scenario(tmp_path: Path, name: str, kind: str) -> None:
    """Every shipped scenario, of each kind of load, comes back as it was resolved, with the lengths of its prompts."""
    scenario = reading.load(name, KINDS[kind])
    folder = ran(tmp_path / "run", scenario, preflight={"fit": {"x-000": 7}})
    assert reading.load(str(folder)) == replace(scenario, fitted={"x-000": 7})
    assert reading.load(str(folder / kept.RUN)) == reading.load(str(folder))
    assert kept.run_of(str(folder)) == "r1"


def test_a_scenario_alone_is_read_too(tmp_path: Path) -> None:
    """A file with a resolved scenario and nothing else, lengths included; it is no run."""
    scenario = replace(reading.load("mixed"), fitted={"short-000": 9})
    path = tmp_path / "scenario.json"
    path.write_bytes(orjson.dumps(reading.resolved(scenario)))
    assert reading.load(str(path)) == scenario
    assert kept.run_of(str(path)) is None
    assert kept.run_of("mixed") is None


def test_the_command_line_goes_on_top(tmp_path: Path) -> None:
    """Lengths of prompts stay as they were cut, until other prompts are asked for."""
    folder = str(ran(tmp_path / "run", reading.load("mixed"), preflight={"fit": {"short-000": 7}}))
    found = reading.load(folder, (("round", "3"), ("load.steps", "2,6"), ("model", "b")))
    assert (found.round, found.load.steps, found.model, found.fitted) == (3, (2, 6), "b", {"short-000": 7})
    for change in (("seed", "2"), ("class.short.input_tokens", "500"), ("class.long.prompts", "3")):
        assert reading.load(folder, (change,)).fitted is None, change
    with pytest.raises(Stop, match=r"run\.json: nope \(from the command line\): unknown key"):
        reading.load(folder, (("nope", "1"),))


def test_a_load_by_hand_needs_a_plan(tmp_path: Path) -> None:
    """Nobody wrote down when a person set which level."""
    scenario = reading.load("mixed")
    folder = str(ran(tmp_path / "run", replace(scenario, load=replace(scenario.load, kind="hand", steps=()))))
    with pytest.raises(Stop, match=r"set by hand, so there is no plan to repeat; name one as --steps"):
        reading.load(folder)
    assert reading.load(folder, (("load.kind", "steps"), ("load.steps", "1,4"))).load.steps == (1, 4)


def data(folder: Path, prompt: str = "hello there") -> Scenario:
    """A scenario of a data file."""
    (folder / "own.txt").write_text(f"{prompt}\n")
    (folder / "own.toml").write_text('[[class]]\nname = "own"\npath = "own.txt"\n')
    return reading.load(str(folder / "own.toml"))


def test_a_data_file_has_to_be_the_same(tmp_path: Path) -> None:
    """Where it was, with the same bytes; else beside run.json, as pack leaves it; else it is refused by name."""
    scenario = data(tmp_path)
    folder = ran(tmp_path / "run", scenario)
    assert reading.load(str(folder)) == replace(scenario, fitted={})
    (tmp_path / "own.txt").write_text("something else\n")
    dataset.load.cache_clear()
    with pytest.raises(Stop, match=r"class own: .*own\.txt: not the prompts of that run: expected SHA-256"):
        reading.load(str(folder))
    (folder / kept.PROMPTS).mkdir()
    packed = folder / kept.PROMPTS / "own.txt"
    packed.write_text("hello there\n")
    assert reading.load(str(folder)).classes[0].path == str(packed)
    (tmp_path / "own.txt").unlink()
    found = reading.load(str(folder))
    assert found.classes[0].path == str(packed)
    assert [text for _, _, text in Mix(found).prompts()] == ["hello there"]
    packed.unlink()
    with pytest.raises(Stop, match=r"\[\[class\]\] own path: no such file"):
        reading.load(str(folder))
    (tmp_path / "third.txt").write_text("hello there\n")
    third = reading.load(str(folder), (("class.own.path", str(tmp_path / "third.txt")),))
    assert third.classes[0].path == str(tmp_path / "third.txt")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"{", "no valid JSON"),
        (b"[]", "holds no scenario"),
        (b'{"run": "r", "scenario": {"classes": []}}', "holds no scenario with classes"),
        (b'{"run": "r", "scenario": {"classes": [1]}}', "expected a list of objects"),
        (b'{"run": "r", "sequence": null, "scenario": {"classes": [{}]}}', "a locustfile of its own"),
        (b'{"run": "r", "preflight": {"fit": {"a": "b"}}, "scenario": {"classes": [{}]}}', "whole numbers"),
        (b'{"run": "r", "scenario": {"classes": [{}], "load": 3}}', r"\[load\]: expected a table, got 3"),
        (b'{"run": "r", "scenario": {"classes": [{"name": 3}]}}', "name: expected"),
        (b'{"run": "r", "scenario": {"classes": [{"name": "short", "slo": 1}]}}', "slo"),
        (b'{"run": "r", "scenario": {"seed": "x", "classes": [{"name": "short"}]}}', "seed: expected"),
    ],
)
def test_a_damaged_run_is_one_sentence(tmp_path: Path, text: bytes, sentence: str) -> None:
    """It names run.json and what is wrong with it."""
    (tmp_path / kept.RUN).write_bytes(text)
    with pytest.raises(Stop, match=f"run.json: .*{sentence}"):
        reading.load(str(tmp_path))


def test_lengths_are_used_again_or_refused() -> None:
    """Only those of the scenario's own prompts, and all of them."""
    scenario = reading.load("smoke")
    fitted = lengths.fit(scenario, lambda texts: [len(text) // 4 for text in texts], 0)
    assert lengths.refit(scenario, {**fitted, "other-000": 1}) == fitted
    del fitted[min(fitted)]
    with pytest.raises(Stop, match="is not among them"):
        lengths.refit(scenario, fitted)


def test_the_order_is_told_apart() -> None:
    """Seed, round and heads make another order; how texts were cut makes none, but other prompts."""
    scenario = reading.load("smoke")
    mix = Mix(scenario)
    found = sequence.order_sha256(scenario, mix)
    assert found == sequence.order_sha256(scenario, Mix(scenario, {"short-000": 50}))
    for other in ({"seed": 2}, {"round": 1}, {"cache_busting": False}):
        changed = replace(scenario, **other)
        assert found != sequence.order_sha256(changed, Mix(changed)), other
    listed = [(name, prompt, sequence.text_sha256(text)) for name, prompt, text in mix.prompts()]
    assert len({prompt for _, prompt, _ in listed}) == len(listed) == sum(cls.prompts for cls in scenario.classes)
    assert sequence.prompts_sha256(listed) != sequence.prompts_sha256(listed[1:])


def test_a_known_digest() -> None:
    """SHA-256 of "abc", as its standard gives it (FIPS 180-2, appendix B.1)."""
    assert sequence.text_sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
