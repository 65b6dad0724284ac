"""How far the words of a comparison can be trusted: false alarms, what is found, how wide an interval is.

Comparisons of numbers alone, 500 of each kind (tests/compare/trials.py): the statistics are asked, not the files.
"""

import math
import time

import numpy as np

from tests.compare import trials

TRIALS = 500
NOISE = (0.01, 0.02, 0.05, 0.10)
"""Standard deviation of the logarithm of a figure from run to run: 0.05 is 5 %."""
ROUNDS = (3, 5, 10)


def main() -> None:
    """Print all tables."""
    started = time.monotonic()
    designs = "".join(f"{way} {n}+{n}".rjust(15) for n in ROUNDS for way in ("apart", "paired"))
    print(f"A/A, {TRIALS} comparisons each: said faster or slower (the noise falls out: 5 % by construction)")
    print("           " + designs)
    print("           " + _words(1.0, 0.02))
    print("a true 10 %: found")
    for noise in NOISE:
        print(f"  {noise:5.0%}    " + _words(1.1, noise))
    print("a drift of 5 % that neighbours share, own noise 1 %: a true 10 % found")
    shares = [trials.words(TRIALS, 1.1, n, 0.01, drift=0.05, paired=paired) for n in ROUNDS for paired in (False, True)]
    print("           " + "".join(f"{share:14.1%} " for share in shares))
    print("least true difference that is found in 8 of 10 comparisons")
    print("  noise    " + designs)
    widths = [least(n, paired=paired) for n in ROUNDS for paired in (False, True)]
    for noise in NOISE:
        print(f"  {noise:5.0%}    " + "".join(f"{math.expm1(noise * width):14.1%} " for width in widths))
    print("A/A, one run a side: intervals over requests that exclude 1")
    for noise in (0.0, *NOISE):
        print(f"  {noise:5.0%}    {trials.alarms(TRIALS, noise):14.1%}")
    print("coverage of 95 % intervals over requests, without noise between runs")
    for key, how in (
        ("e2e_p50", {"prompts": True}), ("e2e_p95", {"prompts": True}), ("e2e_p95", {"prompts": False}),
        ("e2e_p99", {"prompts": True, "n": 500}), ("e2e_p95", {"prompts": True, "fail": 0.02}),
        ("decode", {"prompts": True}), ("requests", {"prompts": True}), ("itl_p95", {"prompts": False, "gaps": 50}),
        ("success", {"prompts": False, "fail": 0.02}),
    ):  # fmt: skip
        share = trials.coverage(TRIALS, key, **how)  # type: ignore[arg-type]
        print(f"  {key:9} {how!s:36} {share:8.1%}")
    print(f"in {time.monotonic() - started:.0f} s")


def _words(gain: float, noise: float) -> str:
    shares = [trials.words(TRIALS, gain, n, noise, paired=paired) for n in ROUNDS for paired in (False, True)]
    return "".join(f"{share:14.1%} " for share in shares)


def least(count: int, *, paired: bool) -> float:
    """The least difference of logarithms, in units of their noise, that 8 of 10 comparisons find, to a tenth."""
    noise = 0.01
    for width in np.arange(1, 12, 0.1):
        if trials.words(200, math.exp(noise * width), count, noise, paired=paired) >= 0.8:
            return float(width)
    return math.nan
