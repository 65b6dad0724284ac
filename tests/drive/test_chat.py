"""What a user's own locustfile may ask for: refused before anything is sent, or passed on as it is."""

from typing import Any, cast

import pytest

from llmload.drive.user import Chat
from llmload.load.call import Call


class Turnstile:
    """Lets everybody in."""

    def enter(self) -> None:
        """Come in."""


class Gate:
    """Stands open."""

    def is_set(self) -> bool:
        """Whether it stands open."""
        return True


class Session:
    """Keeps the calls that it is asked to send."""

    def __init__(self) -> None:
        self.turnstile, self.gate = Turnstile(), Gate()
        self.calls: list[Call] = []

    def attempt(self, _user: Any, call: Call) -> Any:
        """Keep a call."""
        self.calls.append(call)
        return "answer"


def chat(**more: Any) -> list[Call]:
    """The calls that come out of one chat."""
    session = Session()
    Chat(None, cast("Any", session)).chat([{"role": "user", "content": "hi"}], **more)
    return session.calls


@pytest.mark.parametrize("name", ["Authorization", "X-Api-Key", "X-Auth-Token"])
def test_a_key_in_a_locustfile_is_refused(name: str) -> None:
    """The one from the environment is hidden everywhere; another would not be, so none is sent."""
    with pytest.raises(ValueError, match="a key never stands in a file") as caught:
        chat(headers={name: "Bearer sk-other"})
    assert "sk-other" not in str(caught.value)


def test_other_headers_are_passed_on() -> None:
    """As texts; and a chat without any has none."""
    assert chat(headers={"X-Priority": 1})[0].headers == {"X-Priority": "1"}
    assert chat()[0].headers == {}


def test_a_body_that_breaks_measuring_is_refused() -> None:
    """As in a scenario."""
    with pytest.raises(ValueError, match="n: expected 1, got 2"):
        chat(extra_body={"n": 2})


def test_no_class_is_called_as_the_row_of_all() -> None:
    """Its figures would stand in the place of those of all classes together."""
    with pytest.raises(ValueError, match="workload 'all' is the row of all classes together"):
        chat(workload="all")
    assert chat(workload="t")[0].workload == "t"
