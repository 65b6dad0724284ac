"""The seven conditions at the head of a report: what is told, what was found, what is marked as unknown."""

from pathlib import Path
from typing import Any

import pytest

from llmload.compare.claims.conditions import CONDITIONS
from llmload.exits import Stop
from llmload.record import environment
from llmload.report import building, files, questions, seven, terminal
from llmload.report.seven import Known
from tests.report.sampled import constant
from tests.report.synthetic import lines, record, scenario, write
from tests.report.worked import built_of

SERVER = {
    "model": "qwen", "model_root": "/models/qwen-7b", "model_digest": "sha256:0123456789abcdef", "engine": "vllm",
    "version": "0.11.0", "weights_format": "safetensors", "quantization": "fp8", "quantization_bits": 8,
    "parameters": 7_200_000_000, "tensor_parallel": 2, "context": 32768, "prefix_cache": True,
    "speculative_decoding": "eagle", "chunked_prefill": False,
}  # fmt: skip
GPU = {
    "gpu": "0", "uuid": "GPU-0", "name": "NVIDIA H100 80GB HBM3", "memory_total_bytes": 80 << 30,
    "driver_version": "570.1", "cuda_version": "12.8", "power_limit_watts": 700.0, "mig": False, "processes": 1,
    "shared": False,
}  # fmt: skip
CLASS = {"name": "short", "weight": 1.0, "slo": None, "source": "builtin:short", "max_tokens": 10, "ignore_eos": False}


def known_of(folder: Path, found: dict[str, Any] | None = None, rows: Any = None, **more: Any) -> dict[str, Known]:
    """The seven of a run with such an `environment` and a scenario of `more`, by name."""
    more = {"classes": [CLASS]} | more
    run = {} if found is None else {"environment": found}
    built = built_of(folder, rows or [record(n) for n in range(4)], run=run, **more)
    return {item.name: item for item in seven.of(built.facts)}


def test_the_names_are_those_of_a_claim(tmp_path: Path) -> None:
    """And each has keys of [environment] that answer it."""
    assert tuple(known_of(tmp_path)) == CONDITIONS == tuple(seven.ANSWERS)


def test_everything_is_found(tmp_path: Path) -> None:
    """Seven texts without a mark, and no sentence on what is lacking."""
    client = {"host": "bench", "path": {"loopback": False}}
    known = known_of(tmp_path, {"server": SERVER, "gpus": [GPU, GPU | {"gpu": "1"}], "client": client})
    assert {name: item.text for name, item in known.items()} == {
        "model": "qwen, /models/qwen-7b, 7.2 billion parameters, safetensors, fp8, 8 bits a weight, "
        "digest 0123456789ab",
        "input": "short 200 tokens (mean, by the server); built-in prompts, seed 1, each with its own head",
        "output limit": "short 10 tokens; reached by 100 %",
        "hardware": "2 x NVIDIA H100 80GB HBM3 (80 GiB, limit 700 W)",
        "software": "vllm 0.11.0, tensor parallel 2, context 32768, speculative decoding eagle, prefix cache on, "
        "chunked prefill off, driver 570.1, CUDA 12.8",
        "concurrency": "closed loop, 1 in flight, window of 10 s",
        "metric": "TTFT, ITL, TPOT and E2E from the first byte sent; tokens/s",
    }
    assert all(item.whole for item in known.values())
    assert seven.lacking(known.values()) == ""


def test_nothing_is_known(tmp_path: Path) -> None:
    """A run that is silent about itself: what is unknown is None, is marked, and is counted."""
    rows = [record(n, input_tokens=None, output_tokens_source="events") for n in range(4)]
    silent = scenario(model=None, classes=[{"name": "short"}])
    write(tmp_path, rows, scenario=silent, environment={}, sending={})
    known = {item.name: item for item in seven.of(building.compute(tmp_path).facts)}
    assert [name for name, item in known.items() if item.text is None] == ["model", "input", "hardware", "software"]
    assert {known[name].shown for name in ("model", "input", "hardware", "software")} == {"? unknown"}
    assert known["metric"].missing == "tokens: estimated, one per event"
    assert seven.lacking(known.values()) == (
        "4 of 7 unknown, 1 in part; tell them with [environment] in the scenario or --set environment.weights=…"
    )


def test_what_is_told_wins(tmp_path: Path) -> None:
    """Of the scenario and of run.json; names of what a server tells stand for what was found; GPUs stay in sight."""
    told = {
        "weights": "Q4_K_M from hf.co/x", "hardware": "8x H100", "software": "our fork", "metric": "E2E p95",
        "input": "customer mails", "output_limit": "stop words", "concurrency": "nobody else", "notes": "spring",
    }  # fmt: skip
    known = known_of(tmp_path / "a", {"server": SERVER, "gpus": [GPU]}, environment=told)
    assert known["model"].text == "qwen, Q4_K_M from hf.co/x"
    assert known["hardware"].text == "8x H100; seen: 1 x NVIDIA H100 80GB HBM3 (80 GiB, limit 700 W)"
    assert known["software"].text == "our fork"
    for name, words in (("input", "customer mails"), ("output limit", "stop words"), ("concurrency", "nobody else")):
        assert (known[name].text or "").startswith(f"{words}; ")
    assert (known["metric"].text or "").startswith("E2E p95; ")
    found = {"server": SERVER, "told": {"version": "0.12", "quantization": "int4", "model": "mine"}}
    known = known_of(tmp_path / "b", found)
    assert (known["software"].text or "").startswith("vllm 0.12, ")
    assert (known["model"].text or "").startswith("mine, ")
    assert "int4" in (known["model"].text or "")


def test_parts_that_are_missing_are_named(tmp_path: Path) -> None:
    """A name without weights, an engine without version, prompts nobody counted."""
    rows = [record(n, input_tokens=None) for n in range(4)]
    known = known_of(tmp_path, {"server": {"model": "m", "engine": "vllm"}}, rows)
    assert known["model"] == Known("model", "m", "which weights: format, bits, from where")
    assert known["model"].shown == "m  ? which weights: format, bits, from where"
    assert known["software"] == Known("software", "vllm", "its version")
    assert known["input"].missing == "tokens: nobody counted"
    assert seven.lacking(known.values()) == (
        "1 of 7 unknown, 3 in part; tell them with [environment] in the scenario or --set environment.weights=…"
    )


def test_prompts_and_limits(tmp_path: Path) -> None:
    """A file by name and digest, other lengths than wanted, limits that differ, answers cut short, EOS ignored."""
    classes = [
        CLASS | {"source": "file", "path": "/data/mails.jsonl", "digest": "ab" * 32, "ignore_eos": True},
        CLASS | {"name": "long"},
    ]
    rows = [record(0, requested_input_tokens=100), record(1, requested_output_tokens=20)]
    rows += [record(2, workload="long"), record(3, workload="long", input_tokens_source="tokenizer")]
    known = known_of(tmp_path, {}, rows, classes=classes, cache_busting=False)
    assert known["input"].text == (
        "short 200 (of 150), long 200 tokens (mean, by a tokenizer file and the server); mails.jsonl (sha256 "
        "abababababab), built-in prompts, seed 1, which may repeat (cache busting off)"
    )
    assert known["output limit"].text == (
        "short 10 to 20, long 10 tokens; reached by 50 %, 100 %; end-of-sequence ignored in short"
    )


def test_hardware_without_a_gpu(tmp_path: Path) -> None:
    """The machine that `llmload env` told of; else this one, if the endpoint is on it; else unknown."""
    box = {"cpu": "Some CPU", "cores": 2, "memory_bytes": 8 << 30}
    here = {"client": box | {"path": {"loopback": True}}}
    told = {"client": box | {"path": {"loopback": False}}, "machine": {"cpu": "Big CPU", "cores": 64}}
    assert known_of(tmp_path / "a", here)["hardware"].text == "Some CPU, 2 cores, 8 GiB; no GPU was seen"
    assert known_of(tmp_path / "b", told)["hardware"].text == "Big CPU, 64 cores; no GPU was seen"
    assert known_of(tmp_path / "c", {"client": box})["hardware"].text is None
    mig = {"machine": {"gpus": [GPU | {"mig": True}, {"gpu": "1"}]}}
    assert known_of(tmp_path / "d", mig)["hardware"].text == (
        "1 x NVIDIA H100 80GB HBM3 (80 GiB, limit 700 W, cut by MIG), 1 x GPU of unknown name"
    )


def test_gpus_that_were_only_sampled(tmp_path: Path) -> None:
    """Names of gpu.jsonl, where run.json has none."""
    write(tmp_path, [record(0)], scenario=scenario(classes=[CLASS]))
    lines(tmp_path / "gpu.jsonl", [row for number in (0, 1) for row in constant(100.0, 10.0, number=number)])
    known = {item.name: item for item in seven.of(building.compute(tmp_path).facts)}
    assert known["hardware"].text == "2 x NVIDIA H100 80GB HBM3"


def test_a_shared_card_is_a_warning(tmp_path: Path) -> None:
    """Which, and with how many processes; one of its own is none."""
    shared = GPU | {"gpu": "1", "shared": True, "processes": 3}
    built = built_of(tmp_path, [record(0)], run={"environment": {"gpus": [GPU, shared]}})
    (words,) = (words for words in built.warnings if "shared" in words)
    assert words.startswith("GPU 1 (3 processes) was shared with others when the run began")
    known = {item.name: item.text or "" for item in seven.of(built.facts)}
    assert known["hardware"].endswith(", 1 shared with others")


@pytest.mark.parametrize("width", [80, 120])
def test_it_stands_at_the_head_of_every_report(tmp_path: Path, width: int) -> None:
    """In each format for people, marks and the way to tell what is unknown with it; it stays short."""
    built = built_of(tmp_path, [record(n) for n in range(4)], run={"environment": {}})
    for kind in ("table", "markdown", "html"):
        text = files.FORMATS[kind](built)
        assert all(name in text for name in CONDITIONS), kind
        assert "unknown" in text
        assert "environment.weights=…" in " ".join(text.split()), kind
    head = terminal.text(built, width).split("What users felt")[0].splitlines()
    assert len(head) <= {80: 20, 120: 16}[width]
    assert max(map(len, head)) <= width


JUNK: tuple[Any, ...] = (None, 5, "x", True, [], {}, [5], {"a": 5}, 1e300, -1, {"name": {"a": 1}}, [{"name": 5}])


@pytest.mark.parametrize("key", ["client", "server", "tokenizer", "gpus", "machine", "told"])
def test_a_damaged_environment_is_no_traceback(tmp_path: Path, key: str) -> None:
    """Whatever stands where a part should be, or in it: there is a report, or a sentence that refuses run.json."""
    names = {"client": environment.CLIENT, "server": environment.SERVER, "machine": environment.MACHINE}.get(key)
    inside = [dict.fromkeys(names, junk) for junk in JUNK] if names else []
    inside += [[dict.fromkeys(environment.GPUS, junk)] for junk in JUNK] if key == "gpus" else []
    write(tmp_path, [record(0)])
    refused = []
    for junk in (*JUNK, *inside):
        write(tmp_path, None, generator=None, environment={key: junk})
        try:
            built = building.compute(tmp_path)
        except Stop as stop:
            refused.append(stop.message)
            continue
        assert len(seven.of(built.facts)) == len(questions.of(built)) == 7
    assert all("run.json: environment" in message for message in refused)
    assert len(refused) < len((*JUNK, *inside))
