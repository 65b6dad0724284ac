"""`python -m dashboards.build`: write the boards as JSON, anew."""

import json
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from dashboards.build import gpu, load, soak

BOARDS = {"load": load.BOARD, "gpu": gpu.BOARD, "soak": soak.BOARD}
FOLDER = Path(__file__).parents[1] / "grafana" / "boards"


def text(name: str) -> str:
    """A board as it is checked in."""
    return json.dumps(BOARDS[name], cls=JSONEncoder, sort_keys=True, indent=2) + "\n"


def main() -> None:
    """Write all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in BOARDS:
        path = FOLDER / f"{name}.json"
        path.write_text(text(name))
        print(f"{path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")


if __name__ == "__main__":
    main()
