"""The tests of tests/gpu are there where NVML is, and nowhere else."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.sidecar import stub

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("library", "collected"), [(True, 3), (False, 0)])
def test_they_are_collected_where_the_library_is(tmp_path: Path, library: bool, collected: int) -> None:
    """Elsewhere they are not even skipped."""
    machine = stub.build(tmp_path)
    env = machine.env()
    if not library:
        (tmp_path / "none").mkdir()
        (tmp_path / "none" / stub.SONAME).touch()
        env["LD_LIBRARY_PATH"] = str(tmp_path / "none")
    said = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "tests/gpu"],
        env=env,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.stdout.count("tests/gpu/test_real.py::") == collected, said.stdout + said.stderr
    assert "skipped" not in said.stdout
