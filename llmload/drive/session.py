"""One run in one process that sends: the gate, the tags, the spool, and what is told to the master.

Users ask it for their next call and have it sent; it knows the present step and phase from the master's messages.
Whether the master is another process or this one, it does not know.
"""

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import gevent
from gevent.event import Event

from llmload.drive import generator, hooks, messages
from llmload.drive.apart import Apart
from llmload.drive.arriving import Arriving
from llmload.drive.order import Order
from llmload.drive.part import Allowance, Counts, Place, Seat
from llmload.drive.ship import Row, Shipper
from llmload.drive.turnstile import Turnstile
from llmload.load import arrivals
from llmload.load.call import Call
from llmload.record import clock
from llmload.record.record import (
    CUT_BY_CALLER,
    CUT_BY_DRAIN,
    CUT_BY_FAULT,
    CUT_BY_LEAVING,
    CUT_BY_STEP_END,
    CUT_BY_USER,
    Phase,
    RequestRecord,
    Tags,
)
from llmload.record.spool import Spool

log = logging.getLogger(__name__)

STATUS_S = 0.05
STATUS_AT_LEAST_S = 0.5
CUT_S = 1.0
"""By then what was cut has ended, for a process that has to go."""

PHASES: dict[str, Phase] = {"warmup": "warmup", "measure": "measure"}
"""The phase in records, by that of the step; everything else is drain."""

WHY = {"user": CUT_BY_USER, "fault": CUT_BY_FAULT, "leaving": CUT_BY_LEAVING}
"""Who cuts, apart from the end of a step."""


class Sender(Protocol):
    """What a session needs of `llmload.send.client.Client`."""

    @property
    def in_flight(self) -> int:
        """Attempts that have begun and not ended."""

    def send(
        self,
        call: Call,
        opening: Callable[[float], Tags],
        finished: Callable[[RequestRecord, str], None],
        *,
        on_first_token: Callable[[float], None] | None = None,
        save_text: bool = False,
    ) -> RequestRecord:
        """Send one request and wait for its end."""

    def cancel(self) -> int:
        """End attempts that are in flight."""

    def meter(self) -> generator.Meter:
        """Counts since the last call."""

    def close(self) -> None:
        """Close all connections."""


class Plan(Protocol):
    """What a session needs of `llmload.load.mix.Mix`."""

    def warmup(self, step: int, user: int, k: int) -> Call:
        """A user's k-th warm-up call."""

    def warming(self, step: int, index: int) -> Call:
        """The index-th call of a step's warm-up, where it goes by rate."""

    def measured(self, step: int, index: int) -> Call:
        """The index-th call of a step's window."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one attempt: its record, and the answer's text."""

    record: RequestRecord
    text: str


@dataclass(frozen=True, slots=True)
class Tools:
    """What a session works with."""

    client: Sender
    plan: Plan | None
    """None if users make their calls themselves."""
    spool: Spool
    events: Any
    """Locust's events, with those of `hooks` on them."""
    tell: Callable[[str, dict[str, Any]], None]
    """Sends a message (type, data) to the master; may block."""
    schedule: Callable[[int, float], Iterator[float]] = lambda *_: iter(())
    """Seconds from the start of a step to each arrival, by step and rate."""
    apart: Apart = field(default_factory=Apart)
    """How far this process's clock is from the master's."""


class Session:
    """One run in one process. See above."""

    def __init__(self, order: Order, worker: str, tools: Tools) -> None:
        self.order = order
        self.worker = worker
        self.client = client = tools.client
        self.gate = Event()
        self.turnstile = Turnstile()
        self.over = False
        self.failure: str | None = None
        self.arriving: Arriving | None = None
        """What arrives in the present step, if it goes by rate."""
        self._plan = tools.plan
        self._schedule = tools.schedule
        self._spool = tools.spool
        self._events = tools.events
        self._tell = tools.tell
        self._apart = tools.apart
        self._seats: list[Seat] = []
        self._counts = Counts()
        self._in_flight = 0
        self._started = 0
        self._finished = 0
        self._not_sent = 0
        self._asked_tokens = 0
        self._step = 0
        self._concurrency: int | None = None
        self._phase = "closed"
        self._serial = 0
        self._heard_at = 0.0
        self._place = Place()
        self._index = 0
        self._allowance = Allowance()
        self._out_of_budget = False
        self._cut: dict[str, str] = {}
        self._last_word: dict[str, Any] | None = None
        self._samples: list[bytes] = []
        self._shipper = Shipper(self._ship)
        self._sampler = generator.Sampler(
            worker, client.meter, lambda: client.in_flight, self._samples.append, self._apart
        )
        self._wake = Event()
        generator.settle()
        if order.free:
            generator.quiet()
        self._reporter = gevent.spawn(self._report)
        if order.free:
            self._phase = "measure"
            self.gate.set()

    # What users do

    def sit(self) -> Seat:
        """A user comes up."""
        seat = Seat(number=len(self._seats))
        self._seats.append(seat)
        return seat

    def leave(self, seat: Seat) -> None:
        """A user goes."""
        if seat in self._seats:
            self._seats.remove(seat)

    def call(self, seat: Seat) -> Call | None:
        """The next call of a user in the present phase; None if the gate is closed or the budget used up."""
        if self._plan is None or not self.gate.is_set():
            return None
        if self._phase == "warmup":
            call = self._plan.warmup(self._step, self._place.first_user + seat.number, seat.made)
            seat.made += 1
        else:
            call = self._plan.measured(self._step, self._index)
            self._index += self._place.stride
        return call if self.affords(call) else None

    def arrival(self) -> Call | None:
        """The call of the next arrival of a load by rate; None if the gate is closed."""
        if self._plan is None or not self.gate.is_set():
            return None
        made = self._plan.warming if self._phase == "warmup" else self._plan.measured
        call = made(self._step, self._index)
        self._index += self._place.stride
        return call

    def affords(self, call: Call) -> bool:
        """Whether the budget allows one more call, which is taken from it; if not, the gate closes."""
        if self._allowance.take(call.max_tokens):
            return True
        self._out_of_budget = True
        self._shut()
        self._wake.set()
        return False

    @property
    def cutting(self) -> bool:
        """Whether what is in flight is being cut, so that nothing may begin any more."""
        return bool(self._cut)

    def attempt(
        self, user: Any, call: Call, seat: Seat | None = None, *, scheduled_at: float | None = None
    ) -> Answer | None:
        """Send one call and wait for its end; None if it was never put on the wire.

        Whatever ends it, a kill of the calling greenlet included, leaves a record.
        """
        answer: list[Answer] = []

        def opening(sent_at: float) -> Tags:
            return self._open(call, sent_at, scheduled_at)

        def finished(record: RequestRecord, text: str) -> None:
            answer.append(Answer(record, text))

        cause: BaseException | None = None
        try:
            self.client.send(
                call,
                opening,
                finished,
                on_first_token=hooks.first_token(self._events, user, call.workload),
                save_text=self.order.save_text,
            )
        except BaseException as error:
            cause = error
            raise
        finally:
            if answer:
                self._finish(answer[0].record, seat, cause)
                hooks.after(self._events, user, answer[0].record, answer[0].text)
        return answer[0] if answer else None

    def not_sent(self, user: Any, call: Call, scheduled_at: float, why: str) -> None:
        """Record a call that was due and is not sent; it never was in flight."""
        tags = self._tags(call, scheduled_at)
        record = RequestRecord(**asdict(tags), sent_at=None, outcome="not_sent", error=why)
        self._started += 1
        self._finished += 1
        self._not_sent += 1
        if tags.phase == "measure":
            self._counts.sent[call.workload] += 1
        self._write(record)
        gevent.spawn(hooks.after, self._events, user, record, "")  # listeners may take their time, arrivals do not

    def broken(self, error: Exception) -> None:
        """A call could not even be made: a fault that every further call would meet, so the run has to end."""
        if self.failure is None:
            log.error("llmload: a request could not be made", exc_info=error)
            self.failure = f"worker {self.worker}: a request could not be made: {type(error).__name__}: {error}"
        self._shut()

    @property
    def offset_s(self) -> float:
        """Seconds by which this process's clock is ahead of the master's; 0 as long as that is not known."""
        return self._apart.offset_s

    # What the master says

    def hear(self, data: dict[str, Any]) -> None:
        """A PHASE message; it comes again if the answer was lost."""
        if data["serial"] <= self._serial:
            return
        self._heard_at = clock.now()
        self._serial = data["serial"]
        if data["phase"] == "warmup":
            self._begin(data)
        self._phase = data["phase"]
        if self._phase == "measure":
            self._index = self._place.rank
        if self._phase == "closed":
            self._shut()
            self._cut = cut_words(data["why"])
            gevent.spawn(self._cut_all)
        elif self._phase == "finish" or self._out_of_budget:
            self._shut()
        else:
            self.gate.set()
        self._wake.set()

    def acknowledged(self, data: dict[str, Any]) -> None:
        """An ACK message."""
        for batch in data["batches"]:
            self._shipper.acknowledge(batch)

    def end(self, patience_s: float, before: Callable[[], None]) -> None:
        """An END message: send everything that is left, call `before`, then say that nothing is left.

        So long, at most, is waited for the master to write the last records; they are in the spool in any case.
        """
        self.over = True
        self._shut()
        self._cut = self._cut or cut_words("leaving")  # no step was closed before: this process was given up
        self._cut_all()
        self._shipper.flush(patience_s)
        self._reporter.kill()
        self._sample()
        before()
        self._last_word = {
            "run": self.order.run,
            "worker": self.worker,
            "started": self._started,
            "finished": self._finished,
            "clock_drift_s": round(clock.drift_s(), 3),
        }
        self.drained()
        self.close()

    def drained(self) -> None:
        """Say that nothing is left, as soon as that is so; the END comes again if this was lost."""
        if self._last_word is not None:
            self._tell(messages.DRAINED, self._last_word)

    def leave_early(self, patience_s: float) -> None:
        """This process has to go in mid-run: cut what is in flight, send what there is, wait so long for answers."""
        self.over = True
        self._shut()
        self._cut = cut_words("leaving")
        with gevent.Timeout(patience_s + CUT_S, False):
            self._cut_all()
            self._shipper.flush(patience_s)
            self._tell(messages.STATUS, self.status())

    def close(self) -> None:
        """Stop everything that this session started."""
        self.over = True
        self._shut()
        self._reporter.kill(block=False)
        self._sampler.close()
        self._shipper.close()
        self.client.close()
        self._spool.close()
        generator.tidy()

    # How it is done

    def _shut(self) -> None:
        """Nothing begins any more."""
        self.gate.clear()
        if self.arriving is not None:
            self.arriving.over.set()

    def _begin(self, data: dict[str, Any]) -> None:
        generator.quiet()
        self._step = data["step"]
        self._concurrency = data["concurrency"]
        self._counts = Counts()
        self._place = Place(data["first_user"], data["rank"], data["stride"])
        self._index = self._place.rank
        self._allowance = Allowance(data["requests"], data["tokens"])
        self._out_of_budget = False
        self._cut = {}
        for number, seat in enumerate(self._seats):
            seat.number, seat.made, seat.warm = number, 0, 0
        self.arriving = None if data.get("rate") is None else self._arriving(data)

    def _arriving(self, data: dict[str, Any]) -> Arriving:
        """This process's part of the schedule, which begins at a moment of the master's clock."""
        offsets = arrivals.dealt(self._schedule(self._step, data["rate"]), data["rank"], data["stride"])
        return Arriving(offsets, data["starts_at"] + self.offset_s, data["rate"], data["room"])

    def _tags(self, call: Call, scheduled_at: float | None) -> Tags:
        return Tags(
            run=self.order.run,
            worker=self.worker,
            seq=self._started,
            step=self._step,
            concurrency=self._concurrency,
            rate=None if self.arriving is None else self.arriving.rate,
            phase=PHASES.get(self._phase, "drain"),
            workload=call.workload,
            prompt=call.prompt,
            scheduled_at=scheduled_at,
            requested_input_tokens=call.requested_input_tokens,
            requested_output_tokens=call.max_tokens,
        )

    def _open(self, call: Call, sent_at: float, scheduled_at: float | None) -> Tags:
        tags = self._tags(call, scheduled_at)
        self._started += 1
        self._in_flight += 1
        self._asked_tokens += call.max_tokens
        if tags.phase == "measure":
            self._counts.sent[call.workload] += 1
            self._counts.measured_in_flight += 1
        self._spool.start(tags, sent_at)
        return tags

    def _finish(self, record: RequestRecord, seat: Seat | None, cause: BaseException | None) -> None:
        if record.outcome == "cancelled":
            record.error = self._cutter(record.phase, cause)
        self._count(record, seat)  # first, for it cannot fail: somebody waits until nothing is in flight any more
        self._write(record)

    def _write(self, record: RequestRecord) -> None:
        try:
            line = record.to_json()
        except Exception as error:  # whatever is wrong with it: an attempt without a record would be a lost one
            log.exception("llmload: a record could not be written")
            line = bare(record, f"the record could not be written ({type(error).__name__}: {error})").to_json()
        self._spool.finish(line)
        self._shipper.add(record.seq, line)

    def _cutter(self, phase: Phase, cause: BaseException | None) -> str:
        """Who cut an attempt of this phase; `cause` is what was thrown into its greenlet, if anything was."""
        if cause is not None and not isinstance(cause, gevent.GreenletExit):
            return CUT_BY_CALLER
        return self._cut.get(phase, CUT_BY_USER)

    def _count(self, record: RequestRecord, seat: Seat | None) -> None:
        self._finished += 1
        self._in_flight -= 1
        if record.step != self._step:
            return
        self._counts.ended(record)
        if seat is not None and record.phase == "warmup":
            seat.warm += 1

    def _cut_all(self) -> None:
        """Cancel until nothing is in flight: a request that was connecting meanwhile comes into flight later."""
        while self._under_way:
            self.client.cancel()
            gevent.sleep(0.01)
        generator.tidy()
        self._wake.set()

    @property
    def _under_way(self) -> int:
        """Attempts that have begun and not ended: on their way to the wire, on it, or on their way to their record."""
        arriving = 0 if self.arriving is None else self.arriving.under_way
        return max(self._in_flight, self.client.in_flight, arriving)

    def _unwritten(self) -> str | None:
        """Why this machine's disk takes no more, if it does not: the file alone does not say which machine that is."""
        why = self._spool.failure
        return None if why is None else f"worker {self.worker} on {socket.gethostname()}: {why}"

    def status(self) -> dict[str, Any]:
        """A STATUS message."""
        counts = self._counts
        return {
            "run": self.order.run,
            "worker": self.worker,
            "serial": self._serial,
            "heard_at": self._heard_at,
            "step": self._step,
            "users": len(self._seats),
            "in_flight": self._under_way,
            "warm": min((seat.warm for seat in self._seats), default=None),
            "classes_warm": dict(counts.warm),
            "sent": dict(counts.sent),
            "measured_in_flight": counts.measured_in_flight,
            "measured_ok": counts.measured_ok,
            "ok": counts.ok,
            "failed": counts.failed,
            "cut": counts.cut,
            "out_of_budget": self._out_of_budget,
            "started": self._started,
            "finished": self._finished,
            "not_sent": self._not_sent,
            "asked_tokens": self._asked_tokens,
            "stood_still_s": round(self._sampler.stood_still_s, 1),
            "clock_offset_ms": self._apart.offset_ms,
            "clock_error_ms": self._apart.error_ms,
            "failure": self.failure or self._unwritten(),
            "host": socket.gethostname(),
            "pid": os.getpid(),
        }

    def _report(self) -> None:
        last: dict[str, Any] = {}
        said = 0.0
        while True:
            self._wake.wait(STATUS_S)
            self._wake.clear()
            status = self.status()
            now = time.monotonic()
            try:
                news = status != last and not self._shipper.unheard  # a broken way is not filled with them
                if news or now - said >= STATUS_AT_LEAST_S:
                    self._tell(messages.STATUS, status)
                    last, said = status, now
                self._sample()
            except Exception as error:  # noqa: BLE001  (any failure of the way: the next status says all of it again)
                log.warning("llmload: no word to the master: %s", error)

    def _sample(self) -> None:
        lines = list(self._samples)
        if lines:
            self._tell(messages.GENERATOR, {"run": self.order.run, "worker": self.worker, "lines": lines})
            del self._samples[: len(lines)]

    def _ship(self, batch: int, rows: list[Row]) -> None:
        self._tell(
            messages.RECORDS,
            {"worker": self.worker, "run": self.order.run, "batch": batch, "rows": [list(row) for row in rows]},
        )


def bare(record: RequestRecord, error: str) -> RequestRecord:
    """The attempt of a record, as a protocol error and without anything that a server said."""
    own = ("run", "worker", "seq", "step", "concurrency", "phase", "workload", "prompt", "sent_at", "rate",
           "scheduled_at", "requested_input_tokens", "requested_output_tokens")  # fmt: skip
    return RequestRecord(**{name: getattr(record, name) for name in own}, outcome="protocol_error", error=error)


def cut_words(why: str) -> dict[str, str]:
    """What a cut record says, by the phase in which it was sent."""
    if why == "step":
        return {"warmup": CUT_BY_STEP_END, "measure": CUT_BY_DRAIN, "drain": CUT_BY_STEP_END}
    return dict.fromkeys(("warmup", "measure", "drain"), WHY[why])
