"""The way to an endpoint: on loopback, with real connections."""

import socket
from collections.abc import Iterator

import pytest

from llmload.machine import path
from llmload.record.environment import PATH


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A port that takes connections and says nothing."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen(16)
        yield sock


def test_the_way_to_this_machine(listener: socket.socket) -> None:
    """Loopback, its interface, and the round trip of each of a handful of handshakes."""
    address = f"127.0.0.1:{listener.getsockname()[1]}"
    found = path.way(address)
    assert set(found) <= set(PATH)
    assert (found["address"], found["loopback"]) == (address, True)
    assert found["interface"].startswith("lo")
    rtt = found["rtt_ms"]
    assert rtt["n"] == path.CONNECTIONS
    assert 0 < rtt["min"] <= rtt["p50"] <= rtt["max"]


def test_the_kernel_times_them_on_linux(listener: socket.socket) -> None:
    """TCP_INFO is read at its place: what it tells is no longer than connecting took, which is timed around it."""
    if not hasattr(socket, "TCP_INFO"):
        pytest.skip("no TCP_INFO here")
    with socket.create_connection(listener.getsockname()) as sock:
        assert 0 < path.told(sock) < 1_000_000
    by, values = path.round_trips(*listener.getsockname(), connections=2)
    assert (by, len(values)) == ("kernel", 2)


def test_nobody_listens(listener: socket.socket) -> None:
    """What cannot be found out is left out, and nothing is raised."""
    host, port = listener.getsockname()
    listener.close()
    found = path.way(f"{host}:{port}")
    assert "rtt_ms" not in found
    assert found["loopback"] is True


@pytest.mark.parametrize("address", [None, "", "nowhere", "host.invalid:80", "127.0.0.1:x", "[::1"])
def test_what_is_no_address(address: str | None) -> None:
    """Names are not resolved here: the address is the one that was connected to."""
    assert set(path.way(address)) <= {"address"}


def test_behind_a_proxy_nothing_is_said_of_where_the_endpoint_is(listener: socket.socket) -> None:
    """The address is the proxy's then, and so is the round trip."""
    found = path.way(f"127.0.0.1:{listener.getsockname()[1]}", "http://127.0.0.1:3128")
    assert found["proxy"] == "http://127.0.0.1:3128"
    assert "loopback" not in found
    assert "rtt_ms" in found


@pytest.mark.parametrize(
    ("address", "place"), [("10.0.0.1:80", ("10.0.0.1", 80)), ("[fe80::1]:8000", ("fe80::1", 8000))]
)
def test_an_address_in_its_parts(address: str, place: tuple[str, int]) -> None:
    """Both families."""
    assert path.split(address) == place


def test_the_summary() -> None:
    """Least, middle and most, in milliseconds."""
    assert path.summary("kernel", [3.0, 1.0, 2.0]) == {"n": 3, "min": 1.0, "p50": 2.0, "max": 3.0, "by": "kernel"}
    assert path.summary("kernel", []) is None
