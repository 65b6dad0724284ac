"""Encoded bodies, decoded as they come."""

import zlib

import pytest

from llmload.send.encoding import decoder

TEXT = b"data: A\n\n" * 3


@pytest.mark.parametrize(("name", "wbits"), [("gzip", 31), ("deflate", 15), ("deflate", -15), ("X-GZIP", 31)])
def test_each_flush_can_be_read_at_once(name: str, wbits: int) -> None:
    """gzip, and deflate in both of its meanings."""
    machine = zlib.compressobj(6, zlib.DEFLATED, wbits)
    decode = decoder(name)
    assert decode is not None
    for piece in (b"data: A\n\n", b"data: B\n\n"):
        assert decode(machine.compress(piece) + machine.flush(zlib.Z_SYNC_FLUSH)) == piece
    assert decode(machine.flush()) == b""


def test_byte_by_byte() -> None:
    """Where the bytes are cut changes nothing."""
    data = zlib.compress(TEXT)
    decode = decoder("deflate")
    assert decode is not None
    assert b"".join(decode(data[k : k + 1]) for k in range(len(data))) == TEXT


def test_identity_unknown_and_broken() -> None:
    """No encoding needs no decoder; an unknown or broken one is a ValueError."""
    assert decoder("identity") is None
    with pytest.raises(ValueError, match="'zstd'"):
        decoder("zstd")
    decode = decoder("gzip")
    assert decode is not None
    with pytest.raises(ValueError, match="header"):
        decode(b"no gzip at all")


def test_a_read_that_decodes_to_too_much_is_refused() -> None:
    """Some 16 KiB of gzip hold 17 MiB of blanks."""
    machine = zlib.compressobj(9, zlib.DEFLATED, 31)
    data = machine.compress(b" " * (17 << 20)) + machine.flush()
    decode = decoder("gzip")
    assert decode is not None
    with pytest.raises(ValueError, match="more than 16 MiB"):
        decode(data)
