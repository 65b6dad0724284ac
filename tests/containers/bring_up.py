"""The whole stack for real, without Grafana: `make containers-test`, as root. Its name keeps it out of `make test`.

An engine of its own in a network namespace of its own, so that the stack can reach nobody and nobody the stack;
images of the same names from Debian's packages, since none can be counted on to be pulled. The process itself is in
that namespace: what is published on 127.0.0.1 there it sees as a user does.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from llmload import report
from tests.containers import bases, files

pytestmark = [pytest.mark.containers, pytest.mark.timeout(900)]

OWNER = 1234
"""Who owns the run folders: somebody who is neither root nor the image's user."""
SERVICES = ("simulate", "master", "worker", "fake-gpu", "prometheus")


def until(true: Callable[[], Any], limit_s: float = 120.0, told: Callable[[], object] = str) -> Any:
    """Wait until something holds, and give it; what cannot be reached yet does not hold. `told` says why not."""
    deadline = time.monotonic() + limit_s
    while True:
        with contextlib.suppress(OSError, ValueError):
            if found := true():
                return found
        assert time.monotonic() < deadline, f"it did not come about within {limit_s:g} s {told()}"
        time.sleep(0.5)


def page(port: int, path: str) -> str:
    """What is served on a published port."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
        return answer.read().decode()  # type: ignore[no-any-return]


def attempts() -> float:
    """Attempts that have ended, as the master's page counts them."""
    lines = [line for line in page(9836, "/metrics").splitlines() if line.startswith("llmload_requests_total{")]
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


class Stack:
    """The stack in a copy of this repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *words: str, **variables: str) -> str:
        """What docker-compose says."""
        done = subprocess.run(
            ["docker-compose", *words], cwd=self.folder, env=os.environ | variables, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-5000:]
        return done.stdout

    def containers(self) -> dict[str, list[dict[str, Any]]]:
        """What the engine knows of the containers of each service."""
        found: dict[str, list[dict[str, Any]]] = {}
        for container in json.loads(docker("inspect", *docker("ps", "--all", "--quiet").split())):
            found.setdefault(container["Config"]["Labels"]["com.docker.compose.service"], []).append(container)
        return found

    def runs(self) -> list[Path]:
        """The run folders."""
        return sorted(path.parent for path in self.folder.glob("runs/*/run.json"))


def docker(*words: str) -> str:
    """What docker says."""
    return subprocess.run(["docker", *words], check=True, stdout=subprocess.PIPE, text=True).stdout


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An engine of our own."""
    alone = [name for _, name in socket.if_nameindex()] == ["lo"]
    assert alone, "this network namespace has interfaces; start this with: make containers-test"
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    folder = tmp_path_factory.mktemp("engine")
    address = f"unix://{folder}/socket"
    command = [
        "dockerd", "--data-root", str(folder / "data"), "--exec-root", str(folder / "exec"),
        "--pidfile", str(folder / "pid"), "--host", address,
    ]  # fmt: skip
    with (folder / "log").open("wb") as log, pytest.MonkeyPatch.context() as environment:
        environment.setenv("DOCKER_HOST", address)
        for name in ("COMPOSE_PROFILES", *files.VARIABLES):
            environment.delenv(name, raising=False)
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            until(lambda: subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0)
            bases.put()
            yield
        finally:
            process.terminate()
            process.wait(60)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def stack(engine: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """`docker-compose up` with a short run, in a copy of what git knows here."""
    folder = tmp_path_factory.mktemp("copy") / "llmload"
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=files.ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    for name in names.stdout.split("\0")[:-1]:
        if (files.ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(files.ROOT / name, folder / name)
    os.chown(folder / "runs", OWNER, OWNER)
    (folder / ".env").write_text(f"RUN_AS={OWNER}:{OWNER}\nRUN_OPTIONS=--steps 1,4 --duration 8s\n")
    for parent in folder.parents[:3]:
        parent.chmod(0o755)  # pytest's folders are its own user's alone; a repository is not
    brought = Stack(folder)
    try:
        print(brought("up", "--detach", *SERVICES)[-2000:])
        yield brought
    finally:
        print(brought("logs", "--no-color", "--tail", "60"))
        brought("down", "--volumes", "--timeout", "20")


def test_load_flows_by_itself(stack: Stack) -> None:
    """The master's figures grow, and its page is there."""
    before = until(attempts)
    until(lambda: attempts() > before)
    assert "llmload" in page(8089, "/")


def test_prometheus_sees_all_targets(stack: Stack) -> None:
    """Load generator, sidecar and engine; and it has values of each."""

    def health() -> dict[str, str]:
        active = json.loads(page(9090, "/api/v1/targets"))["data"]["activeTargets"]
        return {item["labels"]["job"]: item["health"] for item in active}

    until(lambda: health() == {"llmload": "up", "llmload-gpu": "up", "llm-server": "up"})
    for query in ("llmload_requests_in_flight", "llmload_gpu_power_watts", "vllm:num_requests_running"):
        until(lambda query=query: json.loads(page(9090, f"/api/v1/query?query={query}"))["data"]["result"])


def test_every_container_gets_well_and_is_no_root(stack: Stack) -> None:
    """Two workers, one of each other; by the checks of the stack itself."""

    def not_well() -> set[str]:
        """Services of which a container is not healthy."""
        every = stack.containers().items()
        return {name for name, of in every if any(it["State"]["Health"]["Status"] != "healthy" for it in of)}

    until(lambda: not not_well(), told=not_well)
    found = stack.containers()
    assert {name: len(of) for name, of in found.items()} == dict.fromkeys(SERVICES, 1) | {"worker": 2}
    for name, of in found.items():
        for container in of:
            ids = docker("exec", container["Id"], "sh", "-c", "cat /proc/[0-9]*/status")
            assert {line.split()[1] for line in ids.splitlines() if line.startswith("Uid:")}.isdisjoint({"0"}), name
            assert container["HostConfig"]["ReadonlyRootfs"], name


def test_nothing_is_open_to_other_machines(stack: Stack) -> None:
    """What the engine listens on for the stack is on 127.0.0.1 alone."""
    lines = subprocess.run(["ss", "-Hltn"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    listening = {line.split()[3] for line in lines}
    assert {f"127.0.0.1:{port}" for port in (8089, 9836, 9835, 9090)} <= listening
    assert {address.rsplit(":", 1)[0] for address in listening} == {"127.0.0.1"}


def test_a_run_folder_comes_out(stack: Stack) -> None:
    """Whole, reported, with what GPUs and server said, and owned by who asked for it; both workers sent."""
    folder = until(lambda: [path for path in stack.runs() if (path / "report.html").exists()], 180)[0]
    run = json.loads((folder / "run.json").read_text())
    assert run["verdict"] == "OK"
    assert [step["concurrency"] for step in run["steps"]] == [1, 4]
    assert len(run["sampling"]["gpu"][0]["gpus"]) == 2
    assert run["sampling"]["server"]["engine"]
    for name in ("requests.jsonl", "generator.jsonl", "gpu.jsonl", "server.jsonl", "summary.json", "report.html"):
        assert (folder / name).stat().st_size > 0
        assert (folder / name).stat().st_uid == OWNER
    frames = report.frames(folder)
    assert set(frames.records["worker"]) == {"w0", "w1"}
    rows = json.loads((folder / "summary.json").read_text())["rows"]
    assert all(row["gpu"]["energy_joules"] > 0 for row in rows if row["workload"] == "all")


def test_the_page_stays(stack: Stack) -> None:
    """Behind the run, for the next one; nothing has ended."""
    assert "llmload" in page(8089, "/")
    assert {it["State"]["Status"] for of in stack.containers().values() for it in of} == {"running"}


def test_an_engine_of_ones_own_and_a_stop(stack: Stack) -> None:
    """TARGET_URL names it, nothing is simulated; a run that is stopped is reported, and nobody is killed."""
    stack("down")
    before = stack.runs()
    asked = ["simulate", "--host", "172.17.0.1", "--port", "8123", "--model", "own"]
    own = subprocess.Popen([sys.executable, "-m", "llmload", *asked])
    try:
        stack(
            *("up", "--detach", *SERVICES), SIMULATE="0", TARGET_URL="http://host.docker.internal:8123", WORKERS="1",
            RUN_OPTIONS="--steps 2 --duration 10m",
        )  # fmt: skip
        until(lambda: attempts() > 5)
        stack("stop")
    finally:
        own.terminate()
        own.wait(10)
    containers = stack.containers()
    assert "simulate" not in containers
    codes = {name: {it["State"]["ExitCode"] for it in of} for name, of in containers.items()}
    assert not any(137 in of for of in codes.values()), codes
    (new,) = set(stack.runs()) - set(before)
    told = json.loads((new / "run.json").read_text())
    assert (told["verdict"], told["environment"]["server"]["model"]) == ("INCOMPLETE", "own")
    assert (new / "report.html").exists()
