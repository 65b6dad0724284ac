"""What has to be known before the first user comes up: the scenario, read, and how its endpoint wants to be asked."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from llmload.drive import book, parcels
from llmload.exits import Stop
from llmload.load import options, reading, secrets, sources
from llmload.load.scenario import Load, Scenario
from llmload.load.sources import NOTHING, Sources
from llmload.machine import snapshot
from llmload.record import clock, runfolder
from llmload.send import preflight
from llmload.send.findings import Findings
from llmload.send.settings import Sending


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that can begin."""

    scenario: Scenario
    sending: Sending
    findings: Findings
    folder: Path
    started_at: float
    save_text: bool
    sources: Sources = NOTHING
    machine: dict[str, Any] | None = None
    """What `llmload env` told on the server's machine."""

    def files(self) -> list[dict[str, Any]]:
        """What workers need apart from the order. Raises Stop(USAGE) for a file that is there no more."""
        named = [*(item.path for item in self.scenario.classes), self.scenario.tokenizer, self.sending.ca]
        return [parcels.described(path) for path in dict.fromkeys(named) if path is not None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for: the options, the endpoint, and whether this process has had a run already."""

    given: Any
    host: str | None
    again: bool = False

    @property
    def own_folder(self) -> bool:
        """Whether the run folder is made here, and taken away again if no run comes of it."""
        return self.again or not self.given.run_folder


def prepare(wanted: Wanted, say: Callable[[str], None]) -> Prepared:
    """Read the scenario that the options name, make the run folder, and look at the endpoint.

    Raises Stop: USAGE for options, scenario and folder, UNMEASURABLE for the endpoint. A folder that was made here
    is taken away again then.
    """
    scenario = reading.load(wanted.given.scenario, options.overrides(wanted.given))
    return ready(by_hand(scenario) if wanted.given.load == options.BY_HAND else scenario, wanted, say)


def by_hand(scenario: Scenario) -> Scenario:
    """The same with its load left to a person: what it asks of a level stays, the levels themselves go."""
    load = scenario.load
    warmup = load.warmup_requests if load.kind == "steps" else Load().warmup_requests
    return replace(scenario, load=replace(load, kind="hand", steps=(), rates=(), warmup_requests=warmup))


def ready(scenario: Scenario, wanted: Wanted, say: Callable[[str], None]) -> Prepared:
    """The same for a scenario that is there already."""
    given = wanted.given
    if not wanted.host:
        raise Stop("no endpoint: name it with --host URL (-H), or in the page's Host field")
    machine = snapshot.read(Path(given.environment)) if given.environment else None
    written = {
        "scenario": reading.resolved(scenario),
        "--host": wanted.host,
        "the command": book.command(),
        "--environment": machine,
    }
    secrets.check(scenario.key_env, os.environ.get(scenario.key_env), written)
    sampled = sources.asked(given, scenario)
    folder = folder_for(wanted, scenario)
    try:
        sending, findings = preflight.run(scenario, wanted.host, send_options(given), say)
    except BaseException:
        if wanted.own_folder:
            folder.rmdir()
        raise
    return Prepared(scenario, sending, findings, folder, clock.now(), bool(given.save_text), sampled, machine)


def folder_for(wanted: Wanted, scenario: Scenario) -> Path:
    """The run folder that was named, for the first run; a new one beside it for every further one, or in `--out`.

    Raises Stop(USAGE) if it cannot be made or holds a run already.
    """
    given = wanted.given
    if not given.run_folder:
        return runfolder.create(Path(given.out or options.DEFAULT_OUT), scenario.name)
    folder = Path(given.run_folder)
    if wanted.again:
        return runfolder.create(folder.parent, scenario.name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise runfolder.cannot_write(folder, error) from error
    if (folder / runfolder.RUN).exists():
        raise Stop(f"{folder}: holds a run already; name a new folder with --run-folder")
    return folder


def root(given: Any) -> Path:
    """Where the run folders of this process lie."""
    return Path(given.run_folder).parent if given.run_folder else Path(given.out or options.DEFAULT_OUT)


def send_options(given: Any) -> preflight.SendOptions:
    """What the options say about connections."""
    timeout = given.connect_timeout
    return preflight.SendOptions(
        model=given.model or None,
        proxy=given.proxy or None,
        ca=given.ca or None,
        insecure=bool(given.insecure),
        allow_http_key=bool(given.allow_http_key),
        connect_timeout=options.seconds(timeout, "--connect-timeout") if timeout else None,
        metrics=given.server_metrics != sources.OFF,
    )
