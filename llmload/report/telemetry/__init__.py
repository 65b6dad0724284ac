"""What the GPUs and the server did, from gpu.jsonl and server.jsonl: series, and what a window makes of them.

    reading: the files, line by line, into series; alone here it knows files
    sampled: what was sampled, as series
    series: one value over time; the rise of a counter, the level of a gauge, coverage
    gpus, servers: the blocks `gpu` and `server` of a row, for any window

Who has a window asks `gpu_of(facts.telemetry, begin, end, output_tokens)` and `server_of(facts.telemetry, begin, end)`.
Nothing here judges.
"""

from llmload.report.telemetry.gpus import gpu_of
from llmload.report.telemetry.sampled import Telemetry
from llmload.report.telemetry.servers import restarts, server_of

__all__ = ["Telemetry", "gpu_of", "restarts", "server_of"]
