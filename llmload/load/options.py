"""The options that `llmload run` and the Locust command share: one plain list, and what their values mean.

Each entry is `(flags, keyword arguments)` of `argparse`'s `add_argument`. Values stay as typed (strings, lists of
strings, flags); `overrides` turns them into the dotted keys that `reading.load` takes, `words` turns them back into
a command line. Imports neither Locust nor gevent, opens nothing. No option ever holds a key.
"""

from argparse import Namespace
from typing import Any

from llmload.exits import Stop
from llmload.load import override, values

DEFAULT_OUT = "runs"
"""Where run folders are made unless `--out` says otherwise."""

METRICS_PORT = 9836
"""Where metrics are served if no port was asked for."""

LAST = "last"
"""The step that `--observer-check` repeats if it names none."""

Option = tuple[tuple[str, ...], dict[str, Any]]

SCENARIO: Option = (
    ("--scenario",),
    {"metavar": "FILE", "default": "mixed", "help": "scenario file, or the name of a shipped one (mixed)"},
)
"""Positional for `llmload run`, an option for Locust."""

PLAN, BY_HAND = "step plan", "by hand"
"""Who sets the load: the scenario, or a person at the web page."""

OPTIONS: tuple[Option, ...] = (
    (("--model",), {"metavar": "NAME", "help": "model to ask for; without it the only one that the server offers"}),
    (("--steps",), {"metavar": "N,N,…", "help": "requests in flight, step by step, as 1,4,8"}),
    (
        ("--rates",),
        {"metavar": "R,R,…", "help": "arrivals per second, step by step, as 2,5, whatever the server does"},
    ),
    (
        ("--load",),
        {
            "choices": (PLAN, BY_HAND),
            "default": PLAN,
            "help": "by hand: you set the number of users on the web page, and each level held is a row (step plan)",
        },
    ),
    (
        ("--duration",),
        {
            "metavar": "TIME",
            "help": "window of each step, as 20s or 5m; no number of requests is waited for then; of a soak: its hold",
        },
    ),
    (
        ("--set",),
        {
            "metavar": "KEY=VALUE",
            "action": "append",
            "help": "any key of the scenario, as load.warmup_s=2 or limits.ttft_s=30; may be repeated",
        },
    ),
    (
        ("--label",),
        {"metavar": "KEY=VALUE", "action": "append", "help": "a word on this run, as engine=v2; repeatable"},
    ),
    (
        ("--fact",),
        {
            "metavar": "KEY=VALUE",
            "action": "append",
            "help": 'what no machine tells of what is measured, as weights="Q4_K_M of …" ([environment]); repeatable',
        },
    ),
    (
        ("--environment",),
        {"metavar": "FILE", "help": "what `llmload env --json --out FILE` told on the server's machine"},
    ),
    (("--out",), {"metavar": "DIR", "default": DEFAULT_OUT, "help": "where the run folder is made (runs)"}),
    (("--run-folder",), {"metavar": "DIR", "help": "the run folder itself; must be new or empty"}),
    (("--save-text",), {"action": "store_true", "help": "keep the answers in the records (never kept otherwise)"}),
    (("--proxy",), {"metavar": "URL", "help": "HTTP proxy; proxy variables of the environment are not followed"}),
    (("--ca",), {"metavar": "FILE", "help": "certificate authorities of the endpoint, a PEM file"}),
    (("--insecure",), {"action": "store_true", "help": "do not verify the endpoint's certificate"}),
    (("--allow-http-key",), {"action": "store_true", "help": "send the key over plain http to another machine"}),
    (("--connect-timeout",), {"metavar": "TIME", "help": "limit for connecting, TLS included, as 5s"}),
    (("--first-token-limit",), {"metavar": "TIME", "help": "a request whose first token takes longer fails, as 30s"}),
    (("--stall-limit",), {"metavar": "TIME", "help": "a request fails when no token comes for so long, as 10s"}),
    (("--request-limit",), {"metavar": "TIME", "help": "a request that takes longer as a whole fails, as 5m"}),
    (
        ("--metrics-port",),
        {"metavar": "PORT", "help": "where the master serves /metrics for Prometheus (9836); 0: nowhere"},
    ),
    (
        ("--metrics-host",),
        {"metavar": "ADDRESS", "default": "127.0.0.1", "help": "on which address (127.0.0.1, this machine alone)"},
    ),
    (
        ("--gpu",),
        {
            "metavar": "URL",
            "action": "append",
            "help": "page that tells of GPUs (llmload sidecar, DCGM exporter), as gpu-host:9835; repeatable",
        },
    ),
    (("--prometheus",), {"metavar": "URL", "help": "a Prometheus that has scraped them; asked when the run is over"}),
    (("--gpu-selector",), {"metavar": "LABELS", "help": "which of its series, as '{job=\"llmload-gpu\"}'"}),
    (
        ("--server-metrics",),
        {"metavar": "URL", "help": "the server's own metrics (/metrics beside the endpoint, if it answers); off: none"},
    ),
    (("--server-log",), {"metavar": "FILE", "help": "the server's log on this machine: lines of errors are counted"}),
    (
        ("--sample-every",),
        {"metavar": "TIME", "default": "1s", "help": "how often GPUs and server are looked at (1s)"},
    ),
    (
        ("--observer-check",),
        {
            "metavar": "N",
            "nargs": "?",
            "const": LAST,
            "help": "repeat the step with N in flight (the last one) without sampling, and report the difference",
        },
    ),
    (("--no-report",), {"action": "store_true", "help": "write no tables and pages at the end (llmload report does)"}),
)
"""What both commands take, apart from the scenario itself."""


BUCKET = "report the longest window in parts of so long, as 10m (a soak, or 30 min and more, is in any case)"
"""What `--bucket` of `llmload run` and `llmload report` does. It is no option of a load."""


LIMITS = {"connect-timeout": "connect_s", "first-token-limit": "ttft_s", "stall-limit": "stall_s",
          "request-limit": "total_s"}  # fmt: skip
"""Options that are time limits of one request, with their keys in the scenario."""


def seconds(text: str, where: str) -> float:
    """Seconds of a duration over 0, written as in a scenario: `20`, `20s`, `1.5m`, `1h30m`, `500ms`.

    Raises Stop(USAGE) that names `where`.
    """
    try:
        return float(values.duration("s", above=True)(override.plain(override.Given(text, where))))
    except ValueError:
        raise Stop(f"{where}: expected a duration over 0 such as 20s, 5m or 1h30m, got {text!r}") from None


def bucket_s(args: Namespace) -> float | None:
    """Seconds of a bucket, if one was asked for. Raises Stop(USAGE)."""
    if args.bucket is None:
        return None
    found = seconds(args.bucket, "--bucket")
    if found < 1:
        raise Stop(f"--bucket: expected 1s or more, got {args.bucket!r}")
    return found


def metrics_port(args: Namespace) -> int | None:
    """The port that was asked for, 0 for none at all; None if none was. Raises Stop(USAGE) for what is no port."""
    text = args.metrics_port
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise Stop(f"--metrics-port: expected a number from 0 to 65535, got {text!r}")
    return int(text)


def pair(text: str, where: str) -> tuple[str, str]:
    """`key=value` cut at the first `=`. Raises Stop(USAGE) that names `where`."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise Stop(f"{where}: expected KEY=VALUE, got {text!r}")
    return key.strip(), value.strip()


def overrides(args: Namespace) -> list[tuple[str, str]]:
    """What the options change in the scenario, in the form that `reading.load` takes; later ones win.

    `--duration` is exact: it sets the window's seconds and asks for no number of requests, unless a `--set` does; of
    a soak it sets the hold. Which of the two, the reader of the scenario knows. Raises Stop(USAGE) that names the
    option.
    """
    found: list[tuple[str, str]] = []
    if args.model:
        found.append(("model", args.model))
    if args.steps and args.rates:
        raise Stop("--steps and --rates exclude each other: a run holds requests in flight, or it holds a rate")
    if args.steps:
        found += [("load.kind", "steps"), ("load.steps", args.steps)]
    if args.rates:
        found += [("load.kind", "rate"), ("load.rates", args.rates)]
    if args.duration:
        window = seconds(args.duration, "--duration")
        found.append(("load.duration_s", f"{window:.12g}"))
    for option, key in LIMITS.items():
        if text := getattr(args, option.replace("-", "_")):
            found.append((f"limits.{key}", f"{seconds(text, f'--{option}'):.12g}"))
    found += [pair(text, "--set") for text in args.set or ()]
    for text in args.label or ():
        key, value = pair(text, "--label")
        found.append((f"labels.{key}", value))
    for text in args.fact or ():
        key, value = pair(text, "--fact")
        found.append((f"environment.{key}", value))
    return found


def words(args: Namespace) -> list[str]:
    """The options as words of a command line, those at their default left out, so that parsing gives them back."""
    line: list[str] = []
    for flags, keywords in OPTIONS:
        flag = flags[-1]
        value = getattr(args, flag.removeprefix("--").replace("-", "_"))
        if keywords.get("action") == "store_true":
            line += [flag] if value else []
        elif keywords.get("action") == "append":
            for item in value or ():
                line += [flag, item]
        elif value not in (None, "", keywords.get("default")):
            line += [flag, value]
    return line
