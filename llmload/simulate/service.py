"""The pretended engine: slots, a queue, and each answer's steps, sent when they are due.

A heap holds the next step of every answer. A step's due time follows from the due time of the step before it, never
from when that one was really sent, so that a late loop does not shift what comes after. What is said and when it is
due is decided elsewhere (`plan.py`); this file only carries it out, counts, and writes down what really happened.
"""

import heapq
import time
from collections import deque
from collections.abc import Callable

import orjson

from llmload.simulate import asked, failures, wire
from llmload.simulate import plan as planning
from llmload.simulate.asked import Refused
from llmload.simulate.hub import Connection, Hub
from llmload.simulate.metrics import Metrics, Now
from llmload.simulate.occupancy import Occupancy
from llmload.simulate.plan import Plan
from llmload.simulate.settings import Settings
from llmload.simulate.truth import Line, TruthFile

BATCH = 128
"""So many due steps are sent before sockets are looked at again."""


class Stream:
    """One completion request in the works. Times are of the monotonic clock, in seconds."""

    __slots__ = (
        "answer", "connection", "due", "events", "first_at", "last_at", "line", "over", "plan", "received", "script",
        "started", "steps",
    )  # fmt: skip

    def __init__(self, connection: Connection, line: Line, plan: Plan, received: float) -> None:
        self.connection = connection
        self.line = line
        self.plan = plan
        self.answer = plan.answer
        self.script = plan.script
        self.received = received
        self.started = received
        self.due = received
        self.first_at: float | None = None
        """When the first token was sent."""
        self.last_at = received
        """When the last one so far was."""
        self.steps = 0
        """Steps carried out …"""
        self.events = 0
        """… and those of them that bore tokens."""
        self.over = False


class Service:
    """All completion requests of one server."""

    def __init__(self, settings: Settings, hub: Hub, truth: TruthFile, done: Callable[[Connection], None]) -> None:
        """`done` is called when a connection was answered and stays open."""
        self.metrics = Metrics(settings.model)
        self.occupancy = Occupancy(time.monotonic(), time.time())
        self._settings = settings
        self._hub = hub
        self._truth = truth
        self._done = done
        self._due: list[tuple[float, int, Stream]] = []
        self._streams: dict[Connection, Stream] = {}
        """What each busy connection is being told, or waits for."""
        self._running: set[Stream] = set()
        self._waiting: deque[Stream] = deque()
        self._numbers = 0
        self._admitting = False

    def now(self) -> Now:
        """How busy the engine is."""
        held = sum(stream.answer.prompt_tokens + stream.line.output_tokens for stream in self._running)
        return Now(len(self._running), len(self._waiting), held)

    # Time.

    def next_due(self) -> float | None:
        """When the next step is due, on the monotonic clock."""
        return self._due[0][0] if self._due else None

    def send_due(self) -> None:
        """Carry out the steps that are due, a batch of them at most."""
        due = self._due
        monotonic = time.monotonic
        for _ in range(BATCH):
            if not due:
                return
            if due[0][2].over:
                heapq.heappop(due)
                continue
            if due[0][0] > monotonic():
                return
            _, number, stream = heapq.heappop(due)
            self._step(stream)
            if stream.steps < stream.script.count and not stream.over:
                heapq.heappush(due, (stream.due, number, stream))

    def _step(self, stream: Stream) -> None:
        """One step of an answer; the next one's due time is put into `stream.due`."""
        what, line = stream.script, stream.line
        data = next(what.steps)
        stream.steps += 1
        now = time.monotonic()
        line.late_ms = max(line.late_ms, (now - stream.due) * 1e3)
        bears = stream.events < what.bearing
        if bears:
            self._count_token(stream, now)
        if data:
            wall = time.time()
            if bears:
                line.event_at.append(wall)
            if what.sse and line.first_event_at is None:
                line.first_event_at = wall
            self._hub.send(stream.connection, data)
        if stream.over:
            return
        if stream.steps == what.count:
            self._played(stream)
        else:
            stream.due += stream.plan.pace.gap(len(self._running))

    def _count_token(self, stream: Stream, now: float) -> None:
        """A token-bearing step: its tokens and its time go into the counts."""
        stream.events += 1
        tokens = stream.answer.tokens_of(stream.events)
        counts = self.metrics
        counts.generation_tokens += tokens - stream.line.output_tokens
        stream.line.output_tokens = tokens
        if stream.first_at is None:
            stream.first_at = now
            counts.first_token.observe(now - stream.received)
            counts.prefill.observe(now - stream.started)
        else:
            counts.between_tokens.observe(now - stream.last_at)
        stream.last_at = now

    # The life of a request.

    def ask(self, connection: Connection, request: wire.Request, *, chat: bool, refused: Refused | None) -> None:
        """A completion request was read whole: refuse it, answer it at once, or put it in service or in the queue.

        `refused`: it was found wanting already.
        """
        settings = self._settings
        number, self._numbers = self._numbers, self._numbers + 1
        now, wall = time.monotonic(), time.time()
        self.occupancy.enter(now)
        name = request.headers.get("x-llmload-request") or request.headers.get("x-request-id")
        line = Line(number, wall, connection.number, connection.taken - 1, client_request=name)
        try:
            if refused is not None:
                raise refused
            wanted = asked.read(
                request.body,
                chat=chat,
                model=settings.model,
                max_context=settings.max_context,
                letters=settings.letters_per_token,
            )
        except Refused as error:
            self._refuse(connection, request, line, error)
            return
        plan = planning.make(settings, number, wanted, request, created=int(wall))
        line.id, line.model, line.head, line.stream = plan.answer.id, settings.model, wanted.head, wanted.stream
        line.prompt_tokens, line.status = wanted.prompt_tokens, plan.script.status
        line.outcome = plan.failure or "ok"
        line.expected = failures.expected(plan.failure, first_on_connection=line.on_connection == 0)
        stream = self._streams[connection] = Stream(connection, line, plan, now)
        connection.busy = True
        if plan.at_once:
            self._begin(stream)
        elif settings.slots is not None and len(self._running) >= settings.slots:
            self._waiting.append(stream)
        else:
            self._running.add(stream)
            self._begin(stream)

    def gone(self, connection: Connection, outcome: str = "client_left") -> None:
        """A connection was closed: its dead work stops and its slot is free."""
        stream = self._streams.pop(connection, None)
        if stream is None or stream.over:
            return
        line = stream.line
        hangs = stream.script.ending == "hang" and stream.steps == stream.script.count
        if not hangs or line.started_at is None:
            line.outcome, line.expected = outcome, None
        line.client_left = outcome == "client_left"
        self._over(stream)
        self._free(stream)

    def stop(self) -> None:
        """The server ends: requests in the works get their line, and none that waits is begun."""
        self._waiting.clear()
        for connection in list(self._streams):
            self.gone(connection, "server_stopped")

    def _refuse(self, connection: Connection, request: wire.Request, line: Line, refused: Refused) -> None:
        """Answer a request that asks wrongly."""
        line.status, line.outcome = refused.status, "refused"
        line.expected = failures.expected_status(refused.status)
        body = orjson.dumps(refused.as_dict())
        reply = wire.answer(refused.status, body, keep_alive=request.keep_alive)
        self._hub.reply(connection, reply, keep_alive=request.keep_alive)
        line.end_at = time.time()
        self.occupancy.leave(time.monotonic(), line.outcome)
        self._truth.write(line)

    def _begin(self, stream: Stream) -> None:
        """Service begins: the opening is sent, and the first step's due time is known."""
        line, what = stream.line, stream.script
        stream.started = time.monotonic()
        line.started_at = time.time()
        if not stream.plan.at_once:
            self.metrics.begin(stream.answer.prompt_tokens, stream.started - stream.received)
        if what.opening:
            if what.sse and stream.answer.chat:
                line.first_event_at = time.time()
            self._hub.send(stream.connection, what.opening)
        if stream.over:
            return
        if what.count == 0:
            self._played(stream)
            return
        stream.due = stream.started + stream.plan.pace.first(stream.answer.prompt_tokens, len(self._running))
        heapq.heappush(self._due, (stream.due, line.request, stream))

    def _played(self, stream: Stream) -> None:
        """The last step was carried out: the slot is free, and the request is over when its bytes are gone."""
        if stream.script.ending != "hang":
            self._free(stream)
            self._hub.after(stream.connection, lambda: self._sent(stream))

    def _sent(self, stream: Stream) -> None:
        """The answer's last byte was handed to the kernel."""
        connection, ending = stream.connection, stream.script.ending
        self._over(stream)
        del self._streams[connection]
        connection.busy = False
        if ending == "keep" and stream.answer.keep_alive:
            self._done(connection)
        else:
            self._hub.drop(connection, reset=ending == "reset")

    def _free(self, stream: Stream) -> None:
        """Take a request out of service, or out of the queue; the one that waited longest follows."""
        if stream in self._running:
            self._running.discard(stream)
        elif stream in self._waiting:
            self._waiting.remove(stream)
        if self._admitting:
            return  # the loop below is at work further up the stack: its own request was found to have left
        self._admitting = True
        slots = self._settings.slots
        while self._waiting and (slots is None or len(self._running) < slots):
            following = self._waiting.popleft()
            self._running.add(following)
            self._begin(following)
        self._admitting = False

    def _over(self, stream: Stream) -> None:
        """A request has come to its end, whichever: it is counted and gets its line of truth."""
        stream.over = True
        now, line = time.monotonic(), stream.line
        line.end_at = time.time()
        if stream.steps == stream.script.count:
            line.finish_reason = stream.script.finish
        self.occupancy.leave(now, line.outcome)
        finish = "abort" if line.client_left else line.finish_reason
        if finish in self.metrics.success:
            decode = None if stream.first_at is None else stream.last_at - stream.first_at
            self.metrics.over(finish, now - stream.received, decode)
        self._truth.write(line)
