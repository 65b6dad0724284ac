"""The packaged locustfile: runs the scenario that `--scenario` names. `llmload run` uses it."""

from llmload.drive import plugin
from llmload.drive.mixuser import MixUser
from llmload.drive.shape import ScenarioShape

plugin.govern()


class Mix(MixUser):
    """Sends the scenario's mix."""


class Steps(ScenarioShape):
    """Goes through the scenario's steps."""
