"""Ports of this machine."""

import socket

MASTER = 5557
"""Where a master listens for workers, by Locust's default and so by llmload's."""


def free() -> int:
    """A port on 127.0.0.1 that nobody listens on now; somebody else may take it before its user does."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def refusal(host: str, port: int) -> str | None:
    """Why nobody can listen there now; None if somebody can."""
    try:
        every = "0.0.0.0" if host in {"", "*"} else host  # noqa: S104  (as who will listen was told)
        family, kind, _, _, address = socket.getaddrinfo(every, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as who will listen does
            probe.bind(address)
    except OSError as error:
        return error.strerror or str(error)
    return None


def no_page(host: str, port: int) -> str | None:
    """Why Locust's page cannot be served there, as a sentence for people; None if it can."""
    why = refusal(host, port)
    where = f"port {port} of {host or 'this machine'}"
    return None if why is None else f"the web page cannot be on {where}: {why}; name another with --web-port"


def no_master(host: str, port: int) -> str | None:
    """Why a master cannot listen there, as a sentence for people; None if it can."""
    why = refusal(host, port)
    if why is None:
        return None
    what = "name an address of this machine with --master-bind-host, as 0.0.0.0 for all"
    if "in use" in why:
        what = "is another master running? Name another port with --master-port, on both sides"
    return f"a master cannot listen on {host}:{port}: {why.lower()}; {what}"
