"""The one thread that asks the GPUs: on a fixed grid of times, slow values seldom, and not at all while paused.

What it hears it puts into `kept`, where the page finds it; nobody else calls the backend. A driver that went away is
looked for again, at growing intervals. A thread that hangs in a driver cannot be ended: `hanging_s` tells that it does,
and whoever started it ends the process.
"""

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from llmload.sidecar.backend import Absent, Backend, Gone, Hopeless, Reading
from llmload.sidecar.kept import Kept, Look

SLOW_S = 10.0
"""What is read seldom is read so often."""
BACK_OFF_S = 0.5
BACK_OFF_MOST_S = 30.0
SAY_AGAIN_S = 60.0
"""A driver that stays away is told of so often."""


class Sink(Protocol):
    """Where looks go besides the page."""

    def look(self, look: Look) -> None:
        """One that went well."""

    def failed(self, sentence: str) -> None:
        """One that failed."""

    def paused(self, *, begins: bool) -> None:
        """Nothing is looked at from here on, or again."""


class Sampler:
    """Looks every `every_s`. With `wait` a driver that is absent from the beginning is waited for."""

    def __init__(  # noqa: PLR0913  (its surroundings, each replaced by tests)
        self,
        backend: Backend,
        *,
        every_s: float,
        say: Callable[[str], None],
        host: Callable[[], Mapping[str, float]] = dict,
        sink: Sink | None = None,
        wait: bool = False,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.every_s = every_s
        self.kept = Kept()
        self.ended = threading.Event()
        self.failure: str | None = None
        """Why it ended by itself: a sentence."""
        self._backend, self._say, self._host, self._sink = backend, say, host, sink
        self._wait_for_driver = wait
        self._clock = clock
        self._changed = threading.Condition()
        self._stopping = False
        self._paused_until = -math.inf
        self._told_paused = False
        self._busy_since: float | None = None
        self._open = False
        self._slow_due = -math.inf
        self._back_off_s = 0.0
        self._known: dict[str, Reading] = {}
        self._said, self._say_again = "", -math.inf

    # -- from any thread

    def start(self) -> None:
        """Begin."""
        threading.Thread(target=self._run, name="sampler", daemon=True).start()

    def stop(self) -> None:
        """End it and let go of the driver, when the call that is under way returns; `ended` tells."""
        with self._changed:
            self._stopping = True
            self._changed.notify()

    def pause(self, seconds: float) -> None:
        """No looks for so long; ends by itself."""
        with self._changed:
            self._paused_until = self._clock() + seconds
            self._changed.notify()

    def resume(self) -> None:
        """Look again."""
        with self._changed:
            self._paused_until = -math.inf
            self._changed.notify()

    def paused_s(self) -> float:
        """For how long it will still be paused; 0 if it is not."""
        return max(self._paused_until - self._clock(), 0.0)

    def hanging_s(self) -> float:
        """How long the call that is under way has taken so far; 0 if there is none."""
        since = self._busy_since
        return 0.0 if since is None else self._clock() - since

    def age_s(self) -> float | None:
        """How old the values of the last look are that went well."""
        last = self.kept.last_mono_s
        return None if last is None else max(self._clock() - last, 0.0)

    def fresh(self) -> Look | None:
        """The last look, unless it is old, looking has failed since, or it is paused."""
        look = self.kept.look
        if look is None or self.paused_s() > 0:
            return None
        return look if self._clock() - look.mono_s <= max(3 * self.every_s, 3.0) else None

    # -- the thread

    def _run(self) -> None:
        begun = due = self._clock()
        try:
            while self._wait(due):
                self._look()
                now = self._clock()
                due = now + self._back_off_s if self._back_off_s else next_due(begun, self.every_s, now)
        except (Absent, Hopeless) as error:
            self.failure = str(error)
        except Exception as error:  # noqa: BLE001  (a thread that died unseen would leave an empty page for ever)
            self.failure = f"the sampler failed: {type(error).__name__}: {error}"
        finally:
            self._backend.close()
            self.ended.set()

    def _wait(self, due: float) -> bool:
        """Until it is time and it is not paused. False: it is to end."""
        with self._changed:
            while not self._stopping:
                now = self._clock()
                self._tell_pause(now < self._paused_until)
                left = max(due, self._paused_until) - now
                if left <= 0:
                    return True
                self._changed.wait(left)
        return False

    def _tell_pause(self, paused: bool) -> None:
        if paused != self._told_paused:
            self._told_paused = paused
            self._say("paused: nothing is sampled" if paused else "sampling again")
            if self._sink is not None:
                self._sink.paused(begins=paused)

    def _look(self) -> None:
        self._busy_since = begun = self._clock()
        try:
            if not self._open:
                self._backend.open()
                self._open, self._slow_due = True, -math.inf
            slow = begun >= self._slow_due
            gpus = tuple(_plain(reading) for reading in self._backend.read(slow=slow))
        except Absent as error:
            if self.kept.last_at is None and not self._wait_for_driver:
                raise
            self._failed("absent", f"{error}; waiting for it")
        except Gone as error:
            self._failed("gone", str(error))
        except Hopeless:
            raise
        except Exception as error:  # noqa: BLE001  (whatever a driver's library comes up with, the page goes on)
            self._failed("error", f"unexpected {type(error).__name__}: {error}; it is tried again")
        else:
            ended = self._clock()
            if slow:
                self._slow_due = begun + SLOW_S
            self._succeeded(begun, ended, gpus)
        finally:
            self._busy_since = None

    def _succeeded(self, begun: float, ended: float, gpus: tuple[Reading, ...]) -> None:
        if self._back_off_s:
            self._say(f"the driver answers: {len(gpus)} {'GPU' if len(gpus) == 1 else 'GPUs'}")
        self._back_off_s, self._said = 0.0, ""
        took_s = ended - begun
        middle = ended - took_s / 2
        at = time.time() - (self._clock() - middle)
        look = Look(at, middle, took_s, self._with_missing(gpus), self._host())
        durations = self.kept.durations.with_one(took_s)
        self._keep("ok", look=look, last_at=at, last_mono_s=middle, durations=durations, fault="")
        if self._sink is not None:
            self._sink.look(look)

    def _failed(self, outcome: str, sentence: str) -> None:
        self._backend.close()
        self._open = False
        self._back_off_s = min(max(2 * self._back_off_s, BACK_OFF_S, self.every_s), BACK_OFF_MOST_S)
        self._keep(outcome, look=None, fault=sentence)
        if self._sink is not None:
            self._sink.failed(sentence)
        now = self._clock()
        if sentence != self._said or now >= self._say_again:
            self._said, self._say_again = sentence, now + SAY_AGAIN_S
            self._say(sentence)

    def _keep(self, outcome: str, **changes: object) -> None:
        outcomes = {**self.kept.outcomes, outcome: self.kept.outcomes[outcome] + 1}
        calls, errors = self._backend.calls, dict(self._backend.errors)
        self.kept = replace(self.kept, outcomes=outcomes, calls=calls, errors=errors, **changes)  # type: ignore[arg-type]

    def _with_missing(self, gpus: Sequence[Reading]) -> tuple[Reading, ...]:
        """These, and as lost those that were there once and are not among them; changes are told."""
        here = {reading.uuid for reading in gpus}
        lost = (Reading(known.gpu, known.uuid, up=False) for known in self._known.values() if known.uuid not in here)
        told = (*gpus, *lost)
        for reading in told:
            known = self._known.get(reading.uuid)
            if known is not None and known.up != reading.up:
                words = "is back" if reading.up else "is lost: its values are gone, the others go on"
                self._say(f"GPU {reading.gpu} ({reading.uuid}) {words}")
            if reading.up or known is not None:  # else it was never there, and may come under another UUID
                self._known[reading.uuid] = reading
        return told


def next_due(begun: float, every_s: float, now: float) -> float:
    """The next point of a grid from `begun` on, after now: nothing drifts, and what was missed is not made up for."""
    return begun + (math.floor((now - begun) / every_s) + 1) * every_s


def _plain(reading: Reading) -> Reading:
    """With nothing in it that a page or a line could stumble over."""
    values = {key: number for key, value in reading.values.items() if math.isfinite(number := float(value))}
    migs = tuple(_texts(mig) for mig in reading.migs)
    return Reading(reading.gpu, reading.uuid, reading.up, _texts(reading.info), migs, values if reading.up else {})


def _texts(table: Mapping[str, str]) -> dict[str, str]:
    return {key: str(value).encode(errors="replace").decode() for key, value in table.items()}
