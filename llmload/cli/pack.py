"""`llmload pack RUN`: one archive of a run, to send to a colleague or a vendor. No answers, no secrets."""

import argparse
import os
from pathlib import Path
from typing import Any

import orjson

from llmload.cli import room
from llmload.exits import Stop
from llmload.load import kept, reading
from llmload.load.mix import Mix
from llmload.load.scenario import Scenario
from llmload.record import leaks, pack, runfolder, samples
from llmload.record.pack import Packed

KEYS = ("OPENAI_API_KEY", "HF_TOKEN")
"""Variables whose values are looked for, beside the scenario's key_env and all that are called so."""

NAMING = (
    runfolder.RUN, runfolder.LOG, samples.GPU, samples.SERVER, "report.md", "report.html",
)  # fmt: skip
"""Files in which hosts, addresses and paths are named."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("run", metavar="RUN", type=Path, help="run folder, as runs/20261201T120000Z-mixed")
    parser.add_argument(
        "--with-prompts", action="store_true", help="the prompts too, so that it can be run again from the archive"
    )
    parser.add_argument("--out", metavar="FILE", type=Path, help="the archive (the run's name and .tar.gz, here)")
    parser.add_argument(
        "--without",
        metavar="NAME",
        action="append",
        default=[],
        help="leave this file of the run out, as locust.log; repeatable",
    )


def main(args: argparse.Namespace) -> int:
    """Pack, and say what is in it."""
    run = runfolder.read_run(args.run)
    os.close(runfolder.claim(args.run))  # a run that goes on is no whole one
    root = args.run.resolve().name
    archive = args.out or Path(f"{root}.tar.gz")
    files: dict[str, Path | bytes] = {
        path.relative_to(args.run).as_posix(): path for path in pack.members(args.run, spools=incomplete(run))
    }
    files = {name: path for name, path in files.items() if args.with_prompts or not name.startswith(pack.PROMPTS + "/")}
    if args.with_prompts:
        files |= texts(args.run, run)
    for name in args.without:
        if name == runfolder.RUN or files.pop(name, None) is None:
            raise Stop(f"--without {name}: expected one of: {', '.join(sorted(files.keys() - {runfolder.RUN}))}")
    key_env = (run.get("scenario") or {}).get("key_env") if isinstance(run.get("scenario"), dict) else None
    secrets = leaks.secrets_of(os.environ, [*KEYS, *([key_env] if isinstance(key_env, str) else [])])
    begun = run.get("started_at")
    mtime = int(begun) if isinstance(begun, (int, float)) and 0 <= begun < 2**33 else 0
    packed = pack.write(archive, root, files, mtime, secrets)
    print(told(archive, packed, left_out(args.run, set(files))))
    return 0


def incomplete(run: dict[str, Any]) -> bool:
    """Whether requests.jsonl is not all that is known of the requests: then workers' spools tell more."""
    accounting = run.get("accounting")
    rows = accounting.values() if isinstance(accounting, dict) else ()
    return run.get("ended_at") is None or any(not isinstance(row, dict) or row.get("lost") for row in rows)


def texts(folder: Path, run: dict[str, Any]) -> dict[str, Path | bytes]:
    """The prompts of each class: built-in ones as they were sent, without head; a data file as it is. Raises Stop."""
    if run.get("sequence", True) is None:
        raise Stop(f"{folder}: a locustfile of its own sent its own prompts there; leave out --with-prompts")
    found = kept.read(folder / runfolder.RUN)
    scenario = understood(folder, run)
    mix = Mix(scenario, found.fitted or {})
    own: dict[str, list[bytes]] = {}
    for workload, prompt, text in mix.prompts():
        own.setdefault(workload, []).append(orjson.dumps({"id": prompt, "prompt": text}) + b"\n")
    files: dict[str, Path | bytes] = {}
    for cls in scenario.classes:
        if "/" in cls.name:  # it would lie elsewhere once it is unpacked
            raise Stop(f"{folder / runfolder.RUN}: class {cls.name!r}: expected a name without /; the file was changed")
        if cls.path is None:
            files[f"{pack.PROMPTS}/{cls.name}.jsonl"] = b"".join(own[cls.name])
        else:
            files[f"{pack.PROMPTS}/{cls.name}{Path(cls.path).suffix}"] = Path(cls.path)
    return files


def understood(folder: Path, run: dict[str, Any]) -> Scenario:
    """The scenario of a run, its data files where they are now. Raises Stop(USAGE) if it is damaged."""
    try:
        return reading.from_resolved(kept.with_data(folder, run["scenario"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Stop(f"{folder / runfolder.RUN}: its scenario cannot be read: {error!r}") from error


def left_out(folder: Path, packed: set[str]) -> list[str]:
    """Other files of the run folder."""
    return sorted(
        f"{path.name}/" if path.is_dir() else path.name
        for path in folder.iterdir()
        if path.name not in packed and not any(name.startswith(f"{path.name}/") for name in packed)
    )


def told(archive: Path, packed: list[Packed], others: list[str]) -> str:
    """What is in it, in words."""
    width = max(len(item.name) for item in packed)
    lines = [f"{archive}  {room.size(archive.stat().st_size)}", ""]
    for item in packed:
        note = f"   without {item.answers:,} answers" if item.answers else ""
        size = room.size(item.bytes) if item.bytes >= 1000 else f"{item.bytes} B"
        lines.append(f"  {item.name:<{width}}  {size:>9}{note}")
    naming = [item.name for item in packed if item.name in NAMING]
    lines += ["", f"No key and no password was found in it. It names hosts, addresses and paths: {', '.join(naming)}."]
    if others:
        lines.append(f"Left out: {', '.join(others)}.")
    return "\n".join(lines)
