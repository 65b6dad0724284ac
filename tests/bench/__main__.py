"""`make bench`: measurements of the project by itself, on this machine. `python -m tests.bench [NAME…]`, default all.

Each entry names a function without arguments that prints its own table.
"""

import importlib
import sys

BENCHES = {
    "stamps": "tests.bench.stamps:main",
    "compare": "tests.bench.compare:main",
    "simulate": "tests.bench.simulate:main",
    "intake": "tests.bench.intake:main",
    "spread": "tests.bench.spread:main",
    "report": "tests.bench.report:million",
    "report-soak": "tests.bench.report:soak",
    "soak": "tests.bench.soak:main",
    "sidecar": "tests.bench.sidecar:main",
}


def main(names: list[str]) -> int:
    """Run the named benches, or all."""
    unknown = [name for name in names if name not in BENCHES and name != "all"]
    if unknown:
        print(f"unknown bench {unknown[0]!r}; expected one of: all, {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    for name in BENCHES if not names or "all" in names else names:
        module, function = BENCHES[name].split(":")
        print(f"== {name}", flush=True)
        getattr(importlib.import_module(module), function)()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
