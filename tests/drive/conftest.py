"""Locust without its patches: tests import it into a process that other tests share.

The variable is set for the import alone, since Locust processes that tests start must be patched as always.
"""

import os
import signal
from collections.abc import Iterator

import pytest

os.environ["LOCUST_SKIP_MONKEY_PATCH"] = "1"
import locust  # noqa: F401

del os.environ["LOCUST_SKIP_MONKEY_PATCH"]


@pytest.fixture(scope="module", autouse=True)
def _children_are_their_own() -> Iterator[None]:
    """A program that gevent started has it take the exit codes of all others, too: from the next file on no more."""
    yield
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
