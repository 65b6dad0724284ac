"""`llmload ab`: the order of its runs, what each of them is, how it ends, and how it goes on.

A real one is in test_rerun.py, which repeats one of its runs.
"""

import argparse
import os
import re
import signal
import socket
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from llmload.cli import ab, compare, contest, obey, run
from llmload.cli.attend import Interrupts
from llmload.exits import Exit, Stop
from llmload.load import reading
from llmload.load.scenario import Scenario
from llmload.record import rounds, runfolder
from tests.cli.commands import end, quick, start
from tests.send.endpoint import Script, serving

A, B = "http://127.0.0.1:9/v1", "http://127.0.0.1:10/v1"
BOTH = ("quick.toml", "--baseline", A, "--candidate", B, "--no-compare", "--pause", "0")


@dataclass
class Played:
    """Runs that are played: what each was asked for, and with which code it ends."""

    codes: list[int] = field(default_factory=list)
    asked: list[tuple[Namespace, Scenario, str]] = field(default_factory=list)
    before: list[Callable[[], None]] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None

    def __call__(
        self,
        args: Namespace,
        scenario: Scenario,
        host: str,
        _words: list[str],
        *,
        brief: bool,
        behind: run.Behind,
        interrupts: Interrupts,
    ) -> int:
        """As `run.perform`."""
        assert brief
        with interrupts.counted():
            return self.play(args, scenario, host, behind)

    def play(self, args: Namespace, scenario: Scenario, host: str, behind: run.Behind) -> int:
        """The run itself."""
        self.asked.append((args, scenario, host))
        if self.before:
            self.before.pop(0)()
        code = self.codes.pop(0) if self.codes else 0
        if code == 3:
            raise Stop("no such host: mend --host, or name one with --model", Exit.UNMEASURABLE)
        folder = runfolder.create(Path(args.out), scenario.name)
        fit = {f"short-{at:03d}": 100 + at for at in range(10)}
        facts = {"run": folder.name, "scenario": reading.resolved(scenario), "preflight": {"fit": fit}}
        runfolder.write_json(folder / "run.json", facts)
        row = {
            "workload": "all",
            "concurrency": 2,
            "rate": None,
            "ok": 7,
            "started": 9,
            "e2e_ms": {"all": {"p95": 12.3}},
        }
        reasons = ["something was lost"] if code == 5 else []
        summary = {"rows": [row], "verdict": "DEGRADED" if code == 5 else "OK", "reasons": reasons}
        runfolder.write_json(folder / "summary.json", summary)
        behind(Console(), folder)
        self.meanwhile()
        return code


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    """No run is real, and both endpoints are there."""
    found = Played()
    monkeypatch.setattr(run, "perform", found)
    monkeypatch.setattr(contest.Contest, "look", lambda *_args: None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["llmload", "ab", *BOTH])
    quick(tmp_path)
    return found


def folder() -> Path:
    """The only ab that there is."""
    (found,) = Path("runs").iterdir()
    return found


def told() -> list[tuple[str, int, int]]:
    """Side, round and code of each run in ab.json."""
    return [(item.side[0], item.round, item.exit_code) for item in rounds.read(folder()).rounds]


def test_rounds_change_places_and_share_their_prompts(played: Played, capsys: pytest.CaptureFixture[str]) -> None:
    """A B B A A B; heads are new in each round and the same for both; only the first run fits prompts."""
    assert obey(["ab", *BOTH, "--set", "round=7"]) == 0
    assert [host for _, _, host in played.asked] == [A, B, B, A, A, B]
    assert [scenario.round for _, scenario, _ in played.asked] == [7, 7, 8, 8, 9, 9]
    fits = [scenario.fitted for _, scenario, _ in played.asked]
    assert fits[0] is None
    assert all(fit == {f"short-{at:03d}": 100 + at for at in range(10)} for fit in fits[1:])
    assert told() == [("b", 0, 0), ("c", 0, 0), ("c", 1, 0), ("b", 1, 0), ("b", 2, 0), ("c", 2, 0)]
    books = rounds.read(folder())
    assert books.ended_at is not None
    assert all((folder() / item.run / "run.json").exists() for item in books.rounds)
    assert books.about["scenario"] == "quick"
    assert books.about["baseline"]["host"] == A
    out = capsys.readouterr().out
    assert "quick: 3 rounds of each side, A B B A A B; 7.2 s at least" in out
    assert re.search(r"^6/6  round 3  candidate  http://127\.0\.0\.1:10/v1$", out, re.MULTILINE)
    assert "OK          E2E p95 12.3 ms at 2 in flight  7 of 9 ok" in out


def test_one_endpoint_never_gets_a_prompt_with_its_head_twice(
    played: Played, capsys: pytest.CaptureFixture[str]
) -> None:
    """A prefix cache would answer the second side of an A/A from the first: each side has heads of its own."""
    words = ("quick.toml", "--baseline", A, "--candidate", A, "--no-compare", "--pause", "0")
    assert obey(["ab", *words]) == 0
    assert [scenario.round for _, scenario, _ in played.asked] == [0, 100, 101, 1, 2, 102]
    assert obey(["ab", *words, "--set", "round=200"]) == 2
    assert obey(["ab", *BOTH, "--set", "round=254"]) == 2
    assert "round=254: the last of these rounds would be above 255; begin lower" in capsys.readouterr().err


def test_each_side_has_its_own_options(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    """On top of what is for both; the key of each comes from its own variable."""
    words = (
        *("--model", "m", "--steps", "3", "--gpu", "g:1", "--rounds", "1", "--candidate-model", "n"),
        *("--candidate-set", "key_env=KEY_B", "--candidate-set", "temperature=0.5", "--candidate-gpu", "h:2"),
        *("--baseline-server-metrics", "off", "--processes", "2", "--set", "load.warmup_s=1"),
    )
    monkeypatch.setenv("KEY_B", "long-enough-key")
    assert obey(["ab", *BOTH, *words]) == 0
    (first, baseline, _), (second, candidate, _) = played.asked
    assert (baseline.model, candidate.model) == ("m", "n")
    assert baseline.load == candidate.load
    assert (baseline.load.steps, baseline.load.warmup_s) == ((3,), 1.0)
    assert (baseline.key_env, candidate.key_env) == ("OPENAI_API_KEY", "KEY_B")
    assert (baseline.temperature, candidate.temperature) == (0.0, 0.5)
    assert (first.gpu, second.gpu) == (["g:1"], ["g:1", "h:2"])
    assert (first.server_metrics, second.server_metrics) == ("off", None)
    assert (first.processes, second.processes) == (2, 2)


def test_other_texts_on_one_side_are_fitted_for_it(played: Played) -> None:
    """Lengths that were found for prompts of 60 tokens are none for prompts of 90."""
    assert obey(["ab", *BOTH, "--rounds", "2", "--baseline-set", "class.short.input_tokens=90"]) == 0
    fits = [(scenario.classes[0].input_tokens, scenario.fitted is None) for _, scenario, _ in played.asked]
    assert [fit for _, fit in fits] == [True, True, False, True]


def test_how_it_goes_on_behind_an_endpoint_that_failed(
    played: Played, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same way it would fail again; a side's options may be added, those of both are settled."""
    played.codes = [0, 3]
    assert obey(["ab", *BOTH]) == 3
    assert (
        "Mend what is told above; then this goes on with it, also with further options of a" in capsys.readouterr().out
    )
    books = rounds.read(folder())
    books.about["command"] = ["llmload", "ab", *BOTH]
    books.write(folder())
    more = ["ab", "--resume", str(folder()), "--candidate-model", "x"]
    monkeypatch.setattr("sys.argv", ["llmload", *more])
    assert obey(more) == 0
    assert [scenario.model for _, scenario, _ in played.asked] == [None, None, "x", "x", None, None, "x"]
    more[3:] = ["--model", "x"]
    monkeypatch.setattr("sys.argv", ["llmload", *more])
    assert obey(more) == 2
    settled = f"--model: what is for both is settled in {folder()}/scenario.json, from which all rounds are made; "
    assert capsys.readouterr().err == f"llmload ab: {settled}--baseline-model and --candidate-model can be added\n"


def test_a_sheet_that_is_there_is_told_before_further_rounds(
    played: Played, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may be filled, and is not written over."""
    played.codes = [0, 6]
    assert obey(["ab", *BOTH]) == 6
    (folder() / "review.csv").touch()
    assert obey(["ab", *BOTH, "--resume", str(folder()), "--check-answers", "--review-sheet", "3"]) == 2
    assert "review.csv: is there already; it may be filled" in capsys.readouterr().err
    assert len(played.asked) == 2


def test_a_run_that_was_stopped_before_its_load(played: Played, capsys: pytest.CaptureFixture[str]) -> None:
    """The rounds before it are recorded, so nobody says that nothing was."""

    def stopped() -> None:
        signal.raise_signal(signal.SIGTERM)
        raise Stop("stopped before the load began; nothing was recorded", Exit.INCOMPLETE)

    played.before = [lambda: None, stopped]
    assert obey(["ab", *BOTH]) == 6
    assert told() == [("b", 0, 0)]
    assert capsys.readouterr().err == "llmload ab: stopped before the load of this run began\n"


def test_what_ends_it_is_told_also_behind_a_run_that_was_degraded(
    played: Played, capsys: pytest.CaptureFixture[str]
) -> None:
    """The higher code of a round before does not make rounds that are not there whole."""
    played.codes = [5, 3]
    assert obey(["ab", *BOTH]) == 3
    assert rounds.read(folder()).ended_at is None
    out = capsys.readouterr().out
    assert "Stopped there." in out
    assert "All runs are there" not in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_ends_by_itself_all_the_same_is_the_last_one(
    played: Played, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever interrupts while a run is being finished wants no more of them; the run itself is a round."""
    played.meanwhile = lambda: signal.raise_signal(number)
    assert obey(["ab", *BOTH]) == 6
    assert told() == [("b", 0, 0)]
    said = "Stopped there: that run was over, and counts; exit code 6 is the command's. This goes on with it:"
    assert f"{said}\n  llmload ab --resume {folder()}\n" in capsys.readouterr().out
    assert rounds.read(folder()).ended_at is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_between_two_runs_are_a_ctrl_c(
    played: Played, number: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says how it goes on; and they mean again what they meant before."""
    monkeypatch.setattr(contest.Contest, "pause", lambda *_: signal.raise_signal(number))
    before = signal.getsignal(number)
    assert obey(["ab", *BOTH]) == 6
    assert f"llmload ab --resume {folder()}" in capsys.readouterr().out
    assert signal.getsignal(number) == before


def test_one_folder_is_for_one_ab(played: Played, capsys: pytest.CaptureFixture[str]) -> None:
    """A second that would go on with it moves nothing away; nor is a run moved that still goes on."""
    played.codes = [0, 6]
    assert obey(["ab", *BOTH]) == 6
    holder = runfolder.claim(folder())
    words = (*BOTH, "--resume", str(folder()))
    assert obey(["ab", *words]) == 2
    assert "an llmload ab makes its rounds now; wait for its end" in capsys.readouterr().err
    os.close(holder)
    (orphan,) = (folder() / "candidate").iterdir()
    holder = runfolder.claim(orphan)
    assert obey(["ab", *words]) == 2
    assert "this run is still going on" in capsys.readouterr().err
    assert orphan.exists()
    os.close(holder)
    (folder() / "candidate" / "notes.txt").touch()
    assert obey(["ab", *words]) == 0


@pytest.mark.parametrize(("code", "whole"), [(1, True), (5, True), (4, True), (2, False), (3, False), (6, False)])
def test_a_run_that_is_no_round_ends_it(played: Played, code: int, whole: bool) -> None:
    """What was measured and failed is a round; what was stopped, refused or never begun ends it."""
    played.codes = [0, code]
    assert obey(["ab", *BOTH]) == code
    assert len(played.asked) == (6 if whole else 2)
    assert (rounds.read(folder()).ended_at is not None) == whole


def test_a_side_that_cannot_be_measured_is_told_with_its_own_options(
    played: Played, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run speaks of --host and --model; here nobody typed them."""
    played.codes = [0, 3]
    assert obey(["ab", *BOTH]) == 3
    told = "llmload ab: no such host: mend --candidate, or name one with --candidate-model\n"
    assert capsys.readouterr().err == told


def test_it_goes_on_where_it_stopped(
    played: Played, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder alone is enough; the run that was stopped is set aside and made again."""
    played.codes = [0, 0, 6]
    assert obey(["ab", *BOTH, "--rounds", "2"]) == 6
    assert told() == [("b", 0, 0), ("c", 0, 0), ("c", 1, 6)]
    stopped = rounds.read(folder()).rounds[-1].run
    assert f"llmload ab --resume {folder()}" in capsys.readouterr().out
    (folder() / "baseline" / "killed").mkdir()
    monkeypatch.setattr("sys.argv", ["llmload", "ab", "--resume", str(folder())])
    books = rounds.read(folder())
    books.about["command"] = ["llmload", "ab", *BOTH, "--rounds", "2"]
    books.write(folder())
    assert obey(["ab", "--resume", str(folder())]) == 0
    assert [host for _, _, host in played.asked] == [A, B, B, B, A]
    assert told() == [("b", 0, 0), ("c", 0, 0), ("c", 1, 0), ("b", 1, 0)]
    aside = sorted(path.name for path in (folder() / "stopped").iterdir())
    assert aside == ["baseline-killed", stopped.replace("/", "-")]
    assert "2 of 4 runs are there already" in capsys.readouterr().out
    assert len(list((folder() / "candidate").iterdir())) == 2
    assert obey(["ab", "--resume", str(folder())]) == 0
    assert len(played.asked) == 5


def test_ctrl_c_between_two_runs(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lost, the code is 6."""

    def interrupt(*_args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(contest.Contest, "pause", interrupt)
    assert obey(["ab", *BOTH]) == 6
    assert told() == [("b", 0, 0)]


def test_the_plan_alone(played: Played, capsys: pytest.CaptureFixture[str]) -> None:
    """Sends nothing, makes nothing; says when both sides are the same, and what needs more rounds."""
    words = ("quick.toml", "--baseline", A, "--candidate", A, "--rounds", "2", "--pause", "1m", "--no-compare")
    assert obey(["ab", *words, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "quick: 2 rounds of each side, A B B A; 3 min 05 s at least" in out
    assert "Both sides are the same: this shows how far runs differ by themselves (A/A)." in out
    assert "Fewer than three rounds of each side give figures, and no verdict." in out
    assert not played.asked
    assert not Path("runs").exists()
    assert obey(["ab", *words, "--dry-run", "--candidate-model", "b"]) == 0
    assert "A/A" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("quick.toml", "--baseline", A), "--baseline URL and --candidate URL are needed"),
        ((*BOTH, "--rounds", "0"), "--rounds: expected 1 to 100, got 0"),
        ((*BOTH, "--processes", "0"), "--processes: expected 1 or more"),
        ((*BOTH, "--pause", "soon"), "--pause: expected a duration"),
        ((*BOTH, "--candidate-set", "nope=1"), "nope (from --candidate-set): unknown key"),
        ((*BOTH, "--host", A), "--host: there are two endpoints here: name them with --baseline URL and --candidate"),
        (
            (*BOTH, "--claim", "2x e2e_p95@99"),
            "--claim '2x e2e_p95@99': the scenario has no step of 99; expected one of: 1, 2",
        ),
        ((*BOTH, "--claim", "2x e2e_p95 no", "--dry-run"), "no class 'no'; expected one of: all, short"),
        ((*BOTH, "--claim", "claim.toml"), "ab: claim.toml: the scenario has no class 'long'"),
        ((*BOTH, "--claim", "claim.toml", "--workload", "short"), "ab: claim.toml: the scenario has no step of 64"),
        ((*BOTH, "--concurrency", "77"), "--concurrency: the scenario has no step of 77"),
        ((*BOTH, "--workload", "nope", "--dry-run"), "--workload: the scenario has no class 'nope'"),
        ((*BOTH, "--gate", "p95_e2e<=1.05@7"), "--gate 'p95_e2e<=1.05@7': the scenario has no step of 7"),
        ((*BOTH, "--candidate-set", "load.steps=1", "--gate", "nope/p95_e2e<=1.05"), "no class 'nope'"),
        ((*BOTH, "--candidate-set", "load.steps=1", "--concurrency", "2"), "no step of 2; expected one of: 1\n"),
        (
            (*BOTH, "--review-sheet", "3", "--check-answers", "--no-files"),
            "--review-sheet writes files, and --no-files",
        ),
        ((*BOTH, "--candidate-gpu", "ftp://x"), "ab: --candidate-gpu: expected a URL"),
        ((*BOTH, "--candidate", "ftp://x"), "expected http or https"),
        ((*BOTH, "--resume", "."), "ab.json: cannot be read"),
        (("--resume", "nowhere"), "ab.json: cannot be read"),
        ((*BOTH, "--candidate", "http://u:sk-one-two-three@127.0.0.1:9"), "credentials in the URL"),
        ((*BOTH, "--proxy", "http://u:one-two-three@p:1"), "a proxy with a password cannot be used"),
    ],
)
def test_wrong_usage_is_one_sentence_and_code_2(
    played: Played,
    words: tuple[str, ...],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before anything is sent, also of the side whose turn comes later."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one-two-three")
    Path("claim.toml").write_text('figure = "e2e_p95"\nfactor = 2\nconcurrency = 64\nworkload = "long"\n')
    assert obey(["ab", *words]) == 2
    found = capsys.readouterr().err
    assert found.startswith("llmload ab: ")
    assert sentence in found
    assert "one-two-three" not in found
    assert not played.asked
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    "case",
    [
        (Script(), ("--candidate", B), r"connection refused .*; nobody listens there: start .*, or mend --candidate\n"),
        (Script(html=True), (), r"an HTML page came back .*; mend --candidate: it is an API's address"),
        (Script(key="k"), (), r"401: bad key: None; no key was sent; put it in the environment variable KEY_B\n"),
        (Script(models=[{"id": "m"}, {"id": "n"}]), (), r"serves 2 models; name one with --candidate-model: m, n\n"),
        (Script(answer=lambda _: 404), ("--candidate-model", "x"), r"on offer: m; name one with --candidate-model\n"),
    ],
)
def test_both_endpoints_are_looked_at_before_the_first_run(
    case: tuple[Script, tuple[str, ...], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The candidate's turn would come when nobody looks any more; it costs one short request, and leaves nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["llmload"])
    quick(tmp_path)
    there, (script, words, sentence) = Script(), case
    with serving(there) as old, serving(script) as new:
        both = ("quick.toml", "--baseline", old, "--candidate", new, "--candidate-set", "key_env=KEY_B")
        assert obey(["ab", *both, *words]) == 3
    shown = capsys.readouterr()
    assert re.fullmatch(f"llmload ab: the candidate: http://127.0.0.1:.*/v1: .*{sentence}.*", shown.err, re.DOTALL)
    assert shown.out == "looking at both endpoints …\n"
    assert len(there.posts) == 1
    assert len(script.posts) <= 1
    assert not Path("runs").exists()


def test_ctrl_c_while_both_endpoints_are_looked_at(tmp_path: Path) -> None:
    """One sentence, and no folder."""
    quick(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        asking = start("ab", "quick.toml", "--baseline", url, "--candidate", url, cwd=tmp_path, own_group=True)
        silent.settimeout(60.0)
        with silent.accept()[0]:
            os.killpg(asking.pid, signal.SIGINT)  # as a terminal does
            found = end(asking)
    assert (found.code, found.err) == (6, "llmload ab: stopped before the first run; nothing was recorded\n")
    assert not (tmp_path / "runs").exists()


def test_nothing_is_sent_into_the_load_of_another_ab(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever resumes a folder in which rounds are made now is told so before both endpoints are looked at."""
    played.codes = [0, 6]
    assert obey(["ab", *BOTH]) == 6
    monkeypatch.setattr(contest.Contest, "look", lambda *_: pytest.fail("looked for"))
    holder = runfolder.claim(folder())
    assert obey(["ab", *BOTH, "--resume", str(folder())]) == 2
    os.close(holder)


def test_a_round_whose_run_is_gone_is_made_again(played: Played) -> None:
    """ab.json tells of it, and nothing of it is left."""
    assert obey(["ab", *BOTH, "--rounds", "1"]) == 0
    (gone,) = (folder() / "candidate").iterdir()
    (gone / "run.json").unlink()
    assert obey(["ab", *BOTH, "--rounds", "1", "--resume", str(folder())]) == 0
    assert [host for _, _, host in played.asked] == [A, B, B]
    assert told() == [("b", 0, 0), ("c", 0, 0)]


@pytest.mark.parametrize(("code", "ends"), [(3, False), (6, True)])
def test_asking_that_was_stopped_ends_it(
    played: Played, code: int, ends: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And says how to compare; where a side could not be asked the rounds are compared, and the code is told."""

    def ask(*_args: object) -> Path:
        raise Stop("no answers", Exit(code))

    monkeypatch.setattr(ab.asking, "ask", ask)
    monkeypatch.setattr(ab.compare, "run", lambda *_args: print("compared") or 0)
    words = [word for word in BOTH if word != "--no-compare"]
    assert obey(["ab", *words, "--rounds", "1", "--check-answers"]) == code
    out = capsys.readouterr().out
    assert ("compared" in out) != ends
    assert ("This compares what is there" in out) == ends
    assert ("exit code of all of it 3" in out) != ends


def test_a_comparison_that_fails_leaves_the_runs_and_says_how_to_go_on(
    played: Played, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A scorer that breaks behind hours of load."""

    def breaks(*_: object) -> int:
        raise Stop("--score 'x': ended with 1")

    monkeypatch.setattr(compare, "run", breaks)
    assert obey(["ab", *(word for word in BOTH if word != "--no-compare")]) == 2
    shown = capsys.readouterr()
    assert shown.err == "llmload ab: --score 'x': ended with 1\n"
    assert f"All runs are there. This compares them:\n  llmload compare {folder()}" in shown.out
    assert len(played.asked) == 6


def test_rounds_that_are_there_need_no_endpoint(
    played: Played, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that is left to do is to compare them."""
    assert obey(["ab", *BOTH, "--rounds", "1"]) == 0
    monkeypatch.setattr(contest.Contest, "look", lambda *_: pytest.fail("looked for"))
    assert obey(["ab", *BOTH, "--rounds", "1", "--resume", str(folder())]) == 0
    assert "2 of 2 runs are there already" in capsys.readouterr().out
    with pytest.raises(pytest.fail.Exception):
        obey(["ab", *BOTH, "--rounds", "2", "--resume", str(folder())])


def test_a_command_with_a_password_is_typed_again(played: Played, capsys: pytest.CaptureFixture[str]) -> None:
    """Passwords are not kept, so the folder alone is not enough; and other endpoints make no round of it."""
    assert obey(["ab", *BOTH, "--rounds", "1"]) == 0
    books = rounds.read(folder())
    assert obey(["ab", *BOTH, "--candidate", A, "--resume", str(folder())]) == 2
    assert "its candidate is http://127.0.0.1:10/v1; resume it with the same endpoints" in capsys.readouterr().err
    books.about["command"] = ["llmload", "ab", "--baseline", "http://…@x"]
    books.write(folder())
    assert obey(["ab", "--resume", str(folder())]) == 2
    assert "type it again with --resume" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("spread", "words"),
    [(None, "unknown"), ({"p95": None}, "unknown"), ({"p95": "inf"}, "infinite"), ({"p95": 1234.5}, "1,234 ms")],
)
def test_the_figure_of_a_run(spread: Any, words: str) -> None:
    """Missing is no 0, and what never finished is infinite."""
    assert contest.milliseconds(spread) == words


def test_every_option_of_a_run_reaches_it() -> None:
    """What `llmload ab` takes of a run is declared as there; nothing is swallowed by an abbreviation."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    ab.add_arguments(parser)
    args = vars(parser.parse_args([]))
    for side in rounds.SIDES:
        assert {f"{side}_{name.replace('-', '_')}" for name in ab.OF_SIDE} <= set(args)
