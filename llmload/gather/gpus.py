"""Pages about GPUs: whose page it is, and its GPUs as the lines of gpu.jsonl have them. Pure.

Adding an exporter is adding a module like dcgm.py and its entry in KINDS.
"""

from collections.abc import Callable, Iterable, Sequence

from llmload.gather import dcgm, own, smi
from llmload.gather.seen import Gpu, Sample, Seen, Unread

KINDS: dict[str, Callable[[Sequence[Sample]], Seen]] = {
    "llmload_gpu_": own.seen,
    "DCGM_FI_": dcgm.seen,
    smi.PREFIX: smi.seen,
}
"""How each exporter's page is read, by what its names begin with."""

OLDEST_S = 86_400.0
"""What is told to be older, or younger than nothing, is not believed."""

PREFIXES = (*KINDS, "llmload_host_")


def is_wanted(name: str) -> bool:
    """True for names that may matter here."""
    return name.startswith(PREFIXES) and not name.endswith("_bucket")


def seen(samples: Iterable[Sample]) -> Seen:
    """What a page tells. Raises Unread, if that is nothing."""
    samples = list(samples)
    for prefix, read in KINDS.items():
        if any(sample.name.startswith(prefix) for sample in samples):
            return read(samples)
    raise Unread(
        "the page tells of no GPU; expected one of llmload sidecar, dcgm-exporter or nvidia_gpu_exporter there"
    )


class Rows:
    """The GPUs of one source from look to look: what is known of them is told once, and one that is lost is told."""

    def __init__(self) -> None:
        self.known: dict[str, Gpu] = {}

    def told(self, seen: Seen, at: float) -> dict[str, object]:
        """What a line says of a look at this moment (Unix seconds), besides when and where."""
        seen.age_s = seen.age_s if seen.age_s is not None and 0 <= seen.age_s <= OLDEST_S else None
        offset_ms = None
        if seen.stamp is not None and seen.age_s is not None:
            offset_ms = round((seen.stamp + seen.age_s - at) * 1e3, 3)
        line: dict[str, object] = {"age_s": seen.age_s, "clock_offset_ms": offset_ms, "gpus": self._rows(seen.gpus)}
        return line | ({"host": seen.host} if seen.host else {})

    def names(self) -> list[dict[str, str]]:
        """The GPUs that are known, as run.json has them."""
        return [{"uuid": gpu.uuid, "name": gpu.info.get("name", "")} for gpu in self.known.values()]

    def _rows(self, gpus: Iterable[Gpu]) -> list[dict[str, object]]:
        found = {gpu.uuid: gpu for gpu in gpus}
        rows = [self._row(gpu) for gpu in found.values()]
        lost = [gpu for uuid, gpu in self.known.items() if uuid not in found]
        rows += [{"uuid": gpu.uuid, "gpu": gpu.gpu, "up": False} for gpu in lost]
        return rows

    def _row(self, gpu: Gpu) -> dict[str, object]:
        before = self.known.get(gpu.uuid)
        row: dict[str, object] = {"uuid": gpu.uuid, "gpu": gpu.gpu, "up": gpu.up}
        if before is not None:
            gpu.info = gpu.info or before.info  # a GPU that is lost has none; it is the same GPU
        if before is None or (gpu.info, gpu.migs) != (before.info, before.migs):
            row |= {"info": gpu.info} if gpu.info else {}
            row |= {"migs": gpu.migs} if gpu.migs else {}
        if before is not None or gpu.up or gpu.info:  # else it was never there, and may come under another UUID
            self.known[gpu.uuid] = gpu
        return row | ({"values": gpu.values} if gpu.up else {})
