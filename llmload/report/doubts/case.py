"""What a doubt looks at, and the words in which it speaks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from llmload.report.facts import Facts
from llmload.report.rows import ALL, StepRows
from llmload.report.steps import Step

SILENT_S = 3.0
"""A worker whose lines in generator.jsonl end so long before those of others has fallen out."""


@dataclass(frozen=True, slots=True)
class Case:
    """A run: its facts and its rows."""

    facts: Facts
    steps: tuple[StepRows, ...]

    def whole(self) -> Iterator[tuple[Step, dict[str, Any]]]:
        """Each step with its row of all classes."""
        for item in self.steps:
            yield item.step, item.rows[-1]

    def classes(self) -> Iterator[tuple[Step, dict[str, Any]]]:
        """Each step with each of its classes' rows."""
        for item in self.steps:
            for row in item.rows:
                if row["workload"] != ALL:
                    yield item.step, row

    def workers(self, step: Step) -> tuple[int, list[str]]:
        """How many workers were there in a window, and which of them were not heard of again before it ended."""
        samples = self.facts.samples
        if step.begin is None or step.end is None:
            return 0, []
        end = min(step.end, float(samples.at.max(initial=step.begin)))
        there = set(samples.worker[(samples.at >= step.begin) & (samples.at <= step.end)])
        return len(there), sorted(name for name in there if samples.at[samples.worker == name].max() < end - SILENT_S)


def percent(share: float) -> str:
    """A share in words: 12 %, 0.4 %."""
    value = share * 100
    return f"{value:.0f} %" if value >= 10 else f"{value:.2g} %"


def ms(value: float) -> str:
    """Milliseconds in words: 1,204 ms, 12.3 ms."""
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.3g} ms"


def listed(parts: Iterable[str], most: int = 6) -> str:
    """Parts with commas, at most so many."""
    words = list(parts)
    return ", ".join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")


def at(steps: Iterable[Step], most: int = 8) -> str:
    """`at 8, 16 and 32 in flight`, `at 2.5/s`; `in step 0` where nothing was asked for."""
    found = list(steps)
    words = list(dict.fromkeys(step.label for step in found))  # a level set by hand may come again
    if len(words) > most:
        words = [*words[: most - 1], f"{len(words) - most + 1} more"]
    joined = " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
    if all(step.concurrency is None and step.rate is None for step in found):
        return f"in step {', '.join(str(step.index) for step in found)}"
    return f"at {joined} in flight" if all(step.concurrency is not None for step in found) else f"at {joined}"
