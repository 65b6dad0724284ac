"""The run folder: where the facts of one run lie, and how they are written so that a kill leaves them readable.

run.json is replaced by rename, never half written. The .jsonl files are only appended to, whole lines at a time;
a last line that was cut by a kill is ignored by the reader. Nothing here computes a figure.
"""

import errno
import fcntl
import os
import re
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import orjson

from llmload.exits import Exit, Stop

RUN = "run.json"
REQUESTS = "requests.jsonl"
GENERATOR = "generator.jsonl"
SPOOL = "spool"
LOG = "locust.log"


def create(root: Path, scenario: str, now: float | None = None) -> Path:
    """Make a new run folder `<UTC start>-<scenario>[-2]` under `root` and return it.

    Raises Stop(USAGE) if the folder cannot be made or written.
    """
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    name = f"{stamp}-{re.sub(r'[^A-Za-z0-9_.-]+', '-', scenario).strip('.-') or 'run'}"
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:  # a file of that name among them
        raise cannot_write(root, error) from error
    for suffix in range(1, 1000):
        folder = root / (name if suffix == 1 else f"{name}-{suffix}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise cannot_write(folder, error) from error
        return folder
    raise Stop(f"{root}: a thousand runs named {name} are there already; name another folder with --out")


def cannot_write(path: Path, error: OSError) -> Stop:
    """The sentence for a run folder that cannot be written."""
    return Stop(f"{path}: cannot be written: {error.strerror}; name another folder with --out", Exit.USAGE)


def beside(path: Path) -> Path:
    """Where a file is written that takes another's place once it is whole.

    Raises OSError where no file may stand: for no name, for a folder, and for a device, which would be lost.
    """
    if path.is_dir():
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is there and is no file")
    return path.with_name(f".{path.name}.new")


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file so that a reader sees the old one or the new one, never half of it. Raises OSError."""
    beside(path)
    data = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data + b"\n")
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_run(folder: Path) -> dict[str, Any]:
    """run.json of a folder. Raises Stop(UNJUDGED) if the folder is no run folder."""
    path = folder / RUN
    try:
        value = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise Stop(f"{folder}: no run folder: it has no {RUN}", Exit.UNJUDGED) from None
    except (OSError, orjson.JSONDecodeError) as error:
        raise Stop(f"{path}: cannot be read: {error}", Exit.UNJUDGED) from error
    if not isinstance(value, dict):
        raise Stop(f"{path}: expected a JSON object, got {type(value).__name__}", Exit.UNJUDGED)
    return value


def claim(folder: Path) -> int:
    """Be the only process that writes into a run folder, until the descriptor that this returns is closed.

    The system lets go of it when the process ends, however it ends. Raises Stop(USAGE) if another one has it. Where
    folders cannot be locked (some network drives) nobody is kept out.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise Stop(
            f"{folder}: this run is still going on: a living process writes into it; wait for its end, or end it"
        ) from None
    except OSError:
        pass
    return descriptor


def lines(path: Path) -> Generator[bytes, None, None]:
    """Whole lines of a .jsonl file, without line ends; a cut last line and a missing file give nothing.

    Raises Stop(UNJUDGED) for a file that is there and cannot be read.
    """
    try:
        with path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n") and len(line) > 1:
                    yield line[:-1]
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise Stop(f"{path}: cannot be read: {error.strerror}", Exit.UNJUDGED) from error
