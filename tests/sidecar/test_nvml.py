"""What the backend for NVIDIA's GPUs tells, on the real path through nvidia-ml-py, against a library built here."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from llmload.record.samples import GPU_FIELDS
from tests.sidecar import stub
from tests.sidecar.stub.told import Told, told

NAPPING_S = 0.12
"""GPM's samples have to be so far apart."""

ONE = {
    "energy_joules": 5000.0,
    "power_watts": 412.0,
    "power_instant_watts": 430.0,
    "power_limit_watts": 700.0,
    "utilization_ratio": 0.97,
    "memory_activity_ratio": 0.41,
    "busy_seconds": 0.4,  # 200 ms at 100 %, twice; what lies before the first sample is not known
    "sm_active_ratio": 0.885,
    "sm_occupancy_ratio": 0.3125,
    "tensor_active_ratio": 0.42,
    "dram_active_ratio": 0.73,
    "memory_total_bytes": 85_520_809_984.0,
    "memory_used_bytes": 70_000_000_000.0,
    "memory_reserved_bytes": 643_825_664.0,
    "memory_free_bytes": 14_876_984_320.0,
    "temperature_celsius": 61.0,
    "memory_temperature_celsius": 70.0,
    "temperature_limit_celsius": 89.0,
    "sm_clock_hertz": 1.755e9,
    "memory_clock_hertz": 2.619e9,
    "sm_clock_max_hertz": 1.98e9,
    "clock_event_active.sw_power_cap": 1.0,
    "clock_event_active.hw_power_brake": 0.0,
    "clock_event_active.sw_thermal": 0.0,
    "clock_event_active.hw_thermal": 1.0,
    "clock_event_active.sync_boost": 0.0,
    "clock_event_active.hw_slowdown": 0.0,
    "clock_event_active.applications_clocks": 0.0,
    "clock_event_seconds.sw_power_cap": 2.5,
    "clock_event_seconds.hw_power_brake": 0.5,
    "clock_event_seconds.sw_thermal": 0.125,
    "clock_event_seconds.hw_thermal": 0.25,
    "clock_event_seconds.sync_boost": 0.75,
    "pcie_transmit_bytes": 123_456_789.0,
    "pcie_receive_bytes": 987_654_321.0,
    "nvlink_transmit_bytes": 1_048_576.0,
    "nvlink_receive_bytes": 2_097_152.0,
    "pcie_replays": 3.0,
    "ecc_errors.corrected": 5.0,
    "ecc_errors.uncorrected": 1.0,
    "compute_mode.exclusive_process": 1.0,
}
"""Worked by hand from the state below and from `stub.machine`."""

STATE: dict[str, stub.Value] = {
    "reasons": 0x44,
    "field.251": 125_000_000,
    "field.252": 250_000_000,
    "field.253": 500_000_000,
    "field.76": 750_000_000,
    "field.94": 3,
    "field.3": 5,
    "field.4": 1,
    "mode": 3,
}

OPERATIONS = {
    "energy": ("energy_joules",),
    "power": ("power_watts",),
    "limit": ("power_limit_watts",),
    "samples": ("busy_seconds",),
    "util": ("utilization_ratio", "memory_activity_ratio"),
    "temperature": (),  # TemperatureV tells it too
    "clock": ("sm_clock_hertz", "memory_clock_hertz"),
    "maxclock": ("sm_clock_max_hertz",),
    "threshold": ("temperature_limit_celsius",),
    "mode": ("compute_mode.exclusive_process",),
    "memory2": ("memory_reserved_bytes",),
    "field.186": ("power_instant_watts",),
    "field.82": ("memory_temperature_celsius",),
    "field.74": ("clock_event_seconds.sw_power_cap",),
    "field.252": ("clock_event_seconds.hw_thermal",),
    "field.197": ("pcie_transmit_bytes",),
    "field.138": ("nvlink_transmit_bytes",),
    "field.94": ("pcie_replays",),
    "field.4": ("ecc_errors.uncorrected",),
    "gpmsample": ("sm_active_ratio", "sm_occupancy_ratio", "tensor_active_ratio", "dram_active_ratio"),
}
"""What is missing where one thing is not to be had."""

Steady = tuple[stub.Stub, Told]


def values(told: Told, *, slow: bool = True) -> dict[str, float]:
    """Of the first GPU."""
    one: dict[str, float] = told.read(slow=slow)[0]["values"]
    return one


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Steady]:
    """One GPU that works, and its backend, open; tests leave it as they found it."""
    machine = stub.build(tmp_path_factory.mktemp("steady"))
    machine.set(STATE)
    with told(machine.env()) as it:
        assert it("open") is None
        yield machine, it


def test_every_value(steady: Steady) -> None:
    """Each value in our units, worked by hand from NVML's."""
    _, it = steady
    it.read()
    time.sleep(NAPPING_S)
    (reading,) = it.read()
    assert reading["values"] == pytest.approx(ONE, rel=1e-12)
    assert {key: reading[key] for key in ("gpu", "uuid", "up", "info")} == {
        "gpu": "0",
        "uuid": "GPU-00000000-1111-2222-3333-444444444444",
        "up": True,
        "info": {
            "name": "NVIDIA H100 80GB HBM3",
            "pci_bus_id": "00000000:01:00.0",
            "driver_version": "580.65.06",
            "cuda_version": "13.0",
        },
    }


def test_no_field_is_left_out() -> None:
    """Every field that a GPU can have is proven here, by its exact value."""
    elsewhere = {"xid_errors", "xid_last_timestamp_seconds", "process_memory_bytes"}
    here = {key.partition(".")[0] for key in (*ONE, *MIG_VALUES)} | elsewhere
    assert here == {field.key for field in GPU_FIELDS}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_is_not_supported_is_left_out_and_counted_once(steady: Steady, operation: str) -> None:
    """It is no 0 and no NaN, all else stays, it is asked again with what is read seldom, and comes back."""
    machine, it = steady
    before = it.errors()
    machine.set({f"err.{operation}": 3})
    for slow in (True, False, True):
        time.sleep(NAPPING_S * (operation == "gpmsample"))
        found = values(it, slow=slow)
        assert not found.keys() & set(OPERATIONS[operation])
        assert found.keys() | set(OPERATIONS[operation]) >= ONE.keys() - GPM
    counted = {pair: n - before.get(pair, 0) for pair, n in it.errors().items() if n != before.get(pair, 0)}
    machine.set({f"err.{operation}": None})
    assert set(counted.values()) == {1}
    assert {error for _, error in counted} == {"NotSupported"}
    values(it)
    time.sleep(NAPPING_S)
    assert values(it).keys() == ONE.keys()


GPM = {"sm_active_ratio", "sm_occupancy_ratio", "tensor_active_ratio", "dram_active_ratio"}


def test_a_field_that_is_newer_than_the_driver(steady: Steady) -> None:
    """Its number is an invalid argument then: it is as if it were not supported."""
    machine, it = steady
    machine.set({"err.field.198": 2})
    for slow in (True, False, True):
        assert "pcie_receive_bytes" not in values(it, slow=slow)
    machine.set({"err.field.198": None})
    values(it)
    errors = {error: n for (operation, error), n in it.errors().items() if operation == "field_198"}
    assert errors == {"NotSupported": 1}


def test_what_is_not_permitted_is_left_out_and_counted_each_time(steady: Steady) -> None:
    """The energy counter and the samples of utilization are forbidden for three looks."""
    machine, it = steady
    machine.set({"err.energy": 4, "err.samples": 4})
    for _ in range(3):
        assert not values(it, slow=False).keys() & {"energy_joules", "busy_seconds"}
    machine.set({"err.energy": None, "err.samples": None})
    assert it.errors()["DeviceGetTotalEnergyConsumption", "NoPermission"] == 3
    assert values(it, slow=False)["energy_joules"] == 5000.0


def test_one_unknown_error_is_no_more_than_that(steady: Steady) -> None:
    """A call that always ends so takes its own value away, however long, and nothing else."""
    machine, it = steady
    machine.set({"err.power": 999})
    for _ in range(8):
        found = values(it, slow=False)
        assert "power_watts" not in found
        assert "energy_joules" in found
    machine.set({"err.power": None})
    assert it.errors()["DeviceGetPowerUsage", "Unknown"] == 8


def test_slow_values_are_told_again(steady: Steady) -> None:
    """What is read seldom keeps its value until it is read again; the other values are new each time."""
    machine, it = steady
    values(it)
    machine.set({"limit": 500_000, "power": 100_000, "power.0": None})
    found = values(it, slow=False)
    assert (found["power_limit_watts"], found["power_watts"]) == (700.0, 100.0)
    assert values(it)["power_limit_watts"] == 500.0
    machine.set({"limit": 700_000, "power": None, "power.0": 412_000})


def test_a_counter_that_begins_anew_is_told_as_it_is(steady: Steady) -> None:
    """Who reads it sees the reset."""
    machine, it = steady
    machine.set({"energy.0": 7, "field.197": 1})
    found = values(it, slow=False)
    machine.set({"energy.0": 5_000_000, "field.197": 123_456_789})
    assert (found["energy_joules"], found["pcie_transmit_bytes"]) == (0.007, 1.0)


def test_gpm_samples_are_far_enough_apart(steady: Steady) -> None:
    """Looks that come too fast get the last values again; the library refuses samples that are too near."""
    machine, it = steady
    values(it)
    time.sleep(NAPPING_S)
    assert values(it, slow=False)["dram_active_ratio"] == 0.73
    machine.set({"gpm.10": 20})
    assert values(it, slow=False)["dram_active_ratio"] == 0.73
    time.sleep(NAPPING_S)
    assert values(it, slow=False)["dram_active_ratio"] == 0.2
    machine.set({"gpm.10": "nan"})
    time.sleep(NAPPING_S)
    found = values(it, slow=False)
    assert "dram_active_ratio" not in found
    assert found["sm_active_ratio"] == 0.885
    machine.set({"gpm.10": 73.0})
    assert ("GpmMetricsGet", "InvalidArgument") not in it.errors()


def test_busy_time_is_the_integral_of_the_drivers_samples(steady: Steady) -> None:
    """Only new samples add to it: 0.3 s at 50 % and 0.1 s at 10 %; then none is new, which is no error."""
    machine, it = steady
    before = values(it, slow=False)["busy_seconds"]
    machine.set({"samples": "1200000:100,1400000:100,1700000:50,1800000:10"})
    assert values(it, slow=False)["busy_seconds"] - before == pytest.approx(0.16)
    assert values(it, slow=False)["busy_seconds"] - before == pytest.approx(0.16)
    assert ("DeviceGetSamples", "NotFound") not in it.errors()


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({"field.269": 10**9, "field.270": 2 * 10**9, "field.271": 3 * 10**9}, (0.125, 0.25, 0.5)),
        (
            {"fieldtype.251": 1, "fieldtype.252": 1, "fieldtype.253": 1}
            | {"field.269": 10**9, "field.270": 2 * 10**9, "field.271": 3 * 10**9},
            (1.0, 2.0, 3.0),
        ),
        (
            {"field.251": None, "field.252": None, "field.253": None}
            | {
                "fieldtype.269": 1,
                "field.269": 4,
                "fieldtype.270": 1,
                "field.270": 5,
                "fieldtype.271": 1,
                "field.271": 9,
            },
            (None, None, None),
        ),
    ],
    ids=["old numbers", "new numbers", "power smoothing"],
)
def test_counters_of_slowdowns_have_two_numberings(
    steady: Steady, state: dict[str, stub.Value], expected: tuple[float | None, ...]
) -> None:
    """CUDA 13's headers moved them; settings of power smoothing, which stand in the other places, are never taken."""
    machine, it = steady
    machine.set(state)
    found = values(it)
    machine.set(dict.fromkeys(state) | STATE)
    names = ("sw_thermal", "hw_thermal", "hw_power_brake")
    assert tuple(found.get(f"clock_event_seconds.{name}") for name in names) == expected


def test_nvlink_5_tells_each_link(steady: Steady) -> None:
    """Where there is no sum over all links, bytes of the links are added; also where they are read seldom."""
    machine, it = steady
    links = {f"field.202@{link}": 100 + link for link in (1, 2, 17)} | {"field.202": 100, "field.204": 7}
    machine.set({**links, "field.138": None, "field.139": None})
    seen = [values(it, slow=True), values(it, slow=False)]
    machine.set({"slow.field.202": 6})
    seen += [values(it, slow=True), values(it, slow=False)]
    machine.set({**dict.fromkeys(links), "field.138": 1024, "field.139": 2048, "slow.field.202": None})
    for one in seen:
        assert (one["nvlink_transmit_bytes"], one["nvlink_receive_bytes"]) == (420.0, 7.0)


def test_a_field_that_takes_the_driver_long_is_read_seldom(steady: Steady) -> None:
    """A PCIe counter that blocks for 20 ms is asked with the slow ones, and its last value told again."""
    machine, it = steady
    machine.set({"slow.field.197": 20})
    assert values(it)["pcie_transmit_bytes"] == 123_456_789.0
    machine.set({"field.197": 5, "field.198": 6})
    found = values(it, slow=False)
    machine.set({"slow.field.197": None, "field.197": 123_456_789, "field.198": 987_654_321})
    assert (found["pcie_transmit_bytes"], found["pcie_receive_bytes"]) == (123_456_789.0, 6.0)
    assert values(it)["pcie_transmit_bytes"] == 123_456_789.0


def test_the_limit_of_newer_gpus_is_so_far_above_the_temperature(steady: Steady) -> None:
    """61 degrees, and 26 to go."""
    machine, it = steady
    machine.set({"threshold": None, "margin": 26})
    found = values(it)
    machine.set({"threshold": 89, "margin": None})
    assert found["temperature_limit_celsius"] == 87.0


def test_xid_errors_are_counted_by_their_number(steady: Steady) -> None:
    """Also a second one of the same kind, and when the last one came."""
    machine, it = steady
    begun = time.time()
    machine.set({"xids": "0:79,0:48,0:79"})
    while (found := values(it, slow=False)).get("xid_errors.79") != 2.0:
        assert time.time() < begun + 60
        time.sleep(0.01)
    assert found["xid_errors.48"] == 1.0
    for xid in ("48", "79"):
        assert begun <= found[f"xid_last_timestamp_seconds.{xid}"] <= time.time()


def test_what_stalls_a_driver_is_never_called(tmp_path: Path) -> None:
    """No fan, no PCIe throughput, no processes unless wanted; every call is counted, and NVML is shut down."""
    machine = stub.build(tmp_path)
    machine.set({"processes": "4711:1000,4712:2000"})
    with told(machine.env()) as it:
        it("open")
        it.read()
        it.read(slow=False)
        it("close")
        called = machine.calls()
        assert it("calls") == sum(called.values())
        assert not it.errors()
    stalling = ("nvmlDeviceGetFanSpeed", "nvmlDeviceGetPcieThroughput", "nvmlDeviceGetComputeRunningProcesses_v3")
    assert not [name for name in (*stalling, "nvmlDeviceGetGraphicsRunningProcesses_v3") if name in called]
    assert called["nvmlShutdown"] == called["nvmlInitWithFlags"] == 1
    assert called["nvmlGpmSampleAlloc"] == called["nvmlGpmSampleFree"] == 2
    assert called["nvmlEventSetCreate"] == called["nvmlEventSetFree"] == 1


def test_processes_are_told_where_they_are_wanted(tmp_path: Path) -> None:
    """By their number; memory that NVML does not know (all bits set) is left out."""
    machine = stub.build(tmp_path)
    machine.set({"processes": f"4711:1000,4712:2000,4711:24,4713:{2**64 - 1}"})
    with told(machine.env(), processes=True) as it:
        it("open")
        found = {key: value for key, value in values(it).items() if key.startswith("process")}
        assert found == {"process_memory_bytes.4711": 1024.0, "process_memory_bytes.4712": 2000.0}
        it("close")
        assert it("calls") == sum(machine.calls().values())


MIG: dict[str, stub.Value] = {
    "mig.0": 2,
    "mig.uuid.0.0": "MIG-aaaa",
    "mig.name.0.0": "NVIDIA H100 80GB HBM3 MIG 3g.40gb",
    "mig.memory.total.0.0": 42_000_000_000,
    "mig.memory.used.0.0": 30_000_000_000,
    "mig.memory.reserved.0.0": 1_000_000,
    "mig.gpm.2@7": 80.0,
    "mig.gpm.5@7": 25.0,
    "mig.gpm.10@7": 60.0,
    "mig.gpm.3@7": 10.0,
    "mig.uuid.0.1": "MIG-bbbb",
    "mig.name.0.1": "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
    "mig.memory.total.0.1": 10_000_000_000,
    "mig.memory.used.0.1": 0,
    "mig.memory.reserved.0.1": 0,
}
MIG_VALUES = {
    "mig_memory_total_bytes.7/0": 42e9,
    "mig_memory_used_bytes.7/0": 30_001_000_000.0,
    "mig_sm_active_ratio.7/0": 0.8,
    "mig_tensor_active_ratio.7/0": 0.25,
    "mig_dram_active_ratio.7/0": 0.6,
    "mig_memory_total_bytes.8/0": 10e9,
    "mig_memory_used_bytes.8/0": 0.0,
}


def test_a_gpu_that_is_cut_by_mig(tmp_path: Path) -> None:
    """Instances have memory and activity; energy stands once; utilization, which nobody knows then, is left out."""
    machine = stub.build(tmp_path)
    machine.set(MIG)
    with told(machine.env()) as it:
        it("open")
        it.read()
        time.sleep(NAPPING_S)
        (reading,) = it.read(slow=False)
        assert {key: value for key, value in reading["values"].items() if key.startswith("mig")} == MIG_VALUES
        assert reading["values"]["energy_joules"] == 5000.0
        assert machine.calls()["nvmlDeviceGetUtilizationRates"] == 1, "asked once, and again with what is read seldom"
        assert not reading["values"].keys() & {"utilization_ratio", "busy_seconds", "sm_active_ratio"}
        assert reading["migs"] == [
            {"mig": "7/0", "mig_uuid": "MIG-aaaa", "profile": "3g.40gb"},
            {"mig": "8/0", "mig_uuid": "MIG-bbbb", "profile": "1g.10gb"},
        ]
        machine.set({"mig.0": 1})
        (reading,) = it.read()
        assert [one["mig_uuid"] for one in reading["migs"]] == ["MIG-aaaa"]
        assert "mig_memory_used_bytes.8/0" not in reading["values"]
        it("close")
        called = machine.calls()
        assert called["nvmlGpmSampleAlloc"] == called["nvmlGpmSampleFree"]


def test_eight_gpus(tmp_path: Path) -> None:
    """Each by its own number and UUID, with its own values."""
    machine = stub.build(tmp_path, 8)
    with told(machine.env()) as it:
        it("open")
        readings = it.read()
        assert [(one["gpu"], one["uuid"][:12], one["values"]["energy_joules"]) for one in readings] == [
            (str(gpu), f"GPU-{gpu:08x}", 5000.0 + gpu) for gpu in range(8)
        ]


def test_names_may_be_bytes(tmp_path: Path) -> None:
    """As old versions of nvidia-ml-py give them."""
    machine = stub.build(tmp_path)
    with told(machine.env()) as it:
        it("bytes")
        it("open")
        (reading,) = it.read()
        assert reading["uuid"] == "GPU-00000000-1111-2222-3333-444444444444"
        assert (reading["info"]["name"], reading["info"]["driver_version"]) == ("NVIDIA H100 80GB HBM3", "580.65.06")


OLD = (
    "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetCurrentClocksEventReasons", "nvmlGpmQueryDeviceSupport",
    "nvmlEventSetCreate", "nvmlDeviceGetTemperature", "nvmlDeviceGetMigMode", "nvmlDeviceGetFieldValues",
)  # fmt: skip


def test_an_older_driver_lacks_functions(tmp_path: Path) -> None:
    """The older ones take their places where there are any; used memory holds then what the driver reserves."""
    machine = stub.build(tmp_path, without=OLD)
    machine.set({"reasons": 4})
    with told(machine.env()) as it:
        it("open")
        for slow in (True, False):
            found = values(it, slow=slow)
            assert found["memory_used_bytes"] == 70_643_825_664.0
            assert found["memory_free_bytes"] == 14_876_984_320.0
            assert found["clock_event_active.sw_power_cap"] == 1.0
            assert found["temperature_celsius"] == 61.0
            assert found["energy_joules"] == 5000.0
            assert not found.keys() & {"memory_reserved_bytes", "sm_active_ratio", "power_instant_watts"}
        errors = {operation: n for (operation, error), n in it.errors().items() if error == "FunctionNotFound"}
        names = {name.removeprefix("nvml") for name in OLD}
        assert errors == dict.fromkeys(names, 1)


def test_a_machine_that_tells_no_memory(tmp_path: Path) -> None:
    """As some with memory that GPU and CPU share: neither way to ask is supported, and all else is there."""
    machine = stub.build(tmp_path)
    machine.set({"err.memory": 3, "err.memory2": 3})
    with told(machine.env()) as it:
        it("open")
        found = values(it)
        assert not [key for key in found if key.startswith("memory_") and key.endswith("_bytes")]
        assert found["energy_joules"] == 5000.0
