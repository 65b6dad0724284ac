"""Looks for secrets in what is to be given away: values that are known, and shapes that keys have. Pure.

It says where and what kind, never what. A find may be a false one; who packs a run looks at the place and decides.
"""

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote

SHORTEST = 8
"""Characters of a value that is looked for; a shorter one (`none`, `EMPTY`) may stand anywhere."""
NAMED = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS)S?$", re.IGNORECASE)
"""Names of environment variables that hold secrets end so."""

SHAPES: tuple[tuple[str, tuple[bytes, ...], re.Pattern[bytes]], ...] = (
    (
        "a bearer token",
        (b"bearer",),
        re.compile(rb"bearer(?:\s+|%20)(?:(?=[\w.~+/=-]*\d)[\w.~+/=-]{8,}|[\w.~+/=-]{24,})", re.IGNORECASE),
    ),
    (
        "an Authorization header",
        (b"authorization",),
        re.compile(rb"authorization[\"'\\]*\s*[:=]\s*[\"'\\]*(?:basic\s+)?(?!bearer)[\w.~+/=-]{8,}", re.IGNORECASE),
    ),
    (
        "an API key",
        (b"api",),
        re.compile(rb"(?:\b|_)api[-_]?key[\"'\\]*\s*[:=]\s*[\"'\\]*[\w.~+/=-]{8,}", re.IGNORECASE),
    ),
    ("a key (sk-…)", (b"sk-",), re.compile(rb"(?<![\w-])sk-[\w-]{12,}")),
    ("a Hugging Face token (hf_…)", (b"hf_",), re.compile(rb"(?<!\w)hf_[A-Za-z0-9]{16,}")),
    ("an NVIDIA key (nvapi-…)", (b"nvapi-",), re.compile(rb"(?<!\w)nvapi-[\w-]{16,}")),
    ("a GitHub token", (b"ghp_", b"github_pat_"), re.compile(rb"(?<!\w)(?:ghp|github_pat)_\w{20,}")),
    ("an AWS key", (b"akia",), re.compile(rb"(?<!\w)AKIA[0-9A-Z]{16}(?!\w)")),
    ("a signed token (JWT)", (b"eyj",), re.compile(rb"(?<!\w)eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*")),
    ("a user and password in a URL", (b"://",), re.compile(rb"://[^\s/?#\"'<>@:]*:[^\s/?#\"'<>@]+@")),
    (
        "a password",
        (b"passw",),
        re.compile(rb"passw(?:or)?d[\"'\\]*\s*[:=]\s*[\"'\\]*(?=[^\s\"'\\,;&<>]*\d)[^\s\"'\\,;&<>]{8,}", re.IGNORECASE),
    ),
    (
        "a cookie",
        (b"cookie",),
        re.compile(rb"cookie[\"'\\]*\s*:\s*[\"'\\]*[\w-]+=[\w.%~+/=-]{8,}", re.IGNORECASE),
    ),
    ("a private key", (b"private key",), re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY")),
)
"""What it is called, what has to stand in a line in lower case for it to be looked at closely, and its shape."""


@dataclass(frozen=True, slots=True)
class Find:
    """Something that looks like a secret."""

    line: int
    """From 1."""
    what: str
    """In words, without the secret."""


def secrets_of(environment: Mapping[str, str], named: Iterable[str] = ()) -> dict[str, bytes]:
    """Values that must not be given away, by the name of their variable: those `named`, and those called so."""
    wanted = {*named, *(name for name in environment if NAMED.search(name))}
    values = {name: environment.get(name, "").strip() for name in sorted(wanted)}
    return {name: value.encode("utf-8", "surrogateescape") for name, value in values.items() if len(value) >= SHORTEST}


def find(lines: Iterable[bytes], secrets: Mapping[str, bytes]) -> Iterator[Find]:
    """What looks like a secret, line by line; each line once for each kind."""
    forms = [(name, form) for name, value in secrets.items() for form in _forms(value)]
    for number, line in enumerate(lines, 1):
        for name in dict.fromkeys(name for name, form in forms if form in line):
            yield Find(number, f"the value of {name}")
        lower = line.lower()
        for what, anchors, shape in SHAPES:
            if any(anchor in lower for anchor in anchors) and shape.search(line):
                yield Find(number, what)


def _forms(value: bytes) -> set[bytes]:
    """A value as it stands in text, JSON, HTML, URLs, and in base64 wherever it begins there."""
    text = value.decode("utf-8", "surrogateescape")
    written = {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], html.escape(text)}
    coded = {_base64(value, before) for before in range(3)}
    return {form.encode("utf-8", "surrogateescape") for form in written} | {quote(value, safe="").encode()} | coded


def _base64(value: bytes, before: int) -> bytes:
    """The digits that are the value's alone where so many bytes stand before it; all others hang on its neighbours."""
    digits = base64.b64encode(bytes(before) + value).rstrip(b"=")
    return digits[(0, 2, 3)[before] : (before + len(value)) * 8 // 6]
