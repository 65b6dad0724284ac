"""One browser for all tests of the page: it takes seconds to start."""

from collections.abc import Iterator

import pytest
from selenium.webdriver import Chrome

from tests.web import fake
from tests.web.browser import LAPTOP, chromium, size


@pytest.fixture(scope="session")
def shared_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """The browser; its downloads are in `browser.downloads`."""
    with chromium(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def browser(shared_browser: Chrome) -> Iterator[Chrome]:
    """The browser as on a laptop, with nothing on it."""
    size(shared_browser, LAPTOP)
    shared_browser.get_log("browser")
    yield shared_browser
    first, *others = shared_browser.window_handles
    for tab in others:
        shared_browser.switch_to.window(tab)
        shared_browser.close()
    shared_browser.switch_to.window(first)
    shared_browser.get("about:blank")


@pytest.fixture
def served() -> Iterator[fake.Fake]:
    """The real page with figures that the test makes."""
    with fake.serving() as served:
        yield served
