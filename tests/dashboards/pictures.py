"""The boards' pictures in the README, taken anew: `python -m tests.dashboards.pictures`, some five minutes.

Load and GPU are of two real runs against `llmload simulate`, with a sidecar that plays two GPUs, scraped by a real
Prometheus; Soak is of six hours worked out by `history`. What is drawn is what `make dashboard-pictures` draws.
"""

import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from dashboards.draw.__main__ import main as draw
from llmload import ports
from tests.dashboards import history

ROOT = Path(__file__).parents[2]
RULES = ROOT / "dashboards" / "prometheus" / "rules"
SCENARIO = """
[load]
{load}
warmup_s = 2
window_s = 30
window_requests = 1

[slo]
ttft_ms = 600
tpot_ms = 24
itl_max_ms = 300

[[class]]
name = "short"
weight = 5
input_tokens = 120
max_tokens = 60

[[class]]
name = "long"
weight = 2
input_tokens = 900
max_tokens = 160
"""


@contextlib.contextmanager
def running(folder: Path, name: str, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program, for as long as the block runs."""
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(30)


@contextlib.contextmanager
def prometheus(folder: Path, targets: dict[str, str], every: str = "1s") -> Iterator[str]:
    """One with the rules, its data in the folder; its URL."""
    port = ports.free()
    scrapes = [{"job_name": job, "static_configs": [{"targets": [target]}]} for job, target in targets.items()]
    config = {
        "global": {"scrape_interval": every, "scrape_timeout": "900ms", "evaluation_interval": every},
        "rule_files": [str(RULES / "*.yml")],
        "scrape_configs": scrapes,
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))
    command = (
        "/usr/bin/prometheus", "--config.file=prometheus.yml", f"--web.listen-address=127.0.0.1:{port}",
        "--storage.tsdb.path=tsdb", "--storage.tsdb.retention.time=10y",
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    with running(folder, "prometheus", *command):
        answers(f"{url}/-/ready")
        yield url


def answers(url: str, seconds: float = 30) -> None:
    """Wait until it does."""
    last = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            if time.monotonic() > last:
                raise
            time.sleep(0.1)


def past(folder: Path, end: float, hours: float = 6.0, step_s: float = 15.0) -> None:
    """Fill Prometheus' data with the hours before `end`, recording rules included."""
    text = folder / "history.txt"
    text.write_text(history.openmetrics(hours=hours, step_s=step_s, end=end))
    tsdb = folder / "tsdb"
    promtool = "/usr/bin/promtool"
    subprocess.run([promtool, "tsdb", "create-blocks-from", "openmetrics", text, tsdb], check=True, capture_output=True)
    with prometheus(folder, {}) as url:
        span = (f"--start={int(end - hours * 3600)}", f"--end={int(end)}", f"--eval-interval={int(2 * step_s)}s")
        rules = (promtool, "tsdb", "create-blocks-from", "rules", *span, f"--url={url}", f"--output-dir={tsdb}")
        subprocess.run([*rules, RULES / "recording.yml"], check=True, capture_output=True)


def runs(folder: Path, address: str, endpoint: str) -> None:
    """A closed loop, then load by rate, on one metrics page."""
    port = address.rpartition(":")[2]
    plans = {"closed": "steps = [2, 8, 16]", "rate": 'kind = "rate"\nrates = [2, 4]'}
    for name, load in plans.items():
        scenario = folder / f"{name}.toml"
        scenario.write_text(SCENARIO.format(load=load))
        command = (
            "-m",
            "llmload",
            "run",
            str(scenario),
            "--host",
            endpoint,
            "--metrics-port",
            port,
            "--processes",
            "2",
        )
        done = subprocess.run([sys.executable, *command, "--out", folder / "runs"], check=False, capture_output=True)
        print(f"{name}: exit code {done.returncode}", done.stderr.decode()[-500:])


def live(folder: Path, out: list[str]) -> None:
    """The boards Load and GPU."""
    began = time.time()
    load, gpu, engine = (f"127.0.0.1:{ports.free()}" for _ in range(3))
    timing = ("--ttft-ms", "90", "--itl-ms", "12", "--distribution", "lognormal", "--slowdown", "0.05", "--slots", "12")
    llmload = (sys.executable, "-m", "llmload")
    with (
        running(folder, "engine", *llmload, "simulate", "--port", engine.rpartition(":")[2], *timing,
                "--prefill-tokens-per-s", "6000", "--failures", "429=0.01,cut=0.01"),
        running(folder, "sidecar", *llmload, "sidecar", "--fake", "2", "--port", gpu.rpartition(":")[2]),
        prometheus(folder, {"llmload": load, "llmload-gpu": gpu, "llm-server": engine}) as url,
    ):  # fmt: skip
        answers(f"http://{engine}/v1/models")
        answers(f"http://{gpu}/metrics")
        runs(folder, load, f"http://{engine}/v1")
        draw([url, "--board", "load", "--board", "gpu", "--since", f"{int(time.time() - began)}s", *out])


def main(parts: list[str]) -> None:
    """All, or the parts that are named."""
    folder = Path(tempfile.mkdtemp(prefix="llmload-pictures-"))
    out = ["--out", str(ROOT / "dashboards" / "pictures")]
    try:
        if "live" in parts or not parts:
            (folder / "live").mkdir()
            live(folder / "live", out)
        if "soak" in parts or not parts:
            (folder / "soak").mkdir()
            end = time.time() // 3600 * 3600
            past(folder / "soak", end)
            with prometheus(folder / "soak", {}) as url:
                draw([url, "--board", "soak", "--end", str(end), "--scrape", "15s", *out])
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
