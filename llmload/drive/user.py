"""`llmload.LLMUser`: the base for users of a locustfile of one's own.

    from locust import task
    from llmload import LLMUser

    class Reader(LLMUser):
        @task
        def ask(self):
            answer = self.client.chat([{"role": "user", "content": "Why is the sky blue?"}], max_tokens=64)
            if answer.record.outcome == "ok":
                print(answer.record.ttft_ms, answer.text)

Every attempt becomes a record of the run folder and one `request` event, whatever became of it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from locust import User
from locust.exception import StopTest, StopUser

from llmload.drive import hooks, plugin, wiring
from llmload.drive.session import Answer, Session
from llmload.load import reading, values
from llmload.load.call import Call

__all__ = ["LLMUser", "plugin"]  # importing the plugin is what puts llmload into Locust


class Chat:
    """What a user sends with: `self.client` of an LLMUser."""

    def __init__(self, user: Any, session: Session) -> None:
        self._user = user
        self._session = session

    def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int = 128,
        workload: str = "chat",
        prompt: str = "own",
        **more: Any,
    ) -> Answer:
        """Send one request and wait for its end; a failure is an answer too, see `record.outcome`.

        `workload` is the class under which it is reported, `prompt` an id (never the text) in its record. `more`:
        temperature, extra_body, headers, tools, ignore_eos, min_tokens. Raises locust's StopUser if the run is over,
        and ValueError for an extra_body that would break measuring, as `n` of 2 does, and for headers that hold a key,
        which only ever comes from the environment, and for a workload called `all`.
        """
        if workload in reading.TAKEN_NAMES:
            raise ValueError(f"workload {workload!r} is the row of all classes together; call the class something else")
        values.extra_body(more.get("extra_body") or {})
        more["headers"] = values.headers(more.get("headers") or {})
        call = Call(
            workload=workload,
            prompt=prompt,
            messages=tuple(dict(message) for message in messages),
            text="\n".join(str(message.get("content") or "") for message in messages),
            max_tokens=max_tokens,
            **more,
        )
        self._session.turnstile.enter()
        if not self._session.gate.is_set():
            raise StopUser
        answer = self._session.attempt(self._user, call)
        if answer is None:
            raise StopUser
        return answer


class LLMUser(User):
    """A user with a `client` that measures. The endpoint is that of `-H`, or `host` of the class."""

    abstract = True

    model: str | None = None
    """Asked for; None takes the only one that the endpoint offers."""
    key_env = "OPENAI_API_KEY"
    """The environment variable with the API key."""

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        hooks.put_on(environment.events)
        session = wiring.session(environment)
        if session is None:
            raise StopTest("llmload: no run is open, so nothing can be sent; the reason stands above")
        self.client = Chat(self, session)
