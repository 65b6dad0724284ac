"""The load of a scenario, through Locust's own command, headless or with its web page.

    locust -f locustfiles/mixed.py --scenario scenarios/mixed.toml -H http://127.0.0.1:8000 --headless --processes 2

How many requests are in flight, and for how long, the scenario says. Copy this file to add what a run of yours needs;
to see every failure as it happens, for instance:

    @locust.events.llm_request.add_listener
    def show(record, text, **_):
        if record.outcome != "ok":
            print(record.workload, record.outcome, record.error)
"""

from llmload.drive import plugin
from llmload.drive.mixuser import MixUser
from llmload.drive.shape import ScenarioShape

plugin.govern()


class Mix(MixUser):
    """One request in flight at a time, those of the scenario."""


class Steps(ScenarioShape):
    """Goes through the scenario's steps."""
