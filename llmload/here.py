"""This machine by its addresses and names: which mean it alone, and which let every other machine in. Pure."""

import ipaddress

ALONE = "127.0.0.1"
"""Where everything listens unless it is told otherwise."""
EVERYWHERE = {"", "*", "0.0.0.0", "::"}  # noqa: S104  (compared, not bound)
"""What means: on every address of this machine."""


def is_here(name: str) -> bool:
    """Whether a name or address can mean no other machine than this one."""
    if name.lower() == "localhost" or name.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
