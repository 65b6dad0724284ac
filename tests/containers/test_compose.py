"""The shipped stack as Debian's docker-compose reads it, held against the files that it takes for granted."""

import argparse
import re
import shlex
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from llmload.cli import launch, run, sidecar, simulate
from tests.containers.files import COMPOSE, DOCKERFILE, EXAMPLE, ROOT, VARIABLES, bases, settings, stack

OURS = {"simulate", "master", "worker", "fake-gpu", "gpu"}
KEY = "never-in-a-file"


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    """All services, with a key in the environment."""
    found: dict[str, dict[str, Any]] = stack("--profile", "gpu", OPENAI_API_KEY=KEY)["services"]
    assert found.keys() == OURS | {"prometheus", "grafana"}
    return found


@pytest.fixture(scope="module")
def plain() -> dict[str, dict[str, Any]]:
    """Those of `docker compose up` without a word more."""
    return stack()["services"]  # type: ignore[no-any-return]


def words(service: dict[str, Any]) -> list[str]:
    """The words of its command."""
    command = service["command"]
    return shlex.split(command) if isinstance(command, str) else list(command)


def mounts(service: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """By place in the container: what is there, and how."""
    parts = (f"{volume}:rw".split(":") for volume in service.get("volumes", ()))
    return {there: (here, mode) for here, there, mode, *_ in parts}


def test_without_a_word_two_gpus_are_played(
    services: dict[str, dict[str, Any]], plain: dict[str, dict[str, Any]]
) -> None:
    """NVIDIA's are read with profile gpu alone; whoever asks for both kinds gets a port that is taken."""
    assert {name: service["profiles"] for name, service in services.items() if "profiles" in service} == {
        "gpu": ["gpu"],
    }
    assert stack("--profile", "fake-gpu")["services"] == plain
    assert {name: plain[name]["scale"] for name in ("simulate", "worker", "fake-gpu")} == {
        "simulate": 1, "worker": 2, "fake-gpu": 1,
    }  # fmt: skip
    assert "--fake" in words(services["fake-gpu"])
    assert "--fake" not in words(services["gpu"])
    (device,) = services["gpu"]["deploy"]["resources"]["reservations"]["devices"]
    assert device == {"driver": "nvidia", "count": "all", "capabilities": ["gpu", "utility"]}
    for kind in ("gpu", "fake-gpu"):
        assert services[kind]["networks"]["default"]["aliases"] == ["sidecar"]
    assert services["gpu"]["ports"] == services["fake-gpu"]["ports"]


def test_an_engine_of_ones_own() -> None:
    """What is played can be left out, and the number of workers is one number."""
    own = stack(
        "--profile", "gpu", TARGET_URL="http://engine:1/v1", SIMULATE="0", FAKE_GPU="0", WORKERS="3", START="", GPU="",
    )["services"]  # fmt: skip
    assert (own["simulate"]["scale"], own["fake-gpu"]["scale"], own["worker"]["scale"]) == (0, 0, 3)
    asked = words(own["master"])
    assert asked[asked.index("--host") + 1] == "http://engine:1/v1"
    assert asked[asked.index("--expect-workers") + 1] == "3"
    assert not {"--autostart", "--gpu"} & set(asked)


def test_ports_are_for_this_machine_alone(services: dict[str, dict[str, Any]]) -> None:
    """Each published port."""
    ports = [port for service in services.values() for port in service.get("ports", ())]
    assert len(ports) == 6
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []
    assert not any("network_mode" in service for service in services.values())


def test_images_are_pinned(services: dict[str, dict[str, Any]]) -> None:
    """To a release, patch number included; ours is built here."""
    pulled = {service["image"] for name, service in services.items() if name not in OURS} | bases()
    assert len(pulled) == 3
    assert [image for image in pulled if not re.search(r":v?\d+\.\d+\.\d+", image)] == []
    assert {services[name]["image"] for name in OURS} == {"llmload:local"}
    assert all("build" in services[name] for name in OURS)


def test_every_service_is_checked_and_can_do_little(services: dict[str, dict[str, Any]]) -> None:
    """A health check, no capabilities, nobody is root, and an image that cannot be written to, but for Grafana's."""
    for name, service in services.items():
        assert service["healthcheck"]["test"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service.get("read_only", False) is (name != "grafana"), name
        assert "privileged" not in service, name
        assert not str(service.get("user", "1000")).startswith(("0", "root")), name
    assert "\nUSER 1000:1000\n" in DOCKERFILE.read_text()


def test_the_key_comes_from_the_environment_alone(
    services: dict[str, dict[str, Any]], plain: dict[str, dict[str, Any]]
) -> None:
    """It goes to those who send and to the master, who asks the endpoint first; without one there is none."""
    have = {name for name, service in services.items() if KEY in str(service)}
    assert have == {"master", "worker"}
    assert plain["master"]["environment"] in ({"OPENAI_API_KEY": None}, {})
    assert "OPENAI_API_KEY" not in settings()
    assert subprocess.run(["git", "check-ignore", "-q", ".env"], cwd=ROOT, check=False).returncode == 0


def test_what_is_mounted_is_there(services: dict[str, dict[str, Any]]) -> None:
    """In the repository, so that no engine makes a folder of root's in its place; only run folders are written to."""
    known = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    for name, service in services.items():
        for there, (here, mode) in mounts(service).items():
            if here.startswith("/"):
                place = Path(here).relative_to(ROOT)
                assert any(Path(file).is_relative_to(place) for file in known), f"{name}: {place}"
                assert (mode == "rw") is (there == "/runs"), f"{name}: {place}"


def test_prometheus_finds_the_services(services: dict[str, dict[str, Any]]) -> None:
    """Its targets are names that the network knows, with the ports on which they serve."""
    assert mounts(services["prometheus"])["/etc/prometheus"][0] == str(ROOT / "dashboards" / "prometheus")
    config = yaml.safe_load((ROOT / "dashboards" / "prometheus" / "prometheus.yml").read_text())
    targets = {job["job_name"]: job["static_configs"][0]["targets"] for job in config["scrape_configs"]}
    assert targets == {"llmload": ["master:9836"], "llmload-gpu": ["sidecar:9835"], "llm-server": ["simulate:8000"]}
    port = words(services["simulate"])
    assert port[port.index("--port") + 1] == "8000"
    assert [services[name]["ports"][0].split(":")[2] for name in ("gpu", "fake-gpu")] == ["9835/tcp"] * 2
    assert "127.0.0.1:9836:9836/tcp" in services["master"]["ports"]
    assert {"--metrics-host", "--web-host", "--master-bind-host"} <= set(words(services["master"]))


def test_grafana_finds_boards_and_prometheus(services: dict[str, dict[str, Any]]) -> None:
    """The provisioned folder is the mounted one, and the first page is a board; no account, so no password."""
    provisioning = ROOT / "dashboards" / "grafana" / "provisioning"
    mounted, environment = mounts(services["grafana"]), services["grafana"]["environment"]
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "llmload.yml").read_text())["providers"]
    boards = Path(mounted[provider["options"]["path"]][0])
    assert boards == ROOT / "dashboards" / "grafana" / "boards"
    home = Path(environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert str(home.parent) == provider["options"]["path"]
    assert (boards / home.name).exists()
    assert mounted["/etc/grafana/provisioning"][0] == str(provisioning)
    (source,) = yaml.safe_load((provisioning / "datasources" / "prometheus.yml").read_text())["datasources"]
    assert source["url"] == "${PROMETHEUS_URL}"
    assert environment["PROMETHEUS_URL"] == "http://prometheus:9090"
    assert environment["GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION"] == "true"
    assert environment["GF_AUTH_ANONYMOUS_ORG_ROLE"] == "Viewer"


def test_commands_are_understood(services: dict[str, dict[str, Any]]) -> None:
    """By the commands themselves, up to the point at which they would begin."""
    for name, command in (("simulate", simulate), ("fake-gpu", sidecar), ("gpu", sidecar), ("worker", run)):
        kind, *asked = words(services[name])
        assert kind == command.__name__.rpartition(".")[2]
        parser = argparse.ArgumentParser(exit_on_error=False)
        command.add_arguments(parser)
        given = parser.parse_args(asked)
        if command is simulate:
            assert simulate.settings(given).port == 8000
        elif command is sidecar:
            assert sidecar.settings(given).port == 9835
        else:
            launch.check(given)


def test_the_example_tells_every_setting() -> None:
    """With its default; those that choose what is not played show the other choice."""
    shown = settings()
    assert sorted(shown) == sorted([*VARIABLES, "COMPOSE_PROFILES"])
    choices = {"TARGET_URL", "SIMULATE", "FAKE_GPU"}
    defaults = dict(re.findall(r"\$\{(\w+):?-([^}]*)\}", COMPOSE.read_text()))
    assert {name: shown[name] for name in defaults if name not in choices} == {
        name: value for name, value in defaults.items() if name not in choices
    }
    assert shown["COMPOSE_PROFILES"] == "gpu"
    assert [line for line in EXAMPLE.read_text().splitlines() if line and not line.startswith("#")] == []


def test_the_image_gets_what_the_package_is_built_of() -> None:
    """All of it, and nothing else of the folder."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    taken = {line.removeprefix("!") for line in lines if line.startswith("!")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {
        *wheel["packages"],
        *wheel["force-include"],
        project["project"]["readme"],
        *project["project"]["license-files"],
    }
    assert taken == needed | {"pyproject.toml", "requirements.lock", "locustfiles"}
    assert "*" in lines
    assert all((ROOT / name).exists() for name in taken)
    assert not any(fnmatch(name, ".env*") for name in taken)
