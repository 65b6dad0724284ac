"""Doubts about what was asked and what came back: lengths, counts, models."""

import math
from collections.abc import Iterator

import numpy as np

from llmload.report.doubts.case import Case, at, listed, percent

LENGTH = 0.05
"""Lengths that differ by more are not the same."""


def short_answers(case: Case) -> Iterator[str]:
    """Answers shorter than asked for, and more of them under load."""
    flagged = case.facts.ok & case.facts.has_flag("short_output")
    if flagged.any():
        reached = [row["reached_length_share"] for _, row in case.whole() if row["reached_length_share"] is not None]
        share = f"; {percent(min(reached))} to {percent(max(reached))} reached the length asked for" if reached else ""
        yield (
            f"{flagged.sum()} of {case.facts.ok.sum()} answers are shorter than asked for without having come "
            f"to an end by themselves{share}. "
            "Throughput counts what came; E2E latency is flattered: look at finish_reason in requests.jsonl"
        )
    rows = [(step, row) for step, row in case.whole() if row["reached_length_share"] is not None and step.asked]
    if len(rows) > 1:
        (low, least), (high, most) = (choose(rows, key=lambda pair: pair[0].asked or 0) for choose in (min, max))
        drop = least["reached_length_share"] - most["reached_length_share"]
        pooled = (least["reached_length_share"] * least["ok"] + most["reached_length_share"] * most["ok"]) / (
            least["ok"] + most["ok"]
        )
        error = math.sqrt(max(pooled * (1 - pooled), 1e-9) * (1 / least["ok"] + 1 / most["ok"]))
        if drop > LENGTH and drop > 2 * error:
            yield (
                f"answers get shorter under load: {percent(least['reached_length_share'])} reached the length "
                f"asked for {at([low])}, {percent(most['reached_length_share'])} at {high.label}. "
                "A gateway that cuts answers looks like that; compare TPOT, not E2E latency"
            )


def lengths_differ(case: Case) -> Iterator[str]:
    """Answers of unlike length in the steps that a table puts side by side."""
    for workload in case.facts.workloads:
        means = [
            (row["output_tokens_mean"], step)
            for step, row in case.classes()
            if row["workload"] == workload and row["output_tokens_mean"] and row["ok"] >= 20
        ]
        if len(means) > 1:
            (low, low_step), (high, high_step) = min(means, key=lambda m: m[0]), max(means, key=lambda m: m[0])
            if high > (1 + 3 * LENGTH) * low:
                yield (
                    f"answers of class {workload} have unlike lengths: {low:.0f} tokens on average at "
                    f"{low_step.label}, {high:.0f} at "
                    f"{high_step.label}. E2E latency cannot be compared between these steps; TPOT and TTFT can"
                )


def estimated(case: Case) -> Iterator[str]:
    """Token counts that nobody made."""
    sources = case.facts.words("output_tokens_source")[case.facts.ok]
    guessed = int((sources == "events").sum())
    if guessed:
        yield (
            f"output tokens of {guessed} of {len(sources)} answers are estimated, one per event (marked ~): "
            "the server told no usage. "
            "Tokens per second and TPOT are wrong if an event carries several; name a tokenizer file in the scenario"
        )
    kinds = sorted({source for source in sources if source is not None})
    if len(kinds) > 1:
        yield f"output tokens were counted in different ways ({listed(kinds)}): do not compare sums that mix them"


def prompts_cut(case: Case) -> Iterator[str]:
    """Prompts that the server cut."""
    cut = case.facts.measured & case.facts.has_flag("prompt_truncated")
    if cut.any():
        names = sorted(set(case.facts.words("workload")[cut]))
        yield (
            f"the server cut the prompts of {cut.sum()} requests (class {listed(names)}): it counted under "
            "half as many tokens as "
            "words were sent. Its TTFT is that of a shorter prompt: raise the server's context, or shorten the class"
        )


def prompt_lengths(case: Case) -> Iterator[str]:
    """Prompt lengths asked for and counted."""
    asked, got = case.facts.numbers("requested_input_tokens"), case.facts.numbers("input_tokens")
    off = []
    for workload in case.facts.workloads:
        known = case.facts.measured & case.facts.is_("workload", workload) & ~np.isnan(asked) & ~np.isnan(got)
        if known.any():
            wanted, counted = float(asked[known].mean()), float(got[known].mean())
            if wanted and abs(counted / wanted - 1) > LENGTH:
                off.append(f"{workload}: {wanted:.0f} asked for, {counted:.0f} counted")
    if off:
        yield (
            f"prompt lengths are off by more than {percent(LENGTH)} ({listed(off)}): the server's tokenizer "
            "is not the one "
            "they were fitted with. Fit them by the server's /tokenize or by its tokenizer file"
        )


def models(case: Case) -> Iterator[str]:
    """More than one model answered."""
    names, counts = np.unique(
        np.array(
            [name for name in case.facts.words("served_model")[case.facts.measured] if name is not None], dtype=object
        ).astype(str),
        return_counts=True,
    )
    if len(names) > 1:
        told = listed(f"{name} ({count})" for name, count in zip(names, counts, strict=True))
        yield f"{len(names)} models answered: {told}. The figures mix them: ask for one by its full name"
