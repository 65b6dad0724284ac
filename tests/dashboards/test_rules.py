"""Prometheus' side by Prometheus' own tools: configuration, rules, and that each rule and alert has a test."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.dashboards.prometheus import RULES, SHIPPED, promtool

README = SHIPPED.parents[1] / "README.md"
CONFIGS = ("prometheus.yml", "local.yml")
PLAYED = sorted((SHIPPED / "tests").glob("*.yml"))


def read(path: Path) -> dict[str, Any]:
    """A file of YAML."""
    return yaml.safe_load(path.read_text())  # type: ignore[no-any-return]


TESTS = [case for path in PLAYED for case in read(path)["tests"]]


@pytest.mark.parametrize("name", CONFIGS)
def test_promtool_takes_the_configuration_and_its_rules(name: str) -> None:
    """The files of rules that it names are checked with it."""
    done = promtool("check", "config", str(SHIPPED / name))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 rule files found" in done.stdout
    assert "FAILED" not in done.stdout


def test_configurations_differ_in_where_the_targets_are() -> None:
    """The same jobs, intervals and rules; a scrape that hangs is given up before the next one."""
    composed, local = (read(SHIPPED / name) for name in CONFIGS)
    for config in (composed, local):
        assert config["global"]["scrape_timeout"] == "900ms"
        assert config["global"]["scrape_interval"] == "1s"
    jobs = [[job.pop("static_configs") for job in config["scrape_configs"]] for config in (composed, local)]
    assert jobs == [
        [[{"targets": [target]}] for target in targets]
        for targets in (
            ("master:9836", "sidecar:9835", "simulate:8000"),
            ("127.0.0.1:9836", "127.0.0.1:9835", "127.0.0.1:8000"),
        )
    ]
    for job in composed["scrape_configs"]:
        assert job.pop("file_sd_configs")
    assert composed == local


def test_targets_of_ones_own(tmp_path: Path) -> None:
    """A copy of the example is taken under each of the names that it gives, and itself under none."""
    config, example = read(SHIPPED / "prometheus.yml"), SHIPPED / "targets" / "example.yml"
    patterns = [pattern for job in config["scrape_configs"] for sd in job["file_sd_configs"] for pattern in sd["files"]]
    names = re.findall(r"[\w-]+-\w+\.yml", example.read_text())
    assert len(names) == len(patterns) == 3
    for name in names:
        assert sum(Path("targets", name).match(pattern) for pattern in patterns) == 1
    assert not any(Path("targets", "example.yml").match(pattern) for pattern in patterns)
    config["rule_files"] = []
    (tmp_path / "targets").mkdir()
    for name in names:
        (tmp_path / "targets" / name).write_text(example.read_text())
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config))
    done = promtool("check", "config", str(tmp_path / "prometheus.yml"))
    assert done.returncode == 0
    assert "WARNING" not in done.stdout


@pytest.mark.parametrize("path", PLAYED, ids=lambda path: path.stem)
def test_promtool_plays_them(path: Path) -> None:
    """Series that are made up, and what must come of them."""
    done = promtool("test", "rules", str(path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_is_seen_to_fire_and_to_be_silent() -> None:
    """In the tests that promtool plays; and none is tested that is not there."""
    names = [rule["alert"] for rule in RULES if "alert" in rule]
    checks = [check for case in TESTS for check in case.get("alert_rule_test", ())]
    fired = {check["alertname"] for check in checks if check["exp_alerts"]}
    silent = {check["alertname"] for check in checks if not check["exp_alerts"]}
    assert len(names) == len(set(names))
    assert fired == silent == set(names)


def test_every_recording_rule_has_a_value_in_a_test() -> None:
    """Worked by hand."""
    names = [rule["record"] for rule in RULES if "record" in rule]
    tested = [check["expr"] for case in TESTS for check in case.get("promql_expr_test", ()) if check["exp_samples"]]
    assert len(names) == len(set(names))
    assert [name for name in names if not any(name in expr for expr in tested)] == []


def test_the_readme_names_every_alert_by_its_severity() -> None:
    """In its table, critical ones before warnings."""
    rows = [line.split(" | ") for line in README.read_text().splitlines() if "`Llmload" in line]
    told = {
        severity: {name for row in rows for name in re.findall(r"`(Llmload\w+)`", row[column])}
        for column, severity in ((1, "critical"), (2, "warning"))
    }
    alerts = [rule for rule in RULES if "alert" in rule]
    assert told == {
        severity: {rule["alert"] for rule in alerts if rule["labels"]["severity"] == severity} for severity in told
    }


@pytest.mark.parametrize("rule", [rule for rule in RULES if "alert" in rule], ids=lambda rule: rule["alert"])
def test_an_alert_says_what_it_is_and_what_to_do(rule: dict[str, Any]) -> None:
    """A severity, a summary, and a description of two sentences at least; all begin with the same word."""
    assert rule["alert"].startswith("Llmload")
    assert rule["labels"].keys() == {"severity"}
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert rule["annotations"].keys() == {"summary", "description"}
    description = rule["annotations"]["description"]
    assert description.endswith(".")
    assert description.count(". ") + description.count("; ") >= 1
