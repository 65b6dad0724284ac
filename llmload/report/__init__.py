"""From a run folder to tables, plots and pages. Never imports Locust or gevent.

`build(folder)` computes everything and writes the files; `frames(folder)` hands out the data. Both import what they
need when they are called, so that `gates` can be used without loading pandas and matplotlib.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmload.report.building import Built
    from llmload.report.export import Frames

__all__ = ["build", "frames"]


def build(folder: str | Path, *, gates: Sequence[str] = (), max_fail_ratio: float | None = None) -> "Built":
    """Compute a run's figures and write report.md, report.html, table.csv, summary.json (and soak.csv) into its folder.

    `gates` are conditions such as `ttft_ms.p50<=500@8`; `max_fail_ratio` is the largest share (0 to 1) of failed
    attempts. Raises Stop: UNJUDGED if the folder is no run, USAGE for a gate that is no gate or a folder that
    cannot be written.
    """
    from llmload.report import building, files

    built = building.compute(Path(folder), gates, max_fail_ratio)
    files.write(built)
    return built


def frames(folder: str | Path) -> "Frames":
    """A run's records and its table as pandas data frames: `frames(folder).records`, `frames(folder).table`."""
    from llmload.report.export import frames as do

    return do(Path(folder))
