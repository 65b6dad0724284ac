"""The instances that a GPU is cut into by MIG: their memory, and what they do. Energy and clocks are the GPU's."""

from dataclasses import dataclass
from typing import Any

import pynvml as nvml

from llmload.sidecar.nvml.calls import Calls, words
from llmload.sidecar.nvml.gpm import Gpm

TOLD = ("sm_active_ratio", "tensor_active_ratio", "dram_active_ratio")


@dataclass(slots=True)
class Instance:
    """One instance."""

    handle: Any
    labels: dict[str, str]
    gpm: Gpm


class Migs:
    """The instances of one GPU."""

    def __init__(self, calls: Calls, gpu: str, handle: Any) -> None:
        self._calls = calls
        self._gpu = gpu
        self._handle = handle
        self._instances: dict[str, Instance] = {}

    def look(self) -> None:
        """See which there are now."""
        mode = self._calls.ask(nvml.nvmlDeviceGetMigMode, self._handle, gpu=self._gpu)
        places = 0
        if mode is not None and mode[0]:
            places = self._calls.ask(nvml.nvmlDeviceGetMaxMigDeviceCount, self._handle, gpu=self._gpu) or 0
        there = {}
        for place in range(places):
            handle = self._calls.ask(
                nvml.nvmlDeviceGetMigDeviceHandleByIndex,
                self._handle,
                place,
                gpu=self._gpu,
                nothing=nvml.NVML_ERROR_NOT_FOUND,  # an empty place
            )
            uuid = None if handle is None else self._calls.ask(nvml.nvmlDeviceGetUUID, handle, gpu=self._gpu)
            if uuid is not None:
                there[words(uuid)] = handle
        for gone in self._instances.keys() - there.keys():
            self._instances.pop(gone).gpm.free()
        for uuid, handle in there.items():
            self._calls.again(uuid)
            if uuid not in self._instances and (instance := self._instance(uuid, handle)):
                self._instances[uuid] = instance

    def _instance(self, uuid: str, handle: Any) -> Instance | None:
        slice_ = self._calls.ask(nvml.nvmlDeviceGetGpuInstanceId, handle, gpu=uuid)
        compute = self._calls.ask(nvml.nvmlDeviceGetComputeInstanceId, handle, gpu=uuid)
        if slice_ is None or compute is None:
            return None
        name = words(self._calls.ask(nvml.nvmlDeviceGetName, handle, gpu=uuid) or "")  # "NVIDIA H100 … MIG 1g.10gb"
        labels = {"mig": f"{slice_}/{compute}", "mig_uuid": uuid, "profile": name.rpartition("MIG ")[2]}
        return Instance(handle, labels, Gpm(self._calls, uuid, nvml.nvmlGpmMigSampleGet, self._handle, slice_))

    def labels(self) -> tuple[dict[str, str], ...]:
        """What tells them apart: the number of the GPU instance and of the compute instance in it, UUID, profile."""
        return tuple(instance.labels for instance in self._instances.values())

    def read(self) -> dict[str, float]:
        """Their values."""
        values = {}
        for uuid, instance in self._instances.items():
            mig = instance.labels["mig"]
            memory = self._calls.ask(nvml.nvmlDeviceGetMemoryInfo, instance.handle, gpu=uuid)
            if memory is not None:
                values[f"mig_memory_total_bytes.{mig}"] = float(memory.total)
                values[f"mig_memory_used_bytes.{mig}"] = float(memory.used)
            for key, value in instance.gpm.read().items():
                if key in TOLD:
                    values[f"mig_{key}.{mig}"] = value
        return values

    def free(self) -> None:
        """Give back what they hold."""
        for instance in self._instances.values():
            instance.gpm.free()
        self._instances = {}
