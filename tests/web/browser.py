"""Debian's Chromium for tests: started without a network of its own, driven by selenium, read like a person would."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

CHROMIUM = Path("/usr/bin/chromium")
DRIVER = Path("/usr/bin/chromedriver")
LAPTOP = (1300, 900)
PHONE = (420, 900)


@contextlib.contextmanager
def chromium(folder: Path, size: tuple[int, int] = LAPTOP) -> Iterator[Chrome]:
    """A browser with an empty profile; what it downloads goes to `folder`/downloads."""
    assert CHROMIUM.exists(), "no Chromium here; on Debian: apt-get install chromium chromium-driver"
    assert DRIVER.exists(), "no chromedriver here; on Debian: apt-get install chromium-driver"
    downloads = folder / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    options = ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (
        "headless=new", "no-sandbox", "disable-gpu", "disable-background-networking", "disable-component-update",
        "disable-default-apps", "disable-sync", "disable-dev-shm-usage", "no-first-run", "no-default-browser-check",
        "metrics-recording-only", "disable-features=OptimizationHints,Translate,MediaRouter,PasswordManager",
        "proxy-server=direct://", "host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        f"user-data-dir={folder / 'profile'}", f"window-size={size[0]},{size[1]}",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # A path is given, so that selenium looks for no driver of its own, and downloads none.
    browser = Chrome(options, Service(executable_path=str(DRIVER), env={"SE_OFFLINE": "true", **_environment(folder)}))
    browser.downloads = downloads
    try:
        yield browser
    finally:
        browser.quit()


def _environment(folder: Path) -> dict[str, str]:
    return {"HOME": str(folder), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC"}


def until(done: Callable[[], Any], limit_s: float = 120.0) -> Any:
    """What `done` says once it says something true."""
    deadline = time.monotonic() + limit_s
    while not (found := done()):
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.1)
    return found


def errors(browser: Chrome) -> list[str]:
    """What the browser's console has complained of since it was asked last."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def text(browser: Chrome, selector: str) -> str:
    """The text that stands at a place, shown or not; "" if there is no such place."""
    return next(iter(texts(browser, selector)), "")


def texts(browser: Chrome, selector: str) -> list[str]:
    """The texts of all such places, read at once: the page may draw them anew at any moment."""
    script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent.trim())"
    return list(browser.execute_script(script, selector))


def row(browser: Chrome, step: int, workload: str) -> dict[str, str]:
    """The ended step's line of the table, by group and heading; {} while there is none. Marks are left out."""
    script = """
      const which = `[data-step="${arguments[0]}"][data-workload="${arguments[1]}"]`;
      const line = document.querySelector(`#steps tr${which}:not(.running)`);
      if (!line) return null;
      const [groups, headings] = document.querySelectorAll("#steps thead tr");
      const over = [...groups.cells].flatMap((cell) => Array(cell.colSpan).fill(cell.textContent));
      const names = over.map((group, at) => `${group} ${headings.cells[at].textContent}`.trim());
      const text = (cell) => (cell.firstChild?.nodeType === 3 ? cell.firstChild.data : "");
      return Object.fromEntries([...line.cells].map((cell, at) => [names[at], text(cell)]));
    """
    return dict(browser.execute_script(script, step, workload) or {})


def darkness(browser: Chrome, scheme: str) -> None:
    """Prefer `dark` or `light`."""
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def size(browser: Chrome, wide_high: tuple[int, int]) -> None:
    """Give the page this size, in pixels of its own."""
    metrics = {"width": wide_high[0], "height": wide_high[1], "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def picture(browser: Chrome, path: Path, wide_high: tuple[int, int]) -> None:
    """The page as it is, at this size."""
    size(browser, wide_high)
    time.sleep(0.5)  # charts are drawn when they come into sight
    browser.save_screenshot(str(path))
