"""What names say of weights."""

import pytest

from llmload.send.weights import file_format, quantization


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("/models/SmolLM2-135M-Instruct.Q4_1.gguf", ("Q4_1", 4)),
        ("llama-3.1-8b-instruct-q4_k_m.gguf", ("Q4_K_M", 4)),
        ("Qwen2.5-7B.IQ2_XXS.gguf", ("IQ2_XXS", 2)),
        ("mistral-7b.q8_0.gguf", ("Q8_0", 8)),
        ("gpt-oss-20b-MXFP4.gguf", ("MXFP4", 4)),
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", ("awq", 4)),
        ("TheBloke/Llama-2-13B-GPTQ", ("gptq", None)),
        ("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8", ("gptq", 8)),
        ("gptq_marlin", ("gptq", None)),
        ("neuralmagic/Meta-Llama-3.1-8B-Instruct-FP8", ("fp8", 8)),
        ("RedHatAI/Llama-3.1-8B-quantized.w4a16", ("w4a16", 4)),
        ("nvidia/Llama-3.1-8B-NVFP4", ("nvfp4", 4)),
        ("mlx-community/Llama-3.2-3B-Instruct-4bit", ("4bit", 4)),
        ("tinyllama.f16.gguf", ("f16", 16)),
        ("some-model-bf16", ("bf16", 16)),
        ("meta-llama/Llama-3.1-8B-Instruct", None),
        ("gpt-4o", None),
        ("cloud-4bits-of-luck", None),
        ("iq4", None),
        ("", None),
    ],
)
def test_the_kind_and_the_bits(name: str, kind: tuple[str, int | None] | None) -> None:
    """The usual names of files and repositories; what only looks alike says nothing."""
    assert quantization(name) == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("/models/x.Q4_1.gguf", "gguf"),
        ("bartowski/Llama-3.2-1B-Instruct-GGUF", "gguf"),
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", "awq"),
        ("TheBloke/Llama-2-13B-GPTQ", "gptq"),
        ("mlx-community/x-4bit", "mlx"),
        ("model.safetensors", "safetensors"),
        ("meta-llama/Llama-3.1-8B", None),
    ],
)
def test_the_format(name: str, kind: str | None) -> None:
    """By the ending of a file, or a word of a repository."""
    assert file_format(name) == kind
