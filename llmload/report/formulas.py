"""The formulas that stand under the tables, in the words of the trade."""

from llmload.report import cost, slip
from llmload.report.columns import Table
from llmload.report.facts import Facts
from llmload.report.percentiles import percentile
from llmload.report.rows import gpus_paid, stall_ms
from llmload.report.soak import table as soak_table

Formula = tuple[str, str, str]
"""A name, what the keys of the columns begin with that the words are of (`a|b`: either), and the words."""


def under(table: Table, facts: Facts) -> list[tuple[str, str]]:
    """Name and formula of the figures that a table shows."""
    keys = [column.key for column in table.columns]
    told: dict[str, list[str]] = {}
    for name, begin, words in _of(table, facts):
        if any(key.startswith(tuple(begin.split("|"))) for key in keys):
            told.setdefault(name, []).append(words)
    return [(name, "; ".join(words)) for name, words in told.items()]


def _of(table: Table, facts: Facts) -> list[Formula]:
    """All that there may be to say under a table."""
    if table.name == "cost":
        return _cost(facts)
    if table.name == soak_table.WHOLE:
        return soak_table.FORMULAS
    times = "ttft_ms|itl_ms|tpot_ms|e2e_ms"
    formulas: dict[str, list[Formula]] = {
        "felt": [
            (
                "TTFT",
                "ttft_ms",
                "first event with generated text - first byte of the request sent (no role-only event)",
            ),
            ("ITL", "itl_ms", "time between consecutive token-bearing events of one request, pooled over requests"),
            (
                "TPOT",
                "tpot_ms",
                "(last token - first token) / (output tokens - hidden tokens - 1), from 2 streamed tokens on",
            ),
            ("E2E", "e2e_ms", "last token - first byte of the request sent"),
            ("tokens/s", "output_tokens_per_s", "tokens streamed inside the window / the window's seconds"),
            ("tokens/s", "output_tokens_per_s_per_user", "user: mean of 1 / TPOT"),
            ("stalls", "stalls", f"gaps over {stall_ms(facts):g} ms, per 1,000 gaps"),
            ("coal.", "coalesced", "events read together with another"),
            (
                "full",
                "reached_length",
                "answers with as many tokens as were asked for / answers whose tokens were counted",
            ),
            ("percentiles", times, "exact values in order, rank p/100 x (n - 1), interpolated; never from buckets"),
        ],
        "tried": [
            (
                "infinite",
                times,
                "what failed, was cut by the drain limit or was lost; what the user's stop cut is left out",
            ),
            ("ok %", "success_share", "ok / (started - cut by the user's stop)"),
            ("balance", "started", "planned = started + not sent; started = ok + failed + cancelled + lost"),
        ],
        "planned": [
            (
                "planned",
                "from_schedule",
                "from the moment at which the schedule wanted the request sent: its wait to be sent counts",
            ),
            ("sent", times, "from the first byte of the request sent, as in the other tables"),
            ("reached", "reached", "requests sent in the window / the window's seconds"),
            (
                "not sent",
                "not_sent",
                "found no room to be sent; over all attempts it is infinite (planned = started + not sent)",
            ),
            ("slip", "", _slip(facts)),
        ],
        "load": [
            (
                "in flight",
                "in_flight",
                "time integral of the requests in flight over the window / the window's seconds",
            ),
            ("per second", "requests_per_s", "ok, of those sent in the window"),
            ("per second", "goodput", "good: ok and each SLO met at once"),
            ("tokens/s", "input_tokens_per_s", "in: prompt tokens of successes / the window's seconds"),
            ("tokens/s", "output_tokens_per_s_peak", "peak: highest whole second, streamed"),
            ("generator", "generator.cpu", "highest CPU of a worker (one core = 100 %)"),
            ("generator", "generator.loop", "p99 of a worker's loop lag"),
            ("generator", "generator.stamp", "p99 of the stamps' lag"),
        ],
        "gpu": [
            (
                "W",
                "gpu.power|gpu.joules",
                "energy used inside the window (counters, at both edges) / its seconds, of all GPUs together",
            ),
            ("J/token", "gpu.joules", "that energy / tokens streamed inside the window"),
            ("J/token", "gpu_above_idle", "over idle: less what the GPUs drew before"),
            ("a GPU", "gpu.tokens", "tokens streamed inside the window / its seconds / GPUs that were there"),
            (
                "busy",
                "gpu.utilization",
                "mean of the GPUs; the share of time in which any kernel ran, which is no measure of load",
            ),
            ("memory", "gpu_memory", "the most in use at one time, of all GPUs together"),
            ("temp.", "gpu.temperature", "of the hottest GPU"),
            (
                "clocks",
                "gpu_capped|gpu_throttled",
                "seconds of all GPUs together; throttled: by heat or the power brake, which spoils a step",
            ),
            (
                "seen",
                "gpu.coverage",
                "share of the window between samples that lie close together, of the GPU that was seen least",
            ),
            (
                "blank",
                "gpu",
                "under 90 % seen, or fewer than 5 samples; sums also where one GPU was not seen at an edge",
            ),
        ],
        "server": [
            (
                "requests",
                "server.running|server.waiting",
                "as the server counts them, weighted by time; blank where under 90 % of the window was seen",
            ),
            (
                "ms",
                "server.queue|server.prefill|server.decode",
                "what the server timed itself: rise of its sums / rise of its counts inside the window",
            ),
            ("hits", "server.prefix", "prompt tokens found in the prefix cache / looked up"),
            ("taken", "server.speculation", "drafted tokens that were accepted"),
        ],
    }
    return formulas[table.name]


def _slip(facts: Facts) -> str:
    """How late requests were sent, step by step."""
    found = ((step, slip.of(facts, step)) for step in facts.steps)
    told = [f"{percentile(late, 50):.2f} and {late[-1]:.1f} at {step.label}" for step, late in found if len(late)]
    return f"sent - planned in ms, median and most: {'; '.join(told) or 'nothing was sent'}"


def _cost(facts: Facts) -> list[Formula]:
    """What is paid, and what it is divided by."""
    price, gpus = cost.prices(facts.scenario), gpus_paid(facts)
    if not cost.priced(price):
        return []
    counted = "" if price.gpus is not None else " (as many as were seen)"
    paid: Formula = ("paid", "", cost.basis(price, gpus, counted=counted))
    if cost.of_gpus(price):
        return [
            paid,
            (
                "1M tokens",
                "cost.per_million",
                "that x the window's hours / output tokens streamed inside the window x 1,000,000",
            ),
            (
                "requests",
                "cost.per_1000",
                "that x the window's hours / requests that were ok x 1,000; idle hours cost extra",
            ),
        ]
    return [
        paid,
        (
            "1M tokens",
            "cost.per_million",
            "of requests that were ok, input and output as far as priced / their output tokens x 1,000,000",
        ),
        ("requests", "cost.per_1000", "the same / requests that were ok x 1,000"),
    ]
