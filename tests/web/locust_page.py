"""Locust's own page as a person uses it: its form, its buttons, its dialogue. It is React: elements come and go."""

from selenium.common.exceptions import (
    ElementClickInterceptedException,
    NoSuchElementException,
    StaleElementReferenceException,
    WebDriverException,
)
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from tests.web.browser import until

SUBMIT = "button[type=submit]"


def opened(browser: Chrome, url: str) -> None:
    """Open it, once it is served."""

    def there() -> bool:
        try:
            browser.get(url)
        except WebDriverException:
            return False
        return "Locust" in browser.title

    until(there)


def fill(browser: Chrome, **fields: str) -> None:
    """Type into fields by their names."""
    for name, value in fields.items():
        until(lambda name=name: browser.find_elements(By.NAME, name))  # type: ignore[misc]
        field = browser.find_element(By.NAME, name)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(value)
        assert field.get_attribute("value") == value


def choose(browser: Chrome, **fields: str) -> None:
    """Choose from lists by their names."""
    for name, words in fields.items():
        Select(browser.find_element(By.NAME, name)).select_by_visible_text(words)


def press(browser: Chrome, words: str) -> None:
    """Press a button by its words, once it is there."""
    click(browser, By.XPATH, f"//button[normalize-space()='{words}']")


def follow(browser: Chrome, words: str) -> None:
    """Follow a link by some of its words, once it is there."""
    click(browser, By.PARTIAL_LINK_TEXT, words)


def click(browser: Chrome, by: str, place: str) -> None:
    """Click once the thing is there, stays, and nothing that still moves lies over it."""

    def clicked() -> bool:
        try:
            browser.find_element(by, place).click()
        except (NoSuchElementException, StaleElementReferenceException, ElementClickInterceptedException):
            return False
        return True

    until(clicked)


def edit(browser: Chrome, users: int) -> None:
    """Ask for another number of users while it runs."""
    press(browser, "Edit")
    fill(browser, userCount=str(users))
    press(browser, "Update")
    until(lambda: not browser.find_elements(By.NAME, "userCount"))


def status(browser: Chrome) -> str:
    """What stands in its head: status, users, workers, failures."""
    return " ".join(browser.find_element(By.TAG_NAME, "header").text.split())


def until_running(browser: Chrome) -> None:
    """Wait until the run is on."""
    until(lambda: "RUNNING" in status(browser) and "EDIT" in status(browser).upper())
