"""report.html in a real browser: what is wider than the window can be reached."""

from pathlib import Path

from selenium.webdriver import Chrome

from llmload import report
from tests.report.synthetic import believable
from tests.web.browser import errors, size

BOXES = """
return [...document.querySelectorAll(".scroll")].map((box) => {
  box.scrollLeft = 1e6;
  return [box.scrollWidth > box.clientWidth, box.scrollLeft > 0];
});
"""
"""Of every table: whether it is wider than its box, and whether it moves in it."""


def test_a_table_is_whole_or_moves_in_its_box(browser: Chrome, tmp_path: Path) -> None:
    """At 1100 columns of points every table is whole; at 600 some are wider and move, and the page itself never."""
    folder = believable(tmp_path / "run", (1, 8), 6.0, seed=2)
    report.build(folder)
    browser.get((folder / "report.html").as_uri())
    for wide, whole in ((1100, True), (600, False)):
        size(browser, (wide, 900))
        boxes = browser.execute_script(BOXES)
        assert len(boxes) >= 4
        assert all(wider == moves for wider, moves in boxes), boxes
        assert any(wider for wider, _ in boxes) is not whole, boxes
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert not errors(browser)
