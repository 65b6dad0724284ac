"""NVIDIA's GPUs, through NVML and nvidia-ml-py: the one part that knows them."""

from llmload.sidecar.nvml.driver import Backend

__all__ = ["Backend"]
