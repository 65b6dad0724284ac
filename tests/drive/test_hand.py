"""By hand: real Locust processes, their page pressed as a person would, and what lies in the run folders then."""

import csv
import io
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from llmload.drive import hand
from llmload.exits import Exit, Stop
from tests.drive import locusts
from tests.drive.locusts import Left, Running, locust, scenario
from tests.drive.web import ask, page, press, until
from tests.simulate import child

KEY = "sk-this-must-be-nowhere-4711"

LISTENING = """
import json, os, pathlib
import locust
from llmload.drive import plugin
from llmload.drive.mixuser import MixUser
from llmload.drive.shape import ScenarioShape

plugin.govern()

class Mix(MixUser):
    pass

class Steps(ScenarioShape):
    pass

@locust.events.test_start.add_listener
def keep(environment, **_):
    pathlib.Path(f"options-{os.getpid()}.txt").write_text(repr(vars(environment.parsed_options)))
"""
"""Keeps what workers were told, options and all."""


@dataclass
class Story:
    """What was pressed, what the page said, and what is left."""

    folder: Path
    said: dict[str, Any] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    runs: list[Left] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    truth: list[dict[str, Any]] = field(default_factory=list)


def hold(running: Running, step: int, seconds: float) -> None:
    """Wait until a level's window has been open for so long."""
    running.until_measuring(step)
    time.sleep(seconds)


def next_run(folder: Path, running: Running, known: set[Path]) -> Running:
    """The run that begins now, in a folder that was not there before."""
    run = until(lambda: set(folder.glob("*/run.json")) - known).pop()
    return Running(running.process, run.parent, running.log)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    """1, 4, 8 users and for a moment 2; reset at 8; Stop; started again with 3, ended by 0 users."""
    folder = tmp_path_factory.mktemp("hand")
    told = Story(folder)
    truth = folder / "truth.log"
    (folder / "listening.py").write_text(LISTENING)
    file = scenario(folder, window_s=1.5, warmup_s=0.1)
    port = str(locusts.free_port())
    ui = f"http://127.0.0.1:{port}"
    arguments = ("--scenario", str(file), "--processes", "2", "--web-port", port)
    with (
        child.running("--ttft-ms", "30", "--itl-ms", "5", "--truth", str(truth)) as server,
        locust(folder, *arguments, file=folder / "listening.py", headless=False, OPENAI_API_KEY=KEY) as running,
    ):
        said = told.said
        told.texts.append(page(ui))
        until(lambda: "2 workers connected" in running.words())
        said["no users"] = press(f"{ui}/swarm", host=server.url, user_count="0", spawn_rate="1", load="by hand")
        said["run time"] = press(f"{ui}/swarm", user_count="1", spawn_rate="1", load="by hand", run_time="5s")
        said["start"] = press(f"{ui}/swarm", host=server.url, user_count="1", spawn_rate="1", load="by hand", steps="")
        assert said["start"]["success"], said
        hold(running, 0, 1.7)
        said["same"] = press(f"{ui}/swarm", user_count="1", spawn_rate="1")
        said["other"] = press(f"{ui}/swarm", user_count="1", spawn_rate="1", scenario="rate")
        said["wrong"] = press(f"{ui}/swarm", user_count="many", spawn_rate="1")
        said["four"] = press(f"{ui}/swarm", user_count="4", spawn_rate="1", load="by hand")
        hold(running, 1, 1.7)
        press(f"{ui}/swarm", user_count="2", spawn_rate="1")
        running.until(lambda run: len(run["steps"]) > 2)
        press(f"{ui}/swarm", user_count="6", spawn_rate="1")
        press(f"{ui}/swarm", user_count="8", spawn_rate="1")
        hold(running, 3, 1.7)
        told.texts += [
            ask(f"{ui}{path}")[1] for path in ("/", "/llmload", "/llmload/live", "/stats/requests", "/tasks")
        ]
        said["at eight"] = json.loads(ask(f"{ui}/stats/requests")[1])
        told.files |= {name: ask(f"{ui}/llmload/runs/run/{name}")[1] for name in ("table.csv",)}

        known = set(folder.glob("*/run.json"))
        assert ask(f"{ui}/stats/reset", {})[0] == 200
        second = next_run(folder, running, known)
        hold(second, 0, 1.7)
        said["after reset"] = json.loads(ask(f"{ui}/stats/requests")[1])
        assert press(f"{ui}/stop", now="yes")["success"]

        known = set(folder.glob("*/run.json"))
        said["again"] = press(f"{ui}/swarm", host=server.url, user_count="3", spawn_rate="1", load="by hand")
        third = next_run(folder, running, known)
        hold(third, 0, 1.7)
        said["zero"] = press(f"{ui}/swarm", user_count="0", spawn_rate="1")
        third.until(lambda run: run["verdict"])
        until(lambda: json.loads(ask(f"{ui}/stats/requests")[1])["state"] == "stopped")

        for name in ("summary.json", "report.md", "report.html", "requests.jsonl"):
            told.files[name] = ask(f"{ui}/llmload/runs/run/{name}")[1]
        said["runs"] = press(f"{ui}/llmload/runs")
        told.texts += [running.words(), json.dumps(said), *(ask(f"{ui}/logs")[1:2])]
        told.runs = [Left(0, one.folder, "") for one in (running, second, third)]
    told.truth = [json.loads(line) for line in truth.read_text().splitlines()]
    told.texts += [path.read_text() for path in folder.rglob("*") if path.suffix in {".json", ".jsonl", ".txt", ".md"}]
    return told


def levels(run: dict[str, Any]) -> list[tuple[int, str, bool]]:
    """Users, end and whether it is a row, of each step."""
    return [(step["concurrency"], step["ended_by"], step["held"]) for step in run["steps"]]


def test_each_level_that_was_held_is_a_row(story: Story) -> None:
    """2 was left at once, and a row needs a second and a half; 6 was asked for while 2 ended, and 8 before it began."""
    run = story.runs[0].run
    assert (run["verdict"], run["reasons"]) == ("OK", [])
    assert run["scenario"]["load"]["kind"] == "hand"
    assert levels(run) == [(1, "level", True), (4, "level", True), (2, "level", False), (8, "stopped", True)]
    rows = json.loads(story.files["summary.json"])["rows"]
    assert [(row["step"], row["concurrency"]) for row in rows if row["workload"] == "all"] == [(0, 1), (1, 4), (3, 8)]


def test_a_level_is_measured_as_in_a_step_plan(story: Story) -> None:
    """Exactly its users in flight, all of them warm before the window; only Stop cuts what was measured."""
    left = story.runs[0]
    for step in left.run["steps"]:
        index, users = step["step"], step["concurrency"]
        truth = [line for line in story.truth if step["started_at"] <= line["received_at"] <= step["ended_at"]]
        assert locusts.in_flight(truth, step["started_at"], step["ended_at"])[0] == users
        warm = [row for row in left.records if (row["step"], row["phase"]) == (index, "warmup")]
        assert step["window_started_at"] is None or len(warm) >= 2 * users
        measured = [row for row in left.records if (row["step"], row["phase"]) == (index, "measure")]
        cut = {(row["outcome"], row["error"]) for row in measured if row["outcome"] != "ok"}
        assert cut == ({("cancelled", "stopped by the user")} if step["ended_by"] == "stopped" else set())


def test_nothing_is_lost(story: Story) -> None:
    """Started, finished, received and written are the same, in every run."""
    for left in story.runs:
        lines = left.run["accounting"].values()
        assert sum(line["lost"] for line in lines) == 0
        assert sum(line["started"] for line in lines) == len(left.records)


def test_reset_begins_a_new_run_at_the_same_level(story: Story) -> None:
    """The run before ends as by Stop; Locust goes on all the while, and counts anew."""
    assert levels(story.runs[1].run) == [(8, "stopped", True)]
    assert story.runs[1].run["verdict"] == "OK"
    assert story.said["after reset"]["state"] == "running"
    assert story.said["after reset"]["user_count"] == 8
    total = story.said["after reset"]["stats"][-1]["num_requests"]
    assert total <= len(story.runs[1].records)


def test_zero_users_end_a_run(story: Story) -> None:
    """Unlike Stop it lets the measured requests end."""
    left = story.runs[2]
    assert (left.run["verdict"], levels(left.run)) == ("OK", [(3, "level", True)])
    assert {row["outcome"] for row in left.records if row["phase"] == "measure"} == {"ok"}


def test_the_page_says_what_comes_of_it(story: Story) -> None:
    """Sentences that are true, for what was done and for what was not."""
    said = {name: (answer["success"], answer["message"]) for name, answer in story.said.items() if "success" in answer}
    assert said["no users"] == (False, "number of users: expected a whole number from 1 to 100000, got '0'")
    assert said["run time"][1].startswith("Run time is not used")
    assert said["start"] == (True, "a run by hand begins with 1 user; a level that you hold for 1.5 s becomes a row")
    assert said["same"] == (True, "there are 1 users already: nothing changes")
    assert said["other"] == (
        False,
        "scenario: set when the run began, and cannot change while it goes on: press Stop, then New",
    )
    assert said["wrong"] == (False, "number of users: expected a whole number from 0 to 100000, got 'many'")
    assert said["four"][0]
    assert "all 4 start once its requests have ended" in said["four"][1]
    assert said["zero"] == (True, "0 users: the run ends once the last measured request has ended")
    assert story.said["at eight"]["state"] == "running"
    assert story.said["at eight"]["user_count"] == 8


def test_every_file_can_be_had_from_the_page(story: Story) -> None:
    """The table while the run goes on has the steps that are over; behind it all five are those of the folder."""
    early = list(csv.DictReader(io.StringIO(story.files["table.csv"])))
    assert [row["concurrency"] for row in early if row["workload"] == "all"][:2] == ["1", "4"]
    folder = story.runs[0].folder
    for name in ("summary.json", "report.md", "report.html", "requests.jsonl"):
        assert story.files[name] == (folder / name).read_text(), name
    runs = story.said["runs"]["runs"]
    assert [run["run"] for run in runs] == [left.folder.name for left in reversed(story.runs)]
    for run, left in zip(runs, reversed(story.runs), strict=True):
        told = left.folder / "summary.json"  # which finds out when the machine was too slow, once it is there
        of_report = {json.loads(told.read_bytes())["verdict"]} if told.exists() else set()
        assert run["verdict"] in {"OK"} | of_report


def test_the_key_is_nowhere(story: Story) -> None:
    """Not in the pages, answers, logs and files, nor among the options that workers are sent."""
    assert len(list(story.folder.glob("options-*.txt"))) == 3
    assert len(story.texts) > 15
    assert not [text for text in story.texts if KEY in text]


def test_a_plan_keeps_its_users_and_a_reset_begins_it_anew(tmp_path: Path) -> None:
    """In one process, with Locust's class picker: its shape is the step plan, and its default is by hand."""
    file = scenario(tmp_path, steps=[2], window_s=30, warmup_s=0.1)
    port = str(locusts.free_port())
    ui = f"http://127.0.0.1:{port}"
    with (
        child.running("--ttft-ms", "10", "--itl-ms", "2") as server,
        locust(tmp_path, "--scenario", str(file), "--web-port", port, "--class-picker", headless=False) as running,
    ):
        assert "step plan: the scenario does" not in page(ui)
        form = {"host": server.url, "user_count": "2", "spawn_rate": "1", "user_classes": "Mix"}
        assert press(f"{ui}/swarm", **form, shape_class="Steps") == {
            "success": True, "message": "the step plan begins", "host": server.url,
        }  # fmt: skip
        running.until_measuring()
        answer = press(f"{ui}/swarm", user_count="5", spawn_rate="1")
        assert (answer["success"], answer["message"][:40]) == (False, "the step plan sets the users of this run")
        assert '"hide_common_options": true' in page(ui)
        known = set(tmp_path.glob("*/run.json"))
        assert ask(f"{ui}/stats/reset", {})[0] == 200
        second = next_run(tmp_path, running, known)
        second.until_measuring()
        assert press(f"{ui}/stop", now="yes")["success"]
        known = set(tmp_path.glob("*/run.json"))
        assert press(f"{ui}/swarm", **form, shape_class="Default")["message"].startswith(
            "a run by hand begins with 2 users"
        )
        third = next_run(tmp_path, running, known)
        third.until_measuring()
        assert press(f"{ui}/stop", now="yes")["success"]
    assert running.run()["reasons"] == ["reset by the user; a new run began"]
    assert second.run()["reasons"] == ["stopped by the user"]
    assert third.run()["reasons"] == ["no level was held for long enough to be a row"]
    assert {run.run()["verdict"] for run in (running, second, third)} == {"INCOMPLETE"}


@pytest.mark.parametrize(
    ("text", "least", "users"), [("1", 0, 1), ("0", 0, 0), (" 32 ", 1, 32), ("100000", 1, 100_000)]
)
def test_numbers_of_users(text: str, least: int, users: int) -> None:
    """Whole numbers."""
    assert hand.users(text, least=least) == users


@pytest.mark.parametrize(
    ("text", "least"), [("", 0), (None, 0), ("-1", 0), ("0", 1), ("1.5", 0), ("100001", 0), ("x", 0)]
)
def test_other_numbers_of_users(text: str | None, least: int) -> None:
    """Whatever else is typed."""
    with pytest.raises(Stop, match="number of users: expected a whole number"):
        hand.users(text, least=least)


def test_without_a_page_nobody_sets_the_load(tmp_path: Path) -> None:
    """A run that could never be ended is not begun."""
    with locust(
        tmp_path, "--scenario", str(scenario(tmp_path)), "-H", "http://127.0.0.1:9", "--load", "by hand"
    ) as one:
        left = one.end()
    assert left.code == Exit.USAGE
    assert left.complaint().startswith('--load "by hand" needs the web page')
