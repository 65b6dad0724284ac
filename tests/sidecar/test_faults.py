"""The whole sidecar over a stand-in for NVIDIA's library: what a page tells, and how it ends, when a driver fails.

Several sidecars wait here at a time, so that long waits pass together; each test looks at its own.
"""

import contextlib
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from llmload.exits import Exit
from tests.sidecar import stub
from tests.sidecar.child import Child, running
from tests.sidecar.stub import Stub

QUICK = ("--interval", "250ms")


@dataclass
class Both:
    """A sidecar and its driver."""

    child: Child
    driver: Stub


@contextlib.contextmanager
def beside(folder: Path, *words: str, gpus: int = 2, **state: int) -> Iterator[Both]:
    """A sidecar over a driver of its own."""
    folder.mkdir(exist_ok=True)
    driver = stub.build(folder, gpus)
    driver.set({key.replace("_", "."): value for key, value in state.items()})
    with running(*QUICK, *words, env=driver.env()) as child:
        yield Both(child, driver)


@pytest.fixture(scope="module")
def ending(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Both]]:
    """Sidecars that come to their ends by themselves, begun together with the first test."""
    folder = tmp_path_factory.mktemp("ending")
    with contextlib.ExitStack() as stack:
        kinds = {
            "hanging": stack.enter_context(beside(folder / "hanging", "--hang-limit", "10m")),
            "hung": stack.enter_context(beside(folder / "hung", "--hang-limit", "1s")),
            "unknown": stack.enter_context(beside(folder / "unknown")),
            "changed": stack.enter_context(beside(folder / "changed")),
        }
        for both in kinds.values():
            both.child.first()
        kinds["hanging"].driver.set({"hang.power": 1})
        kinds["hung"].driver.set({"hang.power": 1})
        kinds["unknown"].driver.set({"err.all": 999})
        kinds["changed"].driver.set({"err.all": 18})
        yield kinds


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, ending: dict[str, Both]) -> Iterator[Both]:
    """One sidecar whose driver breaks and heals again and again."""
    with beside(tmp_path_factory.mktemp("both"), gpus=8) as both:
        both.child.first()
        yield both


def test_no_driver_ends_it(tmp_path: Path, ending: dict[str, Both]) -> None:
    """No library, or a module that is not loaded: a sentence and exit code 3, at once."""
    with running() as nothing, beside(tmp_path, err_init=9) as unloaded:
        assert nothing.end() == unloaded.child.end() == Exit.UNMEASURABLE
        (sentence,) = nothing.said
        assert sentence.startswith("llmload sidecar: there is no NVIDIA driver here (libnvidia-ml.so.1 is not found);")
        assert sentence.endswith("; for AMD's say --backend amd, to try it out --fake 2")
        assert "the NVIDIA driver is not loaded; load it (sudo modprobe nvidia)" in unloaded.child.said[0]


def test_with_wait_it_waits_for_a_driver(tmp_path: Path) -> None:
    """It says so, its page answers without values, and it heals; of eight GPUs it then tells the two it is to tell."""
    with beside(tmp_path, "--wait", "--gpus", "1,GPU-00000003", gpus=8, err_init=9) as both:
        child = both.child
        assert child.value("collect_success") == 0
        status, words, _ = child.ask("/health")
        assert (status, "not loaded" in words, "waiting for it" in words) == (503, True, True)
        assert "no GPU yet" in "\n".join(child.said)
        both.driver.set({"err.init": None})
        child.first()
        assert [key[1] for key in child.page() if key[0] == "llmload_gpu_up"] == ["1", "3"]
        assert child.end(signal.SIGINT) == Exit.OK
        assert child.said[-1].endswith("the driver answers: 2 GPUs")


def test_eight_gpus_are_told(both: Both) -> None:
    """Each with its own values."""
    page = both.child.page()
    assert [page["llmload_gpu_power_watts", str(k)] for k in range(8)] == [412.0 + k for k in range(8)]


def test_a_lost_gpu_is_told_and_the_others_go_on(both: Both) -> None:
    """Up 0 and nothing else of it, then all of it again; also if it vanishes from the count."""
    child, driver = both.child, both.driver
    for fault in ("lost.1", "gone.1"):
        driver.set({fault: 1})
        child.until(lambda: child.value("up", "1") == 0)
        page = child.page()
        assert page["llmload_gpu_power_watts", "0"] == 412.0
        assert [key for key in page if "1" in key[1:2] and key[0] != "llmload_gpu_up"] == []
        assert page["llmload_gpu_collect_success",] == 1
        assert "7 of 8 GPUs answer" in child.ask("/health")[1]
        driver.set({fault: None})
        child.until(lambda: child.value("up", "1") == 1)
        assert child.value("power_watts", "1") == 413.0
    lost = [line for line in child.said if "GPU 1 (GPU-00000001" in line]
    assert ["is lost" in line for line in lost] == [True, False, True, False]


def test_a_driver_that_is_loaded_anew_is_found_again(both: Both) -> None:
    """Meanwhile the page answers and tells no value."""
    child, driver = both.child, both.driver
    driver.set({"err.all": 1, "err.init": 9})
    child.until(lambda: child.value("collect_success") == 0)
    assert child.value("power_watts", "0") is None
    assert child.value("collections_total", "gone") != 0
    assert child.ask("/health")[0] == 503
    driver.set({"err.all": None, "err.init": None, "power.0": 500_000})
    child.until(lambda: child.value("collect_success"))
    assert child.value("power_watts", "0") == 500.0
    assert child.process.poll() is None


def test_what_is_forbidden_or_not_there_is_counted_and_left_out(both: Both) -> None:
    """Series are absent, never 0 or NaN; the error has its operation and name."""
    child, driver = both.child, both.driver
    driver.set({"err.power": 4})
    child.until(lambda: child.value("power_watts", "0") is None)
    errors = {key[1:]: value for key, value in child.page().items() if key[0] == "llmload_gpu_nvml_errors_total"}
    assert any("NoPermission" in key for key in errors)
    assert all(value == value for value in child.page().values())  # noqa: PLR0124  (no NaN)
    driver.set({"err.power": None})
    child.until(lambda: child.value("power_watts", "0"))


def test_scrapes_ask_the_driver_nothing(both: Both) -> None:
    """Paused, pages are read and no GPU is; what stalls a driver is never called, and CUDA is not even loaded."""
    child, driver = both.child, both.driver
    assert child.ask("/pause?seconds=60", "POST")[0] == 200
    child.until(lambda: any("paused" in line for line in child.said))

    def asked() -> dict[str, int]:
        return {name: n for name, n in driver.calls().items() if "Event" not in name}

    before = asked()
    for _ in range(30):
        assert child.page()["llmload_gpu_paused",] == 1
    assert asked() == before
    assert child.ask("/resume", "POST")[0] == 200
    child.until(lambda: asked() != before)
    names = " ".join(asked())
    for waits in ("Fan", "PcieThroughput", "RunningProcesses"):
        assert waits not in names
    assert "libcuda" not in Path(f"/proc/{child.process.pid}/maps").read_text()


def test_a_signal_lets_go_of_the_driver(both: Both) -> None:
    """The last test of this sidecar: NVML is shut down, so that the driver can be unloaded; exit code 0."""
    shut = both.driver.calls().get("nvmlShutdown", 0)
    assert both.child.end(signal.SIGTERM) == Exit.OK
    assert both.driver.calls()["nvmlShutdown"] == shut + 1


def test_a_call_that_hangs_makes_the_page_stale(ending: dict[str, Both]) -> None:
    """It answers all the time and tells no value; a signal ends the process although the call never returns."""
    child = ending["hanging"].child
    child.until(lambda: any("a call into the driver has not returned for 3 s" in line for line in child.said))
    page = child.page()
    assert page["llmload_gpu_collect_success",] == 0
    assert page["llmload_gpu_collect_age_seconds",] > 3
    assert ("llmload_gpu_power_watts", "0") not in page
    status, words, _ = child.ask("/health")
    assert (status, "the driver has not answered for" in words) == (503, True)
    assert child.end(signal.SIGTERM) == Exit.UNMEASURABLE
    assert "the driver did not let go within 3 s" in child.said[-1]


def test_a_call_that_hangs_too_long_ends_the_process(ending: dict[str, Both]) -> None:
    """A thread that hangs in a driver cannot be ended, so all of it is: exit code 3."""
    child = ending["hung"].child
    assert child.end() == Exit.UNMEASURABLE
    assert child.said[-1].startswith("llmload sidecar: a call into the driver has not returned for 1 s (--hang-limit)")


def test_another_version_of_the_driver_ends_it(ending: dict[str, Both]) -> None:
    """A supervisor has to start it again: exit code 3."""
    child = ending["changed"].child
    assert child.end() == Exit.UNMEASURABLE
    assert "the NVIDIA driver was changed beneath this process" in child.said[-1]


def test_unknown_errors_for_ever_end_it(ending: dict[str, Both]) -> None:
    """Tried again for a while, without values, then exit code 3."""
    child = ending["unknown"].child
    assert child.end() == Exit.UNMEASURABLE
    assert "answers everything with `unknown error`; it is tried again" in "\n".join(child.said)
    assert "`unknown error` 5 times in a row; start the sidecar anew" in child.said[-1]
