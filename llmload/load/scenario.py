"""A scenario, resolved: what to ask of whom, how much of it at a time, for how long, and what counts as slow.

Plain frozen records with every default filled in. How a scenario is read from TOML, and what a person is told when
the file is wrong, is `reading.py`; this file knows no file. Durations are seconds where a name ends in `_s`,
milliseconds where it ends in `_ms`.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Load:
    """How much is asked at a time, in which steps, and when a step has seen enough."""

    kind: Literal["steps", "rate", "hand"] = "steps"
    """`steps`: so many requests in flight (closed loop). `rate`: so many arrivals per second, whatever the server does
    (open loop). `hand`: a person sets the requests in flight on the web page; no scenario file says so."""
    steps: tuple[int, ...] = (1, 4, 8, 16, 32)
    """Requests in flight, step by step, of kind `steps`."""
    rates: tuple[float, ...] = ()
    """Arrivals per second, step by step, of kind `rate`."""
    arrivals: Literal["constant", "poisson", "gamma"] = "poisson"
    """How the gaps between arrivals are distributed, of kind `rate`."""
    burstiness: float = 1.0
    """Shape of `gamma` gaps, as vLLM's word: 1 is Poisson, below 1 comes in bursts, above 1 is steadier."""
    max_in_flight: int = 512
    """Of kind `rate`: an arrival that finds so many in flight is `not_sent`."""
    warmup_requests: int = 3
    """Requests that each user must have finished before the window opens, every class among them."""
    warmup_s: float = 5.0
    """The warm-up lasts at least this long."""
    window_s: float = 60.0
    """The window lasts at least this long …"""
    window_requests: int = 100
    """… and until so many requests of each class were sent in it …"""
    window_cap_s: float = 600.0
    """… but never longer than this."""
    drain_limit_s: float = 120.0
    """How long users go on sending while measured requests are still in flight; then the rest is cut."""
    settle_s: float = 0.5
    """Pause between steps when requests were cut, so that their dead work does not load the next step."""
    max_failures_in_a_row: int = 50
    """A step that failed so often in a row ends early; 0 means never."""
    max_requests: int | None = None
    """Cap on requests of the whole run, warm-up and drain included."""
    max_tokens_total: int | None = None
    """Cap on output tokens asked for in the whole run."""
    hold_s: float | None = None
    """A soak: the step that asks for most (the first of several) is held for so long, by time alone."""

    @property
    def levels(self) -> tuple[tuple[int | None, float | None], ...]:
        """What each step asks for, as (requests in flight, arrivals per second); one of the two is None."""
        if self.kind == "rate":
            return tuple((None, rate) for rate in self.rates)
        return tuple((users, None) for users in self.steps) if self.kind == "steps" else ()

    @property
    def held(self) -> int | None:
        """The step that is held in a soak."""
        asked = [(users or 0) + (rate or 0) for users, rate in self.levels]
        return None if self.hold_s is None or not asked else asked.index(max(asked))

    def of_step(self, index: int) -> "Load":
        """The load as one step has it: that of the step that is held has a window as long as the hold."""
        if self.hold_s is None or index != self.held:
            return self
        return replace(self, window_s=self.hold_s, window_requests=0, window_cap_s=self.hold_s)


@dataclass(frozen=True, slots=True)
class Limits:
    """Time limits of one request, in seconds."""

    connect_s: float = 10.0
    ttft_s: float = 120.0
    stall_s: float = 60.0
    total_s: float = 600.0


@dataclass(frozen=True, slots=True)
class SLO:
    """What a user is promised; a request is good if it is ok and meets all that are set. Milliseconds."""

    ttft_ms: float | None = None
    tpot_ms: float | None = None
    e2e_ms: float | None = None
    itl_max_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Lengths:
    """A distribution of token lengths: `fixed`, `normal` (mean, sd) or `uniform` (low, high), never below 1."""

    kind: Literal["fixed", "normal", "uniform"] = "fixed"
    a: float = 0.0
    b: float = 0.0

    @property
    def notation(self) -> str:
        """As a scenario file writes it: `217`, `N(217,40)`, `U(100,300)`."""
        first, second = (f"{value:.0f}" if value == int(value) else repr(value) for value in (self.a, self.b))
        return first if self.kind == "fixed" else f"{'N' if self.kind == 'normal' else 'U'}({first},{second})"


@dataclass(frozen=True, slots=True)
class WorkloadClass:
    """One class of the mix: short, medium, long, or the user's own."""

    name: str
    weight: float = 1.0
    source: str = "builtin:short"
    """`builtin:short|medium|long`, or `file`."""
    path: str | None = None
    """The data file of `source = "file"`, absolute."""
    digest: str | None = None
    """SHA-256 of the data file."""
    prompts: int = 100
    """How many different built-in prompts the class has; a data file has as many as it has."""
    input_tokens: Lengths | None = None
    """Prompt length wanted, counted by the server; None takes prompts as they are."""
    max_tokens: Lengths = Lengths("fixed", 128, 0)
    ignore_eos: bool = False
    min_tokens: int | None = None
    temperature: float | None = None
    extra_body: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    tools: tuple[dict[str, Any], ...] = ()
    slo: SLO | None = None
    shared_prefix_tokens: int = 0
    """Tokens of a prefix that is common to the requests that reuse it (behind no unique head) …"""
    shared_prefix_share: float = 0.0
    """… and the share of the class's requests that do."""
    quality_loss_points: float = 0.5
    """By so many points (parts of 100) answers may be worse than a baseline's before a gain is one with a loss."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What the load costs, in whole units of `currency`. None is not known."""

    currency: str = "USD"
    per_million_input: float | None = None
    """Price of tokens, where tokens are paid …"""
    per_million_output: float | None = None
    gpu_hour: float | None = None
    """… and of one GPU for an hour, or …"""
    gpu_month: float | None = None
    """… for a month of 730 hours, where machines are. One of the two."""
    gpus: int | None = None
    """How many GPUs serve this; None takes as many as were seen."""
    requests_per_month: float | None = None
    """The demand that costs and returns are reckoned for."""
    one_off: float | None = None
    """What changing to this side costs once."""
    benefit_per_month: float | None = None
    """What this side brings in a month besides."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What this side is said to be able to do. None, or nothing, is not said."""

    tools: bool | None = None
    json_mode: bool | None = None
    context: int | None = None
    """Tokens of one request, prompt and answer."""
    languages: tuple[str, ...] = ()
    """Codes of two letters, as en, de."""

    @property
    def stated(self) -> bool:
        """Whether anything is said."""
        return self != Capabilities()


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything that says what a run is. `resolved()` of reading.py gives it as JSON for run.json."""

    name: str
    classes: tuple[WorkloadClass, ...]
    description: str = ""
    seed: int = 1
    round: int = 0
    """Which repetition this is: prompts stay, unique heads are new in each round."""
    model: str | None = None
    api: Literal["chat", "completions"] = "chat"
    stream: bool = True
    connections: Literal["keep-alive", "fresh"] = "keep-alive"
    cache_busting: bool = True
    temperature: float | None = 0.0
    key_env: str = "OPENAI_API_KEY"
    max_tokens_field: Literal["auto", "max_tokens", "max_completion_tokens"] = "auto"
    stream_usage: Literal["auto", "on", "off"] = "auto"
    """Whether `stream_options.include_usage` is sent; auto asks the preflight."""
    token_counting: Literal["auto", "server", "tokenizer", "ratio"] = "auto"
    """How prompt lengths are fitted: the server's /tokenize, a tokenizer file, or characters per token learnt."""
    tokenizer: str | None = None
    """Path of a tokenizer.json, absolute."""
    extra_body: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    load: Load = Load()
    limits: Limits = Limits()
    slo: SLO = SLO()
    stall_ms: float = 200.0
    """A gap over this is a stall."""
    slow_s: float | None = None
    """A request that was ok but took longer counts as slow."""
    ready_timeout_s: float = 300.0
    """How long a server that is still loading is waited for."""
    labels: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    """What no machine tells, in words: `weights = "Q4_K_M from …"`, `notes`; keys of `record.environment` win there."""
    cost: Cost = Cost()
    capabilities: Capabilities = Capabilities()
    fitted: dict[str, int] | None = None
    """Characters kept of each prompt, by prompt id, as another run had them; None: the preflight finds out."""
    file: str | None = None
    """Where it was read from."""
