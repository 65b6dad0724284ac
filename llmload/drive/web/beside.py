"""What stands of llmload on Locust's own page: a link to the live page, a tab with the rows, files to download.

Locust's page can be added to in two ways: by values with which it is made, and in what it asks for every two seconds.
The link is put into the page itself, for its start form has no place for one.
"""

from collections.abc import Callable, Sequence
from typing import Any

import orjson
from flask import Response, request

from llmload.drive.web.downloads import FILES, LATEST
from llmload.drive.web.permit import OWN

TAB = "llmload"
LINK = b"""<a href="./llmload" title="figures as they come, rows and downloads" style="position:absolute;top:76px;\
right:1rem;z-index:1050;padding:.35rem .8rem;border-radius:1rem;background:#15803d;color:#fff;\
font:600 14px system-ui,sans-serif;text-decoration:none">llmload: live figures</a>\
<script src="./llmload/static/beside.js" defer></script>"""
"""At the right under the bar: nothing that is pressed lies there, at any width and in any state."""

OWN_LOCUSTFILE = ("model",)
"""Of the form's fields, what means something to a locustfile of the user's own."""

COLUMNS = (
    ("asked", "In flight, or rate/s", lambda row: row["concurrency"] if row["rate"] is None else row["rate"]),
    ("workload", "Class", lambda row: row["workload"]),
    ("ok", "# OK", lambda row: row["ok"]),
    ("failed", "# Failed", lambda row: row["failed"]),
    ("ttft50", "TTFT p50 (ms)", lambda row: middle(row, "ttft_ms", "p50")),
    ("ttft95", "TTFT p95 (ms)", lambda row: middle(row, "ttft_ms", "p95")),
    ("itl50", "ITL p50 (ms)", lambda row: middle(row, "itl_ms", "p50")),
    ("itl99", "ITL p99 (ms)", lambda row: middle(row, "itl_ms", "p99")),
    ("tpot50", "TPOT p50 (ms)", lambda row: middle(row, "tpot_ms", "p50")),
    ("e2e50", "E2E p50 (ms)", lambda row: middle(row, "e2e_ms", "p50")),
    ("e2e95", "E2E p95 (ms)", lambda row: middle(row, "e2e_ms", "p95")),
    ("tokens", "Tokens/s", lambda row: shown(row["output_tokens_per_s"])),
)
"""Columns of the tab: key, heading, and the figure of a row of summary.json."""


def beside(web_ui: Any, rows: Callable[[], Sequence[dict[str, Any]]], state: Callable[[], str] | None) -> None:
    """Add to Locust's page. `rows` are those of summary.json so far; `state` says Locust's better than itself."""
    web_ui.template_args |= {
        "extended_tabs": [{"title": TAB, "key": TAB}],
        "extended_tables": [
            {"key": TAB, "structure": [{"key": key, "title": title} for key, title, _ in COLUMNS]},
        ],
        "extended_csv_files": [
            {"href": f"./llmload/runs/{LATEST}/{name}", "title": f"llmload: {name} of the latest run"} for name in FILES
        ],
    }

    if state is None:
        fill = web_ui.update_template_args

        def filled() -> None:
            fill()
            fields = web_ui.template_args["extra_options"]
            web_ui.template_args["extra_options"] = {
                name: field for name, field in fields.items() if name in OWN_LOCUSTFILE or name not in OWN
            }

        web_ui.update_template_args = filled

    def add(answer: Response) -> Response:
        if answer.status_code != 200 or answer.direct_passthrough:
            return answer
        if request.endpoint == "locust.index":
            answer.set_data(answer.get_data().replace(b"</body>", LINK + b"</body>"))
        elif request.endpoint == "locust.request_stats" and answer.is_json:
            report = orjson.loads(answer.get_data())
            report["extended_stats"] = [{"key": TAB, "data": [cells(row) for row in rows()]}]
            if state is not None:
                report["state"] = state()
            answer.set_data(orjson.dumps(report))
        return answer

    web_ui.app.after_request(add)


def cells(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the tab."""
    return {key: figure(row) for key, _, figure in COLUMNS}


def middle(row: dict[str, Any], name: str, percent: str) -> float | None:
    """A percentile of the successes."""
    return shown((row[name].get("ok") or {}).get(percent))


def shown(value: float | None) -> float | None:
    """A figure for people."""
    return None if value is None else round(value, 1 if abs(value) < 100 else 0)
