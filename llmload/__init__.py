"""llmload: load generation for LLM streaming endpoints.

`llmload.LLMUser` is for locustfiles; it is loaded on first use, so that the reporter, the simulator and the
sidecar can import this package without Locust or gevent.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llmload.drive.user import LLMUser

__version__ = "0.1.0"
__all__ = ["LLMUser", "__version__"]


def __getattr__(name: str) -> Any:
    """Import what needs Locust only when somebody asks for it."""
    if name == "LLMUser":
        from llmload.drive.user import LLMUser

        return LLMUser
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
