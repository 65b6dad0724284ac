"""Content encodings. Identity is asked for; a box in between may encode all the same, and the stream is still read."""

import importlib.util
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

Decode = Callable[[bytes], bytes]
"""Takes the next encoded bytes of a body, gives what can be decoded so far. Raises ValueError for what is broken."""

LIMIT = 1 << 24
"""Bytes that one read may decode to: tokens are not that many, and memory is not for a server to fill."""


class Inflate:
    """gzip; or deflate, with or without the zlib head that the standard wants and some servers leave out."""

    def __init__(self, *, headless: bool = False) -> None:
        self._headless = headless
        self._machine: Any = None

    def __call__(self, data: bytes) -> bytes:
        """Decode the next bytes."""
        if self._machine is None:
            bare = self._headless and not (data[0] & 0x0F == 8 and data[0] >> 4 <= 7)
            self._machine = zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS | 32)
        try:
            decoded = bytes(self._machine.decompress(data, LIMIT))
        except zlib.error as error:
            raise ValueError(str(error)) from error
        if self._machine.unconsumed_tail:
            raise ValueError(f"one read of it holds more than {LIMIT >> 20} MiB")
        return decoded


def brotli() -> Decode:
    """The decoder of the brotli package, which is there only if something else brought it."""
    import brotli as package  # type: ignore[import-not-found, import-untyped, unused-ignore]  # may be absent

    machine = package.Decompressor()

    def decode(data: bytes) -> bytes:
        try:
            return bytes(machine.process(data))
        except package.error as error:
            raise ValueError(str(error)) from error

    return decode


DECODERS: dict[str, Callable[[], Decode]] = {
    "gzip": Inflate,
    "x-gzip": Inflate,
    "deflate": partial(Inflate, headless=True),
}
if importlib.util.find_spec("brotli") is not None:
    DECODERS["br"] = brotli


def decoder(name: str) -> Decode | None:
    """A decoder for a Content-Encoding header; None for identity. Raises ValueError for one that is not known."""
    wanted = name.strip().lower()
    if wanted in {"", "identity"}:
        return None
    if wanted not in DECODERS:
        raise ValueError(f"the body is encoded as {wanted[:40]!r}, which nobody asked for and llmload cannot read")
    return DECODERS[wanted]()
