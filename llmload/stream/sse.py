"""Server-sent events out of bytes that arrive in pieces, by the rules of the HTML standard (section 9.2).

Bytes in, blocks out: `(name, data)`, both bytes, data lines joined by LF. LF, CR LF and CR end a line, each at once:
behind a CR an event is complete, and an LF that follows in the next read is passed over. Comments and unknown fields
give nothing. Knows no JSON and no clock.

The usual read holds one whole event, `data: …` LF LF. It is told apart by two searches in C and costs no more.
"""

MARK = b"\xef\xbb\xbf"
FIELDS = (b"data", b"event", b"id", b"retry")
Block = tuple[bytes, bytes]
"""Name of the event (empty if none was given) and its data."""


class Parser:
    """Fed with the bytes of one body in order; torn anywhere, the same blocks come out."""

    __slots__ = (
        "_cr", "_data", "_held", "_known", "_name", "_pieces", "_plain", "_started", "_stray", "_stray_size",
        "overlong",
    )  # fmt: skip

    STRAY_LIMIT = 65536
    LIMIT = 1 << 24
    """Bytes of one event, or of one line, without its end: no chunk is that large, and memory is not for a server to
    fill."""

    def __init__(self) -> None:
        self._plain = False
        """At the start of a block, nothing kept back: a whole event may be taken as it is."""
        self._started = False
        """The first line is behind us; only it may begin with a byte order mark."""
        self._cr = False
        """The last byte was a CR, so an LF that comes next belongs to it."""
        self._pieces: list[bytes] = []
        """The beginning of a line whose end has not come."""
        self._data: list[bytes] = []
        self._name = b""
        self._known = False
        self._stray: list[bytes] = []
        self._stray_size = 0
        self._held = 0
        """Bytes that are kept because their line or their event has no end yet."""
        self.overlong = False
        """More than `LIMIT` was kept; nothing is read any more."""

    @property
    def known(self) -> bool:
        """True once a line was seen that has a meaning in SSE; a body without one is something else."""
        return self._known

    @property
    def stray(self) -> bytes:
        """Lines without a meaning in SSE, the first 64 KiB of them: what the body is if it is no SSE."""
        return b"\n".join([*self._stray, b"".join(self._pieces)])[: self.STRAY_LIMIT]

    @property
    def stray_full(self) -> bool:
        """True if more meaningless bytes came than are kept."""
        return self._stray_size >= self.STRAY_LIMIT

    def feed(self, data: bytes) -> list[Block]:
        """The blocks that these bytes complete."""
        if self._plain:
            end = len(data) - 2
            # The first LF is the last but one byte and the last byte is one too: a single line and its blank line.
            if data.find(b"\n") == end and data.endswith(b"\n\n") and data.startswith(b"data: ") and b"\r" not in data:
                return [(b"", data[6:end])]
        return [] if self.overlong else self._lines(data)

    def finish(self) -> list[Block]:
        """The block that the end of the body cut off, if any: its last line or its blank line did not come.

        A body that was cut within the name of its first field has a meaning too: it says nothing, but nothing foreign.
        """
        rest = b"".join(self._pieces)
        self._pieces.clear()
        beginnings = FIELDS if self._started else (*FIELDS, *(MARK + name for name in FIELDS))
        if rest and not self._stray and any(name.startswith(rest) and name != rest for name in beginnings):
            self._known = True
        elif rest:
            self._line(rest)
        return self._dispatch()

    def _lines(self, data: bytes) -> list[Block]:
        if self._cr and data.startswith(b"\n"):
            data = data[1:]
            self._cr = False
        if not data:
            return []
        self._cr = data.endswith(b"\r")
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *whole, rest = data.split(b"\n")
        if whole and self._pieces:
            self._held -= sum(map(len, self._pieces))
            whole[0] = b"".join([*self._pieces, whole[0]])
            self._pieces.clear()
        blocks: list[Block] = []
        for line in whole:
            if line:
                self._line(line)
            else:
                self._started = True
                blocks += self._dispatch()
        if rest:
            self._pieces.append(rest)
            self._held += len(rest)
        if self._held > self.LIMIT:
            self._give_up()
        self._plain = self._started and not (self._pieces or self._data or self._name or self._cr or self.overlong)
        return blocks

    def _line(self, line: bytes) -> None:
        if not self._started:
            self._started = True
            line = line.removeprefix(MARK)
        field, colon, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
            self._held += len(value)
        elif field == b"event":
            self._name = value
        elif not (field in {b"id", b"retry"} or (colon and not field)):
            if self._stray_size < self.STRAY_LIMIT:
                self._stray.append(line)
            self._stray_size += len(line) + 1
            return
        self._known = True

    def _dispatch(self) -> list[Block]:
        """End a block. A block that only names an event is kept too: `event: error` says enough."""
        if not (self._data or self._name):
            return []
        block = (self._name, b"\n".join(self._data))
        self._name = b""
        self._data.clear()
        self._held = 0  # a block ends with a line, so no piece of one is kept
        return [block]

    def _give_up(self) -> None:
        """Too much for one event: forget it, but not what the body seems to be."""
        self.overlong = True
        line = b"".join(self._pieces)
        self._pieces.clear()
        if line:
            self._line(line[: self.STRAY_LIMIT])
        self._name = b""
        self._data.clear()
