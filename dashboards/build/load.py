"""The board Load: what users feel of the run that goes on, whether the promise is kept, and whether to believe it."""

from dashboards.build.frame import framed
from dashboards.build.panels import BAD, CALM, WARN, chart, figure, heated, labels_only, rows_of
from dashboards.build.queries import (
    CLASS,
    COUNTED,
    ENGINE,
    LOAD,
    OF_RUN,
    RUN,
    Query,
    added,
    now,
    quantile,
    rated,
    share,
    slo,
)

ESTIMATE = "Estimated from buckets; the report's are of raw values."
EVERY = "10s"
"""Percentiles and shares of less would be noise."""
GOOD = "llmload_requests_good_total"
REQUESTS = "llmload_requests_total"
TTFT, ITL = "llmload_ttft_seconds", "llmload_inter_token_latency_seconds"
TPOT, E2E = "llmload_time_per_output_token_seconds", "llmload_request_duration_seconds"
COUNTED_CLASS = f"{CLASS}, {COUNTED}"
FAILED = f'{CLASS}, outcome!~"ok|cancelled|not_sent"'


def percentiles(histogram: str) -> list[Query]:
    """Three of a histogram, of all chosen classes together."""
    return [Query(quantile(q / 100, histogram), f"p{q}") for q in (50, 95, 99)]


def so_far(name: str, matchers: str) -> str:
    """A counter as it stands: since the run began, when it was 0."""
    return f"sum({name}{{{matchers}}} {OF_RUN})"


PROMISE = [
    figure(
        101, "Met the SLO, run so far",
        "Share of the attempts since the run began that were ok and met every bound of the scenario's [slo] at once. "
        "Blank without an SLO. Under 99 %: see below which figure breaks its bound.",
        "percentunit", Query(share(so_far(GOOD, CLASS), so_far(REQUESTS, COUNTED_CLASS)), "met"),
        thresholds=[(0.9, WARN), (0.99, CALM)], least=0, most=1, decimals=2, nothing="no SLO",
    ),
    figure(
        102, "Goodput",
        "Requests per second that were ok and met every bound. Compare it with the requests per second below: the "
        "difference is load that helped nobody.",
        "reqps", Query(added(GOOD), "good"), interval=EVERY, decimals=2, nothing="no SLO",
    ),
    figure(
        103, "TTFT p95 of its SLO",
        f"The p95 of the time to first token divided by its bound; over 100 % it is broken. {ESTIMATE}",
        "percentunit", Query(f"{quantile(0.95, TTFT)} / {slo('ttft').expr}", "p95 / SLO"),
        thresholds=[(0.8, WARN), (1, BAD)], least=0, decimals=0, interval=EVERY, nothing="no SLO",
    ),
    figure(
        104, "Failed, run so far",
        "Share of the attempts since the run began that failed; what was cut at a step's end or never sent does not "
        "count. See failures by outcome for what to look into.",
        "percentunit",
        Query(share(f"({so_far(REQUESTS, FAILED)} or 0 * {so_far(REQUESTS, COUNTED_CLASS)})",
                    so_far(REQUESTS, COUNTED_CLASS)), "failed"),
        thresholds=[(0.001, WARN), (0.01, BAD)], least=0, most=1, decimals=2,
    ),
    figure(
        105, "Output tokens per second",
        "Of attempts that ended, so they come in lumps where answers are long. The report's throughput is of tokens "
        "inside the window.",
        "suffix: tok/s", Query(added("llmload_output_tokens_total"), "tokens"), interval=EVERY, decimals=0,
    ),
    figure(
        106, "Records lost",
        "Attempts whose record never came, known at the end of a run. Over 0 the run is DEGRADED: llmload collect "
        "takes in the workers' spools.",
        "short", Query(f"sum({now('llmload_records_lost_total')})", "lost"), thresholds=[(1, BAD)], decimals=0,
    ),
    chart(
        107, "Share that met the SLO, by class",
        "Of the attempts that ended in each interval. A class that falls alone is the one whose bound is too tight, or "
        "whose prompts are too long.",
        "percentunit",
        Query(f"sum by (workload) ({rated(GOOD)}) / (sum by (workload) ({rated(REQUESTS, COUNTED_CLASS)}) > 0)",
              "{{workload}}"),
        width=24, height=6, most=1, thresholds=[(0.9, WARN), (0.99, CALM)], interval=EVERY, nothing="no SLO",
    ),
]  # fmt: skip

FELT = [
    chart(
        201, "Time to first token",
        f"Of successes, all chosen classes together. {ESTIMATE} Over the dashed line the promise is broken: see queue "
        "and KV use of the engine.",
        "s", *percentiles(TTFT), slo("ttft"), interval=EVERY,
    ),
    chart(
        202, "Time between tokens",
        f"Gaps between token-bearing events, pooled. The SLO here is that of a request's widest gap. {ESTIMATE} A p99 "
        "far above the p50: prefills of others push in between.",
        "s", *percentiles(ITL), slo("itl_max"), interval=EVERY,
    ),
    chart(
        203, "Time per output token",
        f"(Last token - first token) / (tokens - 1), of each success. {ESTIMATE} It rises with the number in flight; "
        "where it rises alone, look at the GPU's clocks.",
        "s", *percentiles(TPOT), slo("tpot"), interval=EVERY,
    ),
    chart(
        204, "Whole request",
        f"From sending to the last token, of successes. {ESTIMATE} It depends on the length of answers: compare only "
        "runs of the same scenario.",
        "s", *percentiles(E2E), slo("e2e"), interval=EVERY,
    ),
    chart(
        205, "Time to first token by class, p95",
        f"{ESTIMATE} Long prompts take longer; short ones that take as long stand in the queue behind them.",
        "s", Query(quantile(0.95, TTFT, "workload"), "{{workload}}"), slo("ttft"), interval=EVERY,
    ),
    chart(
        206, "Gaps that stall",
        "Share of gaps over the scenario's stall_ms. Users see a stall as a text that stops; over one in a hundred "
        "look for preemptions.",
        "percentunit",
        Query(share(added("llmload_stalls_total"), added(f"{ITL}_count")), "stalled"), interval=EVERY,
    ),
    heated(
        207, "Times to first token", "How many lay in each bucket. Two bands are two kinds of requests, or a queue.",
        f"sum by (le) ({rated(f'{TTFT}_bucket')})",
    ),
    heated(
        208, "Times between tokens",
        "How many lay in each bucket. A second band far above the first: decoding waits for prefills.",
        f"sum by (le) ({rated(f'{ITL}_bucket')})",
    ),
    heated(
        209, "Times of whole requests", "How many lay in each bucket: bands are the lengths of answers.",
        f"sum by (le) ({rated(f'{E2E}_bucket')})",
    ),
]  # fmt: skip

OFFERED = [
    chart(
        301, "In flight against the target",
        "Requests in flight at the load generator, users that are up, and what the step asks for. Under the target in "
        "mid-step: the generator does not keep up, or workers are missing.",
        "short", Query(f"sum({now('llmload_requests_in_flight')})", "in flight"),
        Query(f"sum({now('llmload_users')})", "users"),
        Query(f"max({now('llmload_step_target_concurrency')})", "target"), dashed=("target",),
    ),
    chart(
        302, "Attempts per second",
        "That ended, and the arrivals that a step by rate asks for. By rate and under the target: requests pile up or "
        "are not sent.",
        "reqps",
        Query(added(REQUESTS, f'{CLASS}, outcome="ok"'), "ok"),
        Query(added(REQUESTS, FAILED), "failed"),
        Query(f"max({now('llmload_step_target_requests_per_second')})", "target"), dashed=("target",), interval=EVERY,
    ),
    chart(
        303, "Tokens per second",
        "Of attempts that ended. Output that stays flat while more are in flight: the engine is full, and users only "
        "wait longer.",
        "suffix: tok/s", Query(added("llmload_output_tokens_total"), "output"),
        Query(added("llmload_input_tokens_total"), "input"), interval=EVERY,
    ),
    chart(
        304, "Failures by outcome, and what was not sent",
        "Attempts per second that did not succeed or, by rate, found no room in flight. Refusals "
        "(rate_limited, overloaded), time-outs and broken streams have different causes; see the README's table of "
        "outcomes.",
        "reqps", Query(added(REQUESTS, f'{CLASS}, outcome!~"ok|cancelled"', by="outcome"), "{{outcome}}"),
        width=12, stacked=True, interval=EVERY, nothing="no failures",
    ),
    rows_of(
        305, "Runs",
        "The runs of the chosen time, with what they ran against. The run folder of the same name has the records and "
        "the report.",
        [Query(f"max by (run, scenario, model, target, version) (max_over_time({RUN}[$__range]))", "", "table", True)],
        {}, width=12, changes=[labels_only()],
    ),
]  # fmt: skip

ENGINES = [
    chart(
        401, "In the engine: running and waiting",
        "By the engine's own metrics, under one name for all engines. A queue although fewer are in flight than it has "
        "slots: its limits of tokens or memory hold requests back.",
        "short", Query(f"sum(server:running{{{ENGINE}}})", "running"),
        Query(f"sum(server:waiting{{{ENGINE}}})", "waiting"), nothing="no engine is scraped",
    ),
    chart(
        402, "KV cache and prefix hits",
        "Share of the KV cache in use, and of prompt tokens found in the prefix cache. Over 95 % requests are "
        "preempted; hits in a run that should have none make its figures too good.",
        "percentunit", Query(f"max(server:kv_cache_usage:ratio{{{ENGINE}}})", "KV cache"),
        Query(f"max(server:prefix_hit:ratio5m{{{ENGINE}}})", "prefix hits, 5 min"), most=1,
        thresholds=[(0.8, WARN), (0.95, BAD)], nothing="no engine is scraped",
    ),
    chart(
        403, "Tokens: the engine's count and ours",
        "Generated tokens per second by the engine, and streamed ones of attempts that ended. Apart for long: tokens "
        "are hidden, requests of others are served, or counts are estimates.",
        "suffix: tok/s", Query(f"sum(server:output_tokens:rate1m{{{ENGINE}}})", "engine"),
        Query(f"sum({rated('llmload_output_tokens_total', LOAD, '1m')})", "llmload"),
        nothing="no engine is scraped",
    ),
]  # fmt: skip

HEALTH = [
    chart(
        501, "CPU of workers",
        "Share of one core that each worker uses. Over 90 % it measures itself, not the server: add --processes.",
        "percentunit", Query(now("llmload_worker_cpu_ratio"), "{{worker}}"), thresholds=[(0.7, WARN), (0.9, BAD)],
    ),
    chart(
        502, "Event loop lag",
        f"By how much too late the workers' loops woke. {ESTIMATE} Stamps are the kernel's, so figures stay right "
        "until it is large; over 5 ms requests leave late: use a machine that does nothing else.",
        "s",
        *[Query(quantile(q / 100, "llmload_event_loop_lag_seconds", matchers=LOAD), f"p{q}") for q in (50, 99)],
        thresholds=[(0.005, WARN), (0.05, BAD)], interval=EVERY,
    ),
    chart(
        503, "Sent later than planned",
        f"Load by rate only: the delay of requests against their schedule. {ESTIMATE} If it grows through a step, more "
        "arrive than fit in flight; see not_sent.",
        "s",
        *[Query(quantile(q / 100, "llmload_schedule_lag_seconds"), f"p{q}") for q in (50, 99)],
        thresholds=[(0.01, WARN), (0.1, BAD)], interval=EVERY, nothing="the load is not by rate",
    ),
    chart(
        504, "Clocks of workers",
        "Each worker's clock less the master's. Moments are corrected by it; over 50 ms set the clocks by NTP.",
        "s", Query(now("llmload_worker_clock_offset_seconds"), "{{worker}}"), least=None,
        thresholds=[(-0.05, CALM), (0.05, BAD)],
    ),
    chart(
        505, "Workers",
        "That are there. One fewer in mid-run: its records come back by llmload collect, and the load was not the one "
        "that was asked for.",
        "short", Query(f"sum({now('llmload_workers')})", "workers"),
    ),
    chart(
        506, "Scrapes",
        "What Prometheus needs to read each page. Near the time-out samples are missing: scrape less often, or give "
        "the process a core of its own.",
        "s", Query(f"scrape_duration_seconds{{{LOAD}}}", "{{job}} {{instance}}"), thresholds=[(0.5, WARN), (0.9, BAD)],
    ),
]  # fmt: skip

BOARD = framed(
    "llmload-load",
    "llmload: Load",
    "What users feel of the run that is going on, whether the promise is kept, and whether the generator can be "
    "believed. Percentiles are estimates from buckets; the report's are exact.",
    [
        (100, "The promise", PROMISE),
        (200, "What users feel", FELT),
        (300, "What is offered, and what becomes of it", OFFERED),
        (400, "The engine", ENGINES),
        (500, "Can the generator be believed?", HEALTH),
    ],
    ("job", "instance", "run", "workload", "engine"),
    since="now-30m",
    refresh="5s",
)
