"""What a form may change: what stands in it, and nothing else.

Locust lets a form set every option there is: where files are written, whether TLS is verified, where the key may go.
Those are for the command line. And where other machines reach the page and no login keeps anybody out, the endpoint and
the scenario stay those of the command line, for the key goes wherever the host says.
"""

from collections.abc import Collection
from typing import Any

from flask import Response, jsonify, request

from llmload.here import is_here
from llmload.load import options, override, reading

USUAL = {"user_count", "spawn_rate", "host", "run_time", "profile", "user_classes", "shape_class"}
"""Fields of Locust's own form."""
OF_A_CLASS = {"user_class_name", "host", "fixed_count", "weight", "tasks"}
"""What its class picker sets of a class."""
OWN = {flags[-1].removeprefix("--").replace("-", "_") for flags, _ in (options.SCENARIO, *options.OPTIONS)}
"""llmload's options, by the name that they have in a form."""


class Permit:
    """What one page may change; `fields` are those of llmload's options that stand in its form."""

    def __init__(self, web_ui: Any, given: Any, fields: Collection[str]) -> None:
        self.open = not is_here(web_ui.host) and not web_ui.web_login
        """Whether anybody anywhere may press the buttons."""
        self._fields = fields
        self._options = vars(given)
        self._scenario, self._host = str(given.scenario), given.host
        self._ui = web_ui

    def refusal(self, form: dict[str, str]) -> str | None:
        """Why this form is not taken; None if it is."""
        theirs = self._ui.template_args.get("extra_options", {})  # of the locustfile's own
        for name in form:
            if name in self._options and name not in USUAL | {*self._fields} and (name in OWN or name not in theirs):
                return f"{name}: is set on the command line alone, as --{name.replace('_', '-')}, not on the page"
        host, scenario = form.get("host"), form.get("scenario")
        if self.open and host and host.rstrip("/") != (self._host or "").rstrip("/"):
            return f"host: {'named' if self._host else 'name it'} on the command line, {WHY_OPEN}"
        if not scenario or scenario == self._scenario or scenario in reading.shipped():
            return None
        if self.open:
            return f"scenario: expected one that comes with llmload or that of the command line, {WHY_OPEN}"
        if scenario.endswith(".toml"):
            return None
        return f"scenario: {NO_SCENARIO}, got {scenario!r}{override.guess(scenario, reading.shipped())}"


NO_SCENARIO = "expected one that comes with llmload, as mixed or rate, or a path that ends in .toml"
WHY_OPEN = (
    "since every machine reaches this page and nobody has to log in: an API key goes to whatever endpoint is named; "
    "add --web-login, or serve the page to this machine alone"
)


def permit(web_ui: Any, given: Any, fields: Collection[str]) -> None:
    """Look at every form that starts or edits a run, and at what the class picker sends."""
    rule = Permit(web_ui, given, fields)

    def check() -> Response | None:
        why = None
        if request.endpoint == "locust.swarm":
            why = rule.refusal({name: request.form[name] for name in request.form})
        elif request.endpoint == "locust.update_user":
            sent = request.get_json(force=True, silent=True)
            odd = sorted(set(sent) - OF_A_CLASS) if isinstance(sent, dict) else ["no JSON object"]
            odd += ["host"] if rule.open and isinstance(sent, dict) and sent.get("host") else []
            why = f"cannot be set on the page: {', '.join(odd)}" if odd else None
        return None if why is None else jsonify({"success": False, "message": why, "host": web_ui.environment.host})

    web_ui.app.before_request(check)
