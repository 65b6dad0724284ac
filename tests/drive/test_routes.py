"""llmload's own routes: what they give out, what they keep to themselves, and who may press the buttons."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from llmload.drive.web import downloads, permit
from llmload.drive.web.downloads import FILES, Runs
from llmload.drive.web.form import FIELDS
from llmload.drive.web.guard import refusal
from llmload.drive.web.permit import Permit
from llmload.exits import Exit, Stop
from tests.drive import locusts
from tests.drive.locusts import locust, scenario
from tests.drive.web import ask, page

SECRET = "not to be given out"

OWN = ("", "/", "/live", "/static/live.css", "/runs", "/runs/latest/table.csv", "/runs/run/requests.jsonl")
"""One address for every route that llmload adds, below its place."""

LOGIN = """
import pathlib
import locust
from flask import redirect, request, session
from flask_login import UserMixin, login_user
from llmload.drive import plugin
from llmload.drive.mixuser import MixUser
from llmload.drive.shape import ScenarioShape

plugin.govern()

class Mix(MixUser):
    pass

class Steps(ScenarioShape):
    pass

class Person(UserMixin):
    def get_id(self):
        return "anne"

@locust.events.init.add_listener
def login(environment, **_):
    ui = environment.web_ui
    ui.login_manager.user_loader(lambda name: Person())
    ui.app.config["SECRET_KEY"] = "only of this test"
    ui.auth_args = {"username_password_callback": "/enter"}

    @ui.app.route("/enter", methods=["POST"])
    def enter():
        if request.form["password"] == "open":
            login_user(Person())
        return redirect("/")

    rules = [f"{rule} {rule.endpoint}" for rule in ui.app.url_map.iter_rules() if rule.endpoint.startswith("llmload.")]
    pathlib.Path("rules.txt").write_text("\\n".join(rules))
"""
"""A locustfile with Locust's own login, as its documentation shows it."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A Locust that serves its page below /base, with one run folder, and secrets beside it; and its address."""
    folder = tmp_path_factory.mktemp("routes")
    (folder / "secret.txt").write_text(SECRET)
    run_folder(folder / "old")
    (folder / "old" / "locust.log").write_text(SECRET)
    (folder / "empty").mkdir()
    (folder / "link").symlink_to(folder / "old")
    port = str(locusts.free_port())
    arguments = ("--scenario", str(scenario(folder)), "--web-port", port, "--web-base-path", "/base")
    with locust(folder, *arguments, headless=False):
        ui = f"http://127.0.0.1:{port}/base"
        page(f"{ui}/")
        yield folder, ui


def run_folder(folder: Path, started_at: float = 100.0) -> Path:
    """A run folder of one file that needs no report."""
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"started_at": started_at, "verdict": "OK", "scenario": {"name": "s"}}))
    (folder / "requests.jsonl").write_text('{"seq":0}\n')
    return folder


def test_pages_are_served_below_the_base_path(place: tuple[Path, str]) -> None:
    """The live page, what it names, its figures; and Locust's page leads there."""
    _, ui = place
    code, body, headers = ask(f"{ui}/llmload")
    assert (code, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    for name in ("live.css", "live.js", "vendor/uPlot.iife.min.js"):
        assert f"llmload/static/{name}" in body
        assert ask(f"{ui}/llmload/static/{name}")[0] == 200
    assert ask(f"{ui}/llmload/")[1] == body
    assert json.loads(ask(f"{ui}/llmload/live")[1])["state"] == "idle"
    start = ask(f"{ui}/")[1]
    assert 'href="./llmload"' in start
    assert '"extended_tabs": [{"title": "llmload", "key": "llmload"}]' in start


def test_nothing_of_it_is_for_other_sites(place: tuple[Path, str]) -> None:
    """Locust lets every site read its answers; own routes do not, and a page of theirs takes nothing from elsewhere."""
    _, ui = place
    for path in ("/llmload", "/llmload/live", "/llmload/runs", "/llmload/static/live.css", "/llmload/runs/x/y"):
        headers = ask(f"{ui}{path}", Origin="http://elsewhere.example")[2]
        assert headers["Access-Control-Allow-Origin"] is None, path
        assert headers["Content-Security-Policy"].startswith("default-src 'self'"), path
        assert headers["X-Content-Type-Options"] == "nosniff", path


def test_a_runs_records_are_given_out_as_a_file(place: tuple[Path, str]) -> None:
    """Under a name that says of which run."""
    code, body, headers = ask(f"{place[1]}/llmload/runs/old/requests.jsonl")
    assert (code, body) == (200, '{"seq":0}\n')
    assert headers["Content-Disposition"] == "attachment; filename=old-requests.jsonl"
    assert headers["Content-Length"] == "10"
    runs = json.loads(ask(f"{place[1]}/llmload/runs")[1])
    assert [run["run"] for run in runs["runs"]] == ["old"]


@pytest.mark.parametrize(
    "path",
    [
        "runs/old/locust.log", "runs/old/run.json", "runs/old/spool", "runs/link/requests.jsonl",
        "runs/empty/requests.jsonl", "runs/..%2fold/requests.jsonl", "runs/../old/requests.jsonl",
        "runs/%2e%2e/requests.jsonl", "runs/old/..%2f..%2fsecret.txt", "runs/old/%2e%2e%2f%2e%2e%2fsecret.txt",
        "runs/old%00/requests.jsonl", "runs/old/requests.jsonl%00.csv", "runs//requests.jsonl",
        "runs/%2fetc/passwd", "runs/old/%2fetc%2fpasswd", "runs/old\\/requests.jsonl", "runs/.%2fold/requests.jsonl",
        "static/..%2fweb.py", "static/../web.py", "static/%2fetc%2fpasswd", "static/vendor", "static/%2e%2e/web.py",
    ],
)  # fmt: skip
def test_no_name_leads_out(place: tuple[Path, str], path: str) -> None:
    """Whatever is asked for, only what lies in a run folder of this place, and of that only what is to be had."""
    code, body, _ = ask(f"{place[1]}/llmload/{path}")
    assert code == 404, body
    assert SECRET not in body
    assert "root:" not in body


def test_what_is_wrong_is_a_sentence(place: tuple[Path, str]) -> None:
    """With what was asked for, and what there is; a report that cannot be made says why."""
    _, ui = place
    code, body, headers = ask(f"{ui}/llmload/runs/new/table.csv")
    assert (code, headers["Content-Type"]) == (404, "application/json")
    assert json.loads(body)["error"].startswith("there is no run 'new' in ")
    assert "expected one of: table.csv, summary.json" in ask(f"{ui}/llmload/runs/old/x.csv")[1]
    code, body, _ = ask(f"{ui}/llmload/runs/old/table.csv")
    assert code == 409
    assert "the report of old cannot be made" in body
    assert "Traceback" not in body


def test_the_page_is_for_this_machine_unless_told(place: tuple[Path, str]) -> None:
    """Locust would serve it to every machine: its start line says 127.0.0.1 though nobody asked for that."""
    log = (place[0] / "locust.log").read_text()
    assert "Starting web interface at http://127.0.0.1:" in log


def test_a_port_that_is_taken_is_a_sentence(place: tuple[Path, str], tmp_path: Path) -> None:
    """And the exit code of wrong usage."""
    port = place[1].split(":")[2].partition("/")[0]
    with locust(tmp_path, "--scenario", str(scenario(tmp_path)), "--web-port", port, headless=False) as running:
        left = running.end()
    assert left.code == Exit.USAGE
    assert left.complaint().startswith(f"the web page cannot be on port {port} of 127.0.0.1: Address already in use")
    assert "Traceback" not in left.words


def test_forms_from_other_sites_are_refused(place: tuple[Path, str]) -> None:
    """Start, stop and reset: whoever lures a person to a page of theirs cannot have the key sent to them."""
    _, ui = place
    for path in ("/swarm", "/stop", "/stats/reset"):
        assert ask(f"{ui}{path}", {"host": "http://127.0.0.1:9"}, Origin="http://evil.example")[0] == 403
        assert ask(f"{ui}{path}", {"host": "http://127.0.0.1:9"}, Sec_Fetch_Site="cross-site")[0] == 403
    assert ask(f"{ui}/stop", {"now": "yes"}, Sec_Fetch_Site="same-origin")[0] == 200


def test_a_form_sets_what_stands_in_it_and_no_more(place: tuple[Path, str]) -> None:
    """Locust would take any option from it: where files are written, what is trusted, where the key may go."""
    folder, ui = place
    form = {"host": "http://127.0.0.1:9", "user_count": "1", "spawn_rate": "1", "load": "by hand"}
    for name in ("run_folder", "out", "set", "insecure", "ca", "proxy", "allow_http_key", "html_file", "csv_prefix"):
        said = json.loads(ask(f"{ui}/swarm", form | {name: str(folder / "evil")})[1])
        why = f"{name}: is set on the command line alone, as --{name.replace('_', '-')}, not on the page"
        assert (said["success"], said["message"]) == (False, why)
    assert json.loads(ask(f"{ui}/swarm", form | {"spawn_rate": "x"})[1])["message"].startswith("Invalid spawn_rate")
    said = json.loads(ask(f"{ui}/user", {"key_env": "HOME"})[1])
    assert said["message"] == "cannot be set on the page: no JSON object"
    assert json.loads(ask(f"{ui}/llmload/live")[1])["state"] == "idle"


FORM = {"user_count": "1", "spawn_rate": "1", "host": "http://engine:8000", "scenario": "mixed", "model": ""}


@pytest.mark.parametrize(
    ("web_host", "login", "form", "refused"),
    [
        ("127.0.0.1", False, {}, None),
        ("127.0.0.1", False, {"host": "http://other:8000", "scenario": "my/own.toml"}, None),
        ("127.0.0.1", False, {"scenario": "rate"}, None),
        ("127.0.0.1", False, {"scenario": "/etc/passwd"}, "scenario: expected one that comes with llmload, as mixed"),
        ("127.0.0.1", False, {"scenario": "own"}, None),  # that of the command line
        ("127.0.0.1", False, {"own_word": "of the locustfile"}, None),
        ("127.0.0.1", False, {"insecure": "true"}, "insecure: is set on the command line alone"),
        ("127.0.0.1", False, {"web_host": ""}, "web_host: is set on the command line alone"),
        ("", False, {}, None),
        ("", False, {"host": "http://engine:8000/"}, None),
        ("", False, {"host": "http://other:8000"}, "host: named on the command line, since every machine reaches"),
        ("0.0.0.0", False, {"scenario": "x.toml"}, "scenario: expected one that comes with llmload or that of the com"),
        ("0.0.0.0", False, {"scenario": "rate"}, None),
        ("0.0.0.0", True, {"host": "http://other:8000", "scenario": "x.toml"}, None),
    ],
)  # fmt: skip
def test_what_a_form_may_change(web_host: str, login: bool, form: dict[str, str], refused: str | None) -> None:
    """Where everybody reaches the page, neither where the key goes nor which file is read."""
    page = SimpleNamespace(host=web_host, web_login=login, template_args={"extra_options": {"own_word": {}}})
    options = dict.fromkeys((*permit.OWN, "num_users", "web_host", "own_word"))
    given = SimpleNamespace(**options | {"scenario": "own", "host": "http://engine:8000"})
    why = Permit(page, given, FIELDS).refusal(FORM | form)
    assert why is None if refused is None else str(why).startswith(refused)


@pytest.mark.parametrize(
    ("host", "origin", "site", "alone", "taken"),
    [
        ("127.0.0.1:8089", None, None, True, True),  # curl
        ("127.0.0.1:8089", "http://127.0.0.1:8089", "same-origin", True, True),
        ("localhost:8089", "http://localhost:8089", None, True, True),
        ("[::1]:8089", "http://[::1]:8089", None, True, True),
        ("127.0.0.1:8089", "http://127.0.0.1:9999", None, True, False),
        ("127.0.0.1:8089", "http://evil.example", "cross-site", True, False),
        ("127.0.0.1:8089", "http://localhost:9999", "same-site", True, False),
        ("127.0.0.1:8089", "null", None, True, False),  # a sandboxed frame
        ("evil.example:8089", "http://evil.example:8089", "same-origin", True, False),  # a name that leads here
        ("box.example:8089", "http://box.example:8089", "same-origin", False, True),
        ("box.example:8089", "http://evil.example", None, False, False),
    ],
)
def test_where_a_form_may_come_from(host: str, origin: str | None, site: str | None, alone: bool, taken: bool) -> None:
    """From the page itself and from programs that are no browsers."""
    assert (refusal(host, origin, site, alone=alone) is None) == taken


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A Locust with --web-login, and its address."""
    folder = tmp_path_factory.mktemp("login")
    (folder / "login.py").write_text(LOGIN)
    port = str(locusts.free_port())
    arguments = ("--scenario", str(scenario(folder)), "--web-port", port, "--web-login")
    with locust(folder, *arguments, file=folder / "login.py", headless=False):
        page(f"http://127.0.0.1:{port}/login")
        yield folder, f"http://127.0.0.1:{port}"


@pytest.mark.parametrize("path", [*(f"/llmload{path}" for path in OWN), "/", "/stats/requests"])
def test_the_login_covers_every_route(locked: tuple[Path, str], path: str) -> None:
    """Who is not logged in is sent to the login, and sees nothing else."""
    code, body, _ = ask(f"{locked[1]}{path}")
    assert "auth_args" in body.replace("authArgs", "auth_args"), (code, body[:300])
    assert "llmload: live figures" not in body


def test_all_own_routes_are_among_those(locked: tuple[Path, str]) -> None:
    """A route that is added has to be added above."""
    rules = [line.split()[0] for line in (locked[0] / "rules.txt").read_text().splitlines()]
    assert len(rules) == 6
    assert {rule.removeprefix("/llmload").split("/<")[0] for rule in rules} == {
        "", "/", "/live", "/static", "/runs",
    }  # fmt: skip


def test_forms_need_the_login_too(locked: tuple[Path, str]) -> None:
    """Nobody starts a load from outside."""
    for path in ("/swarm", "/stop", "/stats/reset"):
        assert '"success"' not in ask(f"{locked[1]}{path}", {"user_count": "1", "spawn_rate": "1"})[1], path


def test_the_latest_run_is_the_one_that_began_last(tmp_path: Path) -> None:
    """Whatever its name, and whatever was written since."""
    run_folder(tmp_path / "b", 200.0)
    run_folder(tmp_path / "a", 300.0)
    run_folder(tmp_path / "c", 100.0)
    runs = Runs(tmp_path)
    assert list(runs.folders()) == ["a", "b", "c"]
    assert runs.find(downloads.LATEST, "requests.jsonl").run == "a"
    assert [run["run"] for run in runs.listed()] == ["a", "b", "c"]
    assert runs.listed()[0]["files"] == list(FILES)


def test_the_verdict_in_the_list_is_the_reports(tmp_path: Path) -> None:
    """What run.json says where there is no report, or one that is older than the records or cannot be read."""
    folder = run_folder(tmp_path / "a")
    for name in ("run.json", "requests.jsonl"):
        os.utime(folder / name, (2000.0, 2000.0))
    runs, report = Runs(tmp_path), folder / "summary.json"

    def listed(text: str, at: float) -> str:
        report.write_text(text)
        os.utime(report, (at, at))
        return str(runs.listed()[0]["verdict"])

    assert runs.listed()[0]["verdict"] == "OK"
    assert listed('{"verdict": "DEGRADED"}', 1000.0) == "OK"
    assert listed('{"verdict": "DEGRADED"}', 3000.0) == "DEGRADED"
    assert listed('{"verdict"', 4000.0) == "OK"


def test_a_file_that_is_a_link_is_not_given_out(tmp_path: Path) -> None:
    """Nor one that grows: what is sent is what was there when it was asked for."""
    folder = run_folder(tmp_path / "a")
    found = Runs(tmp_path).find("a", "requests.jsonl")
    with (folder / "requests.jsonl").open("a") as file:
        file.write('{"seq":1}\n')
    assert b"".join(found.chunks()) == b'{"seq":0}\n'
    (folder / "requests.jsonl").unlink()
    (folder / "requests.jsonl").symlink_to("/etc/passwd")
    with pytest.raises(Stop, match=r"the run a has no requests\.jsonl"):
        Runs(tmp_path).find("a", "requests.jsonl")


def test_a_report_is_made_again_only_if_the_run_went_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the times of the files."""
    folder = run_folder(tmp_path / "a")
    made: list[Path] = []

    def make(which: Path) -> None:
        made.append(which)
        (which / "table.csv").write_text("x")
        os.utime(which / "table.csv", (2000.0, 2000.0))

    monkeypatch.setattr(downloads, "make", make)
    for name in ("run.json", "requests.jsonl"):
        os.utime(folder / name, (1000.0, 1000.0))
    runs = Runs(tmp_path)
    assert runs.find("a", "table.csv").size == 1
    assert runs.find("a", "table.csv").size == 1
    assert made == [folder]
    os.utime(folder / "requests.jsonl", (3000.0, 3000.0))
    runs.find("a", "table.csv")
    assert made == [folder, folder]
