"""A comparison as people and programs read it: goldens, pages without network, text that cannot break out, never NaN.

`UPDATE_GOLDENS=1 pytest tests/compare/test_show.py` writes the goldens anew; look at the difference before committing.
"""

import json
import math
import os
import re
import shlex
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest

from llmload.answers.rates import Loss
from llmload.cli import compare as command
from llmload.compare.answering.quality import Lost
from llmload.compare.claims import conditions
from llmload.compare.claims.claims import Claim
from llmload.compare.comparison import Compared, Comparison
from llmload.compare.differing import differences
from llmload.compare.differing.differences import Difference
from llmload.compare.figures import FIGURES
from llmload.compare.kinds.kinds import Kind
from llmload.compare.ratios import cells
from llmload.compare.rule import rule
from llmload.compare.show import again, beside, data, files, gains, html, markdown, numbers, plots, sections, terminal
from llmload.compare.sides import Side
from llmload.compare.verdict import verdict
from llmload.exits import Exit, Stop
from tests.compare import sample
from tests.report.test_pages import Page

GOLDENS = Path(__file__).parent / "goldens"
UPDATE = bool(os.environ.get("UPDATE_GOLDENS"))
STEERING = '短 <script>alert("x")</script>\x1b[2J\x9b31m\x07\x7f\u202e| **b** `c` [red]d[/red] $\\frac{1}{2'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs of both sides lie."""
    return tmp_path_factory.mktemp("sides")


@pytest.fixture(scope="module")
def compared(folder: Path) -> Compared:
    """Three rounds a side, and everything found between them."""
    return sample.compared(sample.pair(folder))


@pytest.fixture(scope="module")
def comparison(compared: Compared) -> Comparison:
    """A claim against it."""
    return sample.whole([compared])


@pytest.fixture(scope="module")
def several(compared: Compared) -> Comparison:
    """Two comparisons in one, with steps of change."""
    other = replace(
        compared,
        pair=replace(compared.pair, scenario="short-only", levels=compared.pair.levels[-1:]),
        verdict=replace(compared.verdict, word="not comparable", code=Exit.UNJUDGED),
    )
    return sample.whole([compared, other], changes=[sample.CHANGES])


@pytest.fixture(scope="module")
def page(several: Comparison) -> str:
    """The page of page."""
    return html.text(several)


def bare(compared: Compared) -> Compared:
    """A pair of which nothing is known but its verdict."""
    return replace(
        compared, differences=(), conditions=(), cells=(), rule=None, kinds=(), answers=None, money=None,
        capabilities=(), questions=(), gates=(), warnings=(), pair=replace(compared.pair, levels=()),
    )  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), [("markdown", "compare.md"), ("table", "compare.txt")])
def test_golden_of_text(comparison: Comparison, folder: Path, kind: str, name: str) -> None:
    """What people read, letter by letter."""
    text = (terminal.text(comparison, 80) if kind == "table" else files.FORMATS[kind](comparison)).replace(
        str(folder), "FOLDER"
    )
    text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    path = GOLDENS / name
    if UPDATE:
        GOLDENS.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_every_word_has_a_look() -> None:
    """No word of a verdict, of the rule, of a standing or of a cell is without its colour or sign."""
    assert sections.VERDICTS.keys() == verdict.WORDS.keys()
    assert sections.RULES.keys() == set(get_args(rule.Word))
    standings = {*get_args(differences.Standing), *get_args(conditions.Condition.__annotations__["standing"])}
    assert sections.STANDINGS.keys() == standings
    assert numbers.SIGNS.keys() == set(get_args(cells.Word))
    assert {*sections.VERDICTS.values(), *sections.RULES.values()} <= terminal.STYLES.keys()
    assert {*sections.STANDINGS.values(), ""} - {""} <= terminal.SHADES.keys()


@pytest.mark.parametrize(
    ("measured", "text"),
    [(0, "0"), (0.0314, "0.0314"), (0.9999, "1.00"), (9.996, "10.0"), (812.4, "812"), (12345, "12,345"),
     (math.inf, "∞")],
)  # fmt: skip
def test_three_digits(measured: float, text: str) -> None:
    """Three significant digits, also where rounding makes one more."""
    assert numbers.digits(measured) == text


@pytest.mark.parametrize(
    ("key", "measured", "text"),
    [("e2e_p95", 812.0, "812 ms"), ("e2e_p95", 12_340.0, "12.3 s"), ("e2e_p95", math.inf, "∞"),
     ("success", 0.987, "98.7 %"), ("memory", 71.25 * 2**30, "71.2 GiB"), ("tokens", 1780.0, "1,780 tokens/s"),
     ("joules", 0.3121, "0.312 J/token"), ("joules", None, "")],
)  # fmt: skip
def test_figures_with_units(key: str, measured: float | None, text: str) -> None:
    """A figure says its unit; one that was not measured is blank."""
    assert numbers.value(FIGURES[key], measured) == text


def test_the_verdict_comes_first(comparison: Comparison, page: str) -> None:
    """Before any table, with what it exits with."""
    markdown, text = files.FORMATS["markdown"](comparison), files.FORMATS["table"](comparison)
    word = comparison.compared[0].verdict.word
    assert page.startswith("<!doctype html>")
    article = page[page.index("<article") :]
    assert article.index(f'<div class="word">{word}</div>') < article.index("<table")
    assert "exit code 1" in page
    assert markdown.index(f"**{word}**") < markdown.index("| ---")
    assert text.index(f"verdict: {word}") < text.index("───")
    assert text.rstrip().endswith("exit code 1")


def test_the_page_needs_no_network(page: str) -> None:
    """No script, no link to anything outside, no style that loads something."""
    parsed = Page(page)
    assert not {tag for tag, _ in parsed.tags} & {"script", "link", "iframe", "img", "object", "embed", "base"}
    for tag, attributes in parsed.tags:
        for name in ("src", "href", "xlink:href", "action"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)
        assert not any(name.startswith("on") for name in attributes)
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)


def test_a_page_can_be_heard(page: str) -> None:
    """Headings in order, every table and picture with a name, headings of columns as such."""
    parsed = Page(page)
    levels = [int(tag[1]) for tag, _ in parsed.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    assert levels.count(1) == 1
    assert all(attributes.get("aria-label") for tag, attributes in parsed.tags if tag == "svg")
    tables = [tag for tag, _ in parsed.tags if tag in ("table", "caption")]
    assert (
        tables.count("table") == tables.count("caption") + 2
    )  # the examples of both pairs stand under headings of their own
    scopes = [attributes.get("scope") for tag, attributes in parsed.tags if tag == "th"]
    assert scopes.count("col") > 50


def test_ids_do_not_meet(page: str) -> None:
    """Two pairs in one page: each id once, every reference with one."""
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert {name for names in re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', page) for name in names} - {""} <= set(ids)


def test_several_pairs_begin_with_an_overview(several: Comparison, page: str) -> None:
    """A line for each, the claim once; then a section each."""
    assert page.index("All comparisons") < page.index("<article")
    assert page.count("<article") == 2
    assert page.count(">The claim</h") == 1
    for kind in ("markdown", "table"):
        plain = files.FORMATS[kind](several)
        assert plain.index("direction confirmed, size not") < plain.index("not comparable")
        assert "Steps of change" in plain
    assert [line.cells[3] for line in sections.overview(several).lines] == [
        "direction confirmed, size not", "not comparable",
    ]  # fmt: skip
    assert json.loads(data.text(several))["verdict"] == "not comparable"


def test_the_deciding_cell_is_marked_everywhere(comparison: Comparison, page: str) -> None:
    """Once in the gains of each format; in the JSON it says so."""
    assert page.count('gain good decides"') == 2  # of two pairs
    assert "faster, decides</span>" in page
    assert "**1.4▲◆**" in files.FORMATS["markdown"](comparison)
    assert "1.4▲◆" in files.FORMATS["table"](comparison)
    (pair,) = json.loads(data.text(comparison))["pairs"]
    assert [(cell["figure"], cell["concurrency"]) for cell in pair["cells"] if cell["deciding"]] == [("e2e_p95", 32)]


def test_what_nobody_declared_comes_first_and_in_red(compared: Compared) -> None:
    """Whatever the order in which it was found."""
    section = sections.differences(compared)
    assert [line.cells[0] for line in section.lines] == ["driver", "engine", "prompts", "clocks"]
    assert [line.tone for line in section.lines] == ["bad", "good", "", "soft"]


def test_conditions_in_a_line(compared: Compared) -> None:
    """Which are unstated, which differ, which are unknown; without a claim the column of what was stated is gone."""
    section = sections.conditions(compared, claimed=True)
    assert section.lead == (
        "Left unstated by the claim: input, concurrency.",
        "These runs differ from what was stated in: output limit.",
        "Unknown in these runs: metric.",
    )
    assert section.lines[1].cells[1] == "not stated"
    section = sections.conditions(compared, claimed=False)
    assert section.lead == ("The sides differ in: software.", "Unknown in these runs: metric.")
    means = conditions.Condition("input", None, "short 118 tokens", "short 122 tokens", "unstated", "")
    section = sections.conditions(replace(compared, conditions=(means,)), claimed=False)
    assert section.lead == ()  # what was measured is never quite the same twice
    assert [head.heading for head in section.heads] == ["condition", "baseline", "candidate", "standing"]


@pytest.mark.parametrize("width", [80, 120])
def test_a_comparison_fits_into_a_terminal(several: Comparison, width: int) -> None:
    """No line is wider, whatever was compared."""
    assert max(map(len, terminal.text(several, width).splitlines())) <= width


def test_the_main_gains_are_one_table_in_80_columns(comparison: Comparison) -> None:
    """A reader need not put a level's gains together from two tables."""
    text = terminal.text(comparison, 80)
    part = text[text.index("Gains, all classes") : text.index("Gains by class")]
    assert sum(set(line.strip()) == {"─"} for line in part.splitlines()) == 1


def told(compared: Compared, words: str) -> Comparison:
    """The comparison with these words wherever others say them."""
    pair = compared.pair
    sides = [Side(words, side.rounds) for side in (pair.baseline, pair.candidate)]
    kept = {
        "differences": [replace(d, baseline=words, candidate=words, words=words) for d in compared.differences],
        "conditions": [replace(c, stated=words, baseline=words, words=words) for c in compared.conditions],
        "kinds": [Kind(words, words)],
        "capabilities": [(words, words, words)],
        "questions": [replace(q, answer=words) for q in compared.questions],
        "gates": [replace(g, text=words, words=words) for g in compared.gates],
        "warnings": [words],
        "cells": [replace(c, workload=words, why=words) for c in compared.cells[:40]],
    }
    answers, money = compared.answers, compared.money
    assert answers is not None
    assert money is not None
    examples = tuple(
        replace(e, prompt_id=words, prompt=words, baseline=words, candidate=f"{words} and", found=(words,))
        for e in answers.examples
    )
    some = replace(
        compared,
        pair=replace(pair, scenario=words, baseline=sides[0], candidate=sides[1]),
        verdict=replace(compared.verdict, headline=words, reasons=(words,)),
        answers=replace(answers, examples=examples, words=(words,)),
        money=replace(money, currency=words, lines=(replace(money.lines[0], assumption=words),), words=(words,)),
        **{name: tuple(items) for name, items in kept.items()},
    )
    claim = Claim(words, FIGURES["e2e_p95"], 14.0, None, words, words, words, words, {"model": words})
    return sample.whole([some], claim)


def test_words_from_outside_stay_words(compared: Compared) -> None:
    """Names, answers and claims with markup or escape sequences: shown, never obeyed, in every format."""
    found = told(compared, STEERING)
    texts = {kind: render(found) for kind, render in files.FORMATS.items()}
    for kind, text in texts.items():
        assert not {sign for sign in text if not sign.isprintable()} - {"\n"}, kind
        if kind != "json":
            assert "短" in text, kind
    assert "<script" not in texts["html"]
    assert '<script>alert("x")</script>' in " ".join(Page(texts["html"]).words)
    assert "\\<script\\>" in texts["markdown"]
    assert "[red]d[/red]" in texts["table"]
    assert json.loads(texts["json"])["pairs"][0]["scenario"] == STEERING


def test_a_pair_of_which_nothing_is_known(compared: Compared) -> None:
    """A verdict alone makes a page: sections without anything to say are not there, and nothing says 0."""
    found = sample.whole([bare(compared)], None)
    texts = {kind: render(found) for kind, render in files.FORMATS.items()}
    for kind, text in texts.items():
        assert compared.verdict.word in text, kind
        assert "0.00" not in re.sub(r"<style>.*?</style>|<svg.*?</svg>", "", text, flags=re.DOTALL), kind
    assert "nothing to compare" in texts["html"]
    assert not {"The claim", "Money", "Examples side by side"} & set(Page(texts["html"]).words)
    assert html.text(sample.whole([])).count("<article") == 0


def test_never_nan_and_infinite_as_a_word(compared: Compared, monkeypatch: pytest.MonkeyPatch) -> None:
    """A candidate that never finishes: inf in text, "inf" in JSON, NaN nowhere."""
    monkeypatch.setattr(plots, "draw", lambda *_: [])  # what is drawn of it is asked of the pictures
    lost = tuple(
        replace(c, candidate=math.inf, gain=0.0, low=None, high=math.inf, raw=math.inf, values=((1.0,), (math.inf,)))
        for c in compared.cells
    )
    found = sample.whole([replace(compared, cells=lost)])
    for kind, render in files.FORMATS.items():
        text = re.sub(r"<svg.*?</svg>", "", render(found), flags=re.DOTALL)
        assert not re.search(r"\b(nan|Infinity)\b", text, re.IGNORECASE), kind
    cell = json.loads(data.text(found))["pairs"][0]["cells"][0]
    assert (cell["candidate"], cell["gain"], cell["low"], cell["high"]) == ("inf", 0.0, None, "inf")
    assert cell["values"] == [[1.0], ["inf"]]


def test_the_docstring_names_every_key(several: Comparison) -> None:
    """A pipeline's author finds each key that there is, and none of answers' texts in the file."""
    told_of = set(re.findall(r"\w+", data.__doc__ or ""))

    def keys(value: object) -> set[str]:
        if isinstance(value, dict):
            return set(value) | {key for item in value.values() for key in keys(item)}
        return {key for item in value for key in keys(item)} if isinstance(value, list) else set()

    found = json.loads(data.text(several))
    for pair in found["pairs"]:
        assert "327,846,000" not in json.dumps(pair)
        pair["answers"]["classes"] = []  # those of ClassQuality, which are named there
    found["claim"]["stated"] = {}
    assert keys(found) <= told_of


def test_json_as_numbers(comparison: Comparison) -> None:
    """What a pipeline asks for: verdict, exit code, the deciding ratio with its interval, both ways."""
    found = json.loads(data.text(comparison))
    assert (found["schema"], found["verdict"], found["exit_code"]) == (1, "direction confirmed, size not", 1)
    assert found["claim"]["figure"] == "e2e_p95"
    (pair,) = found["pairs"]
    cell = next(cell for cell in pair["cells"] if cell["deciding"])
    assert cell["raw"] == pytest.approx(1 / cell["gain"])
    assert cell["low"] < cell["gain"] < cell["high"]
    assert (cell["rounds"], cell["n"], cell["unit"]) == ([3, 3], [330, 330], "ms")
    assert len(pair["runs"]["baseline"]) == 3
    assert pair["rule"]["concurrency"] == 32


def test_the_command_repeats_the_comparison(comparison: Comparison, compared: Compared) -> None:
    """It parses, and asks for the same sides, claim, level, differences and gates."""
    import argparse

    words = shlex.split(again.comparing(comparison, compared))
    assert words[:2] == ["llmload", "compare"]
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    args = parser.parse_args(words[2:])
    assert [side.split("=")[0] for side in args.sides] == ["baseline", "candidate"]
    assert [len(side.split(",")) for side in args.sides] == [3, 3]
    assert (args.claim, args.concurrency) == ("14x e2e_p95", None)  # a level would narrow a claim that names none
    assert "--concurrency 32" in again.comparing(replace(comparison, claim=None), compared)
    assert again.measuring(compared.pair.candidate) == "llmload run scenarios/mixed.toml --host http://candidate:8000"
    assert [name for name, _ in again.measurings(compared.pair)] == ["baseline", "candidate"]


def test_the_commands_that_repeat_an_ab(comparison: Comparison, compared: Compared) -> None:
    """Its folder instead of six runs, and the one command that measured both sides."""
    words = shlex.split(again.comparing(replace(comparison, ab="runs/x-ab"), compared))
    assert words[:4] == ["llmload", "compare", "runs/x-ab", "--claim"]
    one = compared.pair.baseline
    assert again.measurings(replace(compared.pair, candidate=one)) == [("both sides", again.measuring(one))]


def test_answers_side_by_side() -> None:
    """Words that differ are marked, the others are not; long texts are cut and say so."""
    one, other = beside.marked("It was 327,846,000 <b>", "It was 327,486,000 <b>")
    assert one == "It was <mark>327,846,000</mark> &lt;b&gt;"
    assert other == "It was <mark>327,486,000</mark> &lt;b&gt;"
    assert beside.plain("a\x1b[2J\nb\u202e") == "a [2J\nb "
    assert beside.plain("x" * 3_050).endswith("x … (50 more characters)")


def test_a_mix_of_one_class_says_it_once(compared: Compared) -> None:
    """Where all is one class, its rows would be the same; a class that decides is shown anyway."""
    some = tuple(cell for cell in compared.cells if cell.workload in ("short", "all"))
    one = replace(compared, cells=some)
    assert gains.classes(one) == ["all"]
    assert gains.classes(replace(one, deciding=replace(one.deciding, workload="short"))) == ["short", "all"]


def test_a_difference_that_only_holm_takes_away_is_explained(compared: Compared) -> None:
    """1 lies outside the interval, and yet no difference is shown: the table says why."""
    found = tuple(
        replace(c, word="no difference shown", low=1.2, high=1.9) if c.figure.key == "e2e_p95" and not c.deciding else c
        for c in compared.cells
    )
    assert any("Holm" in note for note in gains.deciding(replace(compared, cells=found)).notes)
    assert not gains.deciding(compared).notes


def test_a_warning_that_is_a_reason_already_is_not_said_twice(compared: Compared) -> None:
    """Nor does the headline repeat the word that stands over it."""
    word = compared.verdict.word
    same = replace(
        compared, warnings=("a", "b"), verdict=replace(compared.verdict, reasons=("b",), headline=f"{word}: 2.0")
    )
    assert sections.warnings(same) == ("a",)
    assert sections.headline(same) == "2.0"


def test_files(compared: Compared, tmp_path: Path) -> None:
    """All files, whole; a folder that is not there is one sentence."""
    files.write(sample.whole([bare(compared)]), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(files.FILES)
    with pytest.raises(Stop, match="cannot be written: No such file") as stopped:
        files.replace(tmp_path / "none" / "x.html", "x")
    assert stopped.value.code is Exit.USAGE
    os.mkfifo(tmp_path / "pipe")
    for place, words in ((Path(), "Is a directory"), (tmp_path / "pipe", "no file"), (Path("x" * 300), "too long")):
        with pytest.raises(Stop, match=f"cannot be written: .*{words}"):
            files.replace(place, "x")
    assert (tmp_path / "pipe").is_fifo()


def test_a_comment_holds_the_markdown(comparison: Comparison) -> None:
    """65,536 characters are the most that a comment on a pull request may have."""
    assert len(files.FORMATS["markdown"](comparison)) < 65_536 / 2


def test_a_difference_is_told_once_in_a_terminal(comparison: Comparison, compared: Compared) -> None:
    """Where its sentence has both texts in it, these do not stand before it as well."""
    found = differences.Difference("cache_busting", "off", "on", "accepted", "cache busting: off against on")
    told = terminal.text(replace(comparison, compared=(replace(compared, differences=(found,)),)))
    assert "  - cache_busting: accepted\n    off against on\n" in "\n".join(map(str.rstrip, told.splitlines()))
    assert "off → on" not in told


def test_steps_of_change_are_sentences_in_a_terminal(comparison: Comparison) -> None:
    """Each once, with no table that says the same."""
    told = terminal.text(replace(comparison, changes=(sample.CHANGES,)), width=200)
    for item in sample.CHANGES.contributions:
        assert told.count(item.words) == 1
    assert "on top of  " not in told


def test_what_the_verdict_says_of_a_difference_is_said_once(compared: Compared) -> None:
    """A note that is a reason stands among the differences without its sentence; equal sides have no arrow."""
    words = "engine: declared as changed, but no difference was seen: both sides are alike in it"
    item = Difference("engine", "name a; version 1", "name a; version 1", "note", words)
    found = replace(compared, differences=(item,), verdict=replace(compared.verdict, reasons=(words,)))
    text = " ".join(terminal.text(sample.whole([found]), 200).split())
    assert text.count("declared as changed") == 1
    assert "- engine: note name a; version 1 " in text
    assert "version 1 →" not in text
    assert markdown.text(sample.whole([found])).count("declared as changed") == 1
    assert html.text(sample.whole([found])).count("declared as changed") == 1


def test_every_amount_stands_beside_its_name(compared: Compared) -> None:
    """However long the names are, each line has what, unit and both amounts; GPUs are in no currency."""
    wanted = [
        ["per million output tokens at 32", "EUR", "0.6100", "0.3900"],
        ["per 1,000 requests at 32", "EUR", "0.0400", "0.0300"],
        ["a month of 40,000,000 requests, by use", "EUR", "1,464.00", "936.00"],
        ["GPUs needed", "GPUs", "22", "14"],
        ["one-off", "EUR", "5,000.00"],
    ]
    for width in (80, 120, 200):
        lines = terminal.text(sample.whole([compared]), width).splitlines()
        at = lines.index(" Money") + 2
        assert lines[at].split() == ["what", "in", "baseline", "candidate"]
        assert [re.split(r"\s{2,}", line.strip()) for line in lines[at + 2 : at + 7]] == wanted


def test_scores_join_the_table_of_answers(compared: Compared) -> None:
    """Mean scores of both sides and what was lost of them, blank for a class without; no column without a scorer."""
    told = sample.QUALITY
    plain = sections.answers(replace(compared, answers=told))
    assert not any(head.group == "score" for head in plain.heads)
    score = Lost("score", (0.8125, 0.75), 120, Loss(6.25, (-1.04, 13.5), 0.09), 0.5)
    classes = (replace(told.classes[0], lost=(score,)), told.classes[1])
    found = replace(compared, answers=replace(told, classes=classes))
    section = sections.answers(found)
    assert [f"{head.group} {head.heading}" for head in section.heads[-7:-1]] == [
        "right candidate", "score baseline", "score candidate", "points lost", "points lost in score", "points allowed"
    ]  # fmt: skip
    assert [line.cells[-7:-1] for line in section.lines] == [
        ("96.7 %", "0.812", "0.750", "0.8 [-2.1, 3.9]", "6.2 [-1.0, 13.5]", "0.5"), ("", "", "", "", "", "0.5")
    ]  # fmt: skip
    for show in (markdown.text, terminal.text, html.text):
        assert "0.812" in show(sample.whole([found]))
