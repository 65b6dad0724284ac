"""GPUs out of lines of gpu.jsonl and out of a look of a backend."""

from typing import Any

from llmload.machine import gpus
from llmload.record.environment import GPUS
from llmload.sidecar.backend import Reading
from llmload.sidecar.fake import Backend

PAGE = "http://gpu-host:9835/metrics"


def line(**gpu: Any) -> dict[str, Any]:
    """A line with one GPU."""
    return {"at": 1.0, "source": PAGE, "gpus": [{"uuid": "GPU-1", "gpu": "0", "up": True, **gpu}]}


def test_a_gpu_is_what_its_first_line_tells() -> None:
    """Its names are those of run.json; what is told later of the same one is added."""
    info = {"name": "H100", "driver_version": "570.1", "cuda_version": "12.8", "pci_bus_id": "0000:01:00.0"}
    values = {"memory_total_bytes": 8e10, "power_limit_watts": 700.0, "sm_clock_max_hertz": 1.98e9, "power_watts": 90.0}
    found, sources = gpus.of_lines([line(info=info, values=values), line(values={"power_watts": 600.0})])
    assert sources == [PAGE]
    assert found == [
        {
            "gpu": "0",
            "uuid": "GPU-1",
            "name": "H100",
            "driver_version": "570.1",
            "cuda_version": "12.8",
            "memory_total_bytes": 8e10,
            "power_limit_watts": 700.0,
            "sm_clock_max_hertz": 1.98e9,
            "mig": False,
        }
    ]
    assert set(found[0]) <= set(GPUS)


def test_the_most_processes_at_once_count() -> None:
    """Two processes in one look are a shared card; one after another are not, and one with no memory holds none."""
    one, other = {"process_memory_bytes.7": 1e9}, {"process_memory_bytes.8": 2e9, "process_memory_bytes.9": 0.0}
    (found,), _ = gpus.of_lines([line(values=one), line(values=other)])
    assert (found["processes"], found["shared"]) == (1, False)
    (found,), _ = gpus.of_lines([line(values=one), line(values=one | other), line(values=one)])
    assert (found["processes"], found["shared"]) == (2, True)
    assert gpus.notes([found]) == [
        "GPU 0 (GPU-1) is shared: 2 processes hold memory on it, so its figures may be those of others too"
    ]


def test_who_tells_of_no_process_leaves_it_unknown() -> None:
    """No series of processes is not none; and an exporter that knows no MIG says nothing of it."""
    (found,), _ = gpus.of_lines([line(info={"name": "X"}, values={"memory_total_bytes": 1.0})])
    assert found == {"gpu": "0", "uuid": "GPU-1", "name": "X", "memory_total_bytes": 1.0}
    assert gpus.notes([found]) == []


def test_a_gpu_that_is_cut_says_so() -> None:
    """In whatever line it is told."""
    (found,), _ = gpus.of_lines([line(values={"busy_seconds": 0.0}), line(migs=[{"mig": "1"}]), line()])
    assert found["mig"] is True


def test_what_is_no_line_is_passed_over() -> None:
    """Looks that failed, pauses, and lines that somebody damaged."""
    odd: list[dict[str, Any]] = [
        {"at": 1, "source": PAGE, "error": "gone"},
        {"gpus": 3},
        {"gpus": [None, {"uuid": 4}, {"gpu": "0"}]},
        {"gpus": [{"uuid": "GPU-2", "info": [], "values": "x"}]},
    ]
    assert gpus.of_lines(odd) == ([{"gpu": "", "uuid": "GPU-2"}], [""])
    assert gpus.of_lines([]) == ([], [])


def test_a_look_of_a_backend() -> None:
    """The same names; a GPU that is lost is left out."""
    look = Backend((), processes=True, count=2).read(slow=True)
    found = gpus.of_look([*look, Reading("2", "GPU-lost", up=False)])
    assert [gpu["gpu"] for gpu in found] == ["0", "1"]
    assert found[0]["name"] == "llmload fake GPU 80GB"
    assert (found[0]["mig"], found[0]["processes"], found[0]["shared"]) == (False, 1, False)
