"""The web page as a person uses it: a real browser, a real Locust with a worker, against `llmload simulate`."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from llmload.report import building
from tests.drive import locusts
from tests.drive.locusts import Running, locust, scenario
from tests.simulate import child
from tests.web import locust_page
from tests.web.browser import errors, row, text, texts, until

HELD_S = 1.0
KEY = "sk-never-on-a-page"

SAME = {
    "requests ok": "ok", "requests fail": "failed", "requests not sent": "not_sent", "requests lost": "lost",
    "TTFT ms p50": "ttft_ms.ok.p50", "TTFT ms p95": "ttft_ms.ok.p95", "TTFT ms p95 all": "ttft_ms.all.p95",
    "ITL ms p50": "itl_ms.ok.p50", "ITL ms p99": "itl_ms.ok.p99", "TPOT ms p50": "tpot_ms.ok.p50",
    "E2E s p50": "e2e_ms.ok.p50", "E2E s p95": "e2e_ms.ok.p95", "tokens/s all": "output_tokens_per_s",
    "tokens/s user": "output_tokens_per_s_per_user", "stalls /1000": "stalls_per_1000_gaps", "ok %": "success_share",
}  # fmt: skip
"""Columns of the page's table, and the figures of summary.json that stand in them."""


def same(shown: str, value: Any, heading: str) -> bool:
    """Whether the page tells a figure of summary.json, to the three digits that it has room for."""
    if value is None or value == "inf":
        return shown == {None: "", "inf": "∞"}[value]
    times = {"E2E s": 0.001, "ok %": 100}.get(heading.removesuffix(" p50").removesuffix(" p95"), 1)
    return float(shown.replace(",", "")) == pytest.approx(value * times, rel=0.0051, abs=0.0051)


def figure(found: dict[str, Any], key: str) -> Any:
    """A figure by its dotted name; None where there is none."""
    value: Any = found
    for part in key.split("."):
        value = None if value is None else value[part]
    return value


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_person_ramps_by_hand(browser: Chrome, tmp_path: Path) -> None:
    """1, 4, 8 users by Locust's own buttons: a row each, as in summary.json; then the files, stop, and start again."""
    with page(tmp_path) as (server, running, ui):
        tabs = Tabs(browser, ui)
        until(lambda: "Workers 1" in locust_page.status(browser))
        locust_page.fill(browser, userCount="1", host=server)
        locust_page.choose(browser, load="by hand")
        locust_page.press(browser, "Start")
        locust_page.until_running(browser)
        tabs.open_live()
        for users in (4, 8):
            held(browser)
            tabs.locust()
            locust_page.edit(browser, users)
            tabs.live()
            until(lambda users=users: f"{users} in flight" in text(browser, "#doing"))  # type: ignore[misc]
        held(browser)
        until(lambda: row(browser, 1, "all"))
        assert [row(browser, step, "short")["in flight"] for step in (0, 1)] == ["1", "4"]
        assert text(browser, "#steps tr.running td") == "8"

        tabs.locust()
        locust_page.press(browser, "Stop")
        tabs.live()
        until(lambda: text(browser, "#state") == "ended")
        until(lambda: row(browser, 2, "all"))
        name = text(browser, "#run")
        assert name == running.run()["run"]
        until(lambda: text(browser, "#verdict"))
        until(lambda: judged_by_the_report(browser, running.folder))
        assert all_rows(browser) == [(0, 1), (1, 4), (2, 8)]
        records = [json.loads(line) for line in downloaded(browser, "requests.jsonl").splitlines()]
        failed = int(text(browser, "#failures tbody td.bad").replace(",", ""))
        assert failed == sum(record["outcome"] == "rate_limited" for record in records) > 0
        assert downloaded(browser, "table.csv") == (running.folder / "table.csv").read_bytes()

        tabs.locust()
        locust_page.press(browser, "New")
        locust_page.fill(browser, userCount="2")
        locust_page.press(browser, "Start")
        locust_page.until_running(browser)
        tabs.live()
        until(lambda: text(browser, "#run") not in ("", name))
        held(browser)
        assert text(browser, "#steps tr.running td") == "2"
        assert not row(browser, 0, "all")
        tabs.locust()
        tabs.close_live()


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_step_plan_below_a_base_path(browser: Chrome, tmp_path: Path) -> None:
    """The form's steps run by themselves, while the page, below a path of its own, is looked at in Locust's tab."""
    with page(tmp_path, "--web-base-path", "/load") as (server, running, ui):
        tabs = Tabs(browser, f"{ui}/load/")
        until(lambda: "Workers 1" in locust_page.status(browser))
        locust_page.fill(browser, host=server, steps="2")
        locust_page.press(browser, "Start")
        locust_page.until_running(browser)
        locust_page.follow(browser, "live figures")
        until(lambda: text(browser, "#state") == "ended")
        until(lambda: row(browser, 0, "all"))
        until(lambda: text(browser, "#verdict"))
        until(lambda: judged_by_the_report(browser, running.folder))
        assert running.run()["verdict"] == "OK"
        assert all_rows(browser) == [(0, 2)]
        browser.find_element(By.ID, "locust").click()
        until(lambda: "Locust" in browser.title)
        tabs.look()


def judged_by_the_report(browser: Chrome, folder: Path) -> bool:
    """Whether the page says of a run that is over what its report does."""
    summary = building.compute(folder).summary
    return (text(browser, "#verdict"), texts(browser, "#reasons li")) == (summary["verdict"], summary["reasons"])


@contextlib.contextmanager
def page(folder: Path, *more: str) -> Iterator[tuple[str, Running, str]]:
    """A Locust with a web page and a worker, and a simulator in which one request in ten fails.

    The simulator's address, the Locust, and the address of its page.
    """
    port = str(locusts.free_port())
    arguments = ("--scenario", str(scenario(folder, window_s=HELD_S)), "--processes", "1", "--metrics-port", "0")
    with (
        child.running("--ttft-ms", "30", "--itl-ms", "5", "--failures", "429=0.1") as server,
        locust(
            folder, *arguments, "--web-host", "127.0.0.1", "--web-port", port, *more,
            headless=False, OPENAI_API_KEY=KEY,
        ) as running,
    ):  # fmt: skip
        yield server.url, running, f"http://127.0.0.1:{port}"


class Tabs:
    """Locust's page and the live page, side by side as a person has them; neither may complain or hold the key."""

    def __init__(self, browser: Chrome, ui: str) -> None:
        self.browser = browser
        self.ui = ui
        locust_page.opened(browser, ui)
        browser.get_log("browser")  # it was tried before it was there
        self.first = self.second = browser.current_window_handle

    def open_live(self) -> None:
        """The live page, in a tab of its own."""
        self.look()
        self.browser.switch_to.new_window("tab")
        self.second = self.browser.current_window_handle
        self.browser.get(f"{self.ui}/llmload")

    def look(self) -> None:
        """See that all is well in the tab that is seen."""
        assert errors(self.browser) == []
        assert KEY not in self.browser.page_source

    def locust(self) -> None:
        """Turn to Locust's page."""
        self.look()
        self.browser.switch_to.window(self.first)

    def live(self) -> None:
        """Turn to the live page."""
        self.look()
        self.browser.switch_to.window(self.second)

    def close_live(self) -> None:
        """Only Locust's page is left."""
        self.live()
        self.look()
        self.browser.close()
        self.browser.switch_to.window(self.first)


def all_rows(browser: Chrome) -> list[tuple[int, int]]:
    """See that every figure of the page's table is that of summary.json as it is downloaded; the steps in it."""
    rows = json.loads(downloaded(browser, "summary.json"))["rows"]
    for line in rows:
        shown = row(browser, line["step"], line["workload"])
        told = {heading: (shown[heading], figure(line, key)) for heading, key in SAME.items()}
        assert {heading: pair for heading, pair in told.items() if not same(*pair, heading)} == {}
    return [(line["step"], line["concurrency"]) for line in rows if line["workload"] == "all"]


def held(browser: Chrome) -> None:
    """Wait until the present level has been measured for long enough to be a row, and with something in it."""

    def long_enough() -> bool:
        doing = text(browser, "#doing").split(" for ")
        lines = texts(browser, "#steps tr.running.all td")
        seconds = int(doing[1].split("\u202f")[0]) if doing[0].endswith("measuring") and len(doing) > 1 else 0
        return seconds > HELD_S and bool(lines) and int(lines[2]) > 2

    until(long_enough)


def downloaded(browser: Chrome, name: str) -> bytes:
    """Press a link of the page; what the browser has saved."""
    place = browser.downloads  # type: ignore[attr-defined]
    saved = place / f"{text(browser, '#run')}-{name}"
    saved.unlink(missing_ok=True)  # of another test: every run here lies in a folder of the same name
    browser.find_element(By.CSS_SELECTOR, f'#files a[data-file="{name}"]').click()
    until(lambda: saved.exists() and not list(place.glob("*.crdownload")))
    return bytes(saved.read_bytes())
