"""What each candidate truly is, and what a comparison has to say of it."""

from dataclasses import dataclass

USUAL = ("--ttft-ms", "40", "--itl-ms", "10", "--distribution", "lognormal", "--spread", "0.1")


@dataclass(frozen=True, slots=True)
class Case:
    """One candidate against one baseline, three rounds a side."""

    baseline: tuple[str, ...]
    """Options of the simulated server, besides USUAL."""
    candidate: tuple[str, ...]
    steps: str
    asked: tuple[str, ...]
    """Options of the comparison."""
    word: str
    code: int
    says: tuple[str, ...] = ()
    """What has to stand in the report, in small letters."""
    tokens: int = 40


CASES = {
    "decode": Case(("--itl-ms", "15"), (), "1,8", ("--claim", "1.5x decode"), "supported", 0, ("decod",)),
    "throughput": Case(
        ("--slots", "4"), (), "1,16", ("--claim", "3x tokens@16"), "supported", 0, ("only throughput rose",)
    ),
    "failing": Case((), ("--failures", "429=0.3"), "1,8", ("--claim", "1.2x e2e_p95"), "not supported", 1, ("fail",)),
    "shorter": Case((), ("--answer-tokens", "fixed:20"), "1,8", (), "not comparable", 4, ("shorter answers",)),
    "tokenizer": Case(
        (),
        ("--letters-per-token", "3", "--itl-ms", "5"),
        "1,8",
        (),
        "not comparable",
        4,
        ("tokenizer", "smaller tokens"),
    ),
    "equal": Case((), (), "1,8", ("--claim", "14x e2e_p95"), "not supported", 1, ()),
    "cliff": Case(
        (), ("--itl-ms", "8", "--cliff", "200:3"), "1,8", ("--claim", "1.2x e2e_p95"), "not supported", 1, ("200",), 300
    ),
    "only-at-32": Case(("--slots", "2"), (), "1,8,32", ("--claim", "14x e2e_p95"), "partly", 1, ("32 in flight",)),
}
"""decode: 1.5 times as fast from token to token, and in nothing else. throughput: more slots. failing: 3 of 10 fail
at once, the others are as before. shorter: half the answer. tokenizer: twice the tokens a second for the same text.
equal: the same server twice. cliff: faster for 200 tokens, then three times as slow. only-at-32: a queue that only the
baseline has."""
