"""What stands under a table: of the columns that are there, and of no others."""

from pathlib import Path

import pytest

from llmload.report import formulas
from llmload.report.columns import Column, Table
from llmload.report.soak import table as soak_table
from tests.report.synthetic import record
from tests.report.worked import built_of


@pytest.mark.parametrize(
    ("name", "keys", "told"),
    [
        ("server", ["server.running_mean"], ["requests"]),
        ("server", ["server.prefix_cache_hit_share"], ["hits"]),
        ("server", ["server.decode_time_mean_ms", "server.speculation_acceptance"], ["ms", "taken"]),
        ("felt", ["ttft_ms.ok.p50"], ["TTFT", "percentiles"]),
        ("felt", ["stalls_per_1000_gaps"], ["stalls"]),
        ("load", ["in_flight_mean", "generator.cpu_max"], ["in flight", "generator"]),
        ("gpu", ["gpu.coverage"], ["seen", "blank"]),
        ("planned", ["planned"], ["slip"]),
        (soak_table.WHOLE, ["not_ok"], ["from", "fail"]),
    ],
)
def test_what_is_not_shown_is_not_explained(name: str, keys: list[str], told: list[str], tmp_path: Path) -> None:
    """Tables of few columns: the names that stand under them."""
    columns = tuple(Column(key, "", "", "number", (name,)) for key in keys)
    facts = built_of(tmp_path, [record(0)]).facts
    table = Table(name, "", ("in", "flight"), columns, (), {})
    assert [item for item, _ in formulas.under(table, facts)] == told


def test_parts_of_one_sentence(tmp_path: Path) -> None:
    """Good requests are explained where they are shown, behind those that were ok; of the generator what was seen."""
    facts = built_of(tmp_path, [record(0)]).facts

    def under(*keys: str) -> dict[str, str]:
        columns = tuple(Column(key, "", "", "number", ("load",)) for key in keys)
        return dict(formulas.under(Table("load", "", ("in", "flight"), columns, (), {}), facts))

    assert under("requests_per_s") == {"per second": "ok, of those sent in the window"}
    assert under("requests_per_s", "goodput_per_s") == {
        "per second": "ok, of those sent in the window; good: ok and each SLO met at once"
    }
    assert under("generator.loop_lag_p99_ms") == {"generator": "p99 of a worker's loop lag"}
