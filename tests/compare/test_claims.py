"""Claims: what a phrase and a claim.toml stand for, and how every slip of the pen is met."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llmload.compare.claims import claims, conditions, phrase
from llmload.compare.figures import FIGURES
from llmload.exits import Exit, Stop


@pytest.mark.parametrize(
    ("text", "key", "factor", "level", "workload"),
    [
        ("14x e2e_p95", "e2e_p95", 14, None, None),
        ("14\N{MULTIPLICATION SIGN} E2E p95 @32", "e2e_p95", 14, 32, None),
        ("14x e2e_p95 @32 short", "e2e_p95", 14, 32, "short"),
        ("14x e2e_p95@32 short", "e2e_p95", 14, 32, "short"),
        ("1.5x tokens short@8", "tokens", 1.5, 8, "short"),
        ("1.5x tokens/s short@8", "tokens", 1.5, 8, "short"),
        ("2 times p95 e2e in the class Long at 8 in flight", "e2e_p95", 2, 8, "Long"),
        ("2-fold requests per second @2.5", "requests", 2, 2.5, None),
        ("2x short/e2e_p95@8", "e2e_p95", 2, 8, "short"),
        ("2x faster e2e_p95", "e2e_p95", 2, None, None),
        ("2x less joules", "joules", 2, None, None),
        ("1x success all", "success", 1, None, "all"),
        ("50% faster ttft_p50", "ttft_p50", 1.5, None, None),
        ("50 % ttft_p50", "ttft_p50", 1.5, None, None),
        ("50 % lower ttft_p50", "ttft_p50", 2, None, None),
        ("75 % less memory", "memory", 4, None, None),
        ("20 % more requests", "requests", 1.2, None, None),
        ("100 % more tokens", "tokens", 2, None, None),
        ("20 per cent better goodput", "goodput", 1.2, None, None),
    ],
)
def test_phrases(text: str, key: str, factor: float, level: float | None, workload: str | None) -> None:
    """Factor, figure, level and class, however they are put."""
    claim = claims.read(text)
    assert (claim.figure.key, claim.concurrency, claim.workload) == (key, level, workload)
    assert claim.factor == pytest.approx(factor)
    assert claim.text == text
    assert claim.stated == {"metric": FIGURES[key].words} | ({} if level is None else {"concurrency": f"{level:g}"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "does not begin with a factor"),
        ("e2e_p95", "does not begin with a factor such as 14x or 50 %; expected for example '14x e2e_p95'"),
        ("14 e2e_p95", "does not begin with a factor"),
        ("14xe2e_p95", "does not begin with a factor"),
        ("-2x e2e_p95", "does not begin with a factor"),
        ("14x", "names no figure; expected one of: ttft_p50"),
        ("14x e2e_p59", "no figure 'e2e_p59'; .*did you mean e2e_p99?"),
        ("14x e2e_p59 short", "no figure 'e2e_p59'; .*did you mean e2e_p99?"),
        ("14x e2e_p95 short long", "no figure 'e2e_p95 short long'"),
        ("14x e2e_p95@many", "no concurrency and no rate behind @"),
        ("14x e2e_p95@0", "no concurrency and no rate behind @"),
        ("14x e2e_p95@1 @2", "names 2 levels"),
        ("14x e2e_p95@1@2", "no concurrency and no rate behind @"),
        ("14x a/e2e_p95 b", "names the classes 'a' and 'b'"),
        ("14x a.b/e2e_p95", "'a.b' is no name of a class"),
        ("0.5x e2e_p95", "a factor of 0.5 is no gain; expected 1 or more: a time cut to a half is 2x"),
        ("2000000x e2e_p95", "expected a factor of at most 1,000,000"),
        (f"{'9' * 400}x e2e_p95", "expected a factor of at most 1,000,000"),
        ("2x slower e2e_p95", "slower is no gain"),
        ("50 % more e2e_p95", "more of E2E p95 is no gain; lower is better there"),
        ("50 % less tokens", "less of output tokens per s is no gain; higher is better there"),
        ("100 % less e2e_p95", "100 % less leaves nothing"),
    ],
)
def test_phrases_that_are_none(text: str, words: str) -> None:
    """One sentence with the phrase and what is wrong with it; exit code 2."""
    with pytest.raises(Stop, match=words.replace("?", "\\?")) as stop:
        claims.read(text)
    assert stop.value.code == Exit.USAGE
    assert stop.value.message.startswith(f"--claim {text!r}: ")


@given(
    factor=st.integers(100, 99_999).map(lambda cents: cents / 100),
    sign=st.sampled_from(["x", " x", "\N{MULTIPLICATION SIGN}", " times"]),
    figure=st.sampled_from(list(FIGURES.values())),
    backwards=st.booleans(),
    level=st.none() | st.integers(1, 999),
    workload=st.none() | st.from_regex(r"c[a-z0-9_-]{0,8}", fullmatch=True).filter(lambda name: name not in FIGURES),
    order=st.integers(0, 2),
)
def test_a_phrase_that_was_put_together_is_taken_apart(  # noqa: PLR0917
    factor: float, sign: str, figure: object, backwards: bool, level: int | None, workload: str | None, order: int
) -> None:
    """Whatever the order of its parts."""
    assert hasattr(figure, "key")
    key: str = figure.key
    name = " ".join(reversed(key.split("_"))) if backwards else key
    if workload in phrase.FILLERS or key == "chars":
        workload = None
    at = "" if level is None else f"@{level}"
    parts = [[name, workload or "", at], [name, at, workload or ""], [workload or "", name, at]][order]
    claim = claims.read(f"{factor}{sign} {' '.join(part for part in parts if part)}")
    assert (claim.figure.key, claim.factor, claim.concurrency, claim.workload) == (key, factor, level, workload)


@given(st.text(max_size=40) | st.from_regex(r"\d{1,3}(x|%) [a-z@/ 0-9_.]{0,25}", fullmatch=True))
@example("1x \x00")
@example("\N{ARABIC-INDIC DIGIT ONE}x e2e_p95")
@example("\x00.toml")
@example("1% @1 e2e_p95 /")
@example("1x /")
def test_any_text_is_a_claim_or_a_sentence(text: str) -> None:
    """Nothing that a person types ends in a traceback, and no factor below 1 comes of it."""
    found = tried(text)
    if isinstance(found, Stop):
        assert found.code == Exit.USAGE
    else:
        assert 1 <= found.factor <= phrase.LARGEST


def tried(text: str) -> claims.Claim | Stop:
    """A claim, or the sentence about what is none."""
    try:
        return claims.read(text)
    except Stop as stop:
        return stop


WHOLE = """
who = "Example Ltd"
when = 2026-11-03
where = "https://example.com/blog/14x"
text = "Up to 14 times faster"
figure = "p95 e2e"
factor = "14x"
concurrency = 32
workload = "short"

[stated]
model = "Llama 3.1 8B"
output_limit = 89
"""


def written(folder: Path, text: str) -> str:
    """A claim.toml of this text."""
    path = folder / "claim.toml"
    path.write_text(text)
    return str(path)


def test_a_file(tmp_path: Path) -> None:
    """Everything that it says; the seven by their names."""
    claim = claims.read(written(tmp_path, WHOLE))
    assert claim == claims.Claim(
        text="Up to 14 times faster",
        figure=FIGURES["e2e_p95"],
        factor=14.0,
        concurrency=32.0,
        workload="short",
        who="Example Ltd",
        when="2026-11-03",
        where="https://example.com/blog/14x",
        stated={"model": "Llama 3.1 8B", "output limit": "89", "concurrency": "32"},
    )
    assert {name.replace("_", " ") for name in claims.STATED} == set(conditions.CONDITIONS)


@pytest.mark.parametrize(
    ("factor", "gain"),
    [("14", 14), ("1.5", 1.5), ('"14x"', 14), ('"50 %"', 1.5), ('"50 % faster"', 1.5), ('"50 % less"', 2)],
)
def test_factors_of_a_file(tmp_path: Path, factor: str, gain: float) -> None:
    """A number, or as a phrase has it; without more, its text is made of factor and figure."""
    claim = claims.read(written(tmp_path, f'figure = "e2e_p95"\nfactor = {factor}\n'))
    assert claim.factor == pytest.approx(gain)
    assert claim.text == f"{gain:g}\N{MULTIPLICATION SIGN} E2E p95"
    assert claim.stated == {}


@pytest.mark.parametrize(
    ("stated", "level"),
    [("concurrency = 32", 32), ('concurrency = "32"', 32), ('concurrency = "up to 64 users"', None)],
)
def test_a_concurrency_that_was_stated_is_where_it_holds(tmp_path: Path, stated: str, level: float | None) -> None:
    """Where it is a number alone."""
    claim = claims.read(written(tmp_path, f'figure = "e2e_p95"\nfactor = 2\n[stated]\n{stated}\n'))
    assert claim.concurrency == level


NEEDED = 'figure = "e2e_p95"\nfactor = 2\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("factor = 2", 'figure: missing; a claim can only be tested with it, such as figure = "e2e_p95"'),
        ('figure = "e2e_p95"', "factor: missing; a claim can only be tested with it, such as factor = 14"),
        ('figure = "e2e_p59"\nfactor = 2', "figure: no figure 'e2e_p59'; expected one of: .* did you mean e2e_p99?"),
        ('figure = "e2e_p95"\nfactor = 0.5', "factor: a factor of 0.5 is no gain"),
        ('figure = "e2e_p95"\nfactor = "fast"', "factor: does not begin with a factor"),
        ('figure = "e2e_p95"\nfactor = "2x e2e_p95"', "factor: 'e2e_p95' is not understood"),
        ('figure = "e2e_p95"\nfactor = true', "factor: expected a text, got true"),
        ("figure = 5\nfactor = 2", "figure: expected a text, got 5"),
        (f"{NEEDED}concurrency = 0", "concurrency: expected a number above 0"),
        (f'{NEEDED}workload = "a b"', 'workload: expected the name of a class such as short, or all, got "a b"'),
        (f"{NEEDED}when = true", "when: expected a text, got true"),
        (f"{NEEDED}facto = 2", "facto: unknown key; expected one of: who, .*did you mean factor?"),
        (f'{NEEDED}sentence = "a"', "sentence: unknown key; .*did you mean text?"),
        (f'{NEEDED}hardware = "a"', "hardware: unknown key; it belongs to .stated."),
        (f'{NEEDED}stated = "a"', 'stated: expected a table .stated., got "a"'),
        (f'{NEEDED}[stated]\nfigure = "a"', "stated. figure: unknown key; it belongs to the top of the file"),
        (f'{NEEDED}[stated]\n"output limit" = 5', "stated. output limit: unknown key; .*did you mean output_limit?"),
        (f"{NEEDED}[stated]\nmodel = []", "stated. model: expected a text, got"),
        (f'{NEEDED}[stated]\nmodel = " "', "stated. model: expected a text, got"),
        ("figure", "no valid TOML: "),
        ("factor = " + "9" * 5000, "no valid TOML: "),
    ],
)
def test_slips_in_a_file(tmp_path: Path, text: str, words: str) -> None:
    """File, table and key, what was expected and what was got; exit code 2."""
    path = written(tmp_path, text)
    with pytest.raises(Stop, match=words.replace("?", "\\?")) as stop:
        claims.read(path)
    assert stop.value.code == Exit.USAGE
    assert stop.value.message.startswith(f"{path}: ")
    assert "\n" not in stop.value.message


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """None there, a folder, no text."""
    with pytest.raises(Stop, match=r"no such file; expected a claim\.toml, or a phrase"):
        claims.read(str(tmp_path / "none.toml"))
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(Stop, match="no such file"):
        claims.read(str(tmp_path / "folder.toml"))
    (tmp_path / "bytes.toml").write_bytes(b'who = "\xff"')
    with pytest.raises(Stop, match="no UTF-8 text: invalid start byte at byte 7"):
        claims.read(str(tmp_path / "bytes.toml"))
