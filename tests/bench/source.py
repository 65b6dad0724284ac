"""A server that says when it sent: every event holds the clock of this process at the moment of its own send.

One process, one thread, raw sockets. Tokens of a stream come at a fixed pace with a random phase; the clock is
CLOCK_MONOTONIC, which all processes of a machine share, so a reader's stamp minus the number in the event is the
error of that stamp. As many tokens as `max_tokens` says, then finish reason, usage and [DONE].
"""

import argparse
import contextlib
import heapq
import json
import random
import select
import socket
import time
from dataclasses import dataclass

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNK = (
    '{"id":"chatcmpl-bench-0123456789","object":"chat.completion.chunk","created":1700000000,"model":"bench",'
    '"system_fingerprint":"fp_0123456789","choices":[{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}]}'
)

NAP_S = 0.001
"""Requests are looked for at least this often."""
LEAST_NAP_S = 0.0002
"""What falls due within this goes out together, as an engine sends the tokens of a step; it keeps the server cheap."""


def framed(*payloads: str) -> bytes:
    """Events in one HTTP chunk."""
    body = "".join(f"data: {payload}\n\n" for payload in payloads).encode()
    return b"%x\r\n%s\r\n" % (len(body), body)


BEFORE, AFTER = framed(CHUNK % ('{"content":"' + "#" * 19 + ' "}', "null")).split(b"#" * 19)


def last(tokens: int) -> bytes:
    """What ends a stream."""
    usage = {"prompt_tokens": 8, "completion_tokens": tokens, "total_tokens": tokens + 8}
    counted = json.dumps({"id": "chatcmpl-bench-0123456789", "model": "bench", "choices": [], "usage": usage})
    return framed(CHUNK % ("{}", '"stop"'), counted, "[DONE]") + b"0\r\n\r\n"


@dataclass(eq=False, slots=True)
class Stream:
    """One connection and the answer that is running on it."""

    sock: socket.socket
    buffer: bytes = b""
    left: int = 0
    tokens: int = 0


class Source:
    """Serves until it is killed."""

    def __init__(self, interval_ns: int) -> None:
        self.interval_ns = interval_ns
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.listener.setblocking(False)
        self.poll = select.epoll()
        self.poll.register(self.listener.fileno(), select.EPOLLIN)
        self.streams: dict[int, Stream] = {}
        self.plan: list[tuple[int, int, Stream]] = []
        self.random = random.Random(1)

    def serve(self) -> None:
        """Send what is due, sleep until the next is, take in requests in between."""
        plan, number = self.plan, 0
        while True:
            now = time.perf_counter_ns()
            while plan and plan[0][0] <= now:
                due, _, stream = plan[0]
                if self.send(stream):
                    number += 1
                    # Never two events of a stream at once to catch up: the kernel would merge them, and the first
                    # would look late through no fault of the reader.
                    due = due + self.interval_ns if now - due < self.interval_ns // 4 else now + self.interval_ns
                    heapq.heapreplace(plan, (due, number, stream))
                else:
                    heapq.heappop(plan)
                now = time.perf_counter_ns()
            rest = (plan[0][0] - now) / 1e9 if plan else NAP_S
            time.sleep(min(max(rest, LEAST_NAP_S), NAP_S))
            for fd, _ in self.poll.poll(0):
                self.accept() if fd == self.listener.fileno() else self.read(self.streams[fd])

    def accept(self) -> None:
        """Take all new connections."""
        with contextlib.suppress(BlockingIOError):
            while True:
                sock, _ = self.listener.accept()
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sock.setblocking(False)
                self.streams[sock.fileno()] = Stream(sock)
                self.poll.register(sock.fileno(), select.EPOLLIN)

    def read(self, stream: Stream) -> None:
        """Take in a request; once it is whole its answer begins."""
        try:
            data = stream.sock.recv(65536)
        except OSError:
            data = b""
        if not data:
            self.drop(stream)
            return
        stream.buffer += data
        head, found, body = stream.buffer.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        if len(body) < length:
            return
        stream.buffer = body[length:]
        stream.left = stream.tokens = json.loads(body[:length])["max_tokens"]
        stream.sock.send(HEAD)
        due = time.perf_counter_ns() + self.random.randrange(self.interval_ns)
        heapq.heappush(self.plan, (due, -self.random.randrange(1 << 30), stream))

    def send(self, stream: Stream) -> bool:
        """Send the next event; False when the answer is over."""
        try:
            if stream.left:
                stream.left -= 1
                stream.sock.send(b"%s%019d%s" % (BEFORE, time.perf_counter_ns(), AFTER))
                return True
            if stream.tokens:
                stream.sock.send(last(stream.tokens))
        except OSError:
            stream.left = 0
        return False

    def drop(self, stream: Stream) -> None:
        """Forget a connection."""
        stream.left = stream.tokens = 0
        self.poll.unregister(stream.sock.fileno())
        del self.streams[stream.sock.fileno()]
        stream.sock.close()


def main() -> None:
    """Serve at the pace asked for; the first line says on which port."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--interval-ms", type=float, default=20.0)
    source = Source(int(parser.parse_args().interval_ms * 1e6))
    print(source.listener.getsockname()[1], flush=True)
    source.serve()


if __name__ == "__main__":
    main()
