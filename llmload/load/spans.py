"""Lengths of time in words, for people: one way for the plan, the live display and the report. Pure."""


def span(seconds: float) -> str:
    """`0.5 s`, `45 s`, `3 min 20 s`, `10 min`, `2 h 05 min`: two units at most, whole seconds from a minute on."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.3g} s"
    name, part, count = ("min", "s", whole) if whole < 3600 else ("h", "min", whole // 60)
    return f"{count // 60} {name}" + (f" {count % 60:02} {part}" if count % 60 else "")
