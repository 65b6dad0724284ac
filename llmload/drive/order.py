"""The order of a run: all that a worker has to know, as one string of JSON inside Locust's own spawn message.

A worker needs the package, its API key in the environment, and this. The key itself is never in it. Files that the
scenario names are told by their SHA-256; a worker that does not have them asks for them.
"""

import hashlib
from collections.abc import Iterable
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
    files: list[dict[str, Any]] = field(default_factory=list)
    """Files that a worker needs: `path` on the master's machine, `digest` (SHA-256) and `bytes`."""
    digest: str = ""
    """SHA-256 of the scenario and of these files."""
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
            raise Stop(other_version(__version__, self.version), Exit.USAGE)

    def check_digest(self, scenario: dict[str, Any]) -> None:
        """Raises Stop(USAGE) if the scenario, as a worker has understood it, is not the one that was sent."""
        if (digest := digest_of(scenario, self.files)) != self.digest:
            raise Stop(
                f"it understands scenario {scenario['name']!r} in another way: expected digest {self.digest[:12]}…, "
                f"got {digest[:12]}…; its llmload was changed: install the same one on both",
                Exit.USAGE,
            )


def other_version(worker: str, master: str) -> str:
    """Why a worker of another version is refused."""
    return f"it runs llmload {worker}, the master {master}; install the same version on both"


def digest_of(scenario: dict[str, Any], files: Iterable[dict[str, Any]]) -> str:
    """SHA-256 of a resolved scenario and of the files that it needs."""
    whole = {"scenario": scenario, "files": sorted(file["digest"] for file in files)}
    return hashlib.sha256(orjson.dumps(whole, option=orjson.OPT_SORT_KEYS)).hexdigest()


def from_json(text: str) -> Order:
    """Read an order; members that this version does not know are passed over."""
    value = orjson.loads(text)
    known = {item.name for item in fields(Order)}
    return Order(**{name: member for name, member in value.items() if name in known})
