"""Locust's statistics through a soak."""

from locust.stats import RequestStats

from llmload.drive.oblivion import KEPT_S, forget


def test_seconds_that_nobody_looks_at_are_forgotten() -> None:
    """Of a thousand seconds the last ones stay, in each entry and in the total; sums stay whole."""
    stats = RequestStats()
    stats.log_request("POST", "short", 10, 100)
    stats.log_error("POST", "short", "refused")
    entry = stats.get("short", "POST")
    for item in (entry, stats.total):
        for seconds in (item.num_reqs_per_sec, item.num_fail_per_sec):
            seconds.clear()
            seconds.update(dict.fromkeys(range(1000), 3))
    forget(stats, 999.0)
    for item in (entry, stats.total):
        assert list(item.num_reqs_per_sec) == list(item.num_fail_per_sec) == list(range(999 - KEPT_S, 1000))
        assert (item.num_requests, item.num_failures) == (1, 1)
