"""Pages about GPUs in llmload's words: each exporter's names, units and traps, in numbers worked by hand."""

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmload.gather import dcgm, gpus
from llmload.gather.page import read
from llmload.gather.seen import Sample, Seen, Unread
from llmload.record.samples import GPU_FIELDS, HOST_FIELDS

PAGES = Path(__file__).parent / "pages"
MIB = 2**20


def seen(name: str) -> Seen:
    """What a saved page tells."""
    return gpus.seen(read((PAGES / f"{name}.txt").read_text(), gpus.is_wanted).samples)


def told(page: str) -> Seen:
    """What a page with these lines tells."""
    return gpus.seen(read(page, gpus.is_wanted).samples)


def test_the_sidecars_page_is_read_by_the_names_of_the_records() -> None:
    """Values, labelled values, identity, host and age; NaN, a missing label and a lost GPU's value are left out."""
    page = seen("sidecar")
    first, second = page.gpus
    assert (first.uuid, first.gpu, first.up) == ("GPU-aa", "0", True)
    assert first.info == {"name": "Test H100", "pci_bus_id": "00000000:01:00.0", "driver_version": "570.10"}
    assert first.migs == [{"mig": "7", "mig_uuid": "MIG-1", "profile": "1g.10gb"}]
    assert first.values == {
        "energy_joules": 51234.5,
        "power_watts": 412.25,
        "clock_event_seconds.sw_power_cap": 3.5,
        "clock_event_active.sw_power_cap": 1.0,
        "xid_errors.79": 2.0,
        "mig_memory_used_bytes.7": 1048576.0,
    }
    assert (second.uuid, second.up) == ("GPU-bb", False)
    assert page.host == {"load1": 0.75, "cpu_seconds.busy": 120.5}
    assert (page.kind, page.age_s, page.stamp) == ("llmload", 0.25, 1764543200.0)


def test_a_look_becomes_the_part_of_a_line() -> None:
    """Offset = stamp + age - moment; identity once; a lost GPU has no values, and one that vanished is told as lost.

    But for one that never was there: it has no UUID of its own yet.
    """
    rows = gpus.Rows()
    line = rows.told(seen("sidecar"), 1764543200.0)
    assert (line["age_s"], line["clock_offset_ms"]) == (0.25, 250.0)
    first, second = line["gpus"]
    assert first["info"]["name"] == "Test H100"
    assert second == {"uuid": "GPU-bb", "gpu": "1", "up": False, "info": second["info"]}
    mig = 'llmload_gpu_mig_info{gpu="0",uuid="GPU-aa",mig="7",mig_uuid="MIG-1",profile="1g.10gb"} 1\n'
    again = rows.told(told(mig + 'llmload_gpu_power_watts{gpu="0",uuid="GPU-aa"} 5'), 1764543201.0)
    assert again == {
        "age_s": None,
        "clock_offset_ms": None,
        "gpus": [
            {"uuid": "GPU-aa", "gpu": "0", "up": True, "values": {"power_watts": 5.0}},
            {"uuid": "GPU-bb", "gpu": "1", "up": False},
        ],
    }
    assert rows.names() == [{"uuid": "GPU-aa", "name": "Test H100"}, {"uuid": "GPU-bb", "name": "Test H100"}]
    new = 'llmload_gpu_info{gpu="0",uuid="GPU-aa",name="Test H200"} 1\n'
    assert rows.told(told(new), 0.0)["gpus"][0]["info"] == {"name": "Test H200"}
    nameless = told('llmload_gpu_up{gpu="2",uuid="lost-2"} 0\n')
    assert {"uuid": "lost-2", "gpu": "2", "up": False} in rows.told(nameless, 0.0)["gpus"]  # type: ignore[operator]
    assert [row["uuid"] for row in rows.told(told(new), 0.0)["gpus"]] == ["GPU-aa", "GPU-bb"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("llmload_gpu_paused 1\n", "its sampling is paused; wait until that ends, or end it by POST /resume"),
        ("llmload_gpu_collect_success 0\nllmload_gpu_paused 0\n", "the sidecar has no fresh values of its GPUs"),
        ("nvidia_smi_last_collect_success 0\n", "the exporter could not read its GPUs"),
        ("up 1\n", "the page tells of no GPU"),
        ("<html>Not Found</html>", "the page tells of no GPU"),
        ("", "the page tells of no GPU"),
    ],
)
def test_a_page_without_values_says_why(page: str, words: str) -> None:
    """Paused, stale, failed or somebody else's: a sentence, never zeros."""
    with pytest.raises(Unread, match=words):
        told(page)


def test_dcgm_in_our_units() -> None:
    """mJ, MiB, MHz, percent and nanoseconds become J, bytes, Hz, ratios and seconds; blanks are no values."""
    page = seen("dcgm")
    (gpu,) = page.gpus
    assert (gpu.uuid, gpu.gpu) == ("GPU-aa", "0")
    assert gpu.info == {
        "name": "Test A100",
        "pci_bus_id": "00000000:01:00.0",
        "driver_version": "570.10",
        "host": "box",
    }
    assert gpu.values == pytest.approx(
        {
            "sm_clock_hertz": 1.41e9,
            "memory_clock_hertz": 1.215e9,
            "temperature_celsius": 61.0,
            "power_watts": 301.125,
            "energy_joules": 51234.5,
            "pcie_replays": 3.0,
            "utilization_ratio": 0.97,
            "memory_activity_ratio": 0.07,
            "xid_errors.79": 1.0,
            "memory_free_bytes": 1000 * MIB,
            "memory_used_bytes": 39000 * MIB,
            "memory_reserved_bytes": 960 * MIB,
            "memory_total_bytes": 40960 * MIB,
            "clock_event_seconds.sw_power_cap": 3.5,
            "clock_event_seconds.sw_thermal": 0.25,
            "clock_event_active.sw_power_cap": 1.0,
            "clock_event_active.sync_boost": 0.0,
            "clock_event_active.sw_thermal": 0.0,
            "clock_event_active.hw_thermal": 0.0,
            "clock_event_active.hw_power_brake": 0.0,
            "tensor_active_ratio": 0.25,
        },
        rel=1e-12,
    )
    assert page.age_s is None
    assert page.remarks == (dcgm.AGE, dcgm.TIMES)


def test_dcgm_by_its_new_names() -> None:
    """The names since 4.6; a utilization over 1 anywhere on the page says that the page has percent."""
    page = seen("dcgm-new")
    first, second = page.gpus
    assert first.values == pytest.approx(
        {
            "utilization_ratio": 0.01,
            "power_watts": 301.5,
            "power_instant_watts": 320.0,
            "power_limit_watts": 700.0,
            "energy_joules": 51234.0,
            "memory_total_bytes": 80 * 2**30,
            "temperature_celsius": 55.0,
            "clock_event_seconds.sw_power_cap": 2.5,
            "sm_active_ratio": 0.5,
            "tensor_active_ratio": 0.25,
            "dram_active_ratio": 0.75,
        }
    )
    assert second.values == pytest.approx({"utilization_ratio": 0.97})
    assert page.remarks == (dcgm.AGE,)
    ratio = told('DCGM_FI_DEV_GPU_UTIL_RATIO{gpu="0",UUID="GPU-aa"} 0.97')
    assert ratio.gpus[0].values == {"utilization_ratio": 0.97}


def test_of_old_and_new_names_the_better_counts() -> None:
    """Where a page has both, the millijoules count and not the whole joules, in whichever order they stand."""
    lines = [
        'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0",UUID="GPU-aa"} 1500',
        'DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL{gpu="0",UUID="GPU-aa"} 1',
    ]
    for page in (lines, lines[::-1]):
        assert told("\n".join(page)).gpus[0].values == {"energy_joules": 1.5}


def test_a_gpu_cut_by_mig_is_counted_once() -> None:
    """Three instances repeat the energy of the whole: 6000 J, not 18000; memory and activity are each instance's."""
    (gpu,) = seen("dcgm-mig").gpus
    assert gpu.values == {
        "energy_joules": 6000.0,
        "power_watts": 90.0,
        "mig_memory_used_bytes.7": 100.0 * MIB,
        "mig_memory_used_bytes.8": 200.0 * MIB,
        "mig_dram_active_ratio.7": 0.5,
    }
    assert [(mig["mig"], mig["profile"]) for mig in gpu.migs] == [("7", "1g.5gb"), ("8", "1g.5gb"), ("3", "2g.10gb")]


def test_nvidia_gpu_exporter() -> None:
    """Its names have base units already; the identity stands on its info."""
    page = seen("smi")
    (gpu,) = page.gpus
    assert (gpu.uuid, gpu.gpu, gpu.info) == ("aa-bb", "2", {"name": "Test RTX", "driver_version": "570.10"})
    assert gpu.values == {
        "power_watts": 28.07,
        "energy_joules": 1234.5,
        "utilization_ratio": 0.93,
        "memory_used_bytes": 706740224.0,
        "sm_clock_hertz": 1.5e9,
        "clock_event_active.sw_power_cap": 1.0,
        "clock_event_seconds.hw_thermal": 0.5,
    }


KEYS = {field.key for field in (*GPU_FIELDS, *HOST_FIELDS)}
LABELS = {"gpu": "0", "uuid": "GPU-aa", "UUID": "GPU-aa", "reason": "x", "xid": "1", "mig": "7", "severity": "y"}


@settings(max_examples=40)
@given(
    st.lists(
        st.builds(
            Sample,
            st.sampled_from(
                [*gpus.own.GPU_NAMES, *dcgm.PLACES, *dcgm.REASONS, *dcgm.LAST_XID, "llmload_gpu_up"]
                + [f"nvidia_smi_{name}" for name in gpus.smi.NAMES]
            ),
            st.sampled_from([LABELS, {**LABELS, "GPU_I_ID": "7"}, {"gpu": "0"}, {}]),
            st.floats(allow_nan=False, allow_infinity=False),
        )
    )
)
def test_whatever_a_page_tells_has_the_names_of_the_records(samples: list[Sample]) -> None:
    """Any samples lead to finite values under known keys, each GPU once, or to one sentence."""
    try:
        page = gpus.seen(samples)
    except Unread:
        return
    assert len({gpu.uuid for gpu in page.gpus}) == len(page.gpus)
    for gpu in page.gpus:
        assert {key.partition(".")[0] for key in gpu.values} <= KEYS
        assert all(math.isfinite(value) for value in gpu.values.values())


def test_all_keys_that_are_mapped_are_those_of_the_records() -> None:
    """No exporter's table has a key that nobody reads."""
    fields = {field.key: field for field in GPU_FIELDS}
    mapped = {*dcgm.NAMES, *gpus.smi.NAMES.values(), *filter(None, dcgm.OF_INSTANCES.values())}
    for key in mapped - set(dcgm.OF_INSTANCES.values()):
        assert ("." in key) == (fields[key.partition(".")[0]].label is not None)
    assert {key.partition(".")[0] for key in mapped} <= set(fields)


def test_an_age_that_cannot_be_is_not_told() -> None:
    """Neither from the future nor of years ago."""
    stamp = 'llmload_gpu_up{gpu="0",uuid="GPU-aa"} 1\nllmload_gpu_collect_timestamp_seconds 5\n'
    found = {}
    for age in ("-1", "0", "86400", "1e300"):
        line = gpus.Rows().told(told(f"{stamp}llmload_gpu_collect_age_seconds {age}"), 5.0)
        found[age] = line["age_s"], line["clock_offset_ms"]
    assert found == {"-1": (None, None), "0": (0.0, 0.0), "86400": (86400.0, 86400e3), "1e300": (None, None)}
