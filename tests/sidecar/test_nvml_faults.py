"""GPUs that are lost, drivers that go away, and choices that cannot be: each injected while the backend runs."""

from pathlib import Path
from typing import Any

import pytest

from tests.sidecar import stub
from tests.sidecar.stub.told import Told, told

UUIDS = [f"GPU-{gpu:08x}-1111-2222-3333-444444444444" for gpu in range(8)]


def seen(readings: list[dict[str, Any]]) -> list[tuple[str, str, bool]]:
    """Number, UUID, and whether it is there; what is lost tells nothing else."""
    for one in readings:
        assert one["up"] or not (one["values"] or one["info"] or one["migs"])
        assert not one["up"] or one["values"]["energy_joules"]
    return [(one["gpu"], one["uuid"], one["up"]) for one in readings]


def all_of(*up: bool) -> list[tuple[str, str, bool]]:
    """GPUs 0, 1, …, of which these are there."""
    return [(str(gpu), UUIDS[gpu], there) for gpu, there in enumerate(up)]


def back(it: Told, *, slow: bool = False) -> list[dict[str, Any]]:
    """The first read in which all are there; what is lost is looked for ever more seldom, but always with slow ones."""
    left = 1 if slow else 32
    while not all(one["up"] for one in it.read(slow=slow)):
        left -= 1
        assert left
    return it.read(slow=False)


@pytest.mark.parametrize(
    "fault", [{"lost.1": 1}, {"gone.1": 1}, {"hidden.1": 1}, {"err.energy.1": 16}, {"err.field.186.1": 15}], ids=str
)
@pytest.mark.parametrize("slow", [True, False])
def test_a_gpu_that_is_lost_is_told_and_the_others_stay(tmp_path: Path, fault: dict[str, int], slow: bool) -> None:
    """It keeps number and UUID, though NVML gives the others new numbers; it comes back with all its values."""
    machine = stub.build(tmp_path, 3)
    with told(machine.env()) as it:
        it("open")
        assert seen(it.read(slow=slow)) == all_of(True, True, True)
        machine.set(fault)
        for _ in range(3):
            assert seen(it.read(slow=slow)) == all_of(True, False, True)
        machine.set(dict.fromkeys(fault))
        readings = back(it, slow=slow)
        assert seen(readings) == all_of(True, True, True)
        assert [one["values"]["energy_joules"] for one in readings] == [5000.0, 5001.0, 5002.0]
        assert readings[1]["values"]["power_limit_watts"] == 700.0
        assert readings[1]["info"]["name"] == "NVIDIA H100 80GB HBM3"
        it("close")
        called = machine.calls()
        assert called["nvmlGpmSampleAlloc"] == called["nvmlGpmSampleFree"]


def test_all_gpus_are_lost(tmp_path: Path) -> None:
    """That is told of each; the driver itself answers."""
    machine = stub.build(tmp_path, 2)
    with told(machine.env()) as it:
        it("open")
        it.read()
        machine.set(lost=1)
        assert seen(it.read()) == all_of(False, False)
        machine.set(lost=None)
        assert seen(it.read()) == all_of(True, True)


@pytest.mark.parametrize("chosen", [(), ("1",)])
def test_a_gpu_that_is_lost_before_it_was_seen(tmp_path: Path, chosen: tuple[str, ...]) -> None:
    """It has its number alone; when it is back it has its UUID, and is told once."""
    machine = stub.build(tmp_path, 2)
    machine.set({"lost.1": 1})
    other = [("0", UUIDS[0], True)] if not chosen else []
    with told(machine.env(), chosen) as it:
        it("open")
        assert seen(it.read()) == [*other, ("1", "lost-1", False)]
        machine.set({"lost.1": None})
        assert seen(back(it)) == [*other, ("1", UUIDS[1], True)]


def test_the_driver_is_loaded_anew(tmp_path: Path) -> None:
    """It went away and stays away for a while; then GPUs have their numbers, values and handles again."""
    machine = stub.build(tmp_path, 2)
    with told(machine.env()) as it:
        it("open")
        it.read()
        machine.set({"err.all": 1})
        kind, sentence = it("read", slow=False)
        assert (kind, "went away" in sentence) == ("Gone", True)
        it("close")
        machine.set({"err.init": 9, "err.all": None})
        assert it("open")[0] == "Gone"
        machine.set({"err.init": None})
        assert it("open") is None
        assert seen(it.read(slow=False)) == all_of(True, True)
        it("close")
        assert it("close") is None
        assert machine.calls()["nvmlShutdown"] == 2
        assert it.errors() == {("DeviceGetCount", "Uninitialized"): 1, ("Init", "DriverNotLoaded"): 1} | {
            pair: n for pair, n in it.errors().items() if pair[0].startswith(("Gpm", "Event"))
        }


def test_the_driver_goes_away_in_the_middle_of_a_look(tmp_path: Path) -> None:
    """Half a look is none."""
    machine = stub.build(tmp_path, 2)
    with told(machine.env()) as it:
        it("open")
        it.read()
        machine.set({"err.power.1": 9})
        assert it("read", slow=False)[0] == "Gone"


@pytest.mark.parametrize("where", ["init", "count", "energy"])
def test_library_and_driver_of_two_versions(tmp_path: Path, where: str) -> None:
    """The library cannot be loaded anew within a process: it has to end."""
    machine = stub.build(tmp_path)
    machine.set({f"err.{where}": 18})
    with told(machine.env()) as it:
        kind, sentence = it("open") or it("read", slow=False)
        assert kind == "Hopeless"
        assert "another version" in sentence


@pytest.mark.parametrize("where", ["all", "init", "count", "handle"])
def test_unknown_errors_for_ever(tmp_path: Path, where: str) -> None:
    """They are tried again four times, each time from the beginning; then the process has to end."""
    machine = stub.build(tmp_path, 2)
    with told(machine.env()) as it:
        it("open")
        it.read()
        it("close")
        machine.set({f"err.{where}": 999})
        heard: list[str] = []
        while len(heard) < 5:
            if raised := it("open") or it("read", slow=True):
                heard.append(raised[0])
                it("close")
        assert heard == ["Gone"] * 4 + ["Hopeless"]


def test_unknown_errors_that_end(tmp_path: Path) -> None:
    """A good look in between begins the count anew."""
    machine = stub.build(tmp_path)
    with told(machine.env()) as it:
        it("open")
        for _ in range(3):
            for _ in range(4):
                machine.set({"err.all": 999})
                assert it("read", slow=False)[0] == "Gone"
            machine.set({"err.all": None})
            assert seen(it.read()) == all_of(True)


def test_one_of_two_answers_nothing_but_unknown_errors(tmp_path: Path) -> None:
    """It cannot be reached, whatever the reason; the other one goes on, for ever."""
    machine = stub.build(tmp_path, 2)
    with told(machine.env()) as it:
        it("open")
        it.read()
        machine.set({"err.all.1": 999})
        for _ in range(8):
            assert seen(it.read(slow=False)) == all_of(True, False)
        machine.set({"err.all.1": None})
        assert seen(back(it)) == all_of(True, True)


def test_what_is_lost_is_looked_for_ever_more_seldom(tmp_path: Path) -> None:
    """Handles are fetched at the 1st, 3rd, 7th, 15th and 31st of 40 looks, not at each: it may stall the driver."""
    machine = stub.build(tmp_path, 2)
    machine.set({"lost.1": 1})
    with told(machine.env()) as it:
        it("open")
        before = machine.calls()["nvmlDeviceGetHandleByIndex_v2"]
        for _ in range(40):
            it.read(slow=False)
        assert machine.calls()["nvmlDeviceGetHandleByIndex_v2"] - before == 5 * 2


@pytest.mark.parametrize("chosen", [(), ("0",)])
def test_a_gpu_that_comes_later(tmp_path: Path, chosen: tuple[str, ...]) -> None:
    """It is told from then on, unless others were chosen."""
    machine = stub.build(tmp_path, 2)
    machine.set(gpus=1)
    with told(machine.env(), chosen) as it:
        it("open")
        assert seen(it.read()) == all_of(True)
        machine.set(gpus=2)
        assert seen(it.read(slow=False)) == all_of(*[True] * (1 if chosen else 2))


@pytest.mark.parametrize("code", [2, 17])
def test_a_gpu_that_gives_no_value_at_all(tmp_path: Path, code: int) -> None:
    """Whatever reason NVML gives for it, it cannot be reached."""
    machine = stub.build(tmp_path, 2)
    with told(machine.env()) as it:
        it("open")
        machine.set({"err.all.1": code})
        assert seen(it.read(slow=False)) == all_of(True, False)


def test_a_gpu_whose_values_nobody_may_see_is_there(tmp_path: Path) -> None:
    """What is forbidden is no loss."""
    machine = stub.build(tmp_path, 1)
    with told(machine.env()) as it:
        it("open")
        it.read()
        machine.set({"err.all.0": 4})
        (reading,) = it.read(slow=False)
        assert (reading["up"], "energy_joules" in reading["values"]) == (True, False)


def test_no_library(tmp_path: Path) -> None:
    """What is loaded in its name is none: nothing can be read here."""
    machine = stub.build(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / stub.SONAME).touch()
    with told({**machine.env(), "LD_LIBRARY_PATH": str(tmp_path / "empty")}) as it:
        kind, sentence = it("open")
        assert kind == "Absent"
        assert "libnvidia-ml.so.1 is not found" in sentence


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"err.init": 9}, "not loaded"),
        ({"err.init": 4}, "does not let this user in"),
        ({"gpus": 0}, "no GPU that it lets this user see"),
        ({"err.handle": 4}, "no GPU that it lets this user see"),
    ],
)
def test_there_is_nothing_to_read(tmp_path: Path, state: dict[str, int], words: str) -> None:
    """Each has its sentence; what was reached is let go of, and later it may be there."""
    machine = stub.build(tmp_path)
    machine.set(state)
    with told(machine.env()) as it:
        kind, sentence = it("open")
        assert (kind, words in sentence) == ("Absent", True)
        called = machine.calls()
        assert called.get("nvmlShutdown", 0) == (called["nvmlInitWithFlags"] if "err.init" not in state else 0)
        machine.set({**dict.fromkeys(state), "gpus": 1})
        assert it("open") is None
        assert seen(it.read()) == all_of(True)


def test_a_driver_from_before_nvml_could_be_begun_so(tmp_path: Path) -> None:
    """The symbol that nvidia-ml-py begins with is not there."""
    machine = stub.build(tmp_path, without=("nvmlInitWithFlags",))
    with told(machine.env()) as it:
        kind, sentence = it("open")
        assert (kind, "too old" in sentence) == ("Absent", True)


def test_one_gpu_that_is_not_ours_to_see(tmp_path: Path) -> None:
    """It is as if it were not there, but counted."""
    machine = stub.build(tmp_path, 2)
    machine.set({"err.handle.0": 4})
    with told(machine.env()) as it:
        it("open")
        assert seen(it.read()) == [("1", UUIDS[1], True)]
        assert it.errors() == {("DeviceGetHandleByIndex", "NoPermission"): 1}


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (["2", "0"], [0, 2]),
        ([UUIDS[1]], [1]),
        (["gpu-00000002"], [2]),
        (["00000001-1111"], [1]),
        (["1", UUIDS[1], "1"], [1]),
    ],
)
def test_gpus_are_chosen(tmp_path: Path, chosen: list[str], expected: list[int]) -> None:
    """By number, or by enough of the UUID; the others are not touched; one that is named twice is told once."""
    machine = stub.build(tmp_path, 3)
    with told(machine.env(), chosen) as it:
        it("open")
        assert seen(it.read()) == [(str(gpu), UUIDS[gpu], True) for gpu in expected]
        assert machine.calls()["nvmlDeviceGetTotalEnergyConsumption"] == len(expected)


def test_a_choice_that_is_not_there(tmp_path: Path) -> None:
    """The sentence names what is."""
    machine = stub.build(tmp_path, 2)
    machine.set({"lost.1": 1})
    with told(machine.env(), ["7"]) as it:
        there = f"0 ({UUIDS[0]}, NVIDIA H100 80GB HBM3), 1 (lost-1)"
        assert it("open") == ("Absent", f"no GPU '7' here; expected the number or UUID of one of: {there}")
