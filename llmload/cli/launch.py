"""The Locust command that a `llmload run` stands for, as words. Pure: starts nothing and imports no Locust."""

import importlib.util
import math
import shlex
import shutil
import sys
from argparse import Namespace
from pathlib import Path

from llmload import here
from llmload.exits import Stop
from llmload.load import options
from llmload.load.sources import all_hidden

MASTER_WAITS_S = 600.0
"""How long a master waits for its workers …"""
WORKER_WAITS_S = 60.0
"""… and a worker for its master."""
WEB_PORT = 8089
"""Where Locust's page is."""


def locustfile() -> Path:
    """The packaged locustfile, found without loading anything of Locust."""
    package = importlib.util.find_spec("llmload")
    assert package is not None  # noqa: S101  (this very file is in it)
    assert package.origin is not None  # noqa: S101
    return Path(package.origin).parent / "drive" / "locustfile.py"


def check(args: Namespace) -> None:
    """Raises Stop(USAGE) for options of `llmload run` that do not go together."""
    if args.processes < 1:
        raise Stop(
            f"--processes: expected 1 or more, got {args.processes}; the process that keeps the books sends nothing"
        )
    check_machines(args)
    if (args.web_host or args.web_port) and not args.web:
        raise Stop("--web-host and --web-port belong to --web: they say where the page is")
    if args.load == options.BY_HAND:
        check_by_hand(args)


def check_machines(args: Namespace) -> None:
    """Raises Stop(USAGE) for what a master or a worker cannot be told."""
    if args.master and args.worker:
        raise Stop("--master and --worker exclude each other: one machine is the master, the others are workers")
    if args.expect_workers is not None and not args.master:
        raise Stop("--expect-workers belongs to --master; on one machine --processes says how many workers there are")
    if args.worker and not args.master_host:
        raise Stop("--worker needs --master-host: the machine on which llmload run --master was started")
    if args.expect_workers is not None and args.expect_workers < 1:
        raise Stop(f"--expect-workers: expected 1 or more, got {args.expect_workers}")
    if args.master and args.processes > 1:
        raise Stop("--processes belongs to one machine, or to --worker: a master of other machines sends nothing")
    if args.master_bind_host and not args.master:
        raise Stop("--master-bind-host belongs to --master: it says which machines may join")
    if args.max_wait and not (args.master or args.worker):
        raise Stop("--max-wait belongs to --master and --worker: how long each waits for the other")
    max_wait(args)


def check_by_hand(args: Namespace) -> None:
    """Raises Stop(USAGE) for what a person at the page cannot do, or does instead."""
    if not args.web:
        raise Stop(f'--load "{options.BY_HAND}" needs --web: the users are set on the page')
    for option in ("gate", "max_fail_ratio", "dry_run", "worker"):
        if getattr(args, option):
            flag = f"--{option.replace('_', '-')}"
            raise Stop(f'{flag} does not go with --load "{options.BY_HAND}": nobody knows the levels before')


def max_wait(args: Namespace) -> float:
    """Seconds for which a master waits for its workers, or a worker for its master. Raises Stop(USAGE)."""
    default = WORKER_WAITS_S if args.worker else MASTER_WAITS_S
    return options.seconds(args.max_wait, "--max-wait") if args.max_wait else default


def roles(args: Namespace) -> list[str]:
    """The words that say which processes there are: forked workers, a master for other machines, or a worker."""
    line: list[str] = []
    if args.worker:
        line += ["--worker", "--master-host", args.master_host, "--loglevel", "WARNING"]
        line += ["--processes", str(args.processes)] if args.processes > 1 else []
        return line + (["--master-port", str(args.master_port)] if args.master_port else [])
    if args.master:
        line += ["--master", "--expect-workers", str(args.expect_workers or 1)]
        line += ["--expect-workers-max-wait", str(math.ceil(max_wait(args)))]
        line += ["--master-bind-host", args.master_bind_host or here.ALONE]
        return line + (["--master-bind-port", str(args.master_port)] if args.master_port else [])
    return ["--processes", str(args.processes)]


def page(args: Namespace) -> str:
    """The address of the page, for people on this machine."""
    host = here.ALONE if (args.web_host or "") in here.EVERYWHERE else args.web_host
    return f"http://{f'[{host}]' if ':' in host else host}:{args.web_port or WEB_PORT}"


def words(args: Namespace, host: str) -> list[str]:
    """The arguments of `locust` for the same run; what has a default stands at it."""
    line = ["-f", str(locustfile()), *([] if args.web or args.worker else ["--headless"]), *roles(args)]
    if args.worker:
        return line
    line += ["--web-host", args.web_host] if args.web_host else []
    line += ["--web-port", str(args.web_port)] if args.web_port else []
    line += ["--scenario", args.scenario, "--host", host, *options.words(args)]
    return line


def shown(args: Namespace, host: str) -> str:
    """The command for people: quoted, works when pasted into a shell here. Passwords in URLs are left out."""
    own = Path(sys.executable).with_name("locust")
    found = shutil.which("locust")
    program = ["locust"] if found and Path(found) == own else [str(nearest(Path(sys.executable))), "-m", "locust"]
    return shlex.join([*program, *all_hidden(map(shorter, words(args, host)))])


def shorter(word: str) -> str:
    """A path of this package relative to the present folder, if it lies below it."""
    return str(nearest(Path(word))) if word == str(locustfile()) else word


def nearest(path: Path) -> Path:
    """The path relative to the present folder if it lies below it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def started(args: Namespace, host: str, folder: Path | None, port: int | None) -> list[str]:
    """The command that is started: as shown, with a run folder and a port of its own, and with nothing on the screen.

    Locust's tables and log lines go to its standard error, which becomes locust.log.
    """
    line = [sys.executable, "-m", "llmload.drive.start", *words(args, host)]
    if args.worker:
        return line
    line += ["--only-summary"]
    if folder is not None:
        line += ["--run-folder", str(folder)]
    if port is not None:
        line += ["--master-bind-host", here.ALONE, "--master-bind-port", str(port), "--master-port", str(port)]
    if args.web and args.load != options.BY_HAND:
        line += ["--autostart", "--autoquit", "0"]
    return line
