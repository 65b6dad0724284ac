"""`llmload simulate`: reads the options of the embedded endpoint, starts it, and ends it cleanly on a signal."""

import argparse
import gc
import math
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from llmload.exits import Exit, Stop
from llmload.simulate import failures, lengths, timing
from llmload.simulate.hub import listen
from llmload.simulate.server import Server
from llmload.simulate.settings import Settings
from llmload.simulate.tokens import LETTERS
from llmload.simulate.truth import TruthFile

KEY = "LLMLOAD_SIMULATE_KEY"

T = TypeVar("T")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options. All values are read as text here and checked in `settings`, one sentence each."""
    parser.epilog = (
        f"The first line on standard output says where it listens. If {KEY} is set, requests need it as bearer token."
    )
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    add("--port", default="0", help="port to listen on; 0, the default, takes a free one")
    add("--model", default="simulated", help="name of its one model (default: %(default)s)")
    add("--ttft-ms", default="200", help="first token so long after service begins (default: %(default)s)")
    add("--itl-ms", default="20", help="time between token events (default: %(default)s)")
    add("--distribution", default="fixed", help=f"of both times: {', '.join(timing.DISTRIBUTIONS)} (default: fixed)")
    add("--spread", help="standard deviation / mean of normal and lognormal times (default: 0.2)")
    add("--prefill-tokens-per-s", help="each prompt token adds 1/this to the first token's time")
    add("--slowdown", default="0", help="each further request in service makes times longer by this share")
    add("--cliff", metavar="EVENTS:FACTOR", help="behind so many events of an answer gaps are longer, as in 200:3")
    add("--slots", help="requests in service at once, the others wait in a queue (default: no limit)")
    kinds = "; ".join(f"{kind} ({text})" for kind, text in failures.KINDS.items())
    add("--failures", default="", help=f"shares that fail, as in 429=0.02,cut=0.01; a status code or one of: {kinds}")
    add("--seed", default="1", help="of all draws (default: %(default)s)")
    add("--truth", help="file to write, a JSON line per request with the true time of every send")
    add("--max-context", default="32768", help="most tokens of prompt and answer together (default: %(default)s)")
    add("--tokens-per-event", default="1", help="tokens that each event carries (default: %(default)s)")
    add(
        "--letters-per-token",
        default=str(LETTERS),
        help="of its tokenizer: fewer make more tokens of the same text (default: %(default)s)",
    )
    add("--answer-tokens", help="how long answers would be by themselves: fixed:200, uniform:10,200, normal:150,40 or "
        "lognormal:150,0.5 (default: as long as max_tokens lets them)")  # fmt: skip


def settings(args: argparse.Namespace) -> Settings:
    """The checked settings. Raises Stop(USAGE) with a sentence that names the option."""
    if args.distribution not in timing.DISTRIBUTIONS:
        known = ", ".join(timing.DISTRIBUTIONS)
        raise Stop(f"--distribution {args.distribution}: unknown distribution; expected one of: {known}")
    if args.spread is not None and args.distribution not in timing.WITH_SPREAD:
        raise Stop(f"--spread: {args.distribution} times have none; use --distribution normal or lognormal")
    if not args.model or not args.model.isprintable():
        raise Stop(f"--model {args.model!r}: expected a name of printable characters")
    pace = timing.Timing(
        ttft_s=_number("--ttft-ms", args.ttft_ms, least=0) / 1e3,
        itl_s=_number("--itl-ms", args.itl_ms, least=0) / 1e3,
        distribution=args.distribution,
        spread=timing.DEFAULT_SPREAD if args.spread is None else _number("--spread", args.spread, least=0),
        prefill_tokens_per_s=_optional(_positive, "--prefill-tokens-per-s", args.prefill_tokens_per_s),
        slowdown=_number("--slowdown", args.slowdown, least=0),
        **({} if args.cliff is None else cliff(args.cliff)),
    )
    return Settings(
        host=args.host,
        port=_whole("--port", args.port, least=0, most=65_535),
        model=args.model,
        timing=pace,
        slots=_optional(_whole, "--slots", args.slots),
        failures=_parsed("--failures", args.failures, failures.parse),
        seed=_whole("--seed", args.seed, least=0),
        truth=None if args.truth is None else Path(args.truth),
        max_context=_whole("--max-context", args.max_context, least=2),
        tokens_per_event=_whole("--tokens-per-event", args.tokens_per_event),
        letters_per_token=_whole("--letters-per-token", args.letters_per_token, most=100),
        answer_tokens=None
        if args.answer_tokens is None
        else _parsed("--answer-tokens", args.answer_tokens, lengths.parse),
    )


def cliff(text: str) -> dict[str, Any]:
    """`200:3` as fields of Timing. Raises Stop(USAGE)."""
    events, _, factor = text.partition(":")
    return {"cliff_after": _whole("--cliff", events), "cliff_factor": _number("--cliff", factor, least=0)}


def main(args: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM."""
    wanted = settings(args)
    _raise_descriptors()
    key = os.environ.get(KEY) or None
    listener = listen(wanted.host, wanted.port)  # before the truth file, which may be another simulator's
    with listener, TruthFile(wanted.truth) as truth:
        server = Server(wanted, listener, truth, key=key)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: server.stop())
        print(f"listening on {server.url}", flush=True)
        gc.freeze()  # what lives as long as the process need not be looked through for garbage while it serves
        server.serve()
    return Exit.OK


def _raise_descriptors() -> None:
    """Allow as many open connections as the machine lets us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (ValueError, OSError):
            return  # the limit stays; the server stops accepting when it is reached


def _number(option: str, text: str, *, least: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= least):
        raise Stop(f"{option} {text}: expected a number of at least {least:g}")
    return value


def _positive(option: str, text: str) -> float:
    value = _number(option, text, least=0)
    if value == 0:
        raise Stop(f"{option} {text}: expected a number above 0")
    return value


def _whole(option: str, text: str, *, least: int = 1, most: int | None = None) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least or (most is not None and value > most):
        limits = f"at least {least}" if most is None else f"{least} to {most}"
        raise Stop(f"{option} {text}: expected a whole number, {limits}")
    return value


def _optional(read: Callable[[str, str], T], option: str, text: str | None) -> T | None:
    return None if text is None else read(option, text)


def _parsed(option: str, text: str, read: Callable[[str], T]) -> T:
    try:
        return read(text)
    except ValueError as error:
        raise Stop(f"{option} {text}: {error}") from None
