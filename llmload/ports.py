"""Ports of this machine."""

import socket


def free() -> int:
    """A port on 127.0.0.1 that nobody listens on now; somebody else may take it before its user does."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
