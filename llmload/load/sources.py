"""What is sampled beside the load, as the options say it: pages of GPUs, the server's own metrics, a Prometheus.

Checked before anything is sent. Opens the log that is to be counted, to see that it can be read, and nothing else.
"""

import re
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from llmload.exits import Stop
from llmload.load import options
from llmload.load.scenario import Scenario

OFF = "off"
PAGES = {"--gpu", "--prometheus", "--server-metrics"}
METRICS = "/metrics"
_QUERY = re.compile(r"\?\S+")
SHORTEST_S, LONGEST_S = 0.25, 3600.0
"""Whoever asks a driver more often than this disturbs what it measures."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where to look, and how often. URLs are as typed, passwords included: `hidden` is for whoever shows one."""

    gpu: tuple[str, ...] = ()
    prometheus: str | None = None
    selector: str | None = None
    server: str | None = None
    """None: the server's own page is looked for where servers have it, unless …"""
    no_server: bool = False
    server_log: str | None = None
    every_s: float = 1.0
    repeated: int | None = None
    """This step is repeated at the end with all sampling paused."""

    @property
    def none(self) -> bool:
        """Whether nothing is to be looked at, nor looked for."""
        return self.no_server and not self.named

    @property
    def named(self) -> bool:
        """Whether something was asked for."""
        return bool(self.gpu or self.prometheus or self.server or self.server_log)

    @property
    def tells_of_gpus(self) -> bool:
        """Whether somebody tells of GPUs."""
        return bool(self.gpu or self.prometheus)


NOTHING = Sources(no_server=True)


def asked(args: Namespace, scenario: Scenario) -> Sources:
    """What the options ask for. Raises Stop(USAGE) that names the option."""
    every_s = options.seconds(args.sample_every, "--sample-every")
    if not SHORTEST_S <= every_s <= LONGEST_S:
        raise Stop(f"--sample-every: expected 250ms to 1h, got {args.sample_every!r}; more often disturbs the GPU")
    if args.gpu_selector and not args.prometheus:
        raise Stop("--gpu-selector belongs to --prometheus: it says which of its series are those of the GPUs")
    selector = args.gpu_selector or None
    if selector is not None and not re.fullmatch(r"\{.*\}", selector.strip(), re.DOTALL):
        raise Stop(f"--gpu-selector: expected labels in braces, as '{{job=\"llmload-gpu\"}}', got {selector!r}")
    gpu = tuple(page(text, "--gpu") for text in args.gpu or ())
    if len(set(gpu)) < len(gpu):
        raise Stop("--gpu: the same page is named twice, and its GPUs would count twice")
    server = args.server_metrics or None
    found = Sources(
        gpu=gpu,
        prometheus=url(args.prometheus, "--prometheus").rstrip("/") if args.prometheus else None,
        selector=selector,
        server=page(server, "--server-metrics") if server not in (None, OFF) else None,
        no_server=server == OFF,
        server_log=log(args.server_log) if args.server_log else None,
        every_s=every_s,
    )
    return replace(found, repeated=repeated(args, scenario, found))


def repeated(args: Namespace, scenario: Scenario, sources: Sources) -> int | None:
    """The step in flight that `--observer-check` repeats. Raises Stop(USAGE) if it cannot be repeated."""
    text = args.observer_check
    if text is None:
        return None
    if args.load == options.BY_HAND or scenario.load.kind != "steps" or not scenario.load.steps:
        raise Stop("--observer-check repeats a step of so many in flight, and this load has none; leave it out")
    if sources.none:
        raise Stop(
            "--observer-check: nothing is sampled that could be paused; name what is, as --gpu URL, or leave it out"
        )
    steps = scenario.load.steps
    if text == options.LAST:
        return steps[-1]
    if text not in map(str, steps):
        there = ", ".join(map(str, dict.fromkeys(steps)))
        raise Stop(f"--observer-check: the scenario has no step of {text}; expected one of: {there}, or no number")
    return int(text)


def page(text: str | None, where: str) -> str:
    """The URL of a page of metrics; where no page is named it is /metrics."""
    found = url(text or "", where)
    return found.rstrip("/") + METRICS if urlsplit(found).path in ("", "/") else found


def url(text: str, where: str) -> str:
    """An http(s) URL, http where nothing is said. Raises Stop(USAGE) that names `where`, and shows no password."""
    full = text.strip() if "://" in text else f"http://{text.strip()}"
    try:
        parts = urlsplit(full)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"\s", full):
        raise Stop(f"{where}: expected a URL as http://gpu-host:9835/metrics, got {_no_url(text)!r}")
    return full


def _no_url(text: str) -> str:
    """What was typed, without what stands before an @: nobody knows where a password ends in what is no URL."""
    return _QUERY.sub("?…", re.sub(r"^(\w+://)?.*@", r"\1…@", text, flags=re.DOTALL))


def log(text: str) -> str:
    """The absolute path of a log that can be read. Raises Stop(USAGE)."""
    path = Path(text).absolute()
    try:
        with path.open("rb") as file:
            file.read(0)
    except OSError as error:
        raise Stop(
            f"--server-log {path}: cannot be read: {error.strerror}; name the server's log on this machine, or leave "
            "it out"
        ) from error
    return str(path)


def hidden(text: str) -> str:
    """A word or text without passwords, and without the queries of URLs, which may hold a token."""
    return _QUERY.sub("?…", without_password(text))


def without_password(text: str) -> str:
    """A word or text with user and password of every URL in it left out; at its head one may lack the scheme."""
    return re.sub(r"(://|^(?:--[\w-]+=)?(?=[^/?#\s=@]+:))[^/?#\s]*@", r"\1…@", text)


def all_hidden(words: Iterable[str]) -> list[str]:
    """The words of a command without passwords, and what is behind options of pages of metrics without queries."""
    found, flag = [], ""
    for word in words:
        if word.startswith("--"):  # each side of `llmload ab` has such options of its own
            flag = re.sub("^--(baseline|candidate)-", "--", word.partition("=")[0])
        found.append((hidden if flag in PAGES else without_password)(word))
    return found
