"""A real Prometheus, begun with the first test of this folder: it lets five seconds pass before its first scrape."""

import itertools
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from llmload.ports import free
from tests.gather.children import now
from tests.gather.places import Asked, Place, answer, place

CONFIG = """
global: {{scrape_interval: 250ms, scrape_timeout: 250ms}}
scrape_configs:
- {{job_name: llmload-gpu, static_configs: [{{targets: ["{sidecar}"]}}]}}
- {{job_name: dcgm, static_configs: [{{targets: ["{dcgm}"]}}]}}
"""


@dataclass
class Scraping:
    """A Prometheus and what it scrapes."""

    url: str
    folder: Path
    sidecar: Place
    dcgm: Place


@pytest.fixture(scope="package", autouse=True)
def early(request: pytest.FixtureRequest) -> None:
    """Begin it, if any test wants it."""
    if any("scraping" in getattr(item, "fixturenames", ()) for item in request.session.items):
        request.getfixturevalue("scraping")


@pytest.fixture(scope="package")
def scraping(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scraping]:
    """It scrapes a sidecar whose energy is 10 J more each time and whose GPU is lost each fifth; and DCGM."""
    folder = tmp_path_factory.mktemp("prometheus")
    scraped = itertools.count(1)

    def sidecar(_: Asked) -> bytes:
        number = next(scraped)
        labels = 'gpu="0",uuid="GPU-aa"'
        return answer(
            f'llmload_gpu_info{{{labels},name="Test H100"}} 1\nllmload_gpu_up{{{labels}}} {int(number % 5 > 0)}\n'
            f"llmload_gpu_energy_joules_total{{{labels}}} {10 * number}\n"
            f"llmload_gpu_power_watts{{{labels}}} NaN\nllmload_host_load1 0.5\n"
            f"llmload_gpu_collect_age_seconds 0.125\nllmload_gpu_collect_timestamp_seconds {now() - 0.125}\n"
            'llmload_gpu_collect_duration_seconds_bucket{le="+Inf"} 5\n'
        )

    power = 'DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-dd",modelName="Test A100"} 300\n'
    with place(sidecar) as one, place(lambda _: answer(power)) as other:
        port = free()
        config = CONFIG.format(sidecar=one.url.removeprefix("http://"), dcgm=other.url.removeprefix("http://"))
        (folder / "prometheus.yml").write_text(config)
        command = ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data"]
        command.append(f"--web.listen-address=127.0.0.1:{port}")
        with subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL) as process:
            try:
                yield Scraping(f"http://127.0.0.1:{port}", folder, one, other)
            finally:
                process.kill()
