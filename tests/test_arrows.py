"""The way data goes has no arrow back: what each part may import, checked on the source and on a real import.

Pure parts know no clock, socket, file, gevent, Locust, Prometheus or NVML; the reporter, the simulator and the parser
import neither Locust nor gevent; Locust is imported by the edge that needs it and by nothing else.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "llmload"

IO = {
    "asyncio", "gevent", "greenlet", "http.client", "http.server", "httpx2", "io", "locust", "multiprocessing",
    "openai", "os", "pathlib", "prometheus_client", "psutil", "pynvml", "requests", "selectors", "shutil", "signal",
    "socket", "ssl", "subprocess", "tempfile", "threading", "time", "urllib3",
}  # fmt: skip

PURE = [
    "stream",
    "load/call.py",
    "load/forecast.py",
    "load/lengths.py",
    "load/mix.py",
    "load/plan.py",
    "load/prompts.py",
    "load/scenario.py",
    "record/record.py",
    "report/balance.py",
    "report/percentiles.py",
    "send/target.py",
    "send/findings.py",
    "simulate/answers.py",
    "simulate/asked.py",
    "simulate/draws.py",
    "simulate/failures.py",
    "simulate/lengths.py",
    "simulate/occupancy.py",
    "simulate/pages.py",
    "simulate/plan.py",
    "simulate/script.py",
    "simulate/timing.py",
    "simulate/tokens.py",
    "simulate/wire.py",
]

ORDER = {
    "stream": {"record", "load"},
    "load": set(),
    "record": set(),
    "send": {"stream", "record", "load"},
    "drive": {"send", "stream", "record", "load"},
    "report": {"record", "load"},
    "simulate": set(),
}
"""Which parts of llmload each part may import, besides itself and `exits`."""


def sources(place: str) -> list[Path]:
    """Python files of a place of the package."""
    path = PACKAGE / place
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def imports(path: Path) -> set[str]:
    """Dotted names of everything a file imports, inside functions too, type-checking blocks too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return found


@pytest.mark.parametrize("place", PURE)
def test_pure_parts_import_no_io(place: str) -> None:
    """A pure part gets times and bytes as arguments and imports nothing that could fetch them itself."""
    assert sources(place), f"{place} is not there"
    for path in sources(place):
        assert not {name for name in imports(path) if any(f"{name}.".startswith(f"{io}.") for io in IO)}, path


@pytest.mark.parametrize("part", ORDER)
def test_parts_import_only_what_lies_before_them(part: str) -> None:
    """Data flows one way, so imports do."""
    allowed = ORDER[part] | {part, "exits", "__version__"}
    for path in sources(part):
        used = {name.split(".")[1] for name in imports(path) if name.startswith("llmload.")}
        assert used <= allowed, path


def test_locust_is_imported_by_its_edge_alone() -> None:
    """Only llmload/drive knows Locust."""
    users = {
        path.relative_to(PACKAGE).parts[0]
        for path in sources(".")
        if "locust" in {n.split(".")[0] for n in imports(path)}
    }
    assert users == {"drive"}


@pytest.mark.parametrize(
    "module",
    [
        "llmload.report",
        "llmload.cli.report",
        "llmload.simulate.server",
        "llmload.cli.simulate",
        "llmload.stream.reading",
    ],
)
def test_what_reads_and_plays_loads_neither_locust_nor_gevent(module: str) -> None:
    """A real import of the reporter, the simulator and the parser leaves Locust and gevent out."""
    code = f"import sys, {module}; sys.exit(' '.join({{'locust', 'gevent'}} & set(sys.modules)) or 0)"
    subprocess.run([sys.executable, "-c", code], check=True)
