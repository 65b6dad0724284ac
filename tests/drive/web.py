"""Locust's page in tests: asked and pressed as a browser does, without one."""

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any


def ask(url: str, form: dict[str, str] | None = None, **headers: str) -> tuple[int, str, Any]:
    """Code, body and headers of an answer, whatever the code; a form is POSTed. Goes where it is sent."""
    data = None if form is None else urllib.parse.urlencode(form).encode()
    request = urllib.request.Request(url, data, {name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), error.headers


def press(url: str, **form: str) -> Any:
    """Send a form as the page does; GET if there is none."""
    code, body, _ = ask(url, form or None)
    assert code == 200, body
    return json.loads(body)


def until(done: Callable[[], Any], limit_s: float = 60.0) -> Any:
    """What `done` says once it says something true."""
    deadline = time.monotonic() + limit_s
    while not (found := done()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def page(url: str) -> str:
    """The start page, once Locust serves it."""
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        try:
            return ask(url)[1]
        except OSError:
            time.sleep(0.1)
    raise AssertionError(url)
