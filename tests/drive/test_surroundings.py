"""What a run is measured on, put together from what each part has found out."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from llmload.drive import surroundings
from llmload.drive.prepare import Prepared
from llmload.load import reading
from llmload.record import samples
from llmload.send.findings import Findings
from llmload.send.settings import Sending

PAGE = "http://gpu-host:9835/metrics"
GPU = {"uuid": "GPU-1", "gpu": "0", "up": True, "info": {"name": "X"}, "values": {"process_memory_bytes.1": 5.0}}


def prepared(
    folder: Path, *, proxy: str | None = None, machine: dict[str, Any] | None = None, **found: Any
) -> Prepared:
    """A run that could begin."""
    findings = Findings("http://127.0.0.1:1/v1", "m", address="127.0.0.1:1", **found)
    sending = Sending(findings.base_url, "m", proxy=proxy)
    return Prepared(reading.load("smoke"), sending, findings, folder, 0.0, False, machine=machine)


def sampling(folder: Path, *lines: dict[str, Any], engine: str | None = None) -> Any:
    """A sampler with its first looks."""
    (folder / samples.GPU).write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"cut')
    server = None if engine is None else {"engine": engine, "source": "http://h/metrics"}
    return SimpleNamespace(facts={"server": server})


def test_gpus_are_those_of_the_samplers_lines(tmp_path: Path) -> None:
    """With the page that told; and where nobody told, there are no members at all."""
    at = sampling(tmp_path, {"source": PAGE, "gpus": [GPU]}, {"source": PAGE, "gpus": [GPU]})
    assert surroundings.of_gpus(prepared(tmp_path), at) == {
        "gpus": [{"gpu": "0", "uuid": "GPU-1", "name": "X", "processes": 1, "shared": False}],
        "gpus_source": PAGE,
    }
    assert surroundings.of_gpus(prepared(tmp_path), None) == {}
    assert surroundings.of_gpus(prepared(tmp_path), sampling(tmp_path, {"source": PAGE, "error": "gone"})) == {}


def test_gpus_of_a_file_stand_in_where_none_are_sampled(tmp_path: Path) -> None:
    """What is sampled wins."""
    machine = {"host": "h", "gpus": [{"gpu": "0", "uuid": "GPU-2"}]}
    run = prepared(tmp_path, machine=machine)
    assert surroundings.of_gpus(run, None) == {"gpus": machine["gpus"], "gpus_source": "--environment"}
    assert surroundings.of_gpus(run, sampling(tmp_path, {"source": PAGE, "gpus": [GPU]}))["gpus_source"] == PAGE
    assert surroundings.environment(run, None)["machine"] == machine


@pytest.mark.parametrize(("told", "engine"), [({}, "vllm"), ({"engine": "sglang"}, "sglang")])
def test_the_samplers_word_on_the_engine_counts_where_the_server_gave_none(
    tmp_path: Path, told: dict[str, Any], engine: str
) -> None:
    """Its page of metrics may be somewhere else."""
    run = prepared(tmp_path, served=told, sources=dict.fromkeys(told, "GET /server_info"))
    server = surroundings.environment(run, sampling(tmp_path, engine="vllm"))["server"]
    assert server["engine"] == engine
    assert server["sources"]["engine"] == ("http://h/metrics" if not told else "GET /server_info")


def test_the_context_of_the_list_of_models(tmp_path: Path) -> None:
    """Stands in where no page tells it."""
    server = surroundings.environment(prepared(tmp_path, context=4096), None)["server"]
    assert (server["context"], server["sources"]) == (4096, {"context": "GET models"})
    server = surroundings.environment(prepared(tmp_path, context=4096, served={"context": 8192}), None)["server"]
    assert server["context"] == 8192


def test_a_password_of_a_proxy_is_not_told(tmp_path: Path) -> None:
    """As everywhere else."""
    told = surroundings.environment(prepared(tmp_path, proxy="http://me:secret@proxy:3128"), None)
    assert told["client"]["path"]["proxy"] == "http://…@proxy:3128"
