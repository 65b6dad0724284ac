"""`llmload demo`: an endpoint of its own, the load on it, the table and the pages: all of it at once.

The endpoint is either the simulator with believable settings, or llama.cpp with a small real model (`--engine llama`).
The run is the same as any `llmload run`; the engine ends with this command, however it ends.
"""

import argparse
import sys
from argparse import Namespace

from llmload.cli import run
from llmload.engines.start import ENGINES, serving
from llmload.load import options, reading


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    kinds = "; ".join(f"{name}: {engine.title}" for name, engine in ENGINES.items())
    parser.add_argument("--engine", choices=tuple(ENGINES), default="simulate", help=kinds)
    for flags, keywords in options.OPTIONS:
        if flags[-1] in {"--steps", "--duration", "--set", "--label", "--out", "--no-report"}:
            parser.add_argument(*flags, **keywords)


def main(args: Namespace) -> int:
    """Start the engine, run its scenario, end the engine; returns the run's exit code."""
    engine = ENGINES[args.engine]
    parser = argparse.ArgumentParser(allow_abbrev=False)
    run.add_arguments(parser)
    given = parser.parse_args([engine.scenario])
    for name, value in vars(args).items():
        setattr(given, name, value)
    scenario = reading.load(engine.scenario, options.overrides(given))
    print(f"starting {engine.title}", flush=True)
    with serving(engine) as url:
        return run.perform(given, scenario, url, ["llmload", *sys.argv[1:]])
