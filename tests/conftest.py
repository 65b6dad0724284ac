"""In which order test files are run, and what holds for all tests of properties.

`make test` runs two files at a time, each file in one process from beginning to end.
"""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent
FIRST = (
    "machines/test_silence.py",
    "test_cases.py",
    "cli/test_run.py",
    "drive/test_runs.py",
    "drive/test_hand.py",
    "drive/test_rates.py",
    "cli/test_held.py",
    "cli/test_rerun.py",
    "web/test_by_hand.py",
    "test_truth.py",
    "field/test_runs.py",
    "drive/test_muster.py",
)
"""Files that take longest: begun last, one of them would go on alone at the end."""

settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")  # how long an example takes says nothing but what else the machine does


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first."""
    items.sort(key=lambda item: place(item.path.relative_to(HERE).as_posix()))


def place(file: str) -> int:
    """Where a file comes."""
    return FIRST.index(file) if file in FIRST else len(FIRST)
