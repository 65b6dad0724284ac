"""Locust's own page, made to start, steer, stop and reset the runs of a scenario.

Its form is Locust's: what stands in it are llmload's options, in words. What it sends is answered here, because Locust
would start users itself. By hand the number of users is the person's; under a step plan it is the plan's.
"""

from typing import Any

import gevent
from flask import Response, jsonify, request
from locust.runners import STATE_INIT, STATE_STOPPED, MasterRunner

from llmload.drive import hand
from llmload.drive.conductor import Conductor
from llmload.drive.web.permit import OWN
from llmload.exits import Stop
from llmload.load import options, plan, reading
from llmload.load.scenario import Scenario

WAIT_S = 20.0
"""How long the form waits to hear whether a run has begun; looking at a slow endpoint may take longer."""
END_S = 10.0
"""How long a start waits until Locust has let go of the run before."""
LOOK_S = 0.05

FIELDS = {
    "scenario": "one that comes with llmload, as mixed or rate, or the path of a file",
    "model": "which one is asked; empty: the only one that the server offers",
    "load": "by hand: you set the users, above and with Edit; step plan: the scenario does",
    "steps": "step plan: requests in flight, one after another, as 1,4,8; empty: {steps}",
    "rates": "step plan: arrivals per second instead, as 2,5, whatever the server does",
    "duration": "step plan: how long each step measures, as 20s or 5m; empty: {window}",
    "first_token_limit": "a request whose first token takes longer has failed, as 30s; empty: {ttft}",
    "stall_limit": "a request in which no token comes for so long has failed, as 10s; empty: {stall}",
    "request_limit": "a request that takes longer as a whole has failed, as 5m; empty: {total}",
}
"""What the form asks for, with the help to each: there is room for a hundred characters. What is empty the scenario
says."""

FIXED = "set when the run began, and cannot change while it goes on: press Stop, then New"
PLANNED = "the step plan sets the users of this run; to set them yourself press Stop, then New, with load: by hand"
BOTH = "somebody else is starting a run at this moment; look at the page again"
OVER = "the run is ending, and takes no other number of users; wait for its end, then press New"
RUN_TIME = "Run time is not used: a step plan ends by itself, and a run by hand when you press Stop; leave it empty"


class Form:
    """Stands between Locust's page and the conductor."""

    def __init__(self, web_ui: Any, conductor: Conductor) -> None:
        self.web_ui = web_ui
        self.conductor = conductor
        self.runner = conductor.runner
        self.given = conductor.environment.parsed_options
        self._starting = False
        self._begin = web_ui.app.view_functions["locust.swarm"]
        self._fill = web_ui.update_template_args
        web_ui.app.view_functions["locust.swarm"] = web_ui.auth_required_if_enabled(self.swarm)
        web_ui.update_template_args = self.fill
        web_ui._update_shape_class = lambda _name: None  # noqa: SLF001  (the class picker would take our shape away)
        # the form shows its fields in the order in which they come
        web_ui.app.jinja_env.policies["json.dumps_kwargs"] = {"sort_keys": False}

    # What the page shows

    def fill(self) -> None:
        """The values with which the page is made."""
        self._fill()
        args = self.web_ui.template_args
        args["state"] = self.state()
        args["hide_common_options"] = self.going and not self.by_hand
        args["extra_options"] = fields(args["extra_options"], self.scenario(), picker=self.picker)

    def state(self) -> str:
        """Locust's state, in words that its page understands at every moment of a run.

        The page would show its start form while the endpoint is looked at, and ask no more once it sees `stopping`.
        """
        state = str(self.runner.state)
        if self.going and state in {STATE_INIT, STATE_STOPPED}:
            return "spawning"
        return "running" if state in {"stopping", "cleanup"} else state

    @property
    def going(self) -> bool:
        """Whether a run is on, from the first look at the endpoint to its verdict."""
        return not self.conductor.idle.is_set()

    @property
    def by_hand(self) -> bool:
        """Whether a person sets the load."""
        return bool(self.given.load == options.BY_HAND)

    @property
    def picker(self) -> bool:
        """Whether the form has Locust's class picker, whose shapes then stand for the two kinds of load."""
        return bool(self.web_ui.userclass_picker_is_active)

    def scenario(self) -> Scenario | None:
        """The scenario that the options name, if it can be read."""
        try:
            return reading.load(self.given.scenario)
        except Stop:
            return None

    # What it sends

    def swarm(self) -> Response:
        """The form was sent, to start or to edit."""
        try:
            sentence = self.edit() if self.going else self.start()
        except Stop as stop:
            if stop.message != self.conductor.refusal:  # the conductor has said that
                self.conductor.voice.complain(stop.message)
            return self.answer(stop.message, success=False)
        self.conductor.voice.say(sentence)
        return self.answer(sentence, success=True)

    def answer(self, sentence: str, *, success: bool) -> Response:
        """In the form in which Locust's page takes it."""
        return jsonify({"success": success, "message": sentence, "host": self.web_ui.environment.host})

    def start(self) -> str:
        """Begin a run, and say how. Raises Stop if it cannot begin."""
        form = request.form
        load = form.get("load", self.given.load)
        if self.picker:
            load = options.BY_HAND if form.get("shape_class", "Default") == "Default" else options.PLAN
        if load not in {options.PLAN, options.BY_HAND}:
            raise Stop(f"load: expected {options.PLAN} or {options.BY_HAND}, got {load!r}")
        if form.get("run_time"):
            raise Stop(RUN_TIME)
        wanted = hand.users(form.get("user_count"), least=1) if load == options.BY_HAND else None
        if isinstance(self.runner, MasterRunner) and not self.conductor.desk.nodes():
            raise Stop("no worker is connected yet, so there is nobody to send; start one, then press Start again")
        before, host = dict(vars(self.given)), self.web_ui.environment.host
        try:
            self.set_off(load)
            if not self.conductor.begun.wait(WAIT_S):
                return "the endpoint is still being looked at; the Logs tab says what comes of it"
            if self.conductor.refusal is not None:
                raise Stop(self.conductor.refusal)
        except Stop:  # what was wrong with this form is not in the way of the next one
            vars(self.given).update(before)
            self.web_ui.environment.host = host
            raise
        if not wanted:
            return "the step plan begins"
        run = self.conductor.desk.run
        long = "" if run is None else f"; a level that you hold for {plan.held_s(run.scenario.load):g} s becomes a row"
        return f"a run by hand begins with {wanted} user{'s' * (wanted > 1)}{long}"

    def set_off(self, load: str) -> None:
        """Let Locust take over what stands in the form, and start the shape. Raises Stop if it cannot."""
        if self._starting:
            raise Stop(BOTH)
        self._starting = True
        try:
            self.let_go()
            self.given.load = load
            self.conductor.begun.clear()
            said = self._begin().get_json()
        except ValueError as error:  # a field of the locustfile's own
            raise Stop(f"the form: {error}") from error
        finally:
            self._starting = False
        if not said["success"]:
            raise Stop(said["message"])

    def edit(self) -> str:
        """The person asks for another number of users; says what comes of it. Raises Stop if it cannot be done."""
        form = request.form
        if not self.by_hand:
            raise Stop(PLANNED)
        for name in FIELDS:
            if name in form and form[name] != str(getattr(self.given, name) or ""):
                raise Stop(f"{name.replace('_', ' ')}: {FIXED}")
        if form.get("run_time"):
            raise Stop(RUN_TIME)
        if self.conductor.ending:
            raise Stop(OVER)
        wanted, now = hand.users(form.get("user_count")), self.conductor.hand.users
        if wanted == now:
            return f"there are {now} users already: nothing changes"
        self.given.num_users = wanted or now
        self.conductor.hand.users = wanted
        if not wanted:
            return "0 users: the run ends once the last measured request has ended"
        return f"{wanted} users next: the present level ends now, and all {wanted} start once its requests have ended"

    def let_go(self) -> None:
        """Wait until Locust has put the run before behind it; it would pass over a start until then."""
        with gevent.Timeout(END_S, False):
            while self.runner.shape_greenlet is not None or self.runner.state not in {STATE_INIT, STATE_STOPPED}:
                gevent.sleep(LOOK_S)
            return
        raise Stop("the run before has not come to its end yet; wait a moment, then press Start again")


def fields(found: dict[str, Any], scenario: Scenario | None, *, picker: bool) -> dict[str, Any]:
    """The form's fields in their order, with help that says what the scenario has where one is left empty."""
    says = dict.fromkeys(("steps", "window", "ttft", "stall", "total"), "what the scenario says")
    if scenario is not None:
        load, limits = scenario.load, scenario.limits
        own = {
            "steps": ",".join(map(str, load.steps)) or "by rate",
            "window": f"{load.window_s:g} s at least",
            "ttft": f"{limits.ttft_s:g} s",
            "stall": f"{limits.stall_s:g} s",
            "total": f"{limits.total_s:g} s",
        }
        says |= {key: f"{text} ({scenario.name})" for key, text in own.items()}
    order = [name for name in FIELDS if name in found and not (picker and name == "load")]
    shown: dict[str, Any] = {name: {**found[name], "help_text": FIELDS[name].format(**says)} for name in order}
    return shown | {name: field for name, field in found.items() if name not in OWN}  # and the locustfile's
