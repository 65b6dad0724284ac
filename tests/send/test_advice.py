"""Sentences on endpoints that cannot be measured, as far as no endpoint is needed to see them."""

import pytest

from llmload.record.record import RequestRecord
from llmload.send import advice
from llmload.send.settings import Sending

SENDING = Sending("http://h/v1", "m")


@pytest.mark.parametrize(
    ("words", "shown"),
    [("Incorrect API key.", "Incorrect API key"), ("no key", "no key"), ("and so on...", "and so on...")],
)
def test_a_servers_full_stop_is_none_within_a_sentence(words: str, shown: str) -> None:
    """Its words are followed by ours."""
    told = f"http://h/v1: 401: {shown}; no key was sent; put it in the environment variable OPENAI_API_KEY"
    assert advice.unauthorized(SENDING, 401, words, key=False).message == told


def test_a_plain_request_that_is_refused() -> None:
    """Nothing that we could change: where to look is said."""
    record = RequestRecord("", "", 0, 0, None, "measure", "", "", None, "http_error", http_status=500, error="oops.")
    told = (
        "http://h/v1: the server refuses a plain request: 500: oops; its log may say why, and llmload probe shows one"
    )
    assert advice.refused(SENDING, record).message.startswith(told)
