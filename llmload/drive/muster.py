"""Who is there, and who may take part: the master's side of all that is said before any user comes up.

A worker says who it is from its first second on; one of another version is dismissed then. Before a run, and before
every step for those that came late, each new worker is called: it gets the order, asks for files that it lacks, and
says that it is ready, or why it cannot take part. Dismissed ones say so on their own terminal too, and get no users.
"""

import math
import os
import platform
import socket
import time
from typing import Any

import gevent
import locust
from locust.runners import STATE_MISSING, MasterRunner

from llmload import __version__, here, plain, ports
from llmload.drive import messages, parcels
from llmload.drive.order import Order, other_version
from llmload.drive.voice import Voice
from llmload.exits import Exit, Stop
from llmload.record import clock

LOOK_S = 0.02
TELL_FIRST_S = 1.0
"""A wait for workers that is longer is told …"""
TELL_S = 30.0
"""… and how to join again after so long without a change."""
FORKS_S = 60.0
"""Processes that Locust has forked here are up by then, or never."""
SLOW_S = 5.0
"""Whoever takes longer than this to get ready is named."""
GREETED_S = 10.0
"""A worker that has not said who it is by then does not know llmload."""
NO_LLMLOAD = Stop("it says nothing of llmload; start it with: llmload run --worker")
CALL_AGAIN_S = 3.0
"""A call is said again after so long …"""
UNANSWERED_S = 60.0
"""… and a worker that neither answered nor asked for a part of a file for so long is dismissed."""


class Muster:
    """One per process that conducts."""

    def __init__(self, environment: Any, voice: Voice) -> None:
        self.runner = environment.runner
        self.voice = voice
        self.given = environment.parsed_options
        self.who: dict[str, dict[str, Any]] = {}
        """What each worker says of itself, by Locust's id of the process."""
        self.notes: list[str] = []
        """What is to be known of workers, and has not been told in a run."""
        self._unfit: list[Stop] = []
        self._order: Order | None = None
        self._ready: dict[str, bool] = {}
        """Those that are ready for this order, and whether they have a key."""
        self._called: dict[str, float] = {}
        """When each one was called last, by the monotonic clock …"""
        self._heard: dict[str, float] = {}
        """… and when something was last heard of it."""
        hear = self.runner.register_message
        hear(messages.HELLO, self._on_hello)
        hear(messages.READY, self._on_ready)
        hear(messages.UNFIT, self._on_unfit)
        hear(messages.WANT, self._on_want)

    # Waiting for workers

    def nodes(self) -> list[str]:
        """Locust's ids of the workers that are there now."""
        return nodes(self.runner)

    def wait(self, expected: int) -> None:
        """Wait until so many workers are there. Raises Stop if one of them cannot take part, or they do not come."""
        forked = bool(self.given.processes)
        limit_s = FORKS_S if forked else float(self.given.expect_workers_max_wait or 0)
        began, told, said_at = time.monotonic(), -1, 0.0
        seen: dict[str, float] = {}
        while (there := sum(node in self.who for node in self.nodes())) < expected:
            if self._unfit:
                raise self._first_unfit()
            now = time.monotonic()
            for node in self.nodes():
                if node not in self.who and now - seen.setdefault(node, now) > GREETED_S:
                    self._dismiss(node, NO_LLMLOAD)
                    self._unfit.pop()  # anything may come to a port: who is meant may still come
                    self.voice.say(f"{there} of {expected} workers connected; {self.notes[-1]}")
            if limit_s and now - began > limit_s:
                short = f"{there} of {expected} workers came within {limit_s:g} s; nothing was sent"
                raise Stop(short, Exit.INCOMPLETE)
            if not forked and now - began > TELL_FIRST_S and (there != told or now - said_at > TELL_S):
                how = f"; {self._how_to_join()}" if there == told or told < 0 else ""
                self.voice.say(f"{there} of {expected} workers connected{how}")
                told, said_at = there, now
            gevent.sleep(LOOK_S)

    def _how_to_join(self) -> str:
        bound, port = self.given.master_bind_host, self.given.master_bind_port
        if here.is_here(bound):
            return (
                f"port {port} is open to this machine alone: --master-bind-host 0.0.0.0 lets other machines in "
                "(whoever reaches it can take part: only in a network that you trust)"
            )
        host = socket.gethostname() if bound in here.EVERYWHERE else bound
        more = "" if port == ports.MASTER else f" --master-port {port}"
        return f"on the other machines: llmload run --worker --master-host {host}{more}"

    # Calling them

    def call(self, order: Order, known: set[str], expected: int) -> None:
        """Have every worker that is there and not known yet made ready for the order; those that cannot are dismissed.

        Raises Stop if fewer than expected are left then.
        """
        if self._order is None or self._order.run != order.run:
            self._order, self._ready = order, {}
        self._called, self._heard = {}, {}
        began, told = time.monotonic(), False
        while pending := [node for node in self.nodes() if node not in known and node not in self._ready]:
            waited_s = time.monotonic() - began
            for node in pending:
                self._urge(order, node, waited_s)
            if waited_s > SLOW_S and not told:
                self.voice.say(f"waiting for {', '.join(map(self._name, pending))} to get ready")
                told = True
            gevent.sleep(LOOK_S)
            if self._unfit and not isinstance(self.runner, MasterRunner):
                raise self._first_unfit()
        there = len(self.nodes())
        if there < expected:
            lost = Stop(f"only {there} of {expected} workers are left; nothing was sent", Exit.INCOMPLETE)
            raise self._first_unfit() if self._unfit else lost
        self._unfit = []
        self._compare(order, known)

    def _urge(self, order: Order, node: str, waited_s: float) -> None:
        """Call a worker, again and again, until it is to be dismissed."""
        now = time.monotonic()
        if node not in self.who and isinstance(self.runner, MasterRunner):
            if waited_s > GREETED_S:
                self._dismiss(node, NO_LLMLOAD)
        elif now - self._called.get(node, -math.inf) >= CALL_AGAIN_S:
            self._called[node] = now
            self._heard.setdefault(node, now)
            self._send(messages.CALL, {"order": order.to_json()}, node)
        elif now - self._heard[node] > UNANSWERED_S:
            why = f"it did not answer for {UNANSWERED_S:.0f} s when it was called"
            self._dismiss(node, Stop(why, Exit.INCOMPLETE))

    def _first_unfit(self) -> Stop:
        """The sentence about the first one that was refused; the next run begins with nobody refused."""
        first, self._unfit = self._unfit[0], []
        return first

    def _compare(self, order: Order, known: set[str]) -> None:
        """Note whatever about new workers is another here."""
        key_env = str(order.sending.get("key_env", ""))
        mine = {"Python": platform.python_version(), "Locust": locust.__version__}
        for node in self._ready.keys() - known:
            if os.environ.get(key_env) and not self._ready[node]:
                self.notes.append(f"{self._name(node)} has no {key_env} in its environment, and the master has one")
            for name, version in mine.items():
                theirs = self.who.get(node, {}).get(name.lower(), version)
                if theirs != version:
                    self.notes.append(f"{self._name(node)} has {name} {theirs}, the master {version}")

    def take_notes(self) -> list[str]:
        """What is to be known and was not told yet."""
        notes, self.notes = self.notes, []
        return notes

    # Sending them away

    def dismiss_all(self, stop: Stop) -> None:
        """No run comes of it: everyone may go, and is told why."""
        if isinstance(self.runner, MasterRunner):
            for node in self.nodes():
                self._send(
                    messages.DISMISSED, {"why": f"the run did not begin: {stop.message}", "code": stop.code}, node
                )

    def _dismiss(self, node: str, why: Stop) -> None:
        """One worker cannot take part."""
        self._send(
            messages.DISMISSED, {"why": f"the master refuses this worker: {why.message}", "code": why.code}, node
        )
        self._send("quit", None, node)  # for one that does not know the word before
        sentence = f"{self._name(node)} is refused: {why.message}"
        self.voice.complain(sentence)
        self.notes.append(sentence)
        self._unfit.append(Stop(sentence, why.code))
        self._heard.pop(node, None)
        if isinstance(self.runner, MasterRunner):
            strike(self.runner, node)

    def place(self, node: str) -> tuple[str | None, int | None]:
        """Host and process of a worker, as it says."""
        who = self.who.get(node, {})
        return who.get("host"), int(who["pid"]) if str(who.get("pid")).isdigit() else None

    def _name(self, node: str) -> str:
        """A worker for people."""
        who = self.who.get(node)
        return f"worker {node}" if who is None else f"the worker on {who['host']} (process {who['pid']})"

    def _send(self, kind: str, data: Any, node: str) -> None:
        self.runner.send_message(kind, data, str(node))  # Locust tries for seconds to send to what is no name

    # What they say

    def _on_hello(self, msg: Any, **_: Any) -> None:
        """Whoever asks for the time is answered at once: what is done first would make the answer unsure."""
        node, who = msg.data["node"], msg.data["who"]
        self._send(messages.TIME, {"asked": msg.data["asked"], "master": clock.now()}, node)
        if node not in self.who:
            self.who[node] = who = {name: plain.one_line(str(value)) for name, value in who.items()}
            if who["version"] != __version__:
                self._dismiss(node, Stop(other_version(who["version"], __version__)))

    def _on_ready(self, msg: Any, **_: Any) -> None:
        if self._order is not None and msg.data["run"] == self._order.run:
            self._ready[msg.data["node"]] = bool(msg.data["key"])

    def _on_unfit(self, msg: Any, **_: Any) -> None:
        node = msg.data["node"]
        if self._order is not None and msg.data["run"] == self._order.run and node in self._heard:
            self._dismiss(node, Stop(plain.one_line(str(msg.data["why"])), Exit(msg.data["code"])))

    def _on_want(self, msg: Any, **_: Any) -> None:
        node, digest, number = msg.data["node"], msg.data["digest"], int(msg.data["part"])
        self._heard[node] = time.monotonic()
        files = [] if self._order is None else self._order.files
        path = next((file["path"] for file in files if file["digest"] == digest), None)
        if path is None:
            return
        answer: dict[str, Any] = {"digest": digest, "part": number}
        try:
            answer["data"] = parcels.part(path, number)
        except OSError as error:
            answer["failure"] = f"{path}: {error.strerror}"
        self._send(messages.PART, answer, node)


def nodes(runner: Any) -> list[str]:
    """Locust's ids of the workers that are there now; of this process if it is all there is."""
    if isinstance(runner, MasterRunner):
        return sorted(node for node, client in runner.clients.items() if client.state != STATE_MISSING)
    return [runner.client_id]


def strike(runner: Any, node: str) -> None:
    """Let Locust know of a worker no more, or the next step would give it users, whom nobody would ever see."""
    client = runner.clients.pop(node, None)
    dispatcher = runner._users_dispatcher  # noqa: SLF001  (there is no public way)
    if client is not None and dispatcher is not None:
        dispatcher.remove_worker(client)
