"""What a person at the web page asks for: how many users, again and again. Knows neither page nor load."""

from dataclasses import dataclass

from llmload.exits import Stop

MOST = 100_000


@dataclass(slots=True)
class Hand:
    """The present wish; 0 ends the run. Who asks faster than the load can follow is served by the last wish."""

    users: int = 0


def users(text: str | None, *, least: int = 0) -> int:
    """The number of users that was typed. Raises Stop(USAGE)."""
    try:
        number = int(text or "")
    except ValueError:
        number = -1
    if not least <= number <= MOST:
        got = repr(text if text is None else text[:40])
        raise Stop(f"number of users: expected a whole number from {least} to {MOST}, got {got}")
    return number
