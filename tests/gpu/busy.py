"""Keep GPU 0 busy for some seconds, through the CUDA driver alone: `python -m tests.gpu.busy SECONDS`.

Says `busy` when the first kernel runs. Needs no toolkit: the driver compiles the text below. 1024 blocks of 256 threads
multiply and add in a chain of 2^20 steps, some ten milliseconds a launch, again and again.
"""

import ctypes
import sys
import time

PTX = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry busy(.param .u64 unused)
{
    .reg .pred %p;
    .reg .u32 %i;
    .reg .f32 %x;
    mov.u32 %i, 0;
    mov.f32 %x, 0f3F800000;
again:
    fma.rn.f32 %x, %x, %x, %x;
    add.u32 %i, %i, 1;
    setp.lt.u32 %p, %i, 1048576;
    @%p bra again;
    setp.eq.f32 %p, %x, 0f40490FDB;
    @%p trap;
    ret;
}
\0"""
"""The trap keeps the compiler from leaving the sum out; it is never reached, the sum being infinite."""


class CudaError(Exception):
    """A call of the CUDA driver that failed."""


def must(name: str, code: int) -> None:
    """Go on only if it went well."""
    if code:
        raise CudaError(f"{name} answered {code}")


def busy(seconds: float) -> None:
    """Launch kernels for so long."""
    cuda = ctypes.CDLL("libcuda.so.1")
    device, context, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    must("cuInit", cuda.cuInit(0))
    must("cuDeviceGet", cuda.cuDeviceGet(ctypes.byref(device), 0))
    must("cuDevicePrimaryCtxRetain", cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    must("cuCtxSetCurrent", cuda.cuCtxSetCurrent(context))
    must("cuModuleLoadData", cuda.cuModuleLoadData(ctypes.byref(module), PTX))
    must("cuModuleGetFunction", cuda.cuModuleGetFunction(ctypes.byref(function), module, b"busy"))
    unused = ctypes.c_uint64(0)
    params = (ctypes.c_void_p * 1)(ctypes.addressof(unused))
    end = time.monotonic() + seconds
    said = False
    while time.monotonic() < end:
        for _ in range(4):
            must(
                "cuLaunchKernel",
                cuda.cuLaunchKernel(function, 1024, 1, 1, 256, 1, 1, 0, None, params, None),
            )
        must("cuCtxSynchronize", cuda.cuCtxSynchronize())
        if not said:
            print("busy", flush=True)
            said = True


if __name__ == "__main__":
    busy(float(sys.argv[1]))
