"""The page, line by line."""

from prometheus_client import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from llmload.record.samples import GPU_FIELDS, GPU_PREFIX, HOST_FIELDS, HOST_PREFIX, name_of
from llmload.sidecar.backend import Gone, Reading
from llmload.sidecar.page import Page
from tests.sidecar.scripted import Made, Scripted, gpu


def page(sampler: Made, library: str = "nvml") -> list[str]:
    """Its lines, without those of the process."""
    text = generate_latest(Page(sampler, library).registry).decode()
    return [line for line in text.splitlines() if "process_" not in line]


def samples(sampler: Made) -> list[str]:
    """Lines with values, of GPUs and host."""
    own = ("collect", "backend", "nvml", "paused")
    return [line for line in page(sampler) if not line.startswith(("#", *(f"{GPU_PREFIX}{key}" for key in own)))]


def test_one_gpu_and_one_that_is_lost() -> None:
    """Values have gpu and uuid, identity stands once, a lost GPU has nothing but up 0."""
    here = gpu(
        0, energy_joules=51234.5, **{"clock_event_seconds.sw_power_cap": 3.0, "clock_event_active.sw_power_cap": 1}
    )
    sampler = Made(Scripted([here, gpu(1)]), host=lambda: {"load1": 0.5, "cpu_seconds.busy": 12.0})
    sampler.look()
    sampler._backend.gpus = [here, Reading("1", "U1", up=False)]  # type: ignore[attr-defined]
    sampler.look()
    who = 'gpu="0",uuid="U0"'
    assert samples(sampler) == [
        f"llmload_gpu_up{{{who}}} 1.0",
        'llmload_gpu_up{gpu="1",uuid="U1"} 0.0',
        'llmload_gpu_info{cuda_version="12.9",driver_version="575",gpu="0",name="H100",pci_bus_id="0:1",uuid="U0"} 1.0',
        f"llmload_gpu_energy_joules_total{{{who}}} 51234.5",
        'llmload_gpu_clock_event_active{gpu="0",reason="sw_power_cap",uuid="U0"} 1.0',
        'llmload_gpu_clock_event_seconds_total{gpu="0",reason="sw_power_cap",uuid="U0"} 3.0',
        'llmload_host_cpu_seconds_total{mode="busy"} 12.0',
        "llmload_host_load1 0.5",
    ]


def test_its_own_health() -> None:
    """Success, when, how old, how long, how often, errors and calls; buckets add up."""
    source = Scripted([gpu()], errors={("power", "NoPermission"): 2})
    sampler = Made(source)
    sampler.look(100.0)
    source.fault = Gone("away")
    sampler.look(101.0)
    lines = page(sampler)
    for line in (
        "llmload_gpu_collect_success 0.0",
        "llmload_gpu_collect_age_seconds 1.0",
        'llmload_gpu_collect_duration_seconds_bucket{le="0.0005"} 1.0',
        'llmload_gpu_collect_duration_seconds_bucket{le="1.0"} 1.0',
        'llmload_gpu_collect_duration_seconds_bucket{le="+Inf"} 1.0',
        "llmload_gpu_collect_duration_seconds_count 1.0",
        'llmload_gpu_collections_total{outcome="ok"} 1.0',
        'llmload_gpu_collections_total{outcome="gone"} 1.0',
        'llmload_gpu_collections_total{outcome="error"} 0.0',
        'llmload_gpu_nvml_errors_total{error="NoPermission",operation="power"} 2.0',
        "llmload_gpu_backend_calls_total 2.0",
        "llmload_gpu_paused 0.0",
    ):
        assert line in lines
    assert any(line.startswith("llmload_gpu_collect_timestamp_seconds ") for line in lines)
    assert samples(sampler) == []
    assert any(line.startswith("# HELP llmload_gpu_amdsmi_errors_total") for line in page(sampler, "amdsmi"))
    assert not any("errors" in line for line in page(sampler, ""))


def test_values_are_gone_when_old_or_paused() -> None:
    """The page still answers; what it tells of itself stays."""
    sampler = Made(Scripted([gpu()]))
    sampler.look(100.0)
    assert samples(sampler)
    sampler.pause(10.0)
    assert samples(sampler) == []
    assert {"llmload_gpu_paused 1.0", "llmload_gpu_collect_success 0.0"} <= set(page(sampler))
    sampler.resume()
    assert samples(sampler)
    sampler.now = 103.5
    assert samples(sampler) == []
    assert {"llmload_gpu_paused 0.0", "llmload_gpu_collect_success 0.0"} <= set(page(sampler))


def test_every_field_of_the_contract_has_its_name() -> None:
    """All of them at once, MIG included: the names of record/samples.py, also in the newer format."""
    values = {field.key + (".0" if field.label else ""): 1.0 for field in GPU_FIELDS}
    host = {field.key + (".busy" if field.label else ""): 1.0 for field in HOST_FIELDS}
    here = Reading("0", "U0", migs=({"mig": "0", "mig_uuid": "MIG-1", "profile": "1g.10gb"},), values=values)
    sampler = Made(Scripted([here]), host=lambda: host)
    sampler.look()
    text = openmetrics(Page(sampler, "nvml").registry).decode()  # type: ignore[no-untyped-call]
    families = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    names = {sample.name for family in families for sample in family.samples}
    assert {name_of(GPU_PREFIX, field) for field in GPU_FIELDS} <= names
    assert {name_of(HOST_PREFIX, field) for field in HOST_FIELDS} <= names
    assert 'llmload_gpu_mig_info{gpu="0",mig="0",mig_uuid="MIG-1",profile="1g.10gb",uuid="U0"} 1.0' in text
    assert "_created" not in text
