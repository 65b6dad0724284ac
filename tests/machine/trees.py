"""Machines made up of files: the few of /proc, /sys and /etc that are read, below a folder."""

from pathlib import Path

CPUINFO = "processor\t: 0\nmodel name\t: Made Up 9000\nflags\t\t: fpu lm sse2{more}\n"


def tree(root: Path, files: dict[str, str]) -> Path:
    """Write the files of a machine."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root
