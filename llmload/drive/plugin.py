"""Puts llmload into Locust: its options, its events, and the wiring of each process.

Importing it is enough; `llmload.LLMUser` and the packaged locustfile do. It patches some things of Locust, with the
reasons beside them.
"""

import argparse
import functools
import logging
import sys
from collections.abc import Callable
from typing import Any

import gevent
import locust
from locust import argument_parser, runners

from llmload import here
from llmload.drive import hearing, hooks
from llmload.drive.voice import Voice
from llmload.drive.web.form import FIELDS
from llmload.drive.wiring import PLACE, Wiring
from llmload.exits import Exit, Stop
from llmload.load import options

log = logging.getLogger(__name__)

CHATTY = ("httpx2", "httpcore2", "openai")
"""Loggers that would write a line for every request, in the log and in its time."""


def add_options(parser: Any, **_: Any) -> None:
    """Add llmload's options, in a group of the help, and those that people want on the start page."""
    group = parser.add_argument_group("llmload")
    for flags, keywords in (options.SCENARIO, *options.OPTIONS):
        action = group.add_argument(*flags, **keywords)
        action.include_in_web_ui = action.dest in FIELDS  # a group's add_argument does not know these words
        action.is_secret = action.is_required = action.is_multiple = False
    # Locust would serve its page, on which anybody can start a load, and take workers, which get the load's order, from
    # every machine that reaches this one
    parser.set_defaults(web_host=here.ALONE, master_bind_host=here.ALONE)


def refuse_run_time(parser: Any, **_: Any) -> None:
    """Refuse `-t` where a scenario governs: Locust would end the run in the middle of a step and lose its tail."""

    def refused(text: str) -> None:
        raise argparse.ArgumentTypeError(
            f"the scenario says how long a run takes, and one that is cut after {text} would lose its tail; "
            f"use --duration {text} for the window of each step"
        )

    for action in parser._actions:  # noqa: SLF001  (argparse has no public way to an option)
        if action.dest == "run_time":
            action.type = refused


def wire(environment: Any, **_: Any) -> None:
    """Locust is up: become what this process has to be."""
    hooks.put_on(environment.events)
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        setattr(environment, PLACE, Wiring(environment))
    except Stop as stop:
        Voice(environment.parsed_options).complain(stop.message)
        sys.exit(stop.code)
    gevent.get_hub().loop.update_now()  # its clock stood still during seconds of imports, and `-t` would count those


def listen(event: str, listener: Any) -> None:
    """Listen to one of Locust's events."""
    getattr(locust.events, event).add_listener(listener)


def govern() -> None:
    """For a locustfile whose runs are those of a scenario."""
    listen("init_command_line_parser", refuse_run_time)


# Locust asks for its default options once for every option that comes with a spawn message, and builds a whole parser
# each time: 50 to 200 ms in which no stream is read. The answer never changes.
if hasattr(argument_parser, "default_args_dict"):
    argument_parser.default_args_dict = functools.cache(argument_parser.default_args_dict)


def connect(runner: Any, original: Callable[[Any], None] = runners.WorkerRunner.connect_to_master) -> None:
    """Reach the master, or say what is wrong and leave with a code of ours."""
    try:
        original(runner)
    except ConnectionError:
        pass
    else:
        return
    log.error(
        "llmload: no master at %s:%s answered within a minute: start it first (on another machine with "
        "--master-bind-host 0.0.0.0), or mend --master-host and --master-port",
        runner.master_host,
        runner.master_port,
    )
    sys.exit(Exit.INCOMPLETE)


# Locust tries for five minutes to reach a master, says next to nothing, and leaves with 255.
runners.CONNECT_RETRY_COUNT = 12  # of five seconds each
runners.WorkerRunner.connect_to_master = connect  # type: ignore[method-assign]

hearing.keep()

listen("init_command_line_parser", add_options)
listen("init", wire)
