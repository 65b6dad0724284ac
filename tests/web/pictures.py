"""Takes the README's pictures of the web page: `python -m tests.web.pictures`, three minutes on a machine at rest.

A run by hand against `llmload simulate`, in which some requests fail and from 24 in flight on some have to queue.
"""

import tempfile
import time
from dataclasses import replace
from pathlib import Path

from PIL import Image
from selenium.webdriver import Chrome

from tests.drive import locusts
from tests.drive.locusts import locust
from tests.simulate import child
from tests.web import locust_page
from tests.web.browser import chromium, picture, text, until

PICTURES = Path(__file__).parents[2] / "dashboards" / "pictures"
LEVELS = (1, 4, 8, 16, 32)
HELD_S = 15
ENDPOINT = (
    "--ttft-ms", "50", "--itl-ms", "9", "--distribution", "lognormal", "--spread", "0.12", "--prefill-tokens-per-s",
    "9000", "--slowdown", "0.012", "--slots", "24", "--failures", "429=0.02,cut=0.005",
)  # fmt: skip


def main() -> None:
    """Take both."""
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), str(locusts.free_port())
        runs = folder / time.strftime("%Y%m%dT%H%M%SZ-demo", time.gmtime())
        arguments = ("--scenario", "demo", "--processes", "1", "--web-port", port, "--metrics-port", "0")
        with (
            child.running(*ENDPOINT) as server,
            locust(folder, *arguments, "--run-folder", str(runs), headless=False) as locust_there,
            chromium(folder) as browser,
        ):
            running = replace(locust_there, folder=runs)
            ui = f"http://127.0.0.1:{port}"
            locust_page.opened(browser, ui)
            until(lambda: "Workers 1" in locust_page.status(browser))
            locust_page.fill(browser, userCount=str(LEVELS[0]), host=server.url)
            locust_page.choose(browser, load="by hand")
            browser.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
            take(browser, "start.png", (1100, 1490))
            locust_page.press(browser, "Start")
            locust_page.until_running(browser)
            for users in LEVELS:
                if users > LEVELS[0]:
                    locust_page.edit(browser, users)
                running.until(lambda run, users=users: measuring(run, users), 90)  # type: ignore[misc]
                time.sleep(HELD_S)
            browser.get(f"{ui}/llmload")
            until(lambda: text(browser, "#steps tr.running td") == str(LEVELS[-1]))
            take(browser, "live.png", (1300, 2120))


def measuring(run: dict[str, object], users: int) -> bool:
    """Whether this level's window is open."""
    steps = run.get("steps")
    last = steps[-1] if isinstance(steps, list) and steps else {}
    return last.get("concurrency") == users and bool(last["window_started_at"])


def take(browser: Chrome, name: str, wide_high: tuple[int, int]) -> None:
    """Save what is seen, in as few colours as it needs."""
    path = PICTURES / name
    picture(browser, path, wide_high)
    Image.open(path).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
