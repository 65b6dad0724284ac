"""The table at the head of this folder names tests that are there."""

import re
from pathlib import Path

from tests import machines

TESTS = Path(__file__).parents[1]


def test_every_test_of_the_table_is_there() -> None:
    """A test that is renamed or taken away is missed here."""
    text = machines.__doc__ or ""
    said = re.findall(r"\b(\w+/test_\w+\.py)|\b(test_\w+)\b(?!\.py)", text)
    path, named = "", 0
    for file, test in said:
        path = file or path
        if test:
            assert f"def {test}(" in (TESTS / path).read_text(), f"{path} {test}"
            named += 1
    assert named >= 20
