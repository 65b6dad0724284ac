"""Whether the disk has room for a run, told before it begins."""

import shutil
from argparse import Namespace
from pathlib import Path

from llmload.load import forecast
from llmload.load.scenario import Scenario


def told(args: Namespace, scenario: Scenario) -> tuple[str, bool]:
    """The sentence for the plan, and whether there is room."""
    folder = Path(args.run_folder or args.out).absolute()
    free = shutil.disk_usage(next(place for place in (folder, *folder.parents) if place.exists())).free
    requests, needed = forecast.disk(scenario, max(1, args.processes))
    words = (
        f"The run folder takes about {size(needed)} while it runs and half of that afterwards, for {requests:,} "
        f"requests: so many are\nanswered at {forecast.TOKENS_PER_S} tokens/s with {forecast.TTFT_S:g} s to the first. "
    )
    if needed <= free:
        return f"{words}Free there: {size(free)}.", True
    return f"{words}Only {size(free)} are free there: make room, or name another place with --out.", False


def size(amount: float) -> str:
    """Bytes for people."""
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if amount >= unit:
            return f"{amount / unit:,.1f} {name}"
    return f"{amount / 1000:,.0f} kB"
