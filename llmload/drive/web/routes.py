"""llmload's own routes on Locust's web server: the live page, its figures, and the files of runs.

All of them stand below `/llmload` (and `--web-base-path` before it), all of them ask for the login if there is one,
and all of them only read. They run in the process that conducts, so none of them takes long in it.
"""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
from flask import Blueprint, Response, redirect, request, send_file, url_for
from flask_cors.core import ACL_ORIGIN, FLASK_CORS_EVALUATED

from llmload.drive.web.downloads import FILES, Runs
from llmload.exits import Exit, Stop

PLACE = "llmload"
PAGES = Path(__file__).parent / "pages"
PAGE = "live.html"
LIVE_S = 1.0
"""How long figures are good for everybody who looks."""

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}

Live = Callable[[float | None], dict[str, Any]]
"""Gives the figures of the live page, history later than a moment or all of it."""


class Web:
    """Puts the routes on a web server."""

    def __init__(self, web_ui: Any, runs: Runs, live: Live) -> None:
        self._runs = runs
        self._live = live
        self._kept: dict[float | None, bytes] = {}
        self._made_at = -math.inf
        self._static = {str(path.relative_to(PAGES)): path for path in sorted(PAGES.rglob("*")) if path.is_file()}
        base = str(getattr(web_ui.environment.parsed_options, "web_base_path", None) or "")
        routes = Blueprint(PLACE, __name__, url_prefix=f"{base.rstrip('/')}/{PLACE}")
        for rule, view in (
            ("", self.page),
            ("/", self.to_page),
            ("/live", self.live),
            ("/static/<path:name>", self.static),
            ("/runs", self.runs),
            ("/runs/<run>/<name>", self.file),
        ):
            routes.add_url_rule(rule, view.__name__, web_ui.auth_required_if_enabled(view))
        routes.register_error_handler(Exception, failed)
        routes.after_request(own_headers)
        web_ui.app.register_blueprint(routes)

    def page(self) -> Response:
        """The live page."""
        return send_file(self._static[PAGE])

    def to_page(self) -> Any:
        """The page has one address, so that what it names lies where it says."""
        return redirect(url_for(f"{PLACE}.page"), 308)

    def live(self) -> Response:
        """Its figures; `since` leaves out what the page has already."""
        return Response(self._figures(request.args.get("since", type=float)), mimetype="application/json")

    def rows(self) -> list[dict[str, Any]]:
        """The rows of the steps that are over."""
        rows: list[dict[str, Any]] = orjson.loads(self._figures(math.inf))["rows"]
        return rows

    def _figures(self, since: float | None) -> bytes:
        """As JSON, made anew once a second, however many look."""
        now = time.monotonic()
        if now - self._made_at > LIVE_S:
            self._kept, self._made_at = {}, now
        if since not in self._kept:
            self._kept[since] = orjson.dumps(self._live(since), option=orjson.OPT_NON_STR_KEYS)
        return self._kept[since]

    def static(self, name: str) -> Response:
        """A file of the page, from the package."""
        path = self._static.get(name)
        if path is None:
            raise Stop(f"the page has no file {name!r}")
        return send_file(path)

    def runs(self) -> Response:
        """The runs whose files can be had."""
        return Response(orjson.dumps({"runs": self._runs.listed(), "files": list(FILES)}), mimetype="application/json")

    def file(self, run: str, name: str) -> Response:
        """A file of a run, to be saved under a name that says which run it is of."""
        found = self._runs.find(run, name)
        answer = Response(found.chunks(), content_type=FILES[name])
        answer.content_length = found.size
        answer.headers.set("Content-Disposition", "attachment", filename=f"{found.run}-{name}")
        return answer


def failed(error: Exception) -> Response:
    """What went wrong, as one sentence."""
    code = getattr(error, "code", 500)
    if isinstance(error, Stop):
        code = {Exit.USAGE: 404, Exit.UNJUDGED: 409}.get(error.code, 500)
    sentence = error.message if isinstance(error, Stop) else getattr(error, "description", None) or repr(error)
    return Response(orjson.dumps({"error": sentence}), status=code, mimetype="application/json")


def own_headers(answer: Response) -> Response:
    """Nothing foreign on the page, and nothing of it on foreign pages: Locust would let every site read it."""
    answer.headers.update(HEADERS)
    answer.headers.pop(ACL_ORIGIN, None)  # errors have it by now
    setattr(answer, FLASK_CORS_EVALUATED, True)
    return answer
