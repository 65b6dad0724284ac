"""The order of a run: all that a worker has to know, as one string of JSON inside Locust's own spawn message.

A worker needs the package, its API key in the environment, and this. The key itself is never in it.
"""

from dataclasses import asdict, dataclass, field, fields
from typing import Any

import orjson

from llmload import __version__
from llmload.exits import Exit, Stop


@dataclass(frozen=True, slots=True)
class Order:
    """What the master hands to every worker."""

    run: str
    """Run id."""
    scenario: dict[str, Any]
    """The scenario, resolved."""
    sending: dict[str, Any]
    """How requests are sent (`Sending`)."""
    folder: str
    """The run folder on the master's machine."""
    workers: dict[str, str]
    """Worker id in records, by Locust's id of the process."""
    fit: dict[str, int] = field(default_factory=dict)
    """Characters of each prompt that give its length on this server."""
    save_text: bool = False
    free: bool = False
    """True if a locustfile of the user's own sends as it likes, without steps."""
    version: str = __version__

    def to_json(self) -> str:
        """The string that travels."""
        return orjson.dumps(asdict(self)).decode()

    def check(self) -> None:
        """Raises Stop(USAGE) if it comes from another version of llmload."""
        if self.version != __version__:
            raise Stop(
                f"the master runs llmload {self.version}, this worker {__version__}; install the same version on both",
                Exit.USAGE,
            )


def from_json(text: str) -> Order:
    """Read an order; members that this version does not know are passed over."""
    value = orjson.loads(text)
    known = {item.name for item in fields(Order)}
    return Order(**{name: member for name, member in value.items() if name in known})
