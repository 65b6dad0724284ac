"""Scenario files: what is read, what is refused and in which words."""

import dataclasses
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmload.exits import Exit, Stop
from llmload.load import override, reading
from llmload.load.scenario import SLO, Capabilities, Cost, Lengths, Limits, Load, Scenario, WorkloadClass

SHIPPED = ["baseline", "demo", "llama", "long-context", "long-output", "mixed", "rate", "short-only", "smoke", "soak"]


@pytest.fixture
def write(tmp_path: Path):
    """Write a scenario file and return its path as text."""

    def write(text: str) -> str:
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return str(path)

    return write


def refused(path: str, overrides=()) -> str:
    """The sentence of a scenario that is refused, without the file's name."""
    with pytest.raises(Stop) as caught:
        reading.load(path, overrides)
    assert caught.value.code == Exit.USAGE
    assert caught.value.message.startswith(f"{path}: ")
    return caught.value.message.removeprefix(f"{path}: ")


def test_shipped_scenarios_are_all_there() -> None:
    """What the documentation names can be run by its bare name."""
    assert list(reading.shipped()) == SHIPPED


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_scenarios_are_read_and_round_trip(name: str) -> None:
    """Each is valid, says what it is for, and survives run.json."""
    scenario = reading.load(name)
    assert scenario.name == name
    assert scenario.description
    assert reading.from_resolved(json.loads(json.dumps(reading.resolved(scenario)))) == scenario


def test_mixed_is_what_it_is_said_to_be() -> None:
    """The three classes and five steps of the documentation."""
    scenario = reading.load("mixed")
    assert scenario.load.steps == (1, 4, 8, 16, 32)
    assert (scenario.load.window_s, scenario.load.window_requests, scenario.temperature) == (60.0, 100, 0.0)
    assert [(cls.name, cls.input_tokens.a, cls.max_tokens.a, cls.prompts) for cls in scenario.classes] == [
        ("short", 217.0, 89.0, 100),
        ("medium", 482.0, 156.0, 100),
        ("long", 3210.0, 412.0, 100),
    ]


def test_baseline_is_what_it_is_said_to_be() -> None:
    """One short and one long prompt, one in flight, 512 tokens, 3 warm-ups, 20 requests of each."""
    scenario = reading.load("baseline")
    assert scenario.load.steps == (1,)
    assert (scenario.load.warmup_requests, scenario.load.window_requests, scenario.temperature) == (3, 20, 0.0)
    assert [(cls.name, cls.prompts, cls.max_tokens.a) for cls in scenario.classes] == [
        ("short", 1, 512.0),
        ("long", 1, 512.0),
    ]


def test_demo_has_the_classes_of_mixed() -> None:
    """What the demonstration shows is the shipped mix."""
    assert reading.load("demo").classes == reading.load("mixed").classes
    assert reading.load("demo").load.steps == reading.load("mixed").load.steps


def test_defaults(write) -> None:
    """A class with the name of a built-in kind needs nothing else."""
    scenario = reading.load(write('[[class]]\nname = "short"'))
    assert scenario == Scenario(
        name="mine",
        classes=(WorkloadClass("short", source="builtin:short", input_tokens=Lengths("normal", 217, 40)),),
        file=scenario.file,
    )


def test_everything_can_be_set(write, tmp_path: Path) -> None:
    """Every key of every table is read to its field."""
    (tmp_path / "tok.json").write_text("{}")
    (tmp_path / "data.jsonl").write_text('{"prompt": "hi"}\n')
    scenario = reading.load(
        write("""
            name = "all-of-it"
            description = "d"
            seed = 7
            round = 2
            model = "m"
            api = "completions"
            stream = false
            connections = "fresh"
            cache_busting = false
            temperature = "none"
            key_env = "MY_KEY"
            max_tokens_field = "max_completion_tokens"
            stream_usage = "off"
            token_counting = "tokenizer"
            tokenizer = "tok.json"
            stall_ms = "0.5s"
            slow_s = 30
            ready_timeout_s = "10m"
            extra_body = { top_p = 0.9 }
            headers = { X-A = "b" }
            labels = { engine = "v2", try = 3 }
            [load]
            steps = [2, 3]
            warmup_requests = 4
            warmup_s = 1
            window_s = 2
            window_requests = 3
            window_cap_s = 4
            drain_limit_s = 5
            settle_s = 6
            max_failures_in_a_row = 7
            max_requests = 8
            max_tokens_total = 9
            hold_s = "2h"
            [limits]
            connect_s = 1
            ttft_s = 2
            stall_s = "3s"
            total_s = "4m"
            [slo]
            ttft_ms = "1s"
            tpot_ms = 50
            e2e_ms = 2000
            itl_max_ms = 300
            [cost]
            per_million_input = 0.15
            per_million_output = 0.6
            currency = "EUR"
            gpu_month = 900
            gpus = 2
            requests_per_month = 1e6
            one_off = 500
            benefit_per_month = 20
            [environment]
            weights = "Q4"
            notes = "a card of its own"
            [capabilities]
            tools = true
            json_mode = false
            context = 8192
            languages = ["en", "de"]
            [[class]]
            name = "own"
            weight = 0.5
            quality_loss_points = 2
            source = "file"
            path = "data.jsonl"
            max_tokens = "U(10,20)"
            ignore_eos = true
            min_tokens = 5
            temperature = 0.7
            extra_body = { priority = 1 }
            headers = { X-P = "high" }
            [class.slo]
            ttft_ms = 300
            [[class]]
            name = "shared"
            source = "builtin:long"
            prompts = 10
            input_tokens = 900
            shared_prefix_tokens = 500
            shared_prefix_share = 0.25
        """)
    )
    assert scenario == Scenario(
        name="all-of-it",
        description="d",
        seed=7,
        round=2,
        model="m",
        api="completions",
        stream=False,
        connections="fresh",
        cache_busting=False,
        temperature=None,
        key_env="MY_KEY",
        max_tokens_field="max_completion_tokens",
        stream_usage="off",
        token_counting="tokenizer",
        tokenizer=str(tmp_path / "tok.json"),
        stall_ms=500.0,
        slow_s=30.0,
        ready_timeout_s=600.0,
        extra_body={"top_p": 0.9},
        headers={"X-A": "b"},
        labels={"engine": "v2", "try": "3"},
        load=Load("steps", (2, 3), (), "poisson", 1.0, 512, 4, 1.0, 2.0, 3, 4.0, 5.0, 6.0, 7, 8, 9, 7200.0),
        limits=Limits(1.0, 2.0, 3.0, 240.0),
        slo=SLO(1000.0, 50.0, 2000.0, 300.0),
        environment={"weights": "Q4", "notes": "a card of its own"},
        cost=Cost("EUR", 0.15, 0.6, None, 900.0, 2, 1e6, 500.0, 20.0),
        capabilities=Capabilities(tools=True, json_mode=False, context=8192, languages=("en", "de")),
        classes=(
            WorkloadClass(
                "own", 0.5, "file", str(tmp_path / "data.jsonl"), scenario.classes[0].digest,
                max_tokens=Lengths("uniform", 10, 20), ignore_eos=True, min_tokens=5, temperature=0.7,
                extra_body={"priority": 1}, headers={"X-P": "high"}, slo=SLO(ttft_ms=300.0),
                quality_loss_points=2.0,
            ),
            WorkloadClass(
                "shared", source="builtin:long", prompts=10, input_tokens=Lengths("fixed", 900, 0),
                shared_prefix_tokens=500, shared_prefix_share=0.25,
            ),
        ),
        file=scenario.file,
    )  # fmt: skip


def test_everything_of_a_rate_can_be_set(write) -> None:
    """Requests in flight are nobody's plan there, and no user has a warm-up of its own: 0 and none in run.json."""
    keys = 'kind = "rate"\nrates = [0.5, 8]\narrivals = "gamma"\nburstiness = 0.3\nmax_in_flight = 40'
    load = reading.load(write(f'[load]\n{keys}\n[[class]]\nname = "short"')).load
    assert load == Load("rate", (), (0.5, 8.0), "gamma", 0.3, 40, 0)
    assert load.levels == ((None, 0.5), (None, 8.0))


def test_the_kind_of_load_that_is_typed_wins_over_the_file(write) -> None:
    """`--rates` makes a load by rate of any scenario, `--steps` one of steps; what the file says of the other goes."""
    rate = reading.load("baseline", [("load.kind", "rate"), ("load.rates", "2,5")]).load
    assert (rate.levels, rate.warmup_requests) == (((None, 2.0), (None, 5.0)), 0)
    text = '[load]\nkind = "rate"\nrates = 3\narrivals = "gamma"\nburstiness = 2\n[[class]]\nname = "short"'
    steps = reading.load(write(text), [("load.kind", "steps"), ("load.steps", "1,4")]).load
    assert (steps.levels, steps.rates, steps.warmup_requests) == (((1, None), (4, None)), (), 3)
    constant = reading.load(write(text), [("load.arrivals", "constant")]).load
    assert (constant.arrivals, constant.burstiness) == ("constant", 1.0)


def test_a_soak_holds_the_step_that_asks_for_most() -> None:
    """The first of those in time alone, whatever the cap; the others keep their windows, and so do all without it."""
    load = reading.load("soak").load
    assert (load.steps, load.held) == ((1, 4, 8, 4, 1), 2)
    windows = [(part.window_s, part.window_requests, part.window_cap_s) for part in map(load.of_step, range(5))]
    assert windows == [(60.0, 0, 600.0)] * 2 + [(14400.0, 0, 14400.0)] + [(60.0, 0, 600.0)] * 2
    assert reading.load("mixed").load.held is None
    assert reading.load("rate", [("load.hold_s", "1h")]).load.held == 2
    assert reading.load("soak", [("load.steps", "2,9,9")]).load.held == 1


@pytest.mark.parametrize(
    ("name", "given", "wanted"),
    [
        ("soak", [("load.duration_s", "30")], (30.0, 60.0, 0)),
        ("soak", [("load.duration_s", "30"), ("load.hold_s", "none")], (None, 30.0, 0)),
        ("soak", [("load.duration_s", "30"), ("load.hold_s", "1h")], (3600.0, 60.0, 0)),
        ("mixed", [("load.duration_s", "30")], (None, 30.0, 0)),
        ("mixed", [("load.duration_s", "30"), ("load.window_requests", "7")], (None, 30.0, 7)),
        ("mixed", [("load.duration_s", "30"), ("load.hold_s", "1m")], (60.0, 60.0, 100)),
    ],
)
def test_a_duration_is_the_hold_of_a_soak(name: str, given: list[tuple[str, str]], wanted: tuple[object, ...]) -> None:
    """Elsewhere it is the window of each step, by time alone; what --set says of the same key stays."""
    load = reading.load(name, given).load
    assert (load.hold_s, load.window_s, load.window_requests) == wanted


def test_every_field_has_a_key() -> None:
    """A field that no file can set would be dead, and a key without a field would be lost."""

    def fields(record: type) -> set[str]:
        return {item.name for item in dataclasses.fields(record)}

    assert set(reading.LOAD) == fields(Load)
    assert set(reading.LIMITS) == fields(Limits)
    assert set(reading.SLOS) == fields(SLO)
    assert set(reading.CLASS) == fields(WorkloadClass) - {"digest"}
    assert set(reading.COST) == fields(Cost)
    assert set(reading.CAPABILITIES) == fields(Capabilities)
    assert set(reading.TOP) - {"class"} == fields(Scenario) - {"classes", "file", "fitted"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "[load]\nstepz = [1]",
            ("[load] stepz: unknown key; expected one of: kind, steps, rates, arrivals, burstiness, max_in_flight, "
            "warmup_requests, warmup_s, window_s, window_requests, window_cap_s, drain_limit_s, settle_s, "
            "max_failures_in_a_row, max_requests, max_tokens_total, hold_s; did you mean steps?"),
        ),
        ("[load]\nsteps = [1, 0]", "[load] steps: expected whole numbers of at least 1, got 0"),
        ("[load]\nsteps = []", "[load] steps: expected at least one whole number, got []"),
        ("[load]\nsteps = [true]", "[load] steps: expected whole numbers of at least 1, got true"),
        ("[load]\nkind = 'rate'", ('[load] rates: missing; kind = "rate" needs arrivals per second, step by step, '
         "such as rates = [2, 5]")),
        ("[load]\nrates = [2]", ('[load] rates: belongs to kind = "rate", and this load is of kind = "steps"; '
         "set load.kind, or take rates out")),
        ("[load]\nkind = 'rate'\nrates = 2\nsteps = 1", ('[load] steps: belongs to kind = "steps", and this load is '
         'of kind = "rate"; set load.kind, or take steps out')),
        ("[load]\nkind = 'rate'\nrates = 2\nburstiness = 2", ('[load] burstiness: belongs to arrivals = "gamma"; '
         "set arrivals, or take burstiness out")),
        ("[load]\nkind = 'rate'\nrates = [2, 0]", "[load] rates: expected a number above 0 and at most 100000, got 0"),
        ("[load]\nkind = 'hand'", '[load] kind: expected one of steps, rate, got "hand"'),
        ("[load]\nseed = 2", "[load] seed: unknown key; it belongs to the top of the file, before the first [table]"),
        ("steps = [1]", "steps: unknown key; it belongs to [load]"),
        ("ttft_ms = 1", "ttft_ms: unknown key; it belongs to [slo]"),
        ("max_tokens = 1", "max_tokens: unknown key; it belongs to [[class]]"),
        ("load = 3", "[load]: expected a table, got 3"),
        ("api = 'chatt'", 'api: expected one of chat, completions, got "chatt"'),
        ("seed = -1", "seed: expected a whole number of at least 0, got -1"),
        ("stream = 1", "stream: expected true or false, got 1"),
        ("temperature = 'hot'", 'temperature: expected a number of at least 0, got "hot"'),
        (
            "[load]\nwindow_s = 'a while'",
            ('[load] window_s: expected seconds as a number, or a time such as "20s", "150ms", "10m" or "1h", '
            'got "a while"'),
        ),
        ("[load]\nwindow_s = 0", "[load] window_s: expected a time above 0, got 0"),
        ("[load]\nwindow_s = 60\nwindow_cap_s = 10", "[load] window_cap_s: expected at least window_s (60), got 10"),
        ("extra_body = {n = 2}", ("extra_body: n: expected 1, got 2: several choices share one usage, so that no time "
         "per token could be told; take it out")),
        ("headers = {Authorization = 'x'}", ("headers: Authorization: a key never stands in a file; put it into the "
         "environment and name the variable with key_env")),
        ("key_env = 'sk-secret-XYZ'", ("key_env: expected the name of an environment variable (letters, digits and _), "
         "not a key; put the key into the environment and name the variable here")),
        ("token_counting = 'tokenizer'", ('tokenizer: missing; token_counting = "tokenizer" needs the path of a '
         "tokenizer.json")),
    ],
)  # fmt: skip
def test_refused_keys(write, text: str, sentence: str) -> None:
    """File, table, key, what was expected and what was got, in one sentence."""
    assert refused(write(f'{text}\n[[class]]\nname = "short"')) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("weight = 1", "[[class]] number 1 name: missing; every class has a name, such as short"),
        ('name = "all"', '[[class]] all name: expected letters, digits, - and _, and not all, got "all"'),
        ('name = "a b"', '[[class]] a b name: expected letters, digits, - and _, and not all, got "a b"'),
        (
            'name = "own"',
            "[[class]] own source: missing; expected one of builtin:short, builtin:medium, builtin:long, file",
        ),
        ('name = "short"\nweight = 0', "[[class]] short weight: expected a number above 0, got 0"),
        ('name = "short"\nmax_tokens = 0', ("[[class]] short max_tokens: expected at least 1 token and at most "
         "10,000,000, got 0")),
        ('name = "short"\nmaxtokens = 5', ("[[class]] short maxtokens: unknown key; expected one of: "
         f"{', '.join(reading.CLASS)}; did you mean max_tokens?")),
        ('name = "short"\nmin_tokens = 500', ("[[class]] short min_tokens: expected no more than max_tokens (128), "
         "got 500")),
        ('name = "short"\npath = "x"\nsource = "builtin:short"', '[[class]] short path: belongs to source = "file"'),
        ('name = "own"\nsource = "file"', ('[[class]] own path: missing; source = "file" needs the path of its data '
         "file")),
        ('name = "short"\nshared_prefix_share = 0.5', ("[[class]] short shared_prefix_share: needs "
         "shared_prefix_tokens, the length of that prefix")),
        ('name = "short"\n[class.slo]\nttft = 5', ("[[class]] short [slo] ttft: unknown key; expected one of: ttft_ms, "
         "tpot_ms, e2e_ms, itl_max_ms; did you mean ttft_ms?")),
        ('name = "short"\n[[class]]\nname = "short"', "[[class]] name: expected names that differ, got 'short' twice"),
    ],
)  # fmt: skip
def test_refused_classes(write, text: str, sentence: str) -> None:
    """A class is named by its name where it has one."""
    assert refused(write(f"[[class]]\n{text}")) == sentence


def test_a_file_without_classes(write) -> None:
    """An empty file says what is needed and shows it."""
    assert refused(write("")).startswith("[[class]]: expected at least one table, got none; add one such as:")
    assert refused(write("class = 3")).startswith("[[class]]: expected at least one table")


def test_no_toml(write) -> None:
    """The parser's own words carry line and column."""
    assert refused(write("seed = \n")) == "no valid TOML: Invalid value (at line 1, column 8)"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A bare name that is nearly one of the shipped ones gets a suggestion."""
    assert refused("mixd") == f"no such scenario file; shipped scenarios: {', '.join(SHIPPED)}; did you mean mixed?"
    assert refused(str(tmp_path)).startswith("a folder, no scenario file; shipped scenarios: ")
    assert refused(str(tmp_path / "nothing.toml")).startswith("no such scenario file; shipped scenarios: ")


def test_the_warmup_must_be_able_to_cover_every_class(write) -> None:
    """One user with one warm-up request cannot warm up three classes; three users with one each can."""
    classes = "".join(f'[[class]]\nname = "{name}"\n' for name in ("short", "medium", "long"))
    assert refused(write(f"[load]\nsteps = [1, 3]\nwarmup_requests = 1\n{classes}")) == (
        "[load] warmup_requests: expected at least 3, so that 1 in flight warm up each of the 3 classes, got 1"
    )
    assert reading.load(write(f"[load]\nsteps = [3]\nwarmup_requests = 1\n{classes}")).load.steps == (3,)


def test_data_files(write, tmp_path: Path) -> None:
    """A data file is found beside the scenario and its digest is kept; what is wrong with it is said."""
    text = '[[class]]\nname = "own"\npath = "data.jsonl"'
    assert refused(write(text)) == (
        f"[[class]] own path: no such file: {tmp_path}/data.jsonl; a relative path starts at the scenario's folder"
    )
    (tmp_path / "data.jsonl").write_text('{"prompt": "hi"}\n')
    cls = reading.load(write(text)).classes[0]
    assert (cls.source, cls.path) == ("file", str(tmp_path / "data.jsonl"))
    assert cls.digest == hashlib.sha256(b'{"prompt": "hi"}\n').hexdigest()
    (tmp_path / "empty.jsonl").write_text("")
    assert refused(write('[[class]]\nname = "own"\npath = "empty.jsonl"')) == (
        f"[[class]] own path: {tmp_path}/empty.jsonl: no prompt in it; expected at least one line such as "
        '{"prompt": "…"}'
    )
    assert refused(write(f"{text}\ninput_tokens = 5")) == (
        '[[class]] own input_tokens: belongs to built-in prompts; those of source = "file" go as they are'
    )


def test_overrides() -> None:
    """Dotted keys from the command line win over the file; later ones win over earlier ones."""
    scenario = reading.load(
        "mixed",
        [
            ("load.steps", "2"),
            ("load.steps", "1,4"),
            ("load.window_s", "20s"),
            ("load.window_requests", "0"),
            ("model", "7"),
            ("temperature", "none"),
            ("stream", "false"),
            ("labels.engine", "v2"),
            ("labels.try", "3"),
            ("headers.X-Trace.Id", "a.b"),
            ("extra_body.top_p", "0.9"),
            ("extra_body.stop", '["a", "b"]'),
            ("slo.ttft_ms", "1s"),
            ("cost.per_million_input", "0.5"),
            ("class.long.max_tokens", "50"),
            ("class.short.input_tokens", "U(100,120)"),
            ("class.short.slo.ttft_ms", "300"),
            ("class.short.extra_body.priority", "-1"),
        ],
    )
    short, _, long = scenario.classes
    assert (scenario.load.steps, scenario.load.window_s, scenario.load.window_requests) == ((1, 4), 20.0, 0)
    assert (scenario.model, scenario.temperature, scenario.stream) == ("7", None, False)
    assert (scenario.labels, scenario.headers) == ({"engine": "v2", "try": "3"}, {"X-Trace.Id": "a.b"})
    assert (scenario.extra_body, scenario.slo.ttft_ms) == ({"top_p": 0.9, "stop": ["a", "b"]}, 1000.0)
    assert scenario.cost.per_million_input == 0.5
    assert (long.max_tokens.a, short.input_tokens, short.slo.ttft_ms) == (50.0, Lengths("uniform", 100, 120), 300.0)
    assert short.extra_body == {"priority": -1}


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("load.steps", "0", "load.steps (from the command line): expected whole numbers of at least 1, got 0"),
        ("load.steps", "1,x", 'load.steps (from the command line): expected whole numbers of at least 1, got "1,x"'),
        ("load.steps", "", "load.steps (from the command line): expected at least one whole number, got []"),
        ("load.window_s", "soon", ("load.window_s (from the command line): expected seconds as a number, or a time "
         'such as "20s", "150ms", "10m" or "1h", got "soon"')),
        ("lod.steps", "1", f"lod: unknown key; expected one of: {', '.join(reading.TOP)}; did you mean load?"),
        ("class.shrt.weight", "1", ("class.shrt.weight (from the command line): expected class.NAME.KEY with one of "
         "the classes short, medium, long; did you mean short?")),
        ("class.short", "1", ("class.short (from the command line): expected class.NAME.KEY with one of the classes "
         "short, medium, long; did you mean short?")),
        ("seed.x", "1", "seed.x (from the command line): seed is no table"),
        ("load.rates", "2", ('load.rates (from the command line): belongs to kind = "rate", and this load is of kind = '
         '"steps"; set load.kind, or take rates out')),
        ("load", "1", '[load]: expected a table, got "1"'),
        ("load.seed", "1", ("load.seed (from the command line): unknown key; it belongs to the top of the file, "
         "before the first [table]")),
        ("extra_body.n", "3", ("extra_body: n: expected 1, got 3: several choices share one usage, so that no time per "
         "token could be told; take it out")),
    ],
)  # fmt: skip
def test_refused_overrides(write, key: str, value: str, sentence: str) -> None:
    """The sentence says that the value came from the command line."""
    classes = "".join(f'[[class]]\nname = "{name}"\n' for name in ("short", "medium", "long"))
    assert refused(write(f"seed = 1\n{classes}"), [(key, value)]) == sentence


def test_a_longer_window_from_the_command_line_lifts_the_cap() -> None:
    """`--duration 1h` on a file whose cap is ten minutes means an hour."""
    load = reading.load("mixed", [("load.window_s", "3600")]).load
    assert (load.window_s, load.window_cap_s) == (3600.0, 3600.0)
    assert "window_cap_s" in refused("mixed", [("load.window_cap_s", "5")])


def test_tools(write) -> None:
    """Tools go into the request as they are; the completions API has none."""
    text = '[[class]]\nname = "short"\n[[class.tools]]\ntype = "function"\n[class.tools.function]\nname = "f"'
    assert reading.load(write(text)).classes[0].tools == ({"type": "function", "function": {"name": "f"}},)
    assert refused(write(f'api = "completions"\n{text}')) == '[[class]] short tools: belongs to api = "chat"'
    assert refused(write('[[class]]\nname = "short"\ntools = ["f"]')).startswith(
        "[[class]] short tools: expected a list of tables"
    )


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.dates(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


def table(keys: dict) -> st.SearchStrategy:
    """A table with some of these keys and anything as values."""
    return st.dictionaries(st.sampled_from(sorted(keys)), ANY, max_size=3)


@given(
    table(reading.TOP),
    st.fixed_dictionaries({}, optional={name: table(keys) for name, keys in reading.TABLES.items()}),
    st.lists(table(reading.CLASS).map(lambda row: {"name": "short", **row}), max_size=2),
    st.lists(st.tuples(st.sampled_from(["load.steps", "load.x.y", "class.short.weight", "seed", "headers.a.b"]),
                       st.text(max_size=4)), max_size=2),
)  # fmt: skip
def test_whatever_stands_in_a_file_is_read_or_refused_in_a_sentence(top, tables, classes, overrides) -> None:
    """No value of any type at any key ends in anything but a scenario or a Stop."""
    raw = {**top, **tables, "class": classes}
    try:
        for key, text in overrides:
            override.put("f", raw, key, text)
        scenario = reading._Reader("f", Path("f.toml")).scenario(raw)
    except Stop:
        return
    assert reading.from_resolved(json.loads(json.dumps(reading.resolved(scenario)))) == scenario


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=8)
SECONDS = st.floats(0.001, 1e5)
LENGTHS = st.builds(Lengths, st.just("normal"), st.floats(1, 1e5).map(lambda x: round(x, 3)), st.just(4.0))
JSON = st.dictionaries(TEXT, st.one_of(st.none(), st.booleans(), st.integers(-9, 9), TEXT, st.lists(TEXT)), max_size=2)
CLASSES = st.builds(
    WorkloadClass,
    name=TEXT,
    weight=SECONDS,
    input_tokens=st.none() | LENGTHS,
    max_tokens=LENGTHS,
    min_tokens=st.none() | st.integers(0, 9),
    temperature=st.none() | SECONDS,
    extra_body=JSON,
    headers=st.dictionaries(TEXT, TEXT, max_size=2),
    tools=st.lists(JSON, max_size=2).map(tuple),
    slo=st.none() | st.builds(SLO, ttft_ms=st.none() | SECONDS),
)
SCENARIOS = st.builds(
    Scenario,
    name=TEXT,
    classes=st.lists(CLASSES, min_size=1, max_size=3).map(tuple),
    seed=st.integers(0, 2**53),
    temperature=st.none() | SECONDS,
    extra_body=JSON,
    labels=st.dictionaries(TEXT, TEXT, max_size=2),
    load=st.builds(Load, steps=st.lists(st.integers(1, 99), min_size=1).map(tuple), window_s=SECONDS),
    limits=st.builds(Limits, connect_s=SECONDS),
    slo=st.builds(SLO, e2e_ms=st.none() | SECONDS),
    environment=st.dictionaries(TEXT, TEXT, max_size=2),
    cost=st.builds(Cost, gpu_hour=st.none() | SECONDS, gpus=st.none() | st.integers(1, 9)),
    capabilities=st.builds(Capabilities, languages=st.lists(st.sampled_from(["en", "de"])).map(tuple)),
    fitted=st.none() | st.dictionaries(TEXT, st.integers(1, 9999), max_size=2),
)


@given(SCENARIOS)
def test_resolved_round_trip(scenario: Scenario) -> None:
    """run.json holds the whole scenario: nothing is lost on the way through JSON."""
    assert reading.from_resolved(json.loads(json.dumps(reading.resolved(scenario)))) == scenario


def test_resolved_of_another_version() -> None:
    """Members that this version does not know are passed over, missing ones get their defaults."""
    data = reading.resolved(reading.load("mixed"))
    data["new"] = data["load"]["new"] = data["classes"][0]["new"] = 1
    del data["stall_ms"], data["load"]["settle_s"]
    assert reading.from_resolved(data) == reading.load("mixed")
