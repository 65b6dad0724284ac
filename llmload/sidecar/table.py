"""`--once`: what the sidecar sees, as a table for people. Knows no thread and no page."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from llmload.plain import one_line
from llmload.record.samples import GPU_FIELDS, GPU_INFO, HOST_FIELDS, Field
from llmload.sidecar.backend import Reading
from llmload.sidecar.kept import Look

SIDE_BY_SIDE = 4
"""GPUs in one table."""
UNITS = {
    "bytes": (("TiB", 2.0**40), ("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0)),
    "hertz": (("MHz", 1e6),),
    "joules": (("MJ", 1e6), ("kJ", 1e3), ("J", 1.0)),
    "watts": (("W", 1.0),),
    "celsius": (("°C", 1.0),),
    "seconds": (("h", 3600.0), ("min", 60.0), ("s", 1.0)),
    "ratio": (("%", 0.01),),
}
"""By the last word of a key: the first unit of which there is at least one, or the last."""


def human(key: str, value: float) -> str:
    """A value in the unit that its key names."""
    unit, size = "", 1.0
    sizes = UNITS.get(key.rsplit("_", 1)[-1], ())
    for unit, size in sizes:  # noqa: B007  (the one it ends at is used)
        if abs(value) >= size:
            break
    number = value / size
    text = f"{number:,.0f}" if abs(number) >= 100 or number == int(number) else f"{number:.3g}"
    return f"{text} {unit}".rstrip()


def table(look: Look) -> RenderableType:
    """All GPUs and their host."""
    groups = (look.gpus[begin : begin + SIDE_BY_SIDE] for begin in range(0, len(look.gpus), SIDE_BY_SIDE))
    parts: list[RenderableType] = [_identity(look.gpus), *map(_gpus, groups)]
    told = {key for gpu in look.gpus for key in gpu.values}
    silent = [_words(field.key) for field in GPU_FIELDS if field.label is None and field.key not in told]
    if silent:
        parts.append(Text(f" not told by any: {', '.join(silent)}", style="dim"))
    host = Table(box=None, show_header=False, title="\nThis machine", title_justify="left", title_style="bold")
    for row in _rows(HOST_FIELDS, [look.host]):
        host.add_row(*row)
    parts.append(host)
    return Group(*parts)


def _identity(gpus: Sequence[Reading]) -> Table:
    shown = Table(box=None, header_style="bold")
    for name in ("GPU", "name", "uuid", "PCI bus", "driver", "CUDA"):
        shown.add_column(name, overflow="fold")
    for gpu in gpus:
        called, *known = (Text(one_line(gpu.info.get(key, ""))) for key in GPU_INFO)  # no markup, whatever it is called
        shown.add_row(gpu.gpu, called if gpu.up else "lost", gpu.uuid, *known)
        for mig in gpu.migs:
            shown.add_row("", f"MIG {mig.get('mig', '')}, {mig.get('profile', '')}", mig.get("mig_uuid", ""))
    return shown


def _gpus(gpus: Sequence[Reading]) -> Table:
    shown = Table(box=None, header_style="bold", title="")
    shown.add_column("", no_wrap=True)
    for gpu in gpus:
        shown.add_column(f"GPU {gpu.gpu}" + ("" if gpu.up else " (lost)"), justify="right", min_width=12)
    for row in _rows(GPU_FIELDS, [gpu.values for gpu in gpus]):
        shown.add_row(*row)
    return shown


def _rows(fields: Sequence[Field], columns: Sequence[Mapping[str, float]]) -> Iterator[list[str]]:
    """One for each value that any column has; nothing where a column has it not."""
    for field in fields:
        keys = dict.fromkeys(
            key for values in columns for key in values if key == field.key or key.startswith(f"{field.key}.")
        )
        for key in keys:
            words = _words(field.key) + (f", {key[len(field.key) + 1 :].replace('_', ' ')}" if field.label else "")
            yield [words, *(human(field.key, values[key]) if key in values else "" for values in columns)]


def _words(key: str) -> str:
    """The key without its unit."""
    name, _, unit = key.rpartition("_")
    return (name if unit in UNITS and name else key).replace("_", " ")
