"""Where there is no NVML there is nothing here: these tests are not collected, and nothing is skipped.

On a machine with an NVIDIA driver they run with all others; alone, with the table of call times to be seen and kept:

    LLMLOAD_GPU_OUT=. python -m pytest tests/gpu
    python -m tests.gpu.measure              # the table alone; with --busy beside a kernel that keeps the GPU busy
"""

import ctypes

try:
    ctypes.CDLL("libnvidia-ml.so.1")
except OSError:
    collect_ignore_glob = ["test_*.py"]
