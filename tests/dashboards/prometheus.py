"""A real Prometheus for tests: started on a free port, asked, ended.

Knows no board and no metric of ours; its configuration is the shipped one with other targets, or one that is given.
"""

import contextlib
import json
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from llmload import ports

PROGRAM = Path("/usr/bin/prometheus")
PROMTOOL = Path("/usr/bin/promtool")
SHIPPED = Path(__file__).parents[2] / "dashboards" / "prometheus"
RULES: list[dict[str, Any]] = [
    rule
    for path in sorted((SHIPPED / "rules").glob("*.yml"))
    for group in yaml.safe_load(path.read_text())["groups"]
    for rule in group["rules"]
]
"""All shipped ones: with `record` or with `alert`."""


class Prometheus:
    """A Prometheus that runs."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, query: str, at: float | None = None) -> list[dict[str, Any]]:
        """The result of an instant query, now or at a time."""
        return list(self.get("query", query=query, **({} if at is None else {"time": at}))["result"])

    def over(self, query: str, begin: float, end: float, step_s: float) -> list[dict[str, Any]]:
        """The result of a query over a range of time."""
        return list(self.get("query_range", query=query, start=begin, end=end, step=step_s)["result"])

    def get(self, what: str, **asked: Any) -> Any:
        """An answer of the API; the test fails with Prometheus' own words if it is an error."""
        address = f"{self.url}/api/v1/{what}?{urllib.parse.urlencode(asked)}"
        try:
            with urllib.request.urlopen(address) as answer:
                return json.loads(answer.read())["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{asked}: {error.read().decode(errors='replace')}") from error

    def ready(self) -> bool:
        """Whether it is up."""
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/-/ready") as answer:
            return bool(answer.status == 200)
        return False

    def until(self, true: Callable[["Prometheus"], Any], limit_s: float = 90.0) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + limit_s
        while not (self.ready() and true(self)):
            assert time.monotonic() < deadline, f"it did not come about within {limit_s:g} s"
            time.sleep(0.1)


@contextlib.contextmanager
def running(folder: Path, config: Mapping[str, Any]) -> Iterator[Prometheus]:
    """Run one while the block runs; what is in `folder`/tsdb it has already, and its words are in prometheus.log."""
    assert PROGRAM.exists(), "no Prometheus here; on Debian: apt-get install prometheus"
    file, text = folder / "prometheus.yml", yaml.safe_dump(dict(config))
    file.write_text(text)
    address = f"127.0.0.1:{ports.free()}"
    while address in text:  # somebody who is scraped will listen there
        address = f"127.0.0.1:{ports.free()}"
    command = [
        str(PROGRAM), f"--config.file={file}", f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address={address}",
    ]  # fmt: skip
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield Prometheus(f"http://{address}")
        finally:
            process.terminate()
            process.wait(60)


def scraping(jobs: Mapping[str, int], every: str = "500ms") -> dict[str, Any]:
    """A configuration that scrapes pages of this machine, by job and port."""
    return {
        "global": {"scrape_interval": every, "scrape_timeout": every},
        "scrape_configs": [
            {"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]} for job, port in jobs.items()
        ],
    }


def shipped(jobs: Mapping[str, int]) -> dict[str, Any]:
    """The shipped configuration with its rules, which are evaluated each second, on pages of this machine."""
    config: dict[str, Any] = yaml.safe_load((SHIPPED / "prometheus.yml").read_text())
    scrapes = scraping(jobs)["scrape_configs"]
    assert [item["job_name"] for item in config["scrape_configs"]] == [item["job_name"] for item in scrapes]
    return {
        "global": config["global"] | {"evaluation_interval": "1s"},
        "rule_files": [str(SHIPPED / pattern) for pattern in config["rule_files"]],
        "scrape_configs": scrapes,
    }


def promtool(*words: str, given: str | None = None) -> "subprocess.CompletedProcess[str]":
    """What promtool says."""
    assert PROMTOOL.exists(), "no promtool here; on Debian: apt-get install prometheus"
    return subprocess.run([PROMTOOL, *words], input=given, capture_output=True, text=True, check=False)
