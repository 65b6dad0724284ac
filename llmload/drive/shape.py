"""Locust's shape that runs a scenario.

A shape in a locustfile governs every run of it, so this one is abstract: `class Steps(ScenarioShape)` in the
locustfile switches it on.
"""

from typing import Any

from locust import LoadTestShape

from llmload.drive.wiring import wiring


class ScenarioShape(LoadTestShape):
    """The whole run happens in one tick, which starts users through the runner and returns when all is over."""

    abstract = True
    governs = True
    """What tells a scenario's shape from others."""

    def tick(self) -> Any:
        """Run the scenario; then there is nothing more to do."""
        if self.runner is not None:
            wires = wiring(self.runner.environment)
            if wires is not None:
                wires.conduct()
