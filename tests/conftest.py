"""What runs beside what, and what holds for all tests of properties.

`make test` runs two tests at a time. All that starts programs and measures time stays together, one after another, so
that nothing of it disturbs anything else of it; what computes, draws or waits goes beside it, file by file.
"""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent
BESIDE = ("live", "load", "machines/test_silence.py", "record", "report", "simulate", "stream", "watch", "web")
"""Parts and files whose tests measure no time, or wait for most of it."""

settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")  # how long an example takes says nothing but what else the machine does


def pytest_itemcollected(item: pytest.Item) -> None:
    """Say which tests stay together, before anything is dealt out."""
    item.add_marker(pytest.mark.xdist_group(together(item.path.relative_to(HERE).as_posix())))


def together(path: str) -> str:
    """The name of the group to which a file belongs."""
    return path if path.startswith(BESIDE) else "one after another"
