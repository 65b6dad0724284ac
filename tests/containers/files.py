"""What the shipped files say: the stack as docker-compose understands it, and the images that it is made of.

Starts nothing.
"""

import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker-compose.yml"
DOCKERFILE = ROOT / "Dockerfile"
EXAMPLE = ROOT / ".env.example"

VARIABLES = sorted(set(re.findall(r"\$\{(\w+)", COMPOSE.read_text())))
"""What can be set."""


def stack(*words: str, **variables: str) -> dict[str, Any]:
    """`docker-compose config` with these words before it and these variables alone."""
    clean = {name: value for name, value in os.environ.items() if name not in {*VARIABLES, "COMPOSE_PROFILES"}}
    with tempfile.NamedTemporaryFile() as empty:
        place = ("--project-directory", ROOT, "--file", COMPOSE, "--env-file", empty.name)
        done = subprocess.run(
            ["docker-compose", *place, *words, "config"],
            env=clean | variables, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return yaml.safe_load(done.stdout)  # type: ignore[no-any-return]


def bases() -> set[str]:
    """The images that ours is built on."""
    return set(re.findall(r"^FROM (\S+)", DOCKERFILE.read_text(), re.MULTILINE))


def settings() -> dict[str, str]:
    """The variables of .env.example, those that it only shows included."""
    return dict(re.findall(r"^#?([A-Z_]+)=(.*)$", EXAMPLE.read_text(), re.MULTILINE))
