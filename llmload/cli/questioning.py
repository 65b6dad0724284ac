"""Asks both sides of a comparison the same prompts, apart from any load: the process that `asking` starts.

Temperature 0, no unique heads, a few in flight, no clock. First the baseline, then the candidate, then the baseline
again: what it does not repeat itself, no candidate can be blamed for.
"""

import signal
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmload import plain
from llmload.answers import known
from llmload.answers.known import Known
from llmload.cli import aside, looking
from llmload.exits import Exit, Stop
from llmload.load.call import Call
from llmload.load.mix import Mix
from llmload.load.scenario import Limits, Scenario
from llmload.record import answers
from llmload.record.answers import Row, Side
from llmload.record.record import RequestRecord, Tags
from llmload.record.rounds import SIDES

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

TRIES = 3
"""Of a request that was turned away for the moment; nothing is measured here."""
AGAIN = {"rate_limited", "overloaded", "no_response", "stale_connection"}
PATIENCE = Limits(connect_s=30.0, ttft_s=600.0, stall_s=300.0, total_s=1800.0)
"""Seconds that an answer may take at least: it is not its time that is asked for."""
LOOKED_AT = 20_000
"""Requests of the mix among which prompts are looked for."""


@dataclass(frozen=True, slots=True)
class Job:
    """All that is to be asked of whom. Pairs are (baseline's, candidate's)."""

    folder: Path
    hosts: tuple[str, str]
    models: tuple[str | None, str | None]
    scenarios: tuple[Scenario, Scenario]
    facts: tuple[Known, ...]
    prompts: int
    """Prompts of each class."""
    tokens: int | None
    """Output tokens of each question; None: as it says."""
    in_flight: int
    options: dict[str, Any]
    """Fields of SendOptions."""

    @property
    def path(self) -> Path:
        """Where the answers go."""
        return self.folder / answers.ANSWERS


@dataclass(frozen=True, slots=True)
class Question:
    """One prompt, as it is sent, with what is expected of the answer."""

    call: Call
    expected: dict[str, Any] | None


def questions(job: Job) -> list[Question]:
    """Everything that is asked, in this order: the shipped questions, the user's own, prompts of the scenario.

    Raises Stop(USAGE) for a fact about a prompt that the scenario has not.
    """
    found = []
    for one in (*known.shipped(), *(fact for fact in job.facts if fact.prompt is not None)):
        prompt = one.prompt or ""
        messages = ({"role": "user", "content": prompt},)
        call = Call(one.workload, one.id, messages, prompt, job.tokens or one.max_tokens, temperature=0.0)
        found.append(Question(call, one.expected))
    told = {one.id: one.expected for one in job.facts if one.prompt is None}
    return found + [Question(call, told.get(call.prompt)) for call in mixed(job.scenarios[0], job.prompts, set(told))]


def mixed(scenario: Scenario, most: int, wanted: set[str]) -> list[Call]:
    """The first `most` prompts of each class, and those that are wanted by their ids, class by class.

    Without their unique heads, at temperature 0; nobody is made to write on when an answer has come to its end.
    """
    names = [cls.name for cls in scenario.classes]
    found: dict[str, dict[str, Call]] = {name: {} for name in names}
    full = dict.fromkeys(names, most)
    missing = set(wanted)
    if most or missing:
        mix = Mix(replace(scenario, cache_busting=False), scenario.fitted)
        for index in range(LOOKED_AT):
            call = mix.measured(0, index)
            mine = found[call.workload]
            if call.prompt not in mine and (len(mine) < full[call.workload] or call.prompt in missing):
                mine[call.prompt] = plainly(call)
                missing.discard(call.prompt)
            if not missing and all(len(found[cls.name]) >= min(most, size(cls, most)) for cls in scenario.classes):
                break
    if missing:
        raise Stop(f"--facts: the scenario {scenario.name} has no prompt {min(missing)!r}; give the line a prompt")
    return [call for name in names for call in found[name].values()]


def size(cls: Any, most: int) -> int:
    """How many prompts a class has at least; of a data file it is not known here."""
    return most if cls.source == "file" else int(cls.prompts)


def plainly(call: Call) -> Call:
    """The call at temperature 0 and without a wish to be answered at length."""
    return replace(call, temperature=0.0, ignore_eos=False, min_tokens=None)


def perform(job: Job, told: "Connection[Any, Any]") -> None:
    """The whole process: what it has to say goes through the pipe, a Stop too."""
    with aside.telling(told):
        run(job, told)


def run(job: Job, told: "Connection[Any, Any]") -> None:
    """Ask both sides. Raises Stop."""
    asked = questions(job)
    job.path.unlink(missing_ok=True)
    sides: tuple[tuple[Side, int], ...] = (("baseline", 0), ("candidate", 1), ("baseline again", 0))
    for side, at in sides:
        begin = time.monotonic()
        rows = list(answered(job, at, side, asked, told))
        failed = sum(row.outcome != "ok" for row in rows)
        words = f"{side}: {len(rows) - failed} of {len(rows)} answers in {time.monotonic() - begin:.0f} s"
        first = next((row for row in rows if row.outcome != "ok"), None)
        told.send(("say", words if first is None else f"{words}; {failed} failed, {first.id} first: {first.outcome}"))


def answered(job: Job, at: int, side: Side, asked: list[Question], told: "Connection[Any, Any]") -> Iterator[Row]:
    """The rows of one side in the order of the questions, each kept as soon as those before it have come."""
    import gevent
    from gevent.pool import Pool

    from llmload.send.client import Client

    sending, key = settled(job, at, told)
    client = Client(sending, key)
    stopped: list[bool] = []

    def stop() -> None:
        stopped.append(True)
        client.cancel()

    def one(question: Question) -> Row:
        record = RequestRecord("", "", 0, 0, None, "measure", "", "", None, "cancelled")
        for number in range(TRIES):
            if stopped:
                break
            record = client.send(question.call, lambda _: tags(question.call), lambda *_: None, save_text=True)
            if record.outcome not in AGAIN or number == TRIES - 1:
                break
            gevent.sleep(min(record.retry_after_s or 1.0, 10.0))
        return row(side, question, record)

    interrupt = gevent.signal_handler(signal.SIGINT, stop)
    try:
        for number, found in enumerate(Pool(job.in_flight).imap(one, asked, maxsize=job.in_flight), 1):
            answers.write(job.path, [found])
            told.send(("progress", f"{side}: {number} of {len(asked)} answers"))
            yield found
    finally:
        interrupt.cancel()
        client.close()
    if stopped:
        raise Stop("stopped while asking for answers; what came is in answers.jsonl", Exit.INCOMPLETE)


def settled(job: Job, at: int, told: "Connection[Any, Any]") -> tuple[Any, str | None]:
    """How to send to a side (a `Sending`), and the key: by the first part of a preflight. Raises Stop."""
    scenario = job.scenarios[at]
    limits = {name: max(getattr(scenario.limits, name), patience) for name, patience in asdict(PATIENCE).items()}
    scenario = replace(scenario, temperature=0.0, limits=Limits(**limits))
    options = {"model": job.models[at], **job.options}
    side = looking.Side(SIDES[at], job.hosts[at], scenario, options)
    return looking.look(side, lambda line: told.send(("say", line)))


def tags(call: Call) -> Tags:
    """Where such a request belongs: nowhere in a run."""
    return Tags("answers", "answers", 0, 0, None, "measure", call.workload, call.prompt)


def row(side: Side, question: Question, record: RequestRecord) -> Row:
    """What is kept of an answer."""
    return Row(
        side=side,
        id=question.call.prompt,
        workload=question.call.workload,
        prompt=question.call.text,
        answer=presentable(record.text or ""),
        finish_reason=None if record.finish_reason is None else plain.one_line(record.finish_reason),
        outcome=record.outcome,
        output_tokens=record.output_tokens,
        expected=question.expected,
    )


def presentable(text: str) -> str:
    """A text that JSON can hold: a lone surrogate becomes U+FFFD."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
