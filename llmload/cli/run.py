"""`llmload run`: puts a scenario's load on an endpoint, shows it, reports it.

The load itself is Locust's work, in processes of its own (`llmload.drive`); this command prints the Locust command
it stands for, starts it, follows the run folder's files, passes on Ctrl-C, and reports at the end. It imports
neither Locust nor gevent.
"""

import argparse
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import orjson
from rich.console import Console

from llmload import handover, here, plain, ports
from llmload.cli import attend, joining, launch, room
from llmload.exits import Exit, Stop
from llmload.load import options, reading, secrets, sources
from llmload.load.scenario import Scenario
from llmload.machine import snapshot
from llmload.record import runfolder
from llmload.send import target

HOST = "LLMLOAD_HOST"
"""Environment variable that stands in for --host."""


WIDTH = 120
"""Columns of tables where there is no terminal to ask."""


LATE = "Stopped when the run was over: nothing was cut. Exit code 6 is the command's, not the run's."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "scenario", nargs="?", default="mixed", help="scenario file, or the name of a shipped one (mixed)"
    )
    add_options(parser)


def add_options(parser: argparse.ArgumentParser) -> None:
    """All but the scenario: those of `llmload.load.options`, and those that only this command has."""
    parser.add_argument("-H", "--host", metavar="URL", help=f"the endpoint, with or without /v1; else ${HOST}")
    for flags, keywords in options.OPTIONS:
        parser.add_argument(*flags, **keywords)
    add_dry_run(parser)
    parser.add_argument(
        "--gate", action="append", metavar="CONDITION", help="as ttft_ms.p50<=500 or success_share>=0.99@32"
    )
    parser.add_argument("--max-fail-ratio", type=float, metavar="X", help="exit code 1 if more than this share failed")
    parser.add_argument("--bucket", metavar="TIME", help=options.BUCKET)
    add_processes(parser)
    parser.add_argument("--web", action="store_true", help="serve Locust's web page while it runs")
    parser.add_argument(
        "--by-hand",
        dest="load",
        action="store_const",
        const=options.BY_HAND,
        help="with --web: you set the users there",
    )
    parser.add_argument("--web-host", metavar="HOST", help=f"address of the page ({here.ALONE}: this machine alone)")
    parser.add_argument("--web-port", type=int, metavar="PORT", help=f"port of the page ({launch.WEB_PORT})")
    machines = parser.add_argument_group("several machines")
    machines.add_argument("--master", action="store_true", help="wait for workers on other machines")
    machines.add_argument("--expect-workers", type=int, metavar="N", help="how many (1)")
    machines.add_argument(
        "--master-bind-host",
        metavar="HOST",
        help=f"address on which the master listens: 0.0.0.0 lets other machines join ({here.ALONE})",
    )
    machines.add_argument(
        "--worker", action="store_true", help="be such a worker; the key comes from its own environment"
    )
    machines.add_argument("--master-host", metavar="HOST", help="where the master is")
    machines.add_argument(
        "--master-port", type=int, metavar="PORT", help=f"the master's port, said to both ({ports.MASTER})"
    )
    machines.add_argument(
        "--max-wait", metavar="TIME", help="how long a master waits for its workers (10m), a worker for its master (1m)"
    )


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    """Declare --dry-run."""
    parser.add_argument(
        "--dry-run", action="store_true", help="print the plan (time, requests, tokens, cost); send nothing"
    )


def add_processes(parser: argparse.ArgumentParser) -> None:
    """Declare --processes."""
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="processes that send (1)")


Behind = Callable[[Console, Path], None]
"""What is done when a run is over, reported or not, with the screen and the run folder."""


def main(args: Namespace, behind: Behind = lambda _console, _folder: None) -> int:
    """Check everything that can be checked without the endpoint, then run."""
    check_words(sys.argv[1:])
    launch.check(args)
    options.metrics_port(args)
    options.bucket_s(args)
    if args.worker:
        return work(args)
    host = args.host or os.environ.get(HOST)
    if not host and not args.dry_run:
        raise Stop(f"no endpoint: name it with --host URL, or set {HOST}")
    check_fail_ratio(args.max_fail_ratio)
    scenario = read(args, host)
    again = sources.asked(args, scenario).repeated
    if not host or args.dry_run:
        return plan(args, scenario, again)
    if args.master:
        check_port(ports.no_master(args.master_bind_host or here.ALONE, args.master_port or ports.MASTER))
    if args.web:
        check_port(ports.no_page(args.web_host or here.ALONE, args.web_port or launch.WEB_PORT))
    if args.load == options.BY_HAND:
        return by_hand(args, host)
    return perform(args, scenario, host, typed(), behind=behind)


def typed() -> list[str]:
    """The command, for run.json."""
    return ["llmload", *sys.argv[1:]]


def read(args: Namespace, host: str | None) -> Scenario:
    """The scenario as the options change it, checked against them and the endpoint's address. Raises Stop(USAGE)."""
    scenario = reading.load(args.scenario, options.overrides(args))
    written = {"scenario": reading.resolved(scenario), "--host": host, "the command": typed()}
    secrets.check(scenario.key_env, os.environ.get(scenario.key_env), written)
    check_gates(args.gate or (), scenario)
    check_room(args, scenario)
    sources.asked(args, scenario)
    if args.environment:
        snapshot.read(Path(args.environment))
    if host:
        target.resolve(host)
    target.proxy_at(args.proxy)
    return scenario


def check_words(words: Sequence[str]) -> None:
    """Raises Stop(USAGE) for a word that no record can hold."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise Stop(f"{word!a}: expected UTF-8; rename what it names") from None


def check_port(refusal: str | None) -> None:
    """Raises Stop(USAGE) with the sentence that says why nobody can listen somewhere, if there is one."""
    if refusal is not None:
        raise Stop(refusal)


def check_fail_ratio(ratio: float | None) -> None:
    """Raises Stop(USAGE) for what is no share."""
    if ratio is not None and not 0 <= ratio <= 1:
        raise Stop(f"--max-fail-ratio: expected a share from 0 to 1, got {ratio:g}")


def check_room(args: Namespace, scenario: Scenario) -> None:
    """Raises Stop(USAGE) if a load by rate leaves a process without a place in flight."""
    limit, workers = scenario.load.max_in_flight, (args.expect_workers or 1) if args.master else args.processes
    if scenario.load.kind == "rate" and limit < workers:
        raise Stop(
            f"[load] max_in_flight: expected at least {workers}, one for each process that sends, got {limit}; raise "
            "it, or use fewer processes"
        )


def check_gates(texts: Sequence[str], scenario: Scenario) -> None:
    """Gates are read before anything is sent. Raises Stop(USAGE) for one that the scenario's rows can never hold."""
    from llmload.report import gates

    for text in texts:
        gate = gates.parse(text)
        if gate.figure[0] == "from_schedule" and scenario.load.kind != "rate":
            raise Stop(f"--gate {text!r}: only a load by rate has a schedule; expected e2e_ms or ttft_ms")
        check_row(f"--gate {text!r}", gate.workload, gate.step, scenario)


def check_row(where: str, workload: str, level: float | None, scenario: Scenario) -> None:
    """Raises Stop(USAGE) for a class or a level, if one is named, that no row of the scenario can have."""
    classes = ["all", *(item.name for item in scenario.classes)]
    if workload not in classes:
        raise Stop(f"{where}: the scenario has no class {workload!r}; expected one of: {', '.join(classes)}")
    levels = [rate if users is None else users for users, rate in scenario.load.levels]
    if level is not None and level not in levels:
        there = ", ".join(f"{step:g}" for step in dict.fromkeys(levels))
        raise Stop(f"{where}: the scenario has no step of {level:g}; expected one of: {there}")


def plan(args: Namespace, scenario: Scenario, again: int | None) -> int:
    """Print what the run would take; `again` is what --observer-check repeats."""
    from llmload.load import forecast

    console = Console()
    console.print(forecast.of(scenario), soft_wrap=not console.is_terminal, highlight=False, markup=False)
    words, _ = room.told(args, scenario)
    console.print(words, soft_wrap=not console.is_terminal, highlight=False, markup=False)
    if again is not None:
        console.print(f"\nThe step with {again} in flight comes once more behind these, without sampling.")
    return Exit.OK


def folder_for(args: Namespace, scenario: Scenario) -> Path:
    """The run folder, made. Raises Stop(USAGE) if it cannot be made, or is there and not empty."""
    if not args.run_folder:
        return runfolder.create(Path(args.out), scenario.name)
    folder = Path(args.run_folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise Stop(f"{folder}: is not empty; name a new folder with --run-folder")
    except OSError as error:
        raise runfolder.cannot_write(folder, error) from error
    return folder


def environment(command: list[str]) -> dict[str, str]:
    """The environment of the Locust process: ours, who started it, and what the user typed."""
    encoding = sys.stdout.encoding
    return {
        **os.environ,
        **({} if encoding.lower() == "utf-8" else {"PYTHONIOENCODING": f"{encoding}:replace"}),
        handover.PARENT_PID: str(os.getpid()),
        handover.COMMAND: orjson.dumps(command).decode(),
        "PYTHONUNBUFFERED": "1",
    }


def work(args: Namespace) -> int:
    """Be a worker of a master on another machine. The run is shown and reported there, and what becomes of it here."""
    unread = options.words(args)
    if args.host or args.scenario != "mixed" or unread:
        print("scenario, endpoint and options come from the master: what was typed here is not read", flush=True)
    port = args.master_port or ports.MASTER
    joining.wait(args.master_host, port, launch.max_wait(args), partial(print, flush=True))
    command = launch.started(args, "", None, None)
    os.execve(command[0], command, environment(["llmload", *sys.argv[1:]]))  # noqa: S606  (no shell is wanted)


def by_hand(args: Namespace, host: str) -> int:
    """Leave everything to the page and to whoever sits at it: run after run, each reported at its end."""
    print(f"$ {launch.shown(args, host)}")
    print(f"\nSet users at {launch.page(args)}, watch at {launch.page(args)}/llmload; Ctrl-C ends it.\n", flush=True)
    command = launch.started(args, host, None, None if args.master else ports.free())
    ours = environment(typed())
    del ours[handover.PARENT_PID]  # there is no parent that shows and reports
    os.execve(command[0], command, ours)  # noqa: S606  (no shell is wanted)


def perform(  # noqa: PLR0913
    args: Namespace,
    scenario: Scenario,
    host: str,
    words: list[str],
    *,
    brief: bool = False,
    behind: Behind = lambda _console, _folder: None,
    interrupts: attend.Interrupts | None = None,
) -> int:
    """Run in a folder of its own, from the first line on the screen to the exit code. `words` go into run.json.

    Raises Stop if no load began.

    If it is to be brief, only the picture of the load that goes on is shown, and what went wrong. `interrupts` tells
    whether somebody wanted it to stop, also where that came too late to cut anything; whoever passes it gets the
    code of the run alone, and else it is 6 then.
    """
    console = screen()
    own = interrupts is None
    interrupts = interrupts or attend.Interrupts()
    with interrupts.counted():
        folder = folder_for(args, scenario)
        if not brief:
            announce(args, console, scenario, host)
        port = None if args.master else ports.free()
        command = launch.started(args, host, folder, port)
        log = folder / attend.LOG
        display = attend.Display(console, folder, scenario, brief=brief)
        try:
            child = attend.start(command, log, environment(words), brief=brief)
        except OSError as error:
            raise runfolder.cannot_write(log, error) from error
        try:
            code = attend.until_end(child, interrupts, display.say, display.look)
        finally:
            display.close()
            attend.kill(child)  # whatever it forked and left behind
        before = interrupts.count
        interrupts.patience = before + 1  # the report is finished all the same; who insists ends it
        verdict = settle(args, console, folder, code, interrupted=before > 0, brief=brief)
        if (folder / runfolder.RUN).exists():
            behind(console, folder)
        if not own or not interrupts.count or verdict == Exit.INCOMPLETE:
            return verdict
        console.print(LATE, style="yellow", highlight=False, markup=False, soft_wrap=not console.is_terminal)
        return Exit.INCOMPLETE


def screen() -> Console:
    """The terminal, or what stands in its place."""
    console = Console()
    if not console.is_terminal:
        console.width = WIDTH
    return console


def announce(args: Namespace, console: Console, scenario: Scenario, host: str) -> None:
    """What is said before a run."""
    base_url = target.resolve(host).base_url
    console.print(f"{scenario.name}: {base_url}", style="bold", highlight=False, markup=False, soft_wrap=True)
    console.print(f"$ {launch.shown(args, host)}", style="dim", highlight=False, markup=False, soft_wrap=True)
    words, enough = room.told(args, scenario)
    if not enough:
        console.print(words, style="yellow", highlight=False, markup=False)
    first = "waiting for workers" if args.master else "looking at the endpoint"
    console.print(f"starting it, and {first} …\n", style="dim")
    sys.stdout.flush()
    if args.web:
        console.print(f"web page: {launch.page(args)}/llmload\n", highlight=False)


def settle(  # noqa: PLR0913
    args: Namespace, console: Console, folder: Path, code: int, *, interrupted: bool, brief: bool = False
) -> int:
    """Report what there is, say what went wrong, and give the exit code. Raises Stop if no load began."""
    log = folder / attend.LOG
    if not (folder / runfolder.RUN).exists():
        raise not_begun(folder, code, interrupted=interrupted)
    ended = runfolder.read_run(folder).get("ended_at") is not None
    if not ended and not interrupted:
        console.print(died(log, code), style="red", highlight=False, markup=False)
    told = Exit(report(args, console, folder, brief=brief))
    return max(told, Exit(code) if code in set(Exit) and ended else Exit.OK)


def not_begun(folder: Path, code: int, *, interrupted: bool) -> Stop:
    """Nothing was sent by the clock: why, and no folder is left behind that holds nothing."""
    log = folder / attend.LOG
    if interrupted:
        why = Stop("stopped before the load began; nothing was recorded", Exit.INCOMPLETE)
    elif sentence := stopped(log):
        why = Stop(sentence, Exit(code) if code in set(Exit) and code else Exit.INCOMPLETE)
    else:
        return Stop(died(log, code, "before the load began"), Exit.INCOMPLETE)
    log.unlink(missing_ok=True)
    try:
        folder.rmdir()
    except OSError:
        print(f"the run folder {folder} stays, it is not empty", file=sys.stderr)
    return why


def stopped(log: Path) -> str:
    """The sentence with which Locust's side stopped, if it did: the last lines that begin with `llmload: `."""
    lines = logged(log)
    found = [number for number, line in enumerate(lines) if line.startswith("llmload: ")]
    return "\n".join(lines[found[-1] :]).removeprefix("llmload: ") if found else ""


def died(log: Path, code: int, when: str = "in mid-run") -> str:
    """The sentence for a Locust process that ended by itself, with the end of its log."""
    how = f"was killed by signal {-code}" if code < 0 else f"ended by itself with exit code {code}"
    last = logged(log)[-8:]
    return "\n  ".join([f"the Locust process {how} {when}; the end of {log}:", *(last or ["(nothing)"])])


def logged(log: Path) -> list[str]:
    """The lines of a log, without control characters: it may hold a server's words, and goes to the terminal."""
    text = log.read_bytes().decode(errors="replace").strip()  # a lone carriage return ends no line
    return [plain.one_line(line) for line in text.split("\n")] if text else []


def report(args: Namespace, console: Console, folder: Path, *, brief: bool = False) -> int:
    """Compute the figures, print the table, write tables and pages unless told not to; gives the exit code.

    What cannot be written (the disk is full) is told behind the table, and makes the run INCOMPLETE.
    """
    from llmload.report import building, files, terminal

    built = building.compute(folder, args.gate or (), args.max_fail_ratio, options.bucket_s(args))
    unwritten: Stop | None = None
    if not args.no_report:
        try:
            files.write(built)
        except Stop as stop:
            unwritten = stop
    if not brief:
        terminal.show(built, console)
    if unwritten is None:
        return built.exit_code
    print(f"llmload: {unwritten.message}", file=sys.stderr)
    return Exit.INCOMPLETE
