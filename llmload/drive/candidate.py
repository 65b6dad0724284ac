"""What a process that sends does before a run: says who it is, learns the master's time, gets ready when it is called.

Its counterpart on the master is the muster. A worker that somebody started on a machine of their own tells them on its
terminal what becomes of it; one that the master forked is silent, for the master says the same.
"""

import contextlib
import os
import platform
import socket
import sys
from collections.abc import Callable
from typing import Any

import gevent
import locust
from locust.runners import WorkerRunner

from llmload import __version__
from llmload.drive import kit, messages
from llmload.drive.apart import Apart
from llmload.drive.kit import Kit
from llmload.drive.order import Order, from_json
from llmload.drive.parcels import Parcels
from llmload.drive.voice import Voice
from llmload.exits import Exit, Stop
from llmload.record import clock

GREET_S = 1.0
"""How often the master is told who this is, and asked for its time …"""
EAGER_S = 0.1
"""… and how often at first …"""
EAGER = 10
"""… so many times."""

Tell = Callable[[str, dict[str, Any]], None]


class Candidate:
    """One per process that sends."""

    def __init__(self, environment: Any, tell: Tell) -> None:
        self.environment = environment
        self.apart = Apart()
        self.own = isinstance(environment.runner, WorkerRunner) and "--worker" in sys.argv
        """Whether somebody started this process as a worker, and sees its terminal."""
        self.voice = Voice(environment.parsed_options, of_worker=True)
        self._tell = tell
        self._node = str(environment.runner.client_id)
        self._parcels = Parcels(self._want)
        self._called: str | None = None
        """The run that this process is called for …"""
        self._answer: tuple[str, dict[str, Any]] | None = None
        """… and its answer, once it has one."""
        self._kit: Kit | None = None
        hear = environment.runner.register_message
        hear(messages.TIME, self._on_time)
        hear(messages.CALL, self._on_call)
        hear(messages.PART, self._on_part)
        hear(messages.DISMISSED, self._on_dismissed)
        gevent.spawn(self._greet)
        self.say(f"connected to the master at {self.master}; waiting for the run to begin")

    @property
    def master(self) -> str:
        """Where the master is."""
        given = self.environment.parsed_options
        return f"{given.master_host}:{given.master_port}"

    def say(self, sentence: str) -> None:
        """Something to know, for whoever started this worker."""
        if self.own:
            self.voice.say(sentence)

    def complain(self, sentence: str) -> None:
        """Something that went wrong, for the same."""
        if self.own:
            self.voice.complain(sentence)

    def kit(self, order: Order) -> Kit:
        """What a run needs; made now if nobody called for it before. Raises Stop, or OSError."""
        made, self._kit = self._kit, None
        return made if made is not None and made.run == order.run else kit.make(order, self._parcels.place)

    def _greet(self) -> None:
        who = {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "version": __version__,
            "python": platform.python_version(),
            "locust": locust.__version__,
        }
        said = 0
        while True:
            with contextlib.suppress(Exception):  # whatever is wrong with the way, the next word may find it right
                self._tell(messages.HELLO, {"node": self._node, "who": who, "asked": clock.now()})
            gevent.sleep(EAGER_S if said < EAGER else GREET_S)
            said += 1

    def _on_time(self, msg: Any, **_: Any) -> None:
        self.apart.answered(msg.data["asked"], msg.data["master"], clock.now())

    def _on_call(self, msg: Any, **_: Any) -> None:
        order = from_json(msg.data["order"])
        if self._called != order.run:
            self._called, self._answer = order.run, None
            gevent.spawn(self._get_ready, order)
        elif self._answer is not None:
            gevent.spawn(self._tell, *self._answer)

    def _get_ready(self, order: Order) -> None:
        about = {"node": self._node, "run": order.run}
        try:
            self._kit = kit.make(order, self._parcels.place)
        except (Stop, OSError) as error:
            code = error.code if isinstance(error, Stop) else Exit.INCOMPLETE
            self._answer = (messages.UNFIT, {**about, "why": str(error), "code": int(code)})
        else:
            self._answer = (messages.READY, {**about, "key": bool(os.environ.get(str(order.sending["key_env"])))})
            self.say(f"ready for run {order.run}: scenario {order.scenario['name']}, {order.sending['base_url']}")
        self._tell(*self._answer)

    def _want(self, digest: str, number: int) -> None:
        self._tell(messages.WANT, {"node": self._node, "digest": digest, "part": number})

    def _on_part(self, msg: Any, **_: Any) -> None:
        self._parcels.arrived(msg.data)

    def _on_dismissed(self, msg: Any, **_: Any) -> None:
        """Locust's own word to leave comes next."""
        if self.own:
            self.complain(msg.data["why"])
            self.environment.process_exit_code = Exit(msg.data["code"])
