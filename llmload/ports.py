"""Ports of this machine."""

import socket


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
