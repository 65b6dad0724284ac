"""How weights are stored, as far as a name says so: `Q4_K_M`, `awq`, `fp8`, … and the bits of one weight. Pure.

Only for names that a server tells of its model: a file, a folder, a repository. A name that says nothing gives nothing.
"""

import re

ALONE = r"(?<![a-z0-9]){}(?![a-z0-9])"

GGUF = re.compile(ALONE.format(r"((?:i|t)?q([1-8])_[a-z0-9]+(?:_[a-z0-9]+)?|mxfp(4)(?:_moe)?)"), re.IGNORECASE)
"""llama.cpp's kinds: the digit is the bits, without the scales of their blocks."""

KINDS: tuple[tuple[re.Pattern[str], int | None], ...] = (
    (re.compile(ALONE.format("(nvfp4|mxfp4)")), 4),
    (re.compile(ALONE.format("(fp8|float8|fp8[-_]e[45]m[23])")), 8),
    (re.compile(ALONE.format("(w4a16|w4a8|w4a4)")), 4),
    (re.compile(ALONE.format("(w8a8|w8a16)")), 8),
    (re.compile(ALONE.format("(awq)(?:_marlin)?")), None),
    (re.compile(ALONE.format("(gptq)(?:_marlin)?")), None),
    (re.compile(ALONE.format("(int4|4[-_]?bit|q4)")), 4),
    (re.compile(ALONE.format("(int8|8[-_]?bit|q8)")), 8),
    (re.compile(ALONE.format("(bf16|bfloat16|fp16|f16|float16)")), 16),
    (re.compile(ALONE.format("(fp32|f32|float32)")), 32),
)
"""The rest, the telling ones first."""

BITS = re.compile(ALONE.format(r"(?:int([2348])|([2348])[-_]?bits?|w([2348])a\d+)"))
USUAL = {"awq": 4}
"""Bits of kinds that hardly ever have others, where the name does not say them."""

FORMATS = (
    (re.compile(r"\.gguf$|" + ALONE.format("gguf")), "gguf"),
    (re.compile(ALONE.format("awq")), "awq"),
    (re.compile(ALONE.format("gptq")), "gptq"),
    (re.compile(ALONE.format("mlx")), "mlx"),
    (re.compile(r"\.safetensors$"), "safetensors"),
)


def quantization(name: str) -> tuple[str, int | None] | None:
    """The kind of quantisation that a name says, and the bits of a weight; None if it says none."""
    low = name.lower()
    if found := GGUF.search(low):
        return found[1].upper(), int(found[2] or found[3])
    for pattern, bits in KINDS:
        if found := pattern.search(low):
            return found[1], bits or said_bits(low) or USUAL.get(found[1])
    return None


def said_bits(low: str) -> int | None:
    """The bits that a name says beside the kind."""
    said = BITS.search(low)
    return None if said is None else int(next(filter(None, said.groups())))


def file_format(name: str) -> str | None:
    """The format of the weights that a name says."""
    low = name.lower()
    return next((kind for pattern, kind in FORMATS if pattern.search(low)), None)
