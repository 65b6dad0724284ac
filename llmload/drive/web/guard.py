"""Keeps foreign web pages from pressing the buttons of Locust's page.

Locust takes a form from anywhere, and with `/swarm` that would be enough to have the key sent to an endpoint of
somebody else's choice. A browser says where a form comes from: one from another site is refused, and so is one that
came by a foreign name for this machine where the page is for this machine alone.
"""

from typing import Any
from urllib.parse import urlsplit

from flask import Response, jsonify, request

from llmload.here import is_here


def guard(web_ui: Any) -> None:
    """Look at every form that is sent to a web server."""

    def check() -> tuple[Response, int] | None:
        if request.method != "POST":
            return None
        why = refusal(
            request.host,
            request.headers.get("Origin"),
            request.headers.get("Sec-Fetch-Site"),
            alone=is_here(web_ui.host),
        )
        return None if why is None else (jsonify({"success": False, "message": why, "error": why}), 403)

    web_ui.app.before_request(check)


def refusal(host: str, origin: str | None, site: str | None, *, alone: bool) -> str | None:
    """Why a form is refused, None if it is not. `alone`: the page is served to this machine only.

    Programs that are no browsers send neither origin nor site.
    """
    own = host_of(f"//{host}")
    if alone and not is_here(own):
        return f"the page is served to this machine alone, and was asked for by the name {own!r}"
    if site is not None:
        return None if site in {"same-origin", "none"} else "a form from another site is not taken"
    if origin is not None and urlsplit(origin).netloc != host:
        return f"a form from another site ({origin}) is not taken; behind a proxy, let it pass on the Host header"
    return None


def host_of(address: str) -> str:
    """The name in an address, without port and brackets."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""
