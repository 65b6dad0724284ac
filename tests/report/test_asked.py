"""What a reader should ask of a run: answered from it, or "this run cannot say"."""

from pathlib import Path

from llmload.report import files, questions
from llmload.report.questions import Question
from tests.report.synthetic import record, second, step
from tests.report.worked import built_of


def asked(folder: Path, rows: list[dict[str, object]], **more: object) -> dict[str, Question]:
    """The questions of a run, by themselves."""
    return {item.question: item for item in questions.of(built_of(folder, rows, **more))}  # type: ignore[arg-type]


def test_answers_of_a_run(tmp_path: Path) -> None:
    """Figures of the highest step, the load as it was, who failed, how busy the generator was."""
    rows = [record(n, sent=n / 10) for n in range(8)]
    rows += [record(8, outcome="rate_limited", end=3.0), record(9, outcome="rate_limited", end=3.0)]
    rows += [record(10 + n, workload="long", input_tokens=1000) for n in range(2)]
    classes = [{"name": "short", "weight": 1.0}, {"name": "long", "weight": 1.0}]
    generator = [second(at, cpu=0.31) for at in range(11)]
    found = asked(tmp_path, rows, classes=classes, cost={"gpu_hour": 36, "gpus": 1}, generator=generator)
    assert found["Which figure?"].answer.startswith("at 1 in flight: over all attempts TTFT p50 100 ms, p95 infinite, ")
    assert "over successes 100 tokens/s for one user, 10.0 tokens/s in all" in found["Which figure?"].answer
    assert found["Under which conditions?"].answer.startswith("the head of this report has 3 of 7 in full; not told: ")
    assert found["Does my load look like this?"].answer.startswith(
        "it was short 80 % (200 tokens in, 10 out), long 20 % (1,000 tokens in, 10 out), with no prompt like another; "
        "in flight: 1."
    )
    assert found["What did it cost?"].answer.endswith("paid: 1 GPU x 36.00 USD an hour")
    assert found["Was the load generator the bottleneck?"].answer.startswith("no: a worker used 31 % of a core at most")
    assert found["What failed?"].answer.startswith(
        "2 of 12 measured attempts (rate_limited 2), most at 1 in flight (17 % of them)"
    )
    assert [name for name, item in found.items() if not item.known] == ["Who else measured it, and was it repeated?"]


def test_what_a_run_cannot_say(tmp_path: Path) -> None:
    """Nothing succeeded, nobody watched, nothing has a price: each says so, and none makes something up."""
    rows = [record(n, outcome="overloaded", end=5.0) for n in range(3)]
    found = asked(tmp_path, rows, generator=())
    silent = [name for name, item in found.items() if not item.known]
    assert silent == [
        "Which figure?",
        "Does my load look like this?",
        "What did it cost?",
        "Who else measured it, and was it repeated?",
        "Was the load generator the bottleneck?",
    ]
    assert all(found[name].answer.startswith("this run cannot say") for name in silent)
    assert found["What failed?"].answer.startswith("3 of 3 measured attempts (overloaded 3)")


def test_the_generator_was_the_bottleneck(tmp_path: Path) -> None:
    """A step that is generator-bound answers yes, and where."""
    found = asked(tmp_path, [record(n) for n in range(20)], generator=[second(at, cpu=0.99) for at in range(11)])
    assert found["Was the load generator the bottleneck?"].answer.startswith("yes, at 1 in flight")


def test_a_run_without_a_window(tmp_path: Path) -> None:
    """A step that never came so far: no figure, no failure, no traceback."""
    found = asked(tmp_path, [record(0, phase="warmup")], steps=[step(begin=None, end=None)])
    assert found["What failed?"] == Question(
        "What failed?", "this run cannot say: nothing was tried in a window", known=False
    )


def test_they_stand_at_the_end_of_pages_and_one_line_points_to_them(tmp_path: Path) -> None:
    """Every question and answer in Markdown and HTML; in a terminal a line, where there are files to look into."""
    built = built_of(tmp_path, [record(n) for n in range(3)])
    for kind in ("markdown", "html"):
        text = files.FORMATS[kind](built)
        end = text[text.rindex(questions.TITLE) :]
        assert all(item.question in end for item in questions.of(built)), kind
    assert "ask:" not in files.FORMATS["table"](built)
    (tmp_path / "report.html").touch()
    line = " ask:     7 questions to ask, 3 of them open: end of report.html and report.md"
    assert line in files.FORMATS["table"](built).splitlines()
