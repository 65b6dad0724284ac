"""Stand-ins for the images that are pulled elsewhere, made of Debian's packages: `python -m tests.containers.bases`.

First, where there is a network, what they are made of is brought here and kept; then, where there is an engine, they
are put into it under the names that the shipped files ask for.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.containers import files

HERE = files.ROOT / "build" / "containers"
SYSTEM = HERE / "system"
"""A small Debian with its Python, and all wheels, from which alone its pip takes."""
READY = HERE / "ready"

BUILDERS = "hatchling>=1.25,<2"
"""What builds llmload's own wheel, as pyproject.toml says."""

PROMETHEUS = """\
FROM {base}
COPY prometheus promtool /bin/
RUN mkdir /prometheus && chown 65534:65534 /prometheus && ln -s busybox /bin/wget
USER 65534
ENTRYPOINT ["/bin/prometheus"]
"""


def bring() -> None:
    """Fill HERE, if that has not been done."""
    missing = [name for name in ("debootstrap", "prometheus", "promtool", "dockerd") if shutil.which(name) is None]
    if missing:
        packages = "debootstrap prometheus docker.io docker-compose"
        sys.exit(f"missing: {', '.join(missing)}; on Debian: apt-get install {packages}")
    if READY.exists():
        return
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir(parents=True)
    run("debootstrap", "--variant=minbase", "--include=python3-venv,busybox", "bookworm", SYSTEM)
    (SYSTEM / "usr/local/bin/python").symlink_to("/usr/bin/python3")
    wheels = SYSTEM / "wheels"
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--dest", wheels)
    run(*pip, "--no-deps", "--requirement", files.ROOT / "requirements.lock")
    run(*pip, BUILDERS)
    (SYSTEM / "etc/pip.conf").write_text("[global]\nno-index = true\nfind-links = /wheels\n")
    READY.touch()


def put() -> None:
    """Put them into the engine of DOCKER_HOST."""
    (base,) = files.bases()
    with subprocess.Popen(["tar", "-C", SYSTEM, "-c", "."], stdout=subprocess.PIPE) as system:
        subprocess.run(["docker", "import", "-", base], stdin=system.stdout, check=True, stdout=subprocess.DEVNULL)
    image = files.stack()["services"]["prometheus"]["image"]
    folder = HERE / "prometheus"
    folder.mkdir(exist_ok=True)
    for name in ("prometheus", "promtool"):
        shutil.copy(f"/usr/bin/{name}", folder)
    (folder / "Dockerfile").write_text(PROMETHEUS.format(base=base))
    run("docker", "build", "--quiet", "--tag", image, folder)


def run(*words: str | Path) -> None:
    """Run a command that must succeed; what it says is seen."""
    subprocess.run(words, check=True)


if __name__ == "__main__":
    bring()
