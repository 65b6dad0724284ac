"""The page of `llmload sidecar`: its names are those of `record.samples`. Pure."""

from collections.abc import Mapping, Sequence

from llmload.gather.seen import Gpu, Gpus, Sample, Seen, Unread
from llmload.record.samples import (
    GPU_FIELDS,
    GPU_INFO,
    GPU_PREFIX,
    HOST_FIELDS,
    HOST_PREFIX,
    MIG_INFO,
    Field,
    name_of,
)

GPU_NAMES = {name_of(GPU_PREFIX, field): field for field in GPU_FIELDS}
HOST_NAMES = {name_of(HOST_PREFIX, field): field for field in HOST_FIELDS}


def seen(samples: Sequence[Sample]) -> Seen:
    """The GPUs and their host. Raises Unread while the sidecar is paused or has nothing fresh."""
    gpus = Gpus()
    host: dict[str, float] = {}
    health: dict[str, float] = {}
    for name, labels, value in samples:
        if name in HOST_NAMES:
            _put(host, HOST_NAMES[name], labels, value)
        elif uuid := labels.get("uuid"):
            _tell(gpus[uuid], name, labels, value)
        else:
            health[name.removeprefix(GPU_PREFIX)] = value
    if health.get("paused"):
        raise Unread("its sampling is paused; wait until that ends, or end it by POST /resume")
    if health.get("collect_success") == 0 and not any(gpu.values or not gpu.up for gpu in gpus.values()):
        raise Unread("the sidecar has no fresh values of its GPUs")
    age, stamp = health.get("collect_age_seconds"), health.get("collect_timestamp_seconds")
    return Seen("llmload", list(gpus.values()), host, age_s=age, stamp=stamp)


def _tell(gpu: Gpu, name: str, labels: Mapping[str, str], value: float) -> None:
    """Put a series of a GPU where it belongs."""
    gpu.gpu = gpu.gpu or labels.get("gpu", "")
    match name.removeprefix(GPU_PREFIX):
        case "up":
            gpu.up = value > 0
        case "info":
            gpu.info = {key: labels[key] for key in GPU_INFO if labels.get(key)}
        case "mig_info":
            gpu.migs.append({key: labels.get(key, "") for key in MIG_INFO})
        case _ if name in GPU_NAMES:
            _put(gpu.values, GPU_NAMES[name], labels, value)


def _put(values: dict[str, float], field: Field, labels: Mapping[str, str], value: float) -> None:
    """Set a value of this field, if it has the label that it has to have."""
    if field.label is None:
        values[field.key] = value
    elif field.label in labels:
        values[f"{field.key}.{labels[field.label]}"] = value
