"""The `llmload` command: a dictionary from command name to the module that does it.

Each module has `add_arguments(parser)` and `main(args) -> int`; what it does stands in `COMMANDS`. Modules are imported
only when their command is asked for, so that `llmload report` never loads Locust or gevent.
"""

import argparse
import importlib
import sys
from typing import Protocol, cast

from llmload import __version__
from llmload.cli import outlet
from llmload.cli.parser import Parser
from llmload.exits import Exit, Stop

COMMANDS = {
    "run": "put a scenario's load on an endpoint",
    "probe": "send one request and show its timeline",
    "report": "rebuild tables and pages from a run folder",
    "compare": "set two or more runs side by side: which is better, by how much, and whether a claim holds",
    "ab": "run a scenario on two endpoints in turn, round by round, and compare them",
    "rerun": "repeat a run elsewhere, with the same prompts in the same order",
    "pack": "make one archive of a run, to send to a colleague",
    "collect": "take the spools of lost workers into a run, and report it",
    "env": "tell what this machine is, and its GPUs, for --environment of a run",
    "sidecar": "tell Prometheus and runs what the GPUs of this machine do",
    "simulate": "serve an endpoint with known timing",
    "demo": "all of it at once, on an endpoint of its own",
}


class Command(Protocol):
    """What a module of this folder offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's options."""

    def main(self, args: argparse.Namespace) -> int:
        """Do it; returns the exit code."""


def usage() -> str:
    """What `llmload` alone prints."""
    rows = "\n".join(f"  {name:<10} {summary}" for name, summary in COMMANDS.items())
    return f"usage: llmload COMMAND …   (llmload COMMAND --help tells more)\n\n{rows}\n\nllmload {__version__}"


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    outlet.prepare()
    with outlet.lasting() as (out, _):
        code = obey(argv)
        out.flush()
        if out.failure is not None and out.failure.errno not in outlet.GONE:
            print(f"llmload: standard output took no more: {out.failure.strerror}", file=sys.stderr)
            code = max(code, Exit.INCOMPLETE)
        return code


def obey(argv: list[str] | None) -> int:
    """Find the command, run it, and make every planned end an exit code."""
    words = sys.argv[1:] if argv is None else argv
    if not words or words[0] in {"-h", "--help"}:
        print(usage())
        return Exit.OK if words else Exit.USAGE
    if words[0] in {"-V", "--version"}:
        print(__version__)
        return Exit.OK
    name = words[0]
    if name not in COMMANDS:
        print(f"llmload: unknown command {name!r}; expected one of: {', '.join(COMMANDS)}", file=sys.stderr)
        return Exit.USAGE
    try:
        command = cast("Command", importlib.import_module(f"llmload.cli.{name}"))
        parser = Parser(prog=f"llmload {name}", description=COMMANDS[name], allow_abbrev=False)
        command.add_arguments(parser)
        return int(command.main(parser.parse_args(words[1:])))
    except Stop as stop:
        print(f"llmload {name}: {stop.message}", file=sys.stderr)
        return stop.code
    except KeyboardInterrupt:
        print(f"llmload {name}: stopped by Ctrl-C; what was written before stays", file=sys.stderr)
        return Exit.INCOMPLETE
