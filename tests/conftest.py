"""In which order tests are run, what is begun before the first one, and what holds for all tests of properties.

`make test` runs two processes side by side, each with its half of the parts and each in order: what starts machines,
runs and browsers on one side, what starts single commands and what computes on the other.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.machines import silence as playing

HERE = Path(__file__).parent
FIRST = ("live", "load", "record", "report", "stream")
"""Parts whose tests measure no time: while these are run, what is begun early may take the machine."""
WAITING = "silence"
"""The fixture that is begun early."""
RUNS = ("drive", "machines", "test_truth.py", "web")
"""The parts of the one side; all others are the other's."""

settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")  # how long an example takes says nothing but what else the machine does


def pytest_itemcollected(item: pytest.Item) -> None:
    """Say on which side a test is, where there are two."""
    item.add_marker(pytest.mark.xdist_group(side(item)))


def side(item: pytest.Item) -> str:
    """The name of the side on which a test is."""
    return "runs" if item.path.relative_to(HERE).parts[0] in RUNS else "the rest"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What measures no time comes first, what looks at the result of a long wait comes last."""
    items.sort(key=place)


def place(item: pytest.Item) -> int:
    """Which of three groups a test belongs to."""
    if WAITING in getattr(item, "fixturenames", ()):
        return 2
    return int(item.path.relative_to(HERE).parts[0] not in FIRST)


@pytest.fixture(autouse=True)
def early(request: pytest.FixtureRequest) -> None:
    """Begin what mostly waits, if any test of this side wants it."""
    alone = not hasattr(request.config, "workerinput")
    if (alone or side(request.node) == "runs") and any(place(item) == 2 for item in request.session.items):
        request.getfixturevalue(WAITING)


@pytest.fixture(scope="session")
def silence(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], dict[str, playing.Seen]]]:
    """The runs of machines/silence.py, under way."""
    with playing.begun(tmp_path_factory.mktemp("silence")) as seen:
        yield seen
