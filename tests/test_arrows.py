"""The way data goes has no arrow back: what each part may import, checked on the source and on a real import.

Pure parts know no clock, socket, file, gevent, Locust, Prometheus or NVML; the reporter, the simulator and the parser
import neither Locust nor gevent; Locust is imported by the edge that needs it and by nothing else.
"""

import ast
import subprocess
import sys
from functools import cache
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
    "drive/apart.py",
    "drive/part.py",
    "load/arrivals.py",
    "load/call.py",
    "load/forecast.py",
    "load/lengths.py",
    "load/mix.py",
    "load/plan.py",
    "load/prompts.py",
    "load/rateplan.py",
    "chance.py",
    "exits.py",
    "gather/dcgm.py",
    "gather/engines.py",
    "gather/gpus.py",
    "gather/own.py",
    "gather/seen.py",
    "gather/series.py",
    "gather/smi.py",
    "handover.py",
    "here.py",
    "live",
    "load/head.py",
    "load/options.py",
    "load/override.py",
    "load/scenario.py",
    "load/sequence.py",
    "load/soak.py",
    "load/spans.py",
    "load/values.py",
    "machine/gpus.py",
    "plain.py",
    "answers",
    "compare/answering/quality.py",
    "compare/kinds",
    "compare/ratios",
    "compare/capable.py",
    "compare/comparison.py",
    "compare/claims/conditions.py",
    "compare/differing/differences.py",
    "compare/differing/asking.py",
    "compare/differing/hardware.py",
    "compare/differing/health.py",
    "compare/differing/lengths.py",
    "compare/differing/measuring.py",
    "compare/differing/part.py",
    "compare/differing/serving.py",
    "compare/figures.py",
    "compare/verdict",
    "compare/rule",
    "compare/money",
    "compare/questions.py",
    "compare/claims/phrase.py",
    "compare/show/again.py",
    "compare/show/bars.py",
    "compare/show/beside.py",
    "compare/show/curves.py",
    "compare/show/data.py",
    "compare/show/gains.py",
    "compare/show/inks.py",
    "compare/show/markdown.py",
    "compare/show/numbers.py",
    "compare/show/points.py",
    "compare/show/radar.py",
    "compare/show/sections.py",
    "compare/show/spreads.py",
    "compare/claims/stated.py",
    "compare/words.py",
    "record/environment.py",
    "record/record.py",
    "record/samples.py",
    "report/balance.py",
    "report/columns.py",
    "report/cost.py",
    "report/doubts",
    "report/failures.py",
    "report/figures.py",
    "report/formulas.py",
    "report/gates.py",
    "report/grid.py",
    "report/hardware.py",
    "report/inflight.py",
    "report/inks.py",
    "report/instants.py",
    "report/kinds.py",
    "report/late.py",
    "report/lengths.py",
    "report/lost.py",
    "report/measures.py",
    "report/observer.py",
    "report/overlap.py",
    "report/overtime.py",
    "report/percentiles.py",
    "report/positions.py",
    "report/questions.py",
    "report/rows.py",
    "report/seven.py",
    "report/shape.py",
    "report/slip.py",
    "report/soak",
    "report/steps.py",
    "report/telemetry/gpus.py",
    "report/telemetry/sampled.py",
    "report/telemetry/series.py",
    "report/telemetry/servers.py",
    "report/throughput.py",
    "report/verdict.py",
    "send/target.py",
    "sidecar/backend.py",
    "sidecar/kept.py",
    "sidecar/nvml/choose.py",
    "sidecar/table.py",
    "send/findings.py",
    "send/served.py",
    "send/weights.py",
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
    "watch/show.py",
    "watch/spread.py",
]

ORDER = {
    "stream": {"record", "load"},
    "load": set(),
    "record": set(),
    "send": {"answers", "stream", "record", "load"},
    "drive": {"send", "stream", "record", "load", "live", "machine"},
    "machine": {"record"},
    "answers": set(),
    "compare": {"answers", "report", "record", "load"},
    "live": {"record", "load"},
    "report": {"record", "load"},
    "watch": {"record", "load"},
    "simulate": set(),
    "engines": set(),
    "sidecar": {"record"},
    "gather": {"record"},
    "cli": {
        "answers",
        "compare",
        "engines",
        "load",
        "machine",
        "record",
        "report",
        "send",
        "sidecar",
        "simulate",
        "stream",
        "watch",
    },
}
"""Which parts of llmload each part may import, besides itself and what stands above all of them."""

ABOVE = {"__version__", "chance", "exits", "handover", "here", "plain", "ports"}
"""Files of the package itself: one idea each, and they import nothing of llmload."""


def sources(place: str) -> list[Path]:
    """Python files of a place of the package."""
    path = PACKAGE / place
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


@cache
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
    allowed = ORDER[part] | {part} | ABOVE
    for path in sources(part):
        used = {name.split(".")[1] for name in imports(path) if name.startswith("llmload.")}
        assert used <= allowed, path


def test_every_part_has_its_place() -> None:
    """A new folder or file of the package is put into the order, or it is nobody's."""
    parts = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert parts == set(ORDER)
    files = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert files == ABOVE - {"__version__"}
    for name in files:
        assert not {name for name in imports(PACKAGE / f"{name}.py") if name.startswith("llmload")}


def test_the_largest_part_has_a_list_of_its_rooms() -> None:
    """Whoever looks for the file of an idea finds it in the docstring of llmload/drive, each file once."""
    text = ast.get_docstring(ast.parse((PACKAGE / "drive/__init__.py").read_text())) or ""
    named = [name for line in text.splitlines() if line.startswith(" ") for name in line.split(": ")[1].split(", ")]
    assert sorted(named) == sorted(path.stem for path in (PACKAGE / "drive").glob("*.py") if path.stem != "__init__")


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
        "llmload.cli.sidecar",
        "llmload.cli.compare",
        "llmload.compare.comparison",
        "llmload.stream.reading",
    ],
)
def test_what_reads_and_plays_loads_neither_locust_nor_gevent(module: str) -> None:
    """A real import of the reporter, the simulator, the sidecar and the parser leaves Locust and gevent out."""
    code = f"import sys, {module}; sys.exit(' '.join({{'locust', 'gevent'}} & set(sys.modules)) or 0)"
    subprocess.run([sys.executable, "-c", code], check=True)
