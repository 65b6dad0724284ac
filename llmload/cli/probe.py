"""`llmload probe`: one request, its record, and a picture of how its answer came."""

import argparse
import gc
import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from llmload.cli import outlet
from llmload.exits import Exit, Stop
from llmload.load.call import Call
from llmload.record.record import RequestRecord, Tags

PROMPT = "Write five sentences about a river and the people who live by it."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add = parser.add_argument
    add("--host", required=True, metavar="URL", help="the server, with or without /v1")
    add("--model", metavar="M", help="model to ask for (default: the only one that /v1/models lists)")
    prompt = parser.add_mutually_exclusive_group()
    prompt.add_argument("--prompt", metavar="TEXT", help="what to ask")
    prompt.add_argument("--prompt-file", metavar="FILE", help="file with what to ask; - is standard input")
    add("--max-tokens", type=number_of(int), default=64, metavar="N", help="output tokens to ask for (default: 64)")
    add("--api", choices=("chat", "completions"), default="chat", help="endpoint (default: chat)")
    add("--extra-body", type=json_object, default={}, metavar="JSON", help="further members of the request body")
    add("--json", action="store_true", help="print exactly the record, with its text, as one line of JSON")
    seconds = number_of(float)
    add("--connect-timeout", type=seconds, default=10.0, metavar="S", help="limit for connecting (default: 10)")
    add("--ttft-timeout", type=seconds, default=120.0, metavar="S", help="limit for the first token (default: 120)")
    add("--stall-timeout", type=seconds, default=60.0, metavar="S", help="limit between tokens (default: 60)")
    add("--timeout", type=seconds, default=600.0, metavar="S", help="limit for the whole answer (default: 600)")
    add("--proxy", metavar="URL", help="http://HOST:PORT to go through; the environment's proxies are not used")
    add("--ca", metavar="FILE", help="certificates of the authorities to trust, in PEM form")
    add("--insecure", action="store_true", help="do not verify the server's certificate")
    add("--allow-http-key", action="store_true", help="send the key over plain http to another machine")


def number_of(kind: type[int] | type[float]) -> Any:
    """An argument type: a number above 0."""

    def read(text: str) -> int | float:
        value = kind(text)
        if not 0 < value < 1e9:
            raise argparse.ArgumentTypeError(f"{text} is not above 0")
        return value

    read.__name__ = "number"  # argparse puts it into its sentence for text that is none
    return read


def json_object(text: str) -> dict[str, Any]:
    """An argument type: a JSON object."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"no JSON: {error}") from None
    except RecursionError:
        raise argparse.ArgumentTypeError("nested too deeply") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"expected a JSON object, got {text}")
    try:
        orjson.dumps(value)  # as it will be sent
    except orjson.JSONEncodeError as error:
        raise argparse.ArgumentTypeError(f"cannot be sent: {error}") from None
    return value


def prompt_of(args: argparse.Namespace) -> str:
    """What to ask. Raises Stop(USAGE) for a file that cannot be read."""
    if args.prompt is not None:
        return str(args.prompt)
    if args.prompt_file is None:
        return PROMPT
    try:
        if args.prompt_file == "-":
            return sys.stdin.read()
        return Path(args.prompt_file).read_text(encoding="utf-8")
    except OSError as error:
        raise Stop(f"{args.prompt_file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Stop(f"{args.prompt_file}: no UTF-8 text: {error}") from error


def main(args: argparse.Namespace) -> int:
    """Send the request and show what became of it; 0 only for outcome `ok`, 6 if it was stopped, 3 for the rest."""
    record = probe(args, prompt_of(args))
    if args.json:
        outlet.as_utf8()
        sys.stdout.write(record.to_json().decode() + "\n")
    else:
        from llmload.cli.timeline import show

        show(record)
    if record.outcome == "ok":
        return Exit.OK
    return Exit.INCOMPLETE if record.outcome == "cancelled" else Exit.UNMEASURABLE


def probe(args: argparse.Namespace, prompt: str) -> RequestRecord:
    """One attempt and its record, with the text.

    Without garbage collection: its pauses would be in the stamps, and the imports take longer with it.
    """
    gc.disable()
    import gevent

    from llmload.send import models
    from llmload.send.client import Client
    from llmload.send.settings import Sending
    from llmload.send.target import resolve

    sending = Sending(
        base_url=resolve(args.host).base_url,
        model=args.model or "",
        api=args.api,
        connect_s=args.connect_timeout,
        ttft_s=args.ttft_timeout,
        stall_s=args.stall_timeout,
        total_s=args.timeout,
        proxy=args.proxy,
        ca=args.ca,
        insecure=args.insecure,
        allow_http_key=args.allow_http_key,
        temperature=0.0,
        extra_body=args.extra_body,
    )
    key = os.environ.get(sending.key_env) or None
    try:
        if not sending.model:
            sending = replace(sending, model=models.only(sending, key))
        client = Client(sending, key)
    except KeyboardInterrupt:
        raise Stop("stopped before anything was sent", Exit.INCOMPLETE) from None
    limit = args.extra_body.get("max_tokens", args.max_tokens)
    asked = limit if isinstance(limit, int) else args.max_tokens
    call = Call("probe", "probe", ({"role": "user", "content": prompt},), prompt, args.max_tokens)

    def opening(_sent_at: float) -> Tags:
        return Tags("probe", "probe", 0, 0, 1, "measure", "probe", "probe", requested_output_tokens=asked)

    interrupt = gevent.signal_handler(signal.SIGINT, client.cancel)
    try:
        return client.send(call, opening, lambda _record, _text: None, save_text=True)
    finally:
        interrupt.cancel()
        client.close()
