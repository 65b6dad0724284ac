"""In which order tests are run, what is begun before the first one, and what holds for all tests of properties."""

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

settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")  # how long an example takes says nothing but what else the machine does


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What measures no time comes first, what looks at the result of a long wait comes last."""
    items.sort(key=place)


def place(item: pytest.Item) -> int:
    """Which of three groups a test belongs to."""
    if WAITING in getattr(item, "fixturenames", ()):
        return 2
    return int(item.path.relative_to(HERE).parts[0] not in FIRST)


@pytest.fixture(scope="session", autouse=True)
def early(request: pytest.FixtureRequest) -> None:
    """Begin what mostly waits, if any test wants it."""
    if any(place(item) == 2 for item in request.session.items):
        request.getfixturevalue(WAITING)


@pytest.fixture(scope="session")
def silence(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], dict[str, playing.Seen]]]:
    """The runs of machines/silence.py, under way."""
    with playing.begun(tmp_path_factory.mktemp("silence")) as seen:
        yield seen
