"""A whole comparison made by hand, to look at: real run folders of two engines, and everything found between them.

The engines exist only here: the candidate decodes about 1.7 times as fast, and stumbles after 100 tokens at 32 in
flight. Cells are reckoned from the rounds' figures by a rule of thumb: what is shown matters, not how it was found.
"""

import math
import random
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llmload.compare import words
from llmload.compare.answering.answering import Answers, ClassQuality, Example
from llmload.compare.claims.claims import Claim
from llmload.compare.claims.conditions import Condition
from llmload.compare.comparison import Compared, Comparison, GateJudged
from llmload.compare.differing.differences import Difference
from llmload.compare.figures import FIGURES, Figure, gain, value
from llmload.compare.kinds.kinds import Kind
from llmload.compare.money.money import Line, Money
from llmload.compare.questions import Question
from llmload.compare.ratios.cells import Cell, Deciding
from llmload.compare.ratios.changes import Changes, Contribution
from llmload.compare.rule.rule import SIX, Ratio, Rule
from llmload.compare.sides import Level, Pair, Side
from llmload.compare.verdict.verdict import WORDS, Verdict
from llmload.exits import Exit
from llmload.report import building
from tests.report import sampled
from tests.report.synthetic import START, record, scenario, step, write

LEVELS = (1, 4, 8, 16, 32)
CLASSES = {"short": (0.7, 217, 30), "long": (0.3, 3210, 130)}
"""Weight, prompt tokens, answer tokens."""
EVIL = '<script>alert("x")</script>\x1b[2J\u202e| **b** `c`'


def run(folder: Path, number: int, pace: float, *, name: str, n: int = 110, fails: float = 0.02) -> Path:
    """A run of a mix: `pace` is what a token takes in ms at one in flight, `n` the attempts of each level."""
    draw = random.Random(number)
    noise = draw.lognormvariate(0, 0.02)
    rows: list[dict[str, Any]] = []
    steps = []
    clock = 0.0
    for index, level in enumerate(LEVELS):
        at = [clock + 5.0 + 0.01 * user for user in range(level)]
        for k in range(n):
            user = k % level
            row = _attempt(draw, level, at[user], pace * noise, fails)
            rows.append(row | {"seq": len(rows), "step": index, "concurrency": level})
            at[user] += row["end_ms"] / 1000 + 0.001
        end = max(at)
        steps.append(step(index, level, clock + 5, end))
        clock = end + 2
    classes = [{"name": key, "weight": item[0], "slo": None, "extra_body": {}} for key, item in CLASSES.items()]
    made = scenario(name="mixed", classes=classes)
    made["load"] |= {"steps": list(LEVELS)}
    when = START + 600 * number
    command = ["llmload", "run", "scenarios/mixed.toml", "--host", f"http://{name}:8000"]
    write(folder, rows, steps, (), scenario=made, run=folder.name, ended_at=when, command=command)
    return sampled.sample(folder, 1, seed=number)


def _attempt(draw: random.Random, level: int, sent: float, pace: float, fails: float) -> dict[str, Any]:
    name = draw.choices(list(CLASSES), [item[0] for item in CLASSES.values()])[0]
    _, prompt, answer = CLASSES[name]
    tokens = max(2, int(draw.gauss(answer, answer * 0.1)))
    facts: dict[str, Any] = {"workload": name, "prompt": f"{name}-{draw.randrange(40)}", "sent": sent}
    facts |= {"requested_output_tokens": tokens, "input_tokens": prompt, "requested_input_tokens": prompt}
    if level > 24 and draw.random() < fails:
        return record(0, outcome="rate_limited", end=4.0, http_status=429, error="429", **facts)
    ttft = round((20 + prompt / 40 * (1 + level * 0.06)) * draw.lognormvariate(0, 0.2), 3)
    slow = pace * (1 + level * 0.04)
    late = 1.7 if pace < 10 and level >= 32 else 1.0
    gaps = [round(slow * (late if place > 100 else 1) * draw.lognormvariate(0, 0.15), 3) for place in range(tokens - 1)]
    return record(0, ttft=ttft, gaps=gaps, **facts)


def side(folder: Path, name: str, pace: float, rounds: int, seed: int, **more: Any) -> Side:
    """So many rounds of one side, built."""
    found = []
    for number in range(rounds):
        place = folder / name.replace("/", "-") / f"20261201T0{number}0000Z-mixed"
        found.append(building.compute(run(place, seed + number, pace, name=name, **more)))
    return Side(name, tuple(found))


def pair(folder: Path, rounds: int = 3, names: Sequence[str] = ("baseline", "candidate"), **more: Any) -> Pair:
    """Both sides with the mix."""
    levels = tuple(Level(level, None) for level in LEVELS)
    one = side(folder, names[0], 14.0, rounds, 1, **more)
    other = side(folder, names[1], 8.2, rounds, 11, **more)
    return Pair("mixed", one, other, levels, (), (*CLASSES, "all"), interleaved=True)


def cells(found: Pair, deciding: Deciding) -> tuple[Cell, ...]:
    """A cell for every figure that the rows have, with intervals of two standard errors."""
    return tuple(
        _cell(found, deciding, level, workload, figure)
        for level in found.levels
        for workload in found.workloads
        for figure in FIGURES.values()
    )


def _cell(found: Pair, deciding: Deciding, level: Level, workload: str, figure: Figure) -> Cell:
    values = [
        [v for at in range(len(s.rounds)) if (v := value(s.row(at, level, workload), figure)) is not None]
        for s in (found.baseline, found.candidate)
    ]
    decides = (figure, level, workload) == (deciding.figure, deciding.level, deciding.workload)
    attempts = [sum((s.row(at, level, workload) or {}).get("started", 0) for at in range(len(s.rounds)))
                for s in (found.baseline, found.candidate)]  # fmt: skip
    means = [_mean(side_values) for side_values in values]
    ratio = gain(figure, *means)
    raw = None if None in means or not means[0] or math.isinf(means[0]) else means[1] / means[0]  # type: ignore[operator]
    low = high = p = None
    word = "cannot be judged" if ratio is None else "not repeated"
    if ratio is not None and 0 < ratio < math.inf and min(map(len, values)) > 2:
        logs = [[math.log(v) for v in side_values if v] for side_values in values]
        error = 4.3 * math.sqrt(sum(statistics.variance(log) / len(log) for log in logs)) + 0.004
        low, high = ratio * math.exp(-error), ratio * math.exp(error)
        word = "faster" if low > 1 else "slower" if high < 1 else "no difference shown"
        p = 0.0004 if low > 1.2 else 0.03 if word != "no difference shown" else 0.4
    if figure.key == "itl_p99":
        word = "no word"
    return Cell(
        level, workload, figure, means[0], means[1], ratio, low, high, raw, "rounds" if low else None,
        (len(values[0]), len(values[1])), (attempts[0], attempts[1]), p, word,  # type: ignore[arg-type]
        "no data on one side" if word == "cannot be judged" else "", decides,
        (tuple(values[0]), tuple(values[1])),
    )  # fmt: skip


def _mean(values: Sequence[float]) -> float | None:
    if not values:
        return None
    if any(math.isinf(v) for v in values):
        return math.inf
    return math.exp(statistics.fmean(math.log(v) for v in values)) if min(values) > 0 else statistics.fmean(values)


RULE = Rule(
    Level(32, None),
    (
        Ratio(SIX[0], 1.43, 1.36, 1.51, 0.70, "E2E p95 over all attempts"),
        Ratio(SIX[1], 0.97, 0.88, 1.08, 1.03, "standard deviation of E2E, per class, geometric mean of 2 classes"),
        Ratio(SIX[2], 1.0, 1.0, 1.0, 1.0, "peak GPU memory; the engine preallocates, so this shows a flat figure"),
    ),
    (
        Ratio("coefficient of variation", 0.68, 0.6, 0.77, 1.47, "a uniform speed-up leaves it at 1"),
        Ratio(SIX[3], 1.01, 0.97, 1.05, 0.99, "first tokens"),
        Ratio(SIX[4], 0.62, 0.58, 0.66, 1.61, "ITL p99 of successes"),
        Ratio(SIX[5], 1.58, 1.5, 1.66, 0.63, "energy of all GPUs in the window"),
    ),
    (0.984, 0.981),
    "not acceptable",
    ("One of the three is above 1.2, two are needed.", "The three are not independent: a faster answer ends sooner."),
)

CONDITIONS = (
    Condition("model", "Qwen3-32B", "Qwen3-32B, FP8", "Qwen3-32B, FP8", "cannot be told", "stated without the weights"),
    Condition("input", None, "217 tokens (short), 3,210 (long)", "217 tokens (short), 3,210 (long)", "unstated"),
    Condition("output limit", "256 tokens", "30 (short), 130 (long)", "30 (short), 130 (long)", "differs"),
    Condition("hardware", "1 H100", "1 H100 80GB HBM3", "1 H100 80GB HBM3", "as stated"),
    Condition("software", "vLLM 0.14", "vLLM 0.11.0", "vLLM 0.14.2", "as stated"),
    Condition("concurrency", None, "1, 4, 8, 16, 32", "1, 4, 8, 16, 32", "unstated"),
    Condition("metric", "E2E p95", "E2E p95 over all attempts", None, "unknown"),
)

DIFFERENCES = (
    Difference("engine", "vLLM 0.11.0", "vLLM 0.14.2", "variable under test", "The engine is what is tested."),
    Difference("driver", "570.86", "580.12", "undeclared", "The driver differs, and nobody declared it."),
    Difference("prompts", "digest 3fa1", "digest 3fa1, 2 of 80 cut", "accepted", "Two prompts are shorter."),
    Difference("clocks", "unknown", "1,980 MHz", "note", "The baseline does not tell its clocks."),
)

KINDS = (
    Kind("decoding", "A single request became faster: decoding 1.71 times, the first token unchanged."),
    Kind("short-only", "Short outputs only: at 32 in flight the speed falls to a third after 100 tokens."),
)

QUALITY = Answers(
    (
        ClassQuality("short", 120, 0.81, 0.94, (0.975, 0.967), 40, 0.8, (-2.1, 3.9), 0.5,
                     (("numbers differ", 0, 3), ("cut", 1, 1), ("empty", 0, 0))),
        ClassQuality("long", 60, 0.42, 0.88, (None, None), 0, None, None, 0.5, (("numbers differ", 0, 2),)),
    ),
    (
        Example("short-7", "What was the revenue of 2024?", "The revenue was 327,846,000 euros.",
                "The revenue was 327,486,000 euros.", ("numbers differ",)),
        Example("short-9", f"Say {EVIL}", f"Said {EVIL}\nand a second line", "", ("empty",)),
        Example("long-3", None, "مرحبا بالعالم 42", "مرحبا يا عالم 42", ()),
    ),
    loss=True,
    words=("Of 180 answers, 68.0 % are identical.", "The class short lost 0.8 points, 0.5 are allowed."),
)  # fmt: skip

MONEY = Money(
    "EUR",
    (
        Line("per million output tokens at 32", 0.61, 0.39, "2.50 a GPU-hour, 1 GPU, 1,138 and 1,780 tokens/s"),
        Line("per 1,000 requests at 32", 0.04, 0.03, "the same, 60 tokens a request"),
        Line("a month of 40,000,000 requests, by use", 1464.0, 936.0, "730 hours, the GPUs that the demand needs"),
        Line("GPUs needed", 22.0, 14.0, "spread evenly over 730 hours", "GPUs"),
        Line("one-off", None, 5000.0, "stated in the scenario"),
    ),
    ("The candidate saves 528.00 EUR a month; it pays back after 9.5 months.",),
)

QUESTIONS = (
    Question("Which figure got better?", "E2E p95: 1.43 times at 32 in flight."),
    Question("Under which conditions?", "Model, hardware and software as stated; output limit differs."),
    Question("Does my load look like this?", "70 % short, 30 % long prompts; compare with yours."),
    Question("Who else measured it?", "These runs cannot say.", known=False),
)


def compared(found: Pair, word: str = "direction confirmed, size not") -> Compared:
    """Everything about one pair, decided at its highest level."""
    level = found.levels[-1]
    deciding = Deciding(FIGURES["e2e_p95"], level, "all")
    every = cells(found, deciding)
    decided = next(cell for cell in every if cell.deciding)
    figures = "" if decided.gain is None else words.times(decided.gain)
    if decided.low is not None:
        figures += f" ({words.span(decided.low, decided.high)})"
    verdict = Verdict(
        word,
        f"E2E p95 over all classes at {level.words}: {figures}, not {words.times(14)}.",
        ("The driver differs and nobody declared it.", "1.8 % of the candidate's attempts failed."),
        WORDS[word],
    )
    capabilities = (("tools", "stated", "checked: works"), ("context", "32,768", "131,072"))
    gates = (GateJudged("p95_e2e<=1.05", True, "0.70"), GateJudged("success>=0.999", False, "0.997"))
    return Compared(
        found, deciding, verdict, DIFFERENCES, CONDITIONS, every, RULE, KINDS, QUALITY, MONEY, capabilities,
        QUESTIONS, gates, ("GPU memory is flat: the engine preallocates.",),
    )  # fmt: skip


CLAIM = Claim(
    "14x e2e_p95", FIGURES["e2e_p95"], 14.0, None, None, "the vendor's blog", "2026-11-03",
    "https://vendor.example/fast", {"model": "Qwen3-32B", "hardware": "1 H100"},
)  # fmt: skip

CHANGES = Changes(
    FIGURES["e2e_p95"],
    Level(32, None),
    "all",
    (
        Contribution(("A",), (), 1.21, 1.15, 1.27, "A alone: 1.2\N{MULTIPLICATION SIGN} [1.15 to 1.27], faster"),
        Contribution(("B",), (), 1.30, 1.22, 1.38, "B alone: 1.3\N{MULTIPLICATION SIGN} [1.2 to 1.4], faster"),
        Contribution(
            ("B",), ("A",), 1.18, 1.10, 1.26, "B on top of A: 1.18\N{MULTIPLICATION SIGN} [1.10 to 1.26], faster"
        ),
        Contribution(
            ("A", "B"), (), 1.43, 1.36, 1.51, "A and B together: 1.4\N{MULTIPLICATION SIGN} [1.4 to 1.5], faster"
        ),
    ),
    ("A and B together bring 1.43: 79 % of what both alone would promise (1.57).",),
    ("A+C changes two things at once.",),
)


def whole(found: Sequence[Compared], claim: Claim | None = CLAIM, changes: Sequence[Changes] = ()) -> Comparison:
    """A comparison of these pairs."""
    code = max((item.verdict.code for item in found), default=Exit.OK)
    return Comparison(claim, tuple(found), tuple(changes), ("The scenario long-only was run by one side alone.",), code)
