"""The hours that were worked out: what is said of them is in them, and the Soak board finds all that it asks for."""

import re
from functools import cache
from itertools import pairwise

import pytest
import yaml

from tests.dashboards import boards, history, lint
from tests.dashboards.test_boards import RECORDING

HOURS, STEP_S, END = 2.0, 30.0, 1_764_547_200.0


LINE = re.compile(r"([\w:]+)\{(.*)\} (\S+) \d+\.\d{3}")


@cache
def series() -> dict[tuple[str, str], list[float]]:
    """Two hours: values by name and labels, which are in order of time."""
    text = history.openmetrics(HOURS, STEP_S, END)
    assert text == history.openmetrics(HOURS, STEP_S, END)
    assert text.endswith("\n# EOF\n")
    found: dict[tuple[str, str], list[float]] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = LINE.fullmatch(line).groups()  # type: ignore[union-attr]
            found.setdefault((name, labels), []).append(float(value))
    return found


def values(name: str, *labels: str) -> list[float]:
    """The one series with these labels."""
    [one] = [item for (own, text), item in series().items() if own == name and set(labels) <= set(text.split(","))]
    return one


def test_the_soak_board_finds_all_it_asks_for() -> None:
    """Every series is there, told or recorded; of the engines one."""
    told = {name for name, _ in series()}
    rules = [rule for group in yaml.safe_load(RECORDING.read_text())["groups"] for rule in group["rules"]]
    others = set(re.findall(r"(?:sglang|llamacpp):\w+|tgi_\w+", RECORDING.read_text()))
    missing = list(lint.names(boards.read("soak"), told | {rule["record"] for rule in rules} | others))
    assert [item for item in missing if "requests_per_second" not in item] == []


def test_the_engine_begins_anew_once() -> None:
    """Its counter falls once, to what it made since, after 90 s in which it is down and has no series."""
    tokens = values("vllm:generation_tokens_total")
    assert [after for before, after in pairwise(tokens) if after < before] == [15_300.0]  # 510 a second for 30 s
    up = values("up", 'job="llm-server"')
    assert (len(up), up.count(0.0), len(tokens)) == (241, 3, 238)
    assert values("llmload_requests_total", 'outcome="connect_error"', 'workload="short"')[-1] == 45


def test_memory_grows_and_first_tokens_slow_down() -> None:
    """By 1.2 GB and 8 % an hour; what was measured counts in every bucket that it fits."""
    used = values("llmload_gpu_memory_used_bytes", 'gpu="0"')
    assert used[0] == 62e9
    assert used[120] - used[0] == pytest.approx(1.2e9)
    name, mine = "llmload_ttft_seconds", 'workload="short"'
    total, seconds = values(f"{name}_count", mine), values(f"{name}_sum", mine)
    first, later = (
        (seconds[n + 60] - seconds[n]) / (total[n + 60] - total[n]) for n in (0, 60)
    )  # half an hour each: two waves of the 3 %, so that only the drift is left
    assert first == pytest.approx(0.18 * (1 + history.HOURLY_DRIFT / 4), rel=0.01)
    assert later == pytest.approx(0.18 * (1 + history.HOURLY_DRIFT * 3 / 4), rel=0.01)
    rows = [values(f"{name}_bucket", mine, f'le="{bound!r}"')[-1] for bound in history.BOUNDS]
    assert rows == sorted(rows)
    assert rows[-1] <= total[-1]
