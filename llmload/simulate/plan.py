"""What one request will get and when: everything about it that is decided before anything is sent. Pure."""

from dataclasses import dataclass

from llmload.simulate import failures, script
from llmload.simulate.answers import Answer
from llmload.simulate.asked import Asked
from llmload.simulate.script import Script
from llmload.simulate.settings import Settings
from llmload.simulate.timing import Pace
from llmload.simulate.wire import Request

DEFAULT_TOKENS = 256
"""Length of an answer for which neither side has a wish."""


@dataclass(slots=True)
class Plan:
    """One request's answer."""

    answer: Answer
    script: Script
    pace: Pace
    failure: str | None
    at_once: bool
    """Answered without a slot, as by a gateway in front of the engine."""


def make(settings: Settings, number: int, wanted: Asked, request: Request, *, created: int) -> Plan:
    """The plan for request `number`: a function of settings and request alone. `created`: Unix seconds."""
    tokens, finish = length(settings, number, wanted)
    answer = Answer(
        number=number,
        chat=wanted.chat,
        model=settings.model,
        created=created,
        prompt_tokens=wanted.prompt_tokens,
        tokens=tokens,
        per_event=settings.tokens_per_event,
        letters=settings.letters_per_token,
        include_usage=wanted.include_usage,
        keep_alive=request.keep_alive
        and (request.chunked or not wanted.stream),  # an unchunked stream ends with its connection
        chunked=request.chunked,
    )
    failure = settings.failures.pick(settings.seed, number, stream=wanted.stream)
    if failure is None:
        what = script.good(answer, finish, stream=wanted.stream)
    else:
        events = failures.after(settings.seed, number, answer.events)
        what = script.failing(answer, finish, failure, events, stream=wanted.stream)
    at_once = failure is not None and (failure in failures.AT_ONCE or failures.status_of(failure) is not None)
    return Plan(answer, what, Pace(settings.timing, settings.seed, number), failure, at_once)


def length(settings: Settings, number: int, wanted: Asked) -> tuple[int, str]:
    """Tokens of the answer, and its finish reason: `length` at the limit, else `stop`."""
    if wanted.ignore_eos or (settings.answer_tokens is None and wanted.limited):
        return wanted.limit, "length"
    own = DEFAULT_TOKENS if settings.answer_tokens is None else settings.answer_tokens.draw(settings.seed, number)
    natural = max(own, wanted.min_tokens)
    return (natural, "stop") if natural < wanted.limit else (wanted.limit, "length")
