"""Exit codes, and the one exception that ends a command with a sentence for its user.

Everything a user did or met that stops a command is raised as `Stop`; `llmload.cli.main` prints its sentence
and leaves with its code. A traceback that reaches a user is a fault of llmload.
"""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of every llmload command. The higher of several wins, except that USAGE ends at once."""

    OK = 0
    """Done; gates and claims, if any, hold."""
    FAILED = 1
    """A gate, a claim or `--max-fail-ratio` does not hold, or a step ended without a single success."""
    USAGE = 2
    """Wrong flags, scenario or files."""
    UNMEASURABLE = 3
    """The endpoint (or sidecar, or device) cannot be measured."""
    UNJUDGED = 4
    """Runs that are not comparable, or data that is missing."""
    DEGRADED = 5
    """Something was lost, or the generator was the bottleneck."""
    INCOMPLETE = 6
    """Stopped before its end."""


VERDICTS = {"OK": Exit.OK, "DEGRADED": Exit.DEGRADED, "INCOMPLETE": Exit.INCOMPLETE}
"""The words of a run's verdict, from good to bad, with their codes."""


class Stop(Exception):
    """Ends a command: `message` is one clear sentence (what, where, got, expected, what to do)."""

    def __init__(self, message: str, code: Exit = Exit.USAGE) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
