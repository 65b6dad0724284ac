"""The text of a metrics page as samples, with prometheus_client's parser.

Only lines with a wanted name are parsed at all: a page of an engine has thousands of buckets that nobody here reads.
They are parsed without their TYPE lines, so the text format and OpenMetrics are the same here and a broken line or
family costs itself alone. Knows no exporter.
"""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from llmload.gather.seen import Sample

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")


@dataclass(slots=True)
class Page:
    """The samples of a page, and the lines with wanted names that are none."""

    samples: list[Sample]
    broken: list[str]


def read(text: str, is_wanted: Callable[[str], bool]) -> Page:
    """The samples with a wanted name; values that are not finite are left out, of doubled series the last counts."""
    lines = [line for line in text.split("\n") if (name := NAME.match(line)) and is_wanted(name[0])]
    broken: list[str] = []
    try:
        found = list(_samples("\n".join(lines)))
    except (ValueError, OverflowError):
        found = []
        for line in lines:
            try:
                found += _samples(line)
            except (ValueError, OverflowError):
                broken.append(line)
    series = {(sample.name, *sorted(sample.labels.items())): sample for sample in found}
    return Page([sample for sample in series.values() if math.isfinite(sample.value)], broken)


def _samples(text: str) -> Iterable[Sample]:
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            yield Sample(sample.name, sample.labels, float(sample.value))
