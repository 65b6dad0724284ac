"""The mix: which request comes where."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmload.exits import Stop
from llmload.load import reading
from llmload.load.call import Call
from llmload.load.mix import Mix, shares
from llmload.load.scenario import Lengths, Scenario, WorkloadClass

SHORT = WorkloadClass("short", 5, "builtin:short", input_tokens=Lengths("normal", 100, 20))
MEDIUM = WorkloadClass("medium", 3, "builtin:medium", input_tokens=Lengths("fixed", 150, 0))
LONG = WorkloadClass("long", 2, "builtin:long", input_tokens=Lengths("uniform", 300, 400))
MIXED = Scenario("mixed", (SHORT, MEDIUM, LONG))


def measured(mix: Mix, count: int, step: int = 0) -> list[Call]:
    """The first requests of a step."""
    return [mix.measured(step, index) for index in range(count)]


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ((5, 3, 2), [5, 3, 2]),
        ((0.5, 0.3, 0.2), [5, 3, 2]),
        ((1,), [1]),
        ((50, 50), [1, 1]),
        ((1 / 3, 2 / 3), [1, 2]),
        ((1, 0.0001), [1000, 1]),
        ((1, 1e-9), [1000, 1]),
    ],
)
def test_shares(weights: tuple[float, ...], expected: list[int]) -> None:
    """Weights become the smallest whole numbers; no class is left out however small its weight."""
    classes = tuple(replace(SHORT, name=f"c{at}", weight=weight) for at, weight in enumerate(weights))
    assert shares(Scenario("s", classes)) == expected


def test_every_block_has_the_exact_shares() -> None:
    """Of any ten requests from a multiple of ten on, five are short, three medium, two long, in changing order."""
    calls = measured(Mix(MIXED), 200)
    blocks = [[call.workload for call in calls[at : at + 10]] for at in range(0, 200, 10)]
    assert all(Counter(block) == {"short": 5, "medium": 3, "long": 2} for block in blocks)
    assert len({tuple(block) for block in blocks}) > 15


def test_all_prompts_come_before_one_comes_again() -> None:
    """A class goes through its hundred prompts, and then through them in another order."""
    ids = [call.prompt for call in measured(Mix(MIXED), 400) if call.workload == "short"]
    assert len(ids) == 200
    assert len(set(ids[:100])) == len(set(ids[100:])) == 100
    assert ids[:100] != ids[100:]


def test_a_place_has_one_call_whoever_asks() -> None:
    """Workers that share the indices among them make the same requests as one alone, each once (J17)."""
    alone = measured(Mix(MIXED), 100)
    workers = [Mix(MIXED) for _ in range(4)]
    shared = [workers[index % 4].measured(0, index) for index in reversed(range(100))]
    assert shared[::-1] == alone
    assert len({call.text for call in alone}) == 100


def test_no_two_requests_begin_alike() -> None:
    """Warm-up, window and steps differ within their first 64 characters, so that nothing comes from a cache (K01)."""
    mix = Mix(MIXED)
    calls = [*measured(mix, 200), *measured(mix, 200, 1), mix.longest()]
    calls += [mix.warmup(step, user, k) for step in range(2) for user in range(8) for k in range(3)]
    assert len({call.text[:64] for call in calls}) == len(calls) == 449


def test_a_rerun_is_the_same_and_a_round_has_new_heads() -> None:
    """Both sides of a comparison get the same requests; the next round the same prompts behind new heads."""
    first, again, second = (
        measured(Mix(scenario), 50) for scenario in (MIXED, replace(MIXED), replace(MIXED, round=1))
    )
    assert first == again
    for one, other in zip(first, second, strict=True):
        assert (one.prompt, one.max_tokens) == (other.prompt, other.max_tokens)
        assert one.text.partition("\n")[0] != other.text.partition("\n")[0]
        assert one.text.partition("\n")[2] == other.text.partition("\n")[2]


def test_another_seed_is_another_plan() -> None:
    """The order of classes and prompts follows the seed."""
    one, other = measured(Mix(MIXED), 100), measured(Mix(replace(MIXED, seed=2)), 100)
    assert [call.workload for call in one] != [call.workload for call in other]


def test_without_cache_busting_a_prompt_is_sent_as_it_is() -> None:
    """The same prompt is the same text each time; an endpoint may answer it from a cache."""
    calls = [call for call in measured(Mix(replace(MIXED, cache_busting=False)), 400) if call.workload == "short"]
    assert len({call.text for call in calls}) == 100
    assert not calls[0].text.startswith("Case ")


@settings(max_examples=50)
@given(users=st.integers(1, 5), classes=st.integers(1, 4), requests=st.integers(1, 6))
def test_the_warmup_covers_every_class(users: int, classes: int, requests: int) -> None:
    """As soon as users + requests - 1 reach the number of classes; a user alone goes through all in turn."""
    scenario = Scenario("s", tuple(replace(SHORT, name=f"c{at}", prompts=3) for at in range(classes)))
    mix = Mix(scenario)
    seen = {mix.warmup(0, user, k).workload for user in range(users) for k in range(requests)}
    assert len(seen) == min(classes, users + requests - 1)
    assert len({mix.warmup(0, 0, k).workload for k in range(classes)}) == classes


def test_the_warmup_of_a_rate_has_every_class_first_and_then_the_mix() -> None:
    """However rare a class is, the third arrival has covered all; from the first whole block on shares are exact."""
    mix = Mix(MIXED)
    calls = [mix.warming(1, index) for index in range(100)]
    assert [call.workload for call in calls[:3]] == ["short", "medium", "long"]
    for at in range(10, 100, 10):
        assert Counter(call.workload for call in calls[at : at + 10]) == {"short": 5, "medium": 3, "long": 2}
    heads = {call.text[:64] for call in [*calls, *measured(mix, 100, step=1)]}
    assert len(heads) == 200


def test_what_a_call_carries() -> None:
    """A class's own values go before the scenario's; the text is the same for chat and completions."""
    tools = ({"type": "function", "function": {"name": "f"}},)
    cls = replace(
        SHORT, temperature=0.7, extra_body={"b": 2}, headers={"X-B": "2"}, tools=tools, ignore_eos=True, min_tokens=9
    )
    scenario = Scenario("s", (cls,), extra_body={"a": 1, "b": 1}, headers={"X-A": "1", "X-B": "1"})
    call = Mix(scenario).measured(0, 0)
    assert call.messages == ({"role": "user", "content": call.text},)
    assert (call.temperature, call.extra_body, call.headers) == (0.7, {"a": 1, "b": 2}, {"X-A": "1", "X-B": "2"})
    assert (call.tools, call.ignore_eos, call.min_tokens) == (tools, True, 9)
    assert Mix(replace(scenario, classes=(SHORT,))).measured(0, 0).temperature == 0.0


def test_answer_lengths_follow_their_distribution() -> None:
    """A hundred answers have the mean and the spread that were asked for, in an order of their own each time."""
    mix = Mix(Scenario("s", (replace(SHORT, max_tokens=Lengths("normal", 200, 30)),)))
    first, second = ([mix.measured(0, index).max_tokens for index in range(at, at + 100)] for at in (0, 100))
    assert abs(mean(first) - 200) < 0.5
    assert sorted(first) == sorted(second)
    assert first != second
    assert (min(first), max(first)) == (123, 277)  # 200 -+ 2.576 * 30


def test_shared_prefix() -> None:
    """The share of requests that reuse it begin alike; behind it each has its own head."""
    cls = replace(SHORT, shared_prefix_tokens=200, shared_prefix_share=0.25)
    calls = measured(Mix(Scenario("s", (cls,))), 100)
    reusing = [call for call in calls if call.text.startswith("You answer for the service desk of ")]
    assert len(reusing) == 25
    prefix = reusing[0].text.partition("\n\nCase ")[0]
    assert all(call.text.startswith(f"{prefix}\n\nCase ") for call in reusing)
    assert len({call.text[: len(prefix) + 64] for call in reusing}) == 25
    plain = {call.prompt: call.requested_input_tokens for call in measured(Mix(Scenario("s", (SHORT,))), 100)}
    assert all(call.requested_input_tokens == plain[call.prompt] + 200 for call in reusing)
    assert 500 < len(prefix) < 1100


def test_kept_characters_decide_the_text() -> None:
    """`fit` maps prompt ids to characters; a prompt that is not in it is cut by a usual ratio."""
    calls = measured(Mix(replace(MIXED, cache_busting=False), {"short-000": 120}), 200)
    texts = {call.prompt: call.text for call in calls}
    assert 100 <= len(texts["short-000"]) <= 120
    assert len(texts["short-001"]) > 250


def test_the_longest_request() -> None:
    """The class that needs most context, with its longest prompt and its longest answer."""
    call = Mix(replace(MIXED, classes=(SHORT, replace(LONG, max_tokens=Lengths("uniform", 1, 200))))).longest()
    assert (call.workload, call.requested_input_tokens, call.max_tokens) == ("long", 400, 199)
    many = replace(SHORT, max_tokens=Lengths("fixed", 5000, 0))
    assert Mix(replace(MIXED, classes=(many, LONG))).longest().workload == "short"


def data_scenario(folder: Path, lines: str, **keys: object) -> Scenario:
    """A scenario with one class from a data file."""
    (folder / "data.jsonl").write_text(lines)
    (folder / "s.toml").write_text('[[class]]\nname = "own"\npath = "data.jsonl"\nmax_tokens = 33\n')
    return replace(reading.load(str(folder / "s.toml")), **keys)


def test_prompts_of_a_file(tmp_path: Path) -> None:
    """They go as they are behind the head, with their own limits where they have one."""
    lines = (
        '{"prompt": "one", "max_tokens": 5}\n'
        '{"messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "two"}]}\n'
        '{"messages": [{"role": "user", "content": [{"type": "text", "text": "three"}]}]}\n'
    )
    calls = {call.prompt: call for call in measured(Mix(data_scenario(tmp_path, lines)), 3)}
    assert set(calls) == {"own-1", "own-2", "own-3"}
    assert (calls["own-1"].max_tokens, calls["own-2"].max_tokens) == (5, 33)
    assert calls["own-1"].requested_input_tokens is None
    system, user = calls["own-2"].messages
    assert system["content"].startswith("Case ")
    assert system["content"].endswith("\nbe brief")
    assert user == {"role": "user", "content": "two"}
    head, part = calls["own-3"].messages[0]["content"]
    assert head["text"].startswith("Case ")
    assert part == {"type": "text", "text": "three"}
    assert calls["own-2"].text.endswith("\nbe brief\n\ntwo")
    plain = Mix(data_scenario(tmp_path, lines, cache_busting=False)).longest()
    assert plain.max_tokens == 33
    assert plain.text == "be brief\n\ntwo"


def test_another_file_on_another_machine(tmp_path: Path) -> None:
    """A worker whose data file differs would send another load; it stops instead."""
    scenario = data_scenario(tmp_path, '{"prompt": "one"}\n')
    other = replace(scenario.classes[0], digest="0" * 64)
    with pytest.raises(Stop, match="not the file that this run began with"):
        Mix(replace(scenario, classes=(other,)))
