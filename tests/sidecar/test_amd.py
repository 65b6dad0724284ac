"""AMD's GPUs against a stand-in for its package: each value by hand, and each way to fail."""

import sys
from typing import Any

import pytest

from llmload.sidecar import backend as kinds
from llmload.sidecar.amd import Backend
from llmload.sidecar.backend import Absent, Gone
from tests.sidecar import amdsmi_stub as stub

GIB = 2.0**30


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        """What it shows."""
        return self.now


def opened(monkeypatch: pytest.MonkeyPatch, *cards: dict[str, Any], gpus: tuple[str, ...] = (), **more: Any) -> Backend:
    """A backend over these cards; its stand-in is its `_smi`."""
    monkeypatch.setitem(sys.modules, "amdsmi", stub.module(list(cards)))
    source = Backend(gpus, **more)
    source.open()
    return source


def test_every_value_of_a_card_is_told_in_our_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Microjoules, percent, MHz, microwatts and bytes become ours; the clocks of waiting are integrals of ours."""
    clock, here = Clock(), stub.card()
    source = opened(monkeypatch, here, clock=clock, processes=True)
    first = source.read(slow=True)[0]
    assert (first.gpu, first.uuid, first.up) == ("0", "d9ff74a1-0000-1000-802d-7b762fbd75d2", True)
    assert first.info == {"name": "AMD Instinct MI300X", "pci_bus_id": "0000:0c:00.0", "driver_version": "6.12.12"}
    assert first.values == {
        "energy_joules": 15_250.0,
        "power_watts": 700.0,
        "power_instant_watts": 703.0,
        "power_limit_watts": 750.0,
        "utilization_ratio": 0.98,
        "memory_activity_ratio": 0.45,
        "busy_seconds": 0.0,
        "memory_used_bytes": 150 * GIB,
        "memory_total_bytes": 192 * GIB,
        "memory_free_bytes": 42 * GIB,
        "temperature_celsius": 71.0,
        "memory_temperature_celsius": 64.0,
        "temperature_limit_celsius": 100.0,
        "sm_clock_hertz": 2.1e9,
        "sm_clock_max_hertz": 2.1e9,
        "memory_clock_hertz": 1.3e9,
        "ecc_errors.corrected": 3.0,
        "ecc_errors.uncorrected": 1.0,
        "pcie_replays": 5.0,
        "process_memory_bytes.4242": GIB,
    }
    assert source.errors == {("temperature_edge", "NOT_SUPPORTED"): 1}

    # 4 s later: of 4,000 counts the power cap held 1,000 (1 s), a thermal limit none; half as busy
    clock.now = 4.0
    here["amdsmi_get_gpu_metrics_info"] |= {"accumulation_counter": 104_000, "ppt_residency_acc": 41_000}
    here["amdsmi_get_gpu_activity"] |= {"gfx_activity": 50}
    second = source.read(slow=False)[0].values
    assert second["busy_seconds"] == pytest.approx((0.98 + 0.5) / 2 * 4)
    assert second["clock_event_seconds.sw_power_cap"] == pytest.approx(1.0)
    assert (second["clock_event_active.sw_power_cap"], second["clock_event_active.hw_thermal"]) == (1.0, 0.0)
    assert second["clock_event_seconds.hw_thermal"] == 0.0
    assert second["power_limit_watts"] == 750.0  # what is read seldom is told again

    # a minute without looking: how busy it was nobody knows; the driver's counters do tell
    clock.now = 64.0
    here["amdsmi_get_gpu_metrics_info"] |= {"accumulation_counter": 164_000, "socket_thm_residency_acc": 6_010}
    third = source.read(slow=False)[0].values
    assert third["busy_seconds"] == second["busy_seconds"]
    assert third["clock_event_seconds.hw_thermal"] == pytest.approx(6.0)

    # counters that began anew tell nothing about the time before
    clock.now = 65.0
    here["amdsmi_get_gpu_metrics_info"] |= {"accumulation_counter": 5, "socket_thm_residency_acc": 0}
    fourth = source.read(slow=False)[0].values
    assert "clock_event_active.hw_thermal" not in fourth
    assert fourth["clock_event_seconds.hw_thermal"] == third["clock_event_seconds.hw_thermal"]


def test_nothing_that_waits_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --processes no list of processes; calls are counted as they are made."""
    source = opened(monkeypatch, stub.card(), stub.card(amdsmi_get_gpu_device_uuid="two"))
    source.read(slow=True)
    called = source._smi.called
    assert "amdsmi_get_gpu_process_list" not in called
    assert source.calls == len(called) + 1  # the list of handles is not in it
    before = source.calls
    source.read(slow=False)
    assert source.calls - before == 2 * 9  # eight kinds of fast values (no edge), and the metrics


def test_a_card_that_is_lost_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told as lost while the other goes on; when all are lost, the driver is opened again."""
    one, two = stub.card(), stub.card(amdsmi_get_gpu_device_uuid="two")
    source = opened(monkeypatch, one, two)
    assert [reading.up for reading in source.read(slow=True)] == [True, True]
    two["all"] = 12
    lost = source.read(slow=False)[1]
    assert (lost.gpu, lost.uuid, lost.up, lost.values) == ("1", "two", False, {})
    assert source.errors["energy_count", "IO"] == 1
    one["all"] = 12
    with pytest.raises(Gone, match="none of the AMD GPUs answers"):
        source.read(slow=False)
    del one["all"], two["all"]
    assert [reading.up for reading in source.read(slow=False)] == [True, True]


def test_what_is_not_supported_or_not_allowed_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not supported: asked once. No permission: asked again, counted each time. Neither is a lost card."""
    here = stub.card(amdsmi_get_energy_count=2, amdsmi_get_power_info=10)
    source = opened(monkeypatch, here)
    for _ in range(3):
        reading = source.read(slow=False)[0]
        assert reading.up
        assert not {"energy_joules", "power_watts"} & reading.values.keys()
    assert source.errors["energy_count", "NOT_SUPPORTED"] == 1
    assert source.errors["power_info", "NO_PERM"] == 3


def test_a_driver_that_goes_away_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sampler then closes and opens again."""
    here = stub.card()
    source = opened(monkeypatch, here)
    here["all"] = 34
    with pytest.raises(Gone, match=r"went away \(DRIVER_NOT_LOADED\)"):
        source.read(slow=False)
    source.close()
    assert source._smi.called[-1] == "amdsmi_shut_down"


def test_what_is_absent_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """No package, no library, no driver, no GPU, not this GPU."""
    monkeypatch.setitem(sys.modules, "amdsmi", None)  # as if it were not installed
    with pytest.raises(Absent, match=r"pip install \"llmload\[amd\]\""):
        kinds.backend("amd", ())
    libraries: dict[str, object] = {}
    monkeypatch.setattr("importlib.import_module", lambda _: libraries["libamd_smi.so"])  # as the package does
    with pytest.raises(Absent, match="ROCM_PATH"):
        Backend(())
    monkeypatch.undo()
    smi = stub.module([])
    monkeypatch.setitem(sys.modules, "amdsmi", smi)
    source = Backend(())
    with pytest.raises(Absent, match="finds no AMD GPU"):
        source.open()
    smi.init = 34
    with pytest.raises(Absent, match=r"cannot be reached \(DRIVER_NOT_LOADED\); is amdgpu loaded"):
        source.open()
    with pytest.raises(Absent, match="--gpus 7: there is no such GPU; amdsmi numbers them 0 to 1"):
        opened(monkeypatch, stub.card(), stub.card(), gpus=("7",))


def test_chosen_cards_alone_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """By number or UUID; their numbers stay."""
    source = opened(monkeypatch, stub.card(), stub.card(amdsmi_get_gpu_device_uuid="two"), gpus=("two",))
    assert [(reading.gpu, reading.uuid) for reading in source.read(slow=True)] == [("1", "two")]
