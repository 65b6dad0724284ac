"""The tests of tests/gpu are there where NVML is, and nowhere else."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.sidecar import stub


@pytest.mark.parametrize("library", [True, False])
def test_they_are_collected_where_the_library_is(tmp_path: Path, library: bool) -> None:
    """Elsewhere pytest is told to pass them over; they are not even skipped."""
    env = stub.build(tmp_path).env()
    if not library:
        (tmp_path / "none").mkdir()
        (tmp_path / "none" / stub.SONAME).touch()
        env["LD_LIBRARY_PATH"] = str(tmp_path / "none")
    look = "import tests.gpu.conftest as it; print(getattr(it, 'collect_ignore_glob', None))"
    said = subprocess.run([sys.executable, "-c", look], env=env, capture_output=True, text=True, check=True)
    assert said.stdout == ("None\n" if library else "['test_*.py']\n")
