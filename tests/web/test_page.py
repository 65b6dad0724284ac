"""The live page in a real browser, with figures that are made here: what it shows when, and that it stays light."""

import re
import time
from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from llmload.drive.web import routes
from tests.web import fake
from tests.web.browser import LAPTOP, PHONE, darkness, errors, row, size, text, texts, until


def opened(browser: Chrome, served: fake.Fake, answer: dict[str, Any]) -> None:
    """Open the page and wait until it has drawn an answer."""
    served.answer = answer
    browser.get(served.url)
    until(lambda: text(browser, "#state"))


def shown(browser: Chrome, selector: str) -> bool:
    """Whether a place can be seen."""
    return bool(browser.execute_script("return document.querySelector(arguments[0]).checkVisibility()", selector))


def card(browser: Chrome, name: str) -> str:
    """One of the big figures, with its unit."""
    return text(browser, f'[data-now="{name}"]').replace("\u202f", " ")


def test_the_page_needs_nothing_from_elsewhere() -> None:
    """No address but its own, no script or style inside it, and every file that it names is in the package."""
    html = (routes.PAGES / routes.PAGE).read_text()
    assert not re.search(r"(href|src)=[\"'](https?:)?//", html)
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", html)
    named = re.findall(r'(?:href|src)="llmload/static/([^"]+)"', html)
    scripts = [name for name in named if name.endswith(".js") and "vendor" not in name]
    for script in scripts:
        scripts += [
            name
            for name in re.findall(r'from "\./([^"]+)"', (routes.PAGES / script).read_text())
            if name not in scripts
        ]
    assert {"live.js", "charts.js", "tables.js", "past.js", "words.js"} == set(scripts)
    for name in {*named, *scripts}:
        assert (routes.PAGES / name).is_file(), name
    for script in scripts:
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", (routes.PAGES / script).read_text()
        )


def test_no_run_yet(browser: Chrome, served: fake.Fake) -> None:
    """Before the first run the page says how to begin one."""
    served.answer = fake.IDLE
    browser.get(served.url)
    until(lambda: shown(browser, "#empty"))
    link = browser.find_element(By.LINK_TEXT, "Go to the start form")
    assert link.get_attribute("href") == served.url.removesuffix("llmload")
    assert not shown(browser, "#whole")
    served.answer = {**fake.IDLE, "state": "starting"}
    until(lambda: text(browser, "#empty h2") == "Starting")
    served.answer = {**fake.IDLE, "reasons": ["no answer at http://127.0.0.1:9/v1"]}
    until(lambda: texts(browser, "#reasons li") == ["no answer at http://127.0.0.1:9/v1"])
    assert text(browser, "#reasons h2") == "It did not start"
    served.answer = {**fake.ended(), "state": "idle", "verdict": None, "reasons": ["no such scenario"]}
    until(lambda: text(browser, "#reasons h2") == "It did not start; below is the run before")
    assert not shown(browser, "#state")
    assert errors(browser) == []


def test_figures_with_their_units(browser: Chrome, served: fake.Fake) -> None:
    """What stands in the cards and in the rows, by hand: three digits, units, ∞, and blank where not measured."""
    answer = fake.running()
    answer["last10s"]["all"] = {
        **fake.figures(), "ttft_ms": {"n": 3, "p50": 131.44, "p95": "inf", "p99": None},
        "itl_ms": {"n": 0, "p50": None, "p95": None, "p99": None}, "requests_per_s": None,
    }  # fmt: skip
    answer["last10s"]["short"] = {**fake.figures(), "ttft_ms": {"n": 3, "p50": 9.996, "p95": 12345.6, "p99": None}}
    answer["rows"][3]["ttft_ms"]["ok"] = {"n": 99, "p50": 55.24, "p95": 90.4}
    answer["rows"][3]["stalls_per_1000_gaps"] = None
    answer["rows"][3]["ttft_ms"]["all"]["p95"] = "inf"
    opened(browser, served, answer)
    assert card(browser, "in_flight") == "16"
    assert card(browser, "target") == "of 16"
    assert card(browser, "ttft_p50") == "131ms"
    assert card(browser, "ttft_p95") == "p95 ∞ ms"
    assert (card(browser, "itl_p50"), card(browser, "itl_p99"), card(browser, "requests")) == ("", "", "")
    assert card(browser, "e2e_p50") == "1.83s"
    assert (card(browser, "failed"), card(browser, "failed_all")) == ("3", "14 of 4,391 so far")
    assert text(browser, "#doing").replace("\u202f", " ") == "step 4 · 16 in flight · measuring for 23 s"
    line = row(browser, 0, "all")
    assert (line["in flight"], line["requests ok"], line["TTFT ms p50"]) == ("", "120", "55.2")
    assert (line["TTFT ms p95 all"], line["E2E s p50"], line["stalls /1000"]) == ("∞", "0.91", "")
    assert row(browser, 0, "short")["in flight"] == "1"
    assert texts(browser, '#steps tr[data-step="0"][data-workload="all"] i') == ["*", "†"]
    assert "p95 of fewer than 100" in text(browser, "#marks")
    assert len(texts(browser, "#steps tr.running")) == 4
    assert not row(browser, 3, "all")
    assert texts(browser, "#failures tbody tr:first-child td") == ["rate limited", "11", "2"]
    assert text(browser, "#workers tbody tr.silent").endswith("not heard for 7 s")

    browser.find_element(By.CSS_SELECTOR, '#classes [data-workload="short"]').click()
    assert card(browser, "ttft_p50") == "10.0ms"
    assert card(browser, "ttft_p95") == "p95 12.3 s"
    assert workloads(browser) == {"short"}
    browser.find_element(By.ID, "log").click()
    assert errors(browser) == []


def test_a_load_by_rate(browser: Chrome, served: fake.Fake) -> None:
    """The rate that is asked for stands where else the requests in flight do, and beside the rate that is reached."""
    answer = fake.running()
    asked = {"concurrency": None, "rate": 2.5}
    answer |= {"kind": "rate", "step": answer["step"] | asked}
    answer["rows"] = [line | asked for line in answer["rows"]]
    answer["marks"] = [mark | asked for mark in answer["marks"]]
    answer["totals"]["not_sent"] = 7
    opened(browser, served, answer)
    assert text(browser, "#doing").startswith("step 4 · 2.5/s · measuring")
    assert (card(browser, "in_flight"), card(browser, "target")) == ("16", "at 2.5/s")
    assert row(browser, 0, "short")["rate"] == "2.5/s"
    assert text(browser, "#balance").endswith("; 7 more could not be sent in time.")
    requests = "figure:has(strong):nth-of-type(3) figcaption span"
    assert texts(browser, f'[data-charts="load"] {requests}')[0] == "asked for 2.50"
    assert errors(browser) == []


def workloads(browser: Chrome) -> set[str]:
    """The classes that the table has lines of."""
    script = "return [...document.querySelectorAll('#steps tbody tr')].map((line) => line.dataset.workload)"
    return set(browser.execute_script(script))


def test_a_run_that_is_over(browser: Chrome, served: fake.Fake) -> None:
    """Verdict, reasons, all rows with their marks, the files; no figures of now. Levels without a row say why."""
    answer = fake.ended() | {"held_s": 10.0}
    left = {"t": fake.BEGAN, "concurrency": 6, "rate": None}
    answer["marks"] += [left | {"step": 5, "left_after_s": 9.99}, left | {"step": 6, "left_after_s": 0.0}]
    opened(browser, served, answer)
    assert text(browser, "#verdict") == "DEGRADED"
    assert texts(browser, "#reasons li") == fake.ended()["reasons"]
    assert not shown(browser, "#now")
    assert texts(browser, "#steps tr.running") == []
    assert row(browser, 4, "all")["requests ok"] == "3,840"
    assert texts(browser, '#steps tr[data-step="4"] td:first-child i') == ["‡"]
    assert [line.replace("\u202f", " ") for line in texts(browser, "#steps tr.brief td")] == [
        "6", "no row: left after 9.9 s of measuring, and a row takes 10 s",
        "6", "no row: left before measuring began, and a row takes 10 s",
    ]  # fmt: skip
    links = browser.find_elements(By.CSS_SELECTOR, "#files a")
    files = ["table.csv", "summary.json", "report.html", "requests.jsonl"]
    assert [link.get_attribute("href") for link in links] == [
        f"{served.url}/runs/20261130T201500Z-mixed/{name}" for name in files
    ]
    assert text(browser, "#doing") == ""
    served.answer = answer | {"verdict": None, "reasons": []}
    until(lambda: text(browser, "#doing") == "the report is being made")
    assert not shown(browser, "#verdict")
    assert errors(browser) == []


def test_words_from_outside_stay_words(browser: Chrome, served: fake.Fake) -> None:
    """Names and reasons may hold anything: it is shown as it is, and never becomes part of the page."""
    evil = '<img src="x" onerror="document.title=1"><script>document.title=2</script>'
    answer = fake.running()
    answer |= {"scenario": evil, "verdict": evil, "reasons": [evil], "run": evil, "classes": ["short", evil]}
    answer["workers"][0] |= {"worker": evil, "host": evil}
    answer["totals"]["outcomes"] = {evil: 3}
    answer["history"]["outcomes"] = {evil: [1.0] * len(answer["history"]["t"])}
    answer["rows"][0]["workload"] = evil
    answer["last10s"][evil] = answer["step_so_far"][evil] = fake.figures()
    opened(browser, served, answer)
    assert text(browser, "#run") == evil
    assert texts(browser, "#reasons li") == [evil]
    assert texts(browser, "#workers tbody tr:first-child td")[:2] == [evil, evil]
    browser.find_elements(By.CSS_SELECTOR, "#classes button")[2].click()
    assert len(browser.find_elements(By.CSS_SELECTOR, "img")) == 1
    assert len(browser.find_elements(By.CSS_SELECTOR, "body script")) == 0
    assert errors(browser) == []


def test_no_answer_and_an_answer_again(browser: Chrome, served: fake.Fake) -> None:
    """It says since when there is no answer and goes on asking; what it has stays."""
    opened(browser, served, fake.running())
    served.status = 502
    until(lambda: shown(browser, "#silent"))
    assert text(browser, "#silent").startswith("No answer from llmload since ")
    assert card(browser, "ttft_p50") == "131ms"
    served.status = 401
    until(lambda: "log in again" in text(browser, "#silent"))
    served.status = 200
    until(lambda: not shown(browser, "#silent"))


def test_a_day_stays_light(browser: Chrome, served: fake.Fake) -> None:
    """Opened late it shows all of a day; left open for hours more it holds no more points and elements than before."""
    late = 1980
    whole = fake.running(late + 2000)
    seconds = whole["history"]["t"]
    seconds[:late] = [fake.BEGAN + 86_400 * at / late for at in range(late)]
    seconds[late:] = [fake.BEGAN + 86_400 + at for at in range(2000)]
    opened(browser, served, {**whole, "history": fake.later_until(whole["history"], late)})
    until(lambda: points(browser) == late)
    until(lambda: len(browser.find_elements(By.CSS_SELECTOR, "canvas")) >= 4)
    elements = count(browser)
    for end in (late + 1000, late + 2000):
        served.answer = {**whole, "history": fake.later_until(whole["history"], end)}
        asked = len(served.asked)
        until(lambda asked=asked: len(served.asked) > asked + 1)  # type: ignore[misc]
        assert 1000 <= points(browser) <= 2000
    assert count(browser) <= elements + 10
    assert served.asked[-1] == seconds[-1], "it asks for what is new, and nothing else"
    assert errors(browser) == []


def test_points_of_a_day(browser: Chrome, served: fake.Fake) -> None:
    """100,000 seconds one by one: at most 2,000 points, evenly apart, the spike still there, nothing invented."""
    served.answer = fake.IDLE
    browser.get(served.url)
    most, apart, spike, before, last, fine, lengths = browser.execute_async_script(A_DAY)
    assert 1000 < most <= 2000
    assert sorted(apart) == [63, 64]
    assert spike == [98765, 1]
    assert before == [None, 3, 3]
    assert (last, fine, lengths) == (100_000, True, 1)


A_DAY = """
const done = arguments[0];
import("/llmload/static/past.js").then(({ Past }) => {
  const past = new Past();
  let most = 0;
  for (let at = 1; at <= 100000; at++) {
    const all = { ttft_p99: [at === 4321 ? 98765 : 7], tokens_per_s: [at % 2] };
    const failing = at > 60000 ? { outcomes: { cut: [3] } } : {};
    past.take({ t: [at], concurrency: [at <= 50000 ? 1 : 8], classes: { all }, ...failing });
    most = Math.max(most, past.t.length);
  }
  const t = past.t;
  const apart = [...new Set(t.slice(0, -150).map((one, at) => t[at + 1] - one))];
  const late = past.column("outcomes.cut");
  const p99 = past.column("classes.all.ttft_p99");
  const lengths = new Set([t.length, ...[...past.columns.values()].map((one) => one.length)]);
  done([
    most, apart, [Math.max(...p99), p99.filter((one) => one !== 7).length],
    [late[0], late[late.length - 1], Math.max(...late)], past.last,
    t.slice(-60).every((one, at) => one === 99941 + at), lengths.size,
  ]);
});
"""


def points(browser: Chrome) -> int:
    """How many points the page holds."""
    return int(browser.find_element(By.ID, "whole").get_attribute("data-points") or 0)


def count(browser: Chrome) -> int:
    """How many elements the page has."""
    return int(browser.execute_script("return document.querySelectorAll('*').length"))


def test_a_hidden_page_rests_and_catches_up(browser: Chrome, served: fake.Fake) -> None:
    """While nobody sees it it asks for nothing; seen again it asks at once, for what came meanwhile."""
    answer = fake.running(200)
    opened(browser, served, {**answer, "history": fake.later_until(answer["history"], 100)})
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    try:
        until(lambda: rests(served))
        asked = len(served.asked)
        served.answer = answer
    finally:
        browser.close()
        browser.switch_to.window(first)
    until(lambda: points(browser) == 200)
    assert served.asked[asked] == answer["history"]["t"][99]


def rests(served: fake.Fake) -> bool:
    """Whether the page asks for nothing for so long as it else would ask twice."""
    asked = len(served.asked)
    time.sleep(2.5)
    return len(served.asked) == asked


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("wide", [LAPTOP, PHONE])
def test_it_fits_and_can_be_read(browser: Chrome, served: fake.Fake, scheme: str, wide: tuple[int, int]) -> None:
    """On a laptop and on a phone nothing sticks out, and every text has contrast enough (4.5 : 1) in both schemes."""
    size(browser, wide)
    darkness(browser, scheme)
    for answer in (fake.running(), fake.ended(), fake.IDLE):
        served.answer = answer
        browser.get(served.url)
        until(lambda: shown(browser, "#empty") or shown(browser, "#whole"))
        assert browser.execute_script("return document.documentElement.scrollWidth") <= wide[0]
        assert browser.execute_script(FAINT) == []
    assert errors(browser) == []


FAINT = """
const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
const over = (colours) => {
  canvas.clearRect(0, 0, 1, 1);
  for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const light = (rgb) => rgb.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
const found = [];
for (const one of document.querySelectorAll("body *")) {
  if (!one.checkVisibility() || ![...one.childNodes].some((part) => part.nodeType === 3 && part.data.trim())) continue;
  const backs = [];
  for (let at = one; at; at = at.parentElement) backs.unshift(getComputedStyle(at).backgroundColor);
  const [ink, back] = [light(over([...backs, getComputedStyle(one).color])), light(over(backs))];
  const contrast = (Math.max(ink, back) + 0.05) / (Math.min(ink, back) + 0.05);
  if (contrast < 4.5) found.push(`${one.tagName} ${one.textContent.trim().slice(0, 30)}: ${contrast.toFixed(2)}`);
}
return found;
"""


def test_below_a_base_path(browser: Chrome) -> None:
    """All that the page asks for lies below the path that it came from."""
    with fake.serving("/load/gen") as served:
        opened(browser, served, fake.running())
        assert card(browser, "in_flight") == "16"
        assert browser.find_element(By.ID, "locust").get_attribute("href") == served.url.removesuffix("llmload")
    assert [line for line in errors(browser) if "ERR_CONNECTION_REFUSED" not in line] == []
