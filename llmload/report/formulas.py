"""The formulas that stand under the tables, in the words of the trade."""

from llmload.report import cost, slip
from llmload.report.facts import Facts
from llmload.report.percentiles import percentile
from llmload.report.rows import gpus_paid, stall_ms
from llmload.report.soak import table as soak_table


def under(table: str, facts: Facts) -> list[tuple[str, str]]:
    """Name and formula of the figures in a table (a key of `columns.TABLES`)."""
    formulas = {
        "felt": [
            ("TTFT", "first event with generated text - first byte of the request sent (no role-only event)"),
            ("ITL", "time between consecutive token-bearing events of one request, pooled over requests"),
            ("TPOT", "(last token - first token) / (output tokens - hidden tokens - 1), from 2 streamed tokens on"),
            ("E2E", "last token - first byte of the request sent"),
            ("tokens/s", "tokens streamed inside the window / the window's seconds; user: mean of 1 / TPOT"),
            ("stalls", f"gaps over {stall_ms(facts):g} ms, per 1,000 gaps; coal.: events read together with another"),
            ("full", "answers with as many tokens as were asked for / answers whose tokens were counted"),
            ("percentiles", "exact values in order, rank p/100 x (n - 1), interpolated; never from buckets"),
        ],
        "tried": [
            ("infinite", "what failed, was cut by the drain limit or was lost; what the user's stop cut is left out"),
            ("ok %", "ok / (started - cut by the user's stop)"),
            ("balance", "planned = started + not sent; started = ok + failed + cancelled + lost"),
        ],
        "planned": [
            ("planned", "from the moment at which the schedule wanted the request sent: its wait to be sent counts"),
            ("sent", "from the first byte of the request sent, as in the other tables"),
            ("reached", "requests sent in the window / the window's seconds"),
            ("not sent", "found no room to be sent; over all attempts it is infinite (planned = started + not sent)"),
            ("slip", _slip(facts)),
        ],
        "load": [
            ("in flight", "time integral of the requests in flight over the window / the window's seconds"),
            ("per second", "ok; good: ok and each SLO met at once (blank without an SLO); of those sent in it"),
            ("tokens/s", "in: prompt tokens of successes / the window's seconds; peak: highest whole second, streamed"),
            ("generator", "highest CPU of a worker (one core = 100 %), p99 of its loop's lag, p99 of the stamps' lag"),
        ],
        "cost": _cost(facts),
        "gpu": [
            ("W", "energy used inside the window (counters, at both edges) / its seconds, of all GPUs together"),
            ("J/token", "that energy / tokens streamed inside the window; over idle: less what the GPUs drew before"),
            ("a GPU", "tokens streamed inside the window / its seconds / GPUs that were there"),
            ("busy", "mean of the GPUs; the share of time in which any kernel ran, which is no measure of load"),
            ("memory", "the most in use at one time, of all GPUs together; temp.: of the hottest GPU"),
            ("clocks", "seconds of all GPUs together; throttled: by heat or the power brake, which spoils a step"),
            ("seen", "share of the window between samples that lie close together, of the GPU that was seen least"),
            ("blank", "under 90 % seen, or fewer than 5 samples; sums also where one GPU was not seen at an edge"),
        ],
        "server": [
            ("running", "and waiting: the server's own count, weighted by time; blank as for the GPUs"),
            ("ms", "what the server timed itself: rise of its sums / rise of its counts inside the window"),
            ("hits", "prompt tokens found in the prefix cache / looked up; taken: drafted tokens that were accepted"),
        ],
        soak_table.WHOLE: soak_table.formulas(),
    }  # fmt: skip
    return formulas[table]


def _slip(facts: Facts) -> str:
    """How late requests were sent, step by step."""
    found = ((step, slip.of(facts, step)) for step in facts.steps)
    told = [f"{percentile(late, 50):.2f} and {late[-1]:.1f} at {step.label}" for step, late in found if len(late)]
    return f"sent - planned in ms, median and most: {'; '.join(told) or 'nothing was sent'}"


def _cost(facts: Facts) -> list[tuple[str, str]]:
    """What is paid, and what it is divided by."""
    price, gpus = cost.prices(facts.scenario), gpus_paid(facts)
    if not cost.priced(price):
        return []
    counted = "" if price.gpus is not None else " (as many as were seen)"
    paid = ("paid", cost.basis(price, gpus, counted=counted))
    if cost.of_gpus(price):
        return [
            paid,
            ("1M tokens", "that x the window's hours / output tokens streamed inside the window x 1,000,000"),
            ("requests", "that x the window's hours / requests that were ok x 1,000; idle hours cost extra"),
        ]
    return [
        paid,
        ("1M tokens", "of requests that were ok, input and output as far as priced / their output tokens x 1,000,000"),
        ("requests", "the same / requests that were ok x 1,000"),
    ]
