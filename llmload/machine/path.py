"""The way from here to an endpoint: which interface, whether it leaves the machine at all, and its round trip.

Opens a handful of connections and says nothing on them: the kernel times the handshake of each (TCP_INFO), and where
it tells nothing the time to connect stands in. Raises nothing: what cannot be found out is left out.
"""

import contextlib
import ipaddress
import socket
import statistics
import struct
import time
from typing import Any

import psutil

CONNECTIONS = 5
CONNECT_S = 1.0
"""One may take so long; the first that fails is the last that is tried."""
RTT_AT = 68
"""Where `tcpi_rtt` (µs) stands in Linux's struct tcp_info: behind eight bytes and fifteen words of four."""


def way(address: str | None, proxy: str | None = None) -> dict[str, Any]:
    """The names of `record.environment.PATH` for an endpoint at `host:port`, which was reached as that just now.

    With a proxy the address is the proxy's, and so is all that is found out about the way.
    """
    found: dict[str, Any] = {"address": address, "proxy": proxy}
    place = split(address)
    if place is not None:
        ours = local(*place)
        if proxy is None:
            found["loopback"] = here(place[0], ours)
        found["interface"] = interface(ours)
        found["rtt_ms"] = summary(*round_trips(*place))
    return {name: value for name, value in found.items() if value is not None}


def split(address: str | None) -> tuple[str, int] | None:
    """Host and port of `127.0.0.1:80` or `[::1]:80`, the host as a number; None if it is none."""
    host, _, port = (address or "").rpartition(":")
    try:
        return str(ipaddress.ip_address(host.strip("[]"))), int(port)
    except ValueError:
        return None


def family(host: str) -> socket.AddressFamily:
    """IPv6 or IPv4."""
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def local(host: str, port: int) -> str | None:
    """The address from which this machine would send to it. A datagram socket that is connected sends nothing."""
    with contextlib.suppress(OSError), socket.socket(family(host), socket.SOCK_DGRAM) as sock:
        sock.connect((host, port))
        return str(sock.getsockname()[0])
    return None


def here(host: str, ours: str | None) -> bool:
    """Whether it is this very machine: by its loopback, or because one sends to oneself."""
    return ipaddress.ip_address(host).is_loopback or host == ours


def interface(ours: str | None) -> str | None:
    """The network interface that has an address of this machine."""
    if ours is None:
        return None
    with contextlib.suppress(OSError):
        for name, addresses in psutil.net_if_addrs().items():
            if any(item.address.partition("%")[0] == ours for item in addresses):
                return str(name)
    return None


def round_trips(host: str, port: int, connections: int = CONNECTIONS) -> tuple[str, list[float]]:
    """Who timed them (`kernel` or `connect`), and milliseconds of a few handshakes, as many as came about."""
    by_kernel: list[float] = []
    by_clock: list[float] = []
    for _ in range(connections):
        try:
            with socket.socket(family(host), socket.SOCK_STREAM) as sock:
                sock.settimeout(CONNECT_S)
                begun = time.perf_counter()
                sock.connect((host, port))
                by_clock.append((time.perf_counter() - begun) * 1e3)
                if rtt_us := told(sock):
                    by_kernel.append(rtt_us / 1e3)
        except OSError:
            break
    return ("kernel", by_kernel) if len(by_kernel) == len(by_clock) else ("connect", by_clock)


def told(sock: socket.socket) -> int:
    """Microseconds of a round trip, as the kernel has measured it on this connection; 0 if it does not tell."""
    if not hasattr(socket, "TCP_INFO"):
        return 0
    try:
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, RTT_AT + 4)
    except OSError:
        return 0
    return int(struct.unpack_from("=I", info, RTT_AT)[0]) if len(info) >= RTT_AT + 4 else 0


def summary(by: str, values: list[float]) -> dict[str, Any] | None:
    """`{n, min, p50, max}` in milliseconds and who timed them; None without any."""
    if not values:
        return None
    lowest, middle, highest = (round(value, 3) for value in (min(values), statistics.median(values), max(values)))
    return {"n": len(values), "min": lowest, "p50": middle, "max": highest, "by": by}
