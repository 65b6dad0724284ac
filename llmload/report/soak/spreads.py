"""How sure percentiles of some attempts are: `drift.deviations` of their first tokens and gaps, in blocks of time."""

import numpy as np
from numpy.typing import NDArray

from llmload.report.facts import Facts
from llmload.report.soak import drift

PERCENTS = (50, 95, 99)


def of(facts: Facts, chosen: NDArray[np.bool_], window: tuple[float, float], seed: int) -> dict[tuple[str, int], float]:
    """Standard deviations of the logarithm, by figure and percent, over the successes among these attempts."""
    begin, end = window
    good = chosen & facts.is_("outcome", "ok")
    share = (facts.numbers("start_s")[good] - begin) / (end - begin)
    blocks = np.clip((share * drift.BLOCKS).astype(np.int64), 0, drift.BLOCKS - 1)
    ttft = facts.numbers("ttft_ms")[good]
    known = ~np.isnan(ttft)
    columns = {
        "ttft_ms": (ttft[known], blocks[known]),
        "itl_ms": (facts.gaps_of(good), np.repeat(blocks, np.diff(facts.offsets)[good])),
    }
    return {
        (figure, percent): deviation
        for figure, (values, where) in columns.items()
        if len(values)
        for percent, deviation in zip(PERCENTS, drift.deviations(values, where, PERCENTS, seed), strict=True)
    }
