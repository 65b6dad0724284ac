"""One worker process that reads streams in one of several ways and says how late its stamps were and what it cost."""

import argparse
import gc
import json
import random
import sys
import time
from collections.abc import Callable

import gevent
from gevent import monkey

TOKENS = 200
Errors = list[int]
"""Nanoseconds between the send of an event and its stamp."""
Read = Callable[[int], None]
"""Sends one request for so many tokens and reads its answer to the end."""
Count = Callable[[], int]
"""Events read since the errors were cleared, or since it was called last."""


def llmload(port: int, errors: Errors) -> tuple[Read, Count]:
    """The client of this project, record and JSON line included."""
    from llmload.load.call import Call
    from llmload.record.record import RequestRecord, Tags
    from llmload.send import client as module
    from llmload.send.settings import Sending
    from llmload.stream.judge import Attempt
    from llmload.stream.words import Hide

    judged = module.judge.record

    def spy(attempt: Attempt, hide: Hide) -> RequestRecord:
        reading = attempt.reading
        errors.extend(stamp - int(text) for stamp, text in zip(reading.stamps, reading.parts, strict=True))
        return judged(attempt, hide)

    module.judge.record = spy
    client = module.Client(Sending(base_url=f"http://127.0.0.1:{port}/v1", model="bench", temperature=0.0), None)

    def opening(_sent_at: float) -> Tags:
        return Tags("bench", "1", 0, 0, None, "measure", "bench", "bench")

    def finished(record: RequestRecord, _text: str) -> None:
        record.to_json()

    def read(tokens: int) -> None:
        call = Call("bench", "bench", ({"role": "user", "content": "go " * 200},), "go " * 200, tokens)
        record = client.send(call, opening, finished)
        if record.outcome != "ok":
            sys.exit(f"{record.outcome}: {record.error}")

    return read, lambda: client.meter().events


def openai(port: int, errors: Errors) -> tuple[Read, Count]:
    """The stock loop over a stream of the openai package."""
    from openai import OpenAI

    sdk = OpenAI(api_key="none", base_url=f"http://127.0.0.1:{port}/v1", max_retries=0)

    def read(tokens: int) -> None:
        stream = sdk.chat.completions.create(
            model="bench",
            messages=[{"role": "user", "content": "go " * 200}],
            max_tokens=tokens,
            stream=True,
            stream_options={"include_usage": True},
        )
        for chunk in stream:
            if chunk.choices and chunk.choices[0].delta.content:
                errors.append(time.perf_counter_ns() - int(chunk.choices[0].delta.content))

    return read, lambda: len(errors)


def geventhttpclient(port: int, errors: Errors) -> tuple[Read, Count]:
    """Reading lines of a geventhttpclient response, JSON parsed by orjson."""
    import orjson
    from geventhttpclient import HTTPClient

    http = HTTPClient("127.0.0.1", port, concurrency=1024, network_timeout=60)

    def read(tokens: int) -> None:
        body = {
            "model": "bench",
            "messages": [{"role": "user", "content": "go " * 200}],
            "stream": True,
            "max_tokens": tokens,
        }
        response = http.post("/v1/chat/completions", orjson.dumps(body), headers={"Content-Type": "application/json"})
        while True:
            line = response.readline(b"\n").strip()
            if line == b"data: [DONE]":
                break
            if line:
                now = time.perf_counter_ns()
                choices = orjson.loads(line[6:])["choices"]
                if choices and (text := choices[0]["delta"].get("content")):
                    errors.append(now - int(text))
        response.read()

    return read, lambda: len(errors)


READERS = {"llmload": llmload, "openai": openai, "geventhttpclient": geventhttpclient}


def measure(
    reader: tuple[Read, Count], errors: Errors, streams: int, warm_s: float, window_s: float
) -> tuple[float, int]:
    """Run streams and return CPU seconds and events of the window; `errors` then holds those of the window."""
    read, count = reader
    lengths = random.Random(2)

    def user(first: int) -> None:
        read(first)
        while True:
            read(TOKENS)

    for _ in range(streams):
        gevent.spawn(user, lengths.randrange(1, TOKENS))
    gevent.sleep(warm_s)
    count()
    errors.clear()
    began = time.process_time()
    gevent.sleep(window_s)
    return time.process_time() - began, count()


def main() -> None:
    """Measure and print one line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("reader", choices=READERS)
    parser.add_argument("port", type=int)
    parser.add_argument("streams", type=int)
    parser.add_argument("--warm-s", type=float, default=5.0)
    parser.add_argument("--window-s", type=float, default=6.0)
    args = parser.parse_args()
    monkey.patch_all()
    errors: Errors = []
    reader = READERS[args.reader](args.port, errors)
    gc.collect()
    gc.freeze()
    gc.disable()
    cpu_s, events = measure(reader, errors, args.streams, args.warm_s, args.window_s)
    late = sorted(errors) or [0]
    told = {"cpu_s": cpu_s, "events": events, "window_s": args.window_s}
    told |= {
        name: late[min(int(len(late) * q), len(late) - 1)] / 1e6
        for name, q in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))
    }
    print(json.dumps(told), flush=True)
    import os

    os._exit(0)  # streams are still running; nothing is left to be told


if __name__ == "__main__":
    main()
