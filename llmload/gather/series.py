"""What Prometheus' raw samples are as scrapes: all series of one target at one moment were one page. Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from llmload.gather.seen import Sample


def scrapes(
    result: Iterable[Mapping[str, Any]], after: float = -math.inf, until: float = math.inf
) -> dict[tuple[str, float], list[Sample]]:
    """The samples of each target and moment with after < moment <= until, in the order of time.

    `result` is that of an instant query: of a range selector (`values`), or of a plain one (`value`). Whether a range
    includes its edges differs between versions of Prometheus, so a wider one is asked for and cut here.
    """
    found: dict[tuple[str, float], list[Sample]] = {}
    for series in result:
        labels = dict(series["metric"])
        name = labels.pop("__name__", "")
        target = f"{labels.get('job', '')}/{labels.get('instance', '')}"
        for moment, text in series["values"] if "values" in series else [series["value"]]:
            value = float(text)
            if after < moment <= until and math.isfinite(value):
                found.setdefault((target, float(moment)), []).append(Sample(name, labels, value))
    return dict(sorted(found.items(), key=lambda item: item[0][1]))


def interval_s(moments: Sequence[float]) -> float | None:
    """The median distance of moments that follow one another; None for fewer than two."""
    gaps = sorted(after - before for before, after in pairwise(moments))
    return gaps[len(gaps) // 2] if gaps else None
