"""`python -m dashboards.draw URL`: pictures of the boards from what a Prometheus holds."""

import argparse
import json
import sys
import time
from pathlib import Path

from dashboards.draw.ask import Prometheus, Refused
from dashboards.draw.fill import seconds
from dashboards.draw.page import Page

HERE = Path(__file__).parents[1]
BOARDS = HERE / "grafana" / "boards"
OUT = HERE.parent / "runs" / "pictures"
"""Not where the README's pictures are: those are of runs that were made for them."""


def main(given: list[str] | None = None) -> int:
    """Draw; 3 where Prometheus does not answer."""
    parser = argparse.ArgumentParser(prog="python -m dashboards.draw", description=__doc__)
    parser.add_argument("url", help="where Prometheus is, such as http://127.0.0.1:9090")
    parser.add_argument("--board", action="append", choices=sorted(path.stem for path in BOARDS.glob("*.json")))
    parser.add_argument("--since", help="how far back, such as 3m or 6h; by default what the board says")
    parser.add_argument("--end", type=float, help="Unix seconds; by default now")
    parser.add_argument("--scrape", default="1s", help="how often Prometheus scrapes (%(default)s)")
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the pictures (%(default)s)")
    args = parser.parse_args(given)
    end = args.end or time.time()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.board or ("load", "gpu", "soak"):
        board = json.loads((BOARDS / f"{name}.json").read_text())
        start = end - seconds(args.since or board["time"]["from"])
        path = args.out / f"board-{name}.png"
        try:
            blank = Page(board, Prometheus(args.url), start, end, seconds(args.scrape)).picture(path)
        except Refused as refused:
            print(refused, file=sys.stderr)
            return 3
        print(f"{path}{'; nothing to show: ' + ', '.join(blank) if blank else ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
