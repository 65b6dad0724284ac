"""A stand-in for the NVIDIA driver's library, built from nvml.c: GPUs that a test makes, changes and breaks at will.

Its state is a text file that the library reads again at every call, so what a test sets here holds at once in every
process that was started with `env()`. `KEY.GPU` is of one GPU, `KEY` alone of all; what has no key is not supported.

Values, in NVML's own units:
    gpus, driver, cuda                  how many GPUs; the driver's version; CUDA's as a number (12080)
    name, uuid, pci                     of a GPU
    energy (mJ), power, limit (mW), util, util.memory (%), samples (MICROSECONDS:PERCENT,… of the utilization),
    memory.total, memory.used, memory.reserved, clock.sm, clock.memory, maxclock.sm (MHz), reasons (bit mask),
    temperature, threshold, margin, mode (compute mode), processes (PID:BYTES,…)
    field.ID, field.ID@SCOPE            a field's value; fieldtype.ID its nvmlValueType_t (3)
    grow.KEY                            what an energy or a field of 64 bits grows by in a second (energy: mJ)
    gpm (1: supported), gpm.METRIC      percent
    mig (how many instances), mig.uuid.GPU.I, mig.name.GPU.I, mig.memory.{total,used,reserved}.GPU.I,
    mig.gpm.METRIC@INSTANCE             the instance I has the id 7 + I
    xids                                GPU:CODE,… ; add to it, each is told once
Faults, `OPERATION` as in the ENTER lines of nvml.c (init, count, handle, energy, power, util, fields, …):
    err.OPERATION, err.all, err.field.ID   the code that is answered; `err.all` leaves init and shutdown alone
    lost (1: every call answers 15), gone (1: lost, and left out of the count), hidden (1: only left out of the count)
    hang.OPERATION (1: does not return until this is taken away), slow.OPERATION, slow.field.ID (ms)
"""

import importlib.util
import os
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).with_name("nvml.c")
SONAME = "libnvidia-ml.so.1"

Value = str | int | float | None

_built: dict[tuple[str, ...], Path] = {}
"""Folders with the library, by what is left out of it: the compiler is asked once per process of pytest."""


@dataclass
class Stub:
    """A driver of a test's own: `set` changes it, `env` leads a process to it, `calls` tells what was called."""

    folder: Path
    library: Path
    state: dict[str, Value] = field(default_factory=dict)

    def set(self, changes: Mapping[str, Value] | None = None, /, **more: Value) -> None:
        """Change keys; None takes one away. Whoever reads sees the old state or the new one, never half."""
        self.state.update({**(changes or {}), **more})
        self.state = {key: value for key, value in self.state.items() if value is not None}
        half = self.folder / "state.new"
        half.write_text("".join(f"{key}={value}\n" for key, value in self.state.items()))
        half.replace(self.folder / "state")

    def calls(self) -> dict[str, int]:
        """How often each function was called so far, by its full name, in all processes together."""
        path = self.folder / "calls"
        return Counter(path.read_text().split()) if path.exists() else Counter()

    def env(self) -> dict[str, str]:
        """The environment of a process that finds this driver."""
        return {
            **os.environ,
            "LD_LIBRARY_PATH": str(self.library),
            "NVML_STUB_STATE": str(self.folder / "state"),
            "NVML_STUB_CALLS": str(self.folder / "calls"),
        }


def build(tmp_path: Path, gpus: int = 1, *, without: tuple[str, ...] = ()) -> Stub:
    """A driver with so many believable GPUs, and its files in tmp_path; `without` these functions, as old ones are."""
    library = _built.get(without) or compiled(tmp_path, without)
    _built[without] = library
    stub = Stub(tmp_path, library)
    stub.set(machine(gpus))
    return stub


def compiled(tmp_path: Path, without: tuple[str, ...]) -> Path:
    """The folder of the library: prototypes that differ from nvml.h are refused."""
    folder = tmp_path / "lib"
    folder.mkdir()
    shown = folder / "symbols"
    shown.write_text("{ local: " + "".join(f"{name}; " for name in without) + "_none; };\n")
    package = importlib.util.find_spec("nvidia.nvml_dev")
    assert package is not None
    assert package.submodule_search_locations
    header = Path(next(iter(package.submodule_search_locations))) / "include"
    subprocess.run(
        [
            "gcc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-DNVML_NO_UNVERSIONED_FUNC_DEFS", f"-I{header}",
            f"-Wl,-soname,{SONAME}", f"-Wl,--version-script={shown}", str(SOURCE), "-o", str(folder / SONAME),
        ],
        check=True,
    )  # fmt: skip
    return folder


def machine(gpus: int) -> dict[str, Value]:
    """A machine with so many GPUs like an H100 that works; energy, power and clocks differ from GPU to GPU."""
    state: dict[str, Value] = {"gpus": gpus, "driver": "580.65.06", "cuda": 13000, "name": "NVIDIA H100 80GB HBM3"}
    for gpu in range(gpus):
        state |= {
            f"uuid.{gpu}": f"GPU-{gpu:08x}-1111-2222-3333-444444444444",
            f"pci.{gpu}": f"00000000:{gpu + 1:02X}:00.0",
            f"energy.{gpu}": 5_000_000 + 1000 * gpu,
            f"power.{gpu}": 412_000 + 1000 * gpu,
            f"clock.sm.{gpu}": 1755 + 15 * gpu,
        }
    return state | {
        "limit": 700_000,
        "util": 97,
        "util.memory": 41,
        "samples": "1000000:90,1200000:100,1400000:100",
        "memory.total": 85_520_809_984,
        "memory.used": 70_000_000_000,
        "memory.reserved": 643_825_664,
        "clock.memory": 2619,
        "maxclock.sm": 1980,
        "reasons": 0,
        "temperature": 61,
        "threshold": 89,
        "mode": 0,
        "mig": 0,
        "gpm": 1,
        "gpm.2": 88.5,
        "gpm.3": 31.25,
        "gpm.5": 42.0,
        "gpm.10": 73.0,
        "field.3": 0,
        "field.4": 0,
        "field.74": 2_500_000_000,
        "field.76": 0,
        "field.82": 70,
        "fieldtype.82": 1,
        "field.94": 0,
        "fieldtype.94": 1,
        "field.138": 1024,
        "field.139": 2048,
        "field.186": 430_000,
        "fieldtype.186": 1,
        "field.197": 123_456_789,
        "field.198": 987_654_321,
        "field.251": 0,
        "field.252": 0,
        "field.253": 0,
    }
