"""Lengths drawn from distributions, and prompts cut until they have them."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import mean, pstdev

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from llmload.exits import Stop
from llmload.load import lengths, reading
from llmload.load.head import head
from llmload.load.mix import Mix
from llmload.load.prompts import render
from llmload.load.scenario import Lengths


def test_draws_are_even_quantiles() -> None:
    """U(0,10) in five: the middles of five equal parts. By hand: 1, 3, 5, 7, 9."""
    drawn = lengths.draws(Lengths("uniform", 0, 10), 5, "key")
    assert sorted(drawn) == [1, 3, 5, 7, 9]
    assert lengths.draws(Lengths("uniform", 0, 10), 5, "key") == drawn
    assert [lengths.draws(Lengths("uniform", 0, 10), 5, str(at)) for at in range(9)].count(drawn) < 3


def test_draws_have_the_mean_and_spread_of_their_distribution() -> None:
    """N(217,40) in a hundred."""
    drawn = lengths.draws(Lengths("normal", 217, 40), 100, "key")
    assert abs(mean(drawn) - 217) < 0.5
    assert abs(pstdev(drawn) - 40) < 1.5


def test_no_length_is_below_one() -> None:
    """A wide distribution is cut off at 1; no spread at all is a fixed length."""
    assert min(lengths.draws(Lengths("normal", 2, 50), 100, "key")) == 1
    assert (
        lengths.draws(Lengths("normal", 7, 0), 3, "key") == lengths.draws(Lengths("fixed", 7, 0), 3, "key") == [7] * 3
    )


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """A small byte-pair tokenizer trained on other texts of the same kinds; digits stand alone, as in many models."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    trainer = trainers.BpeTrainer(vocab_size=3000, special_tokens=["<s>"], show_progress=False)
    texts = [render(kind, number, 4000) for kind in ("short", "medium", "long") for number in range(100, 110)]
    heads = [head(9, 0, "measured", 0, index) for index in range(2000)]  # common words, so each is one token
    made.train_from_iterator([*texts, *heads], trainer)
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    return made


class Counting:
    """Counts tokens as a server would, and how often it was asked."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.texts = 0

    def __call__(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special ones left out."""
        self.texts += len(texts)
        return [len(found) for found in self.tokenizer.encode_batch(list(texts), add_special_tokens=False)]


@pytest.mark.parametrize(
    ("name", "fewer"), [("mixed", [("class.long.prompts", "40")]), ("llama", []), ("baseline", [])]
)
def test_prompts_hit_their_length(name: str, fewer: list[tuple[str, str]], tokenizer: Tokenizer) -> None:
    """Every request is within 5 % of the length drawn for it, head and template included; a class's mean within 1 %."""
    overhead = 17
    scenario = reading.load(name, fewer)
    count = Counting(tokenizer)
    fit = lengths.fit(scenario, count, overhead)
    prompts = sum(cls.prompts for cls in scenario.classes)
    assert len(fit) == prompts
    assert count.texts <= 4 * prompts + 9
    mix = Mix(scenario, fit)
    calls = [mix.measured(0, index) for index in range(200)]
    for cls in scenario.classes:
        own = [call for call in calls if call.workload == cls.name]
        got = [tokens + overhead for tokens in count([call.text for call in own])]
        wanted = [call.requested_input_tokens or 0 for call in own]
        assert max(abs(a - b) / b for a, b in zip(got, wanted, strict=True)) <= 0.05
        assert abs(mean(got) / mean(wanted) - 1) < 0.01


def test_a_shared_prefix_is_fitted_too(tokenizer: Tokenizer) -> None:
    """A request that reuses it has the prefix's tokens on top of its own."""
    few = [(f"class.{name}.prompts", "8") for name in ("medium", "long")]
    scenario = reading.load("mixed", [("class.short.shared_prefix_tokens", "600"), *few])
    count = Counting(tokenizer)
    mix = Mix(scenario, lengths.fit(scenario, count, 17))
    calls = [call for call in (mix.measured(0, index) for index in range(40)) if call.workload == "short"]
    for call, tokens in zip(calls, count([call.text for call in calls]), strict=True):
        assert abs(tokens + 17 - call.requested_input_tokens) <= 0.05 * call.requested_input_tokens
        assert call.requested_input_tokens > 700


def test_a_ratio_is_enough() -> None:
    """Counting by characters gives texts of the right number of characters in one go."""
    scenario = replace(reading.load("mixed"), cache_busting=False)
    fit = lengths.fit(scenario, lambda texts: [round(len(text) / 4) for text in texts], 0)
    mix = Mix(scenario, fit)
    for call in (mix.measured(0, index) for index in range(50)):
        assert abs(len(call.text) / 4 - call.requested_input_tokens) <= max(3, 0.02 * call.requested_input_tokens)


def test_prompts_that_cannot_be_so_short() -> None:
    """A question alone is the shortest prompt there is; the sentence says how short that is."""
    scenario = reading.load("mixed", [("class.long.input_tokens", "20")])
    with pytest.raises(
        Stop, match=r"class long: input_tokens: prompt long-\d+ cannot be as short as 20 tokens, \d+ is"
    ):
        lengths.fit(scenario, lambda texts: [len(text) // 4 for text in texts], 10)


def test_a_counter_that_cuts_long_texts_off_is_given_up() -> None:
    """Texts that it is never content with do not grow for ever."""
    few = [(f"class.{name}.prompts", "2") for name in ("short", "medium", "long")]
    scenario = reading.load("mixed", [("class.long.input_tokens", "800"), *few])
    longest: list[int] = []

    def count(texts: Sequence[str]) -> list[int]:
        longest.append(max(map(len, texts)))
        return [min(len(text) // 4, 50) for text in texts]

    lengths.fit(scenario, count, 0)
    assert max(longest) <= 800 * lengths.MOST_CHARS_PER_TOKEN + 2000
