"""The muster with workers that say what the test says: who is silent, who answers late, who is of another kind."""

from types import SimpleNamespace
from typing import Any

import gevent
import pytest
from locust.runners import STATE_RUNNING

from llmload import __version__
from llmload.drive import messages, muster
from llmload.drive.muster import Muster
from llmload.drive.order import Order
from llmload.exits import Exit, Stop
from tests.drive.masters import Master


class Bench:
    """A muster, and what it said to whom."""

    def __init__(self, *nodes: str) -> None:
        self.master = Master(*nodes)
        self.said: list[str] = []
        voice: Any = SimpleNamespace(say=self.said.append, complain=self.said.append)
        given = SimpleNamespace(
            processes=None, expect_workers_max_wait=0, master_bind_host="0.0.0.0", master_bind_port=5557
        )
        self.muster = Muster(SimpleNamespace(runner=self.master, parsed_options=given), voice)

    def hears(self, kind: str, node: str, **data: Any) -> None:
        """A worker says something."""
        self.master.hears[kind](environment=None, msg=SimpleNamespace(data={"node": node, **data}))

    def soon(self, after_s: float, kind: str, node: str, **data: Any) -> None:
        """The same, in a moment."""
        gevent.spawn_later(after_s, lambda: self.hears(kind, node, **data))

    def hello(self, node: str, version: str = __version__, host: str = "east") -> None:
        """A worker says who it is."""
        who = {"host": host, "pid": 7, "version": version, "python": "3.11.0", "locust": "2.47.0"}
        self.hears(messages.HELLO, node, who=who, asked=1.0)

    def told(self, kind: str) -> list[str | None]:
        """To whom something was said."""
        return [node for what, _, node in self.master.sent if what == kind]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Minutes are parts of a second."""
    for name, seconds in {"GREETED_S": 0.1, "CALL_AGAIN_S": 0.1, "UNANSWERED_S": 0.5, "SLOW_S": 0.2}.items():
        monkeypatch.setattr(muster, name, seconds)


def order(run: str) -> Order:
    """The order of a run that needs one file."""
    files = [{"path": "/nowhere", "digest": "d", "bytes": 1}]
    return Order(run, {"name": "s"}, {"key_env": "SOME_KEY"}, "", {}, files=files)


def test_whoever_does_not_answer_is_called_again_then_dismissed() -> None:
    """`deaf` never answers, `strange` never said who it is, `slow` asks for parts all the time and is waited for."""
    bench = Bench("deaf", "strange", "slow")
    bench.hello("deaf")
    bench.hello("slow")

    def busy() -> None:
        for _ in range(9):
            gevent.sleep(0.1)
            bench.hears(messages.WANT, "slow", run="r", digest="d", part=0)
        bench.hears(messages.READY, "slow", run="r", key=True)

    gevent.spawn(busy)
    bench.muster.call(order("r"), set(), 1)
    assert bench.told(messages.DISMISSED) == ["strange", "deaf"]
    assert list(bench.master.clients) == ["slow"]
    assert bench.told(messages.CALL).count("deaf") >= 3
    assert {data["failure"] for kind, data, _ in bench.master.sent if kind == messages.PART} == {
        "/nowhere: No such file or directory"
    }
    refused = [note for note in bench.muster.take_notes() if "is refused: " in note]
    assert "worker strange is refused: it says nothing of llmload" in refused[0]
    assert "the worker on east (process 7) is refused: it did not answer" in refused[1]
    assert any("to get ready" in sentence for sentence in bench.said)


def test_one_that_was_refused_for_a_run_is_no_obstacle_for_the_next() -> None:
    """Fewer than expected: the sentence of the first that was refused. Then another one comes, and all is well."""
    bench = Bench("a", "b")
    bench.hello("a")
    bench.hello("b", version="9.9.9")
    assert bench.told(messages.DISMISSED) == ["b"]
    with pytest.raises(Stop, match=r"is refused: it runs llmload 9\.9\.9, the master") as stopped:
        bench.muster.wait(2)
    assert stopped.value.code == Exit.USAGE
    bench.muster.wait(1)
    bench.soon(0.05, messages.READY, "a", run="r2", key=True)
    bench.muster.call(order("r2"), set(), 1)
    gevent.sleep(muster.UNANSWERED_S * 1.5)
    bench.soon(0.25, messages.READY, "a", run="r3", key=True)  # a run later: it has its time anew
    bench.muster.call(order("r3"), set(), 1)
    assert list(bench.master.clients) == ["a"]


def test_a_stranger_is_refused_before_the_run_and_the_others_are_waited_for() -> None:
    """Plain Locust's worker would be waited for without a word."""
    bench = Bench("a", "strange")
    bench.hello("a")

    def comes() -> None:
        bench.master.clients["b"] = SimpleNamespace(id="b", state=STATE_RUNNING)
        bench.hello("b")

    gevent.spawn_later(muster.GREETED_S * 3, comes)
    bench.muster.wait(2)
    assert bench.told(messages.DISMISSED) == ["strange"]
    refused = "worker strange is refused: it says nothing of llmload; start it with: llmload run --worker"
    assert bench.said == [refused, f"1 of 2 workers connected; {refused}"]
    assert list(bench.master.clients) == ["a", "b"]


def test_what_a_worker_says_of_itself_is_fit_for_a_terminal() -> None:
    """Whoever reaches the port may say anything."""
    bench = Bench("a")
    bench.hello("a", host="\x1b[31mred\nline")
    bench.soon(0.05, messages.UNFIT, "a", run="r", why="no\x1b[2J way", code=3)
    with pytest.raises(Stop) as stopped:
        bench.muster.call(order("r"), set(), 1)
    assert stopped.value.message == "the worker on  [31mred line (process 7) is refused: no [2J way"
    assert stopped.value.code == Exit.UNMEASURABLE


def test_who_is_no_name_is_answered_as_one() -> None:
    """Whoever reaches the port may say anything, and Locust would try for seconds to send to a number."""
    bench = Bench("a")
    bench.hears(messages.HELLO, 7, who={"version": __version__}, asked=1.0)  # type: ignore[arg-type]
    assert bench.told(messages.TIME) == ["7"]


def test_another_python_and_a_key_that_only_the_master_has_are_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    """They refuse nobody: an endpoint that wants no key may well be asked without one."""
    monkeypatch.setenv("SOME_KEY", "sk-1")
    bench = Bench("a")
    bench.hello("a")
    bench.muster.who["a"]["python"] = "3.99.0"
    bench.soon(0.05, messages.READY, "a", run="r", key=False)
    bench.muster.call(order("r"), set(), 1)
    keyless, note = [note for note in bench.muster.take_notes() if "Locust" not in note]
    assert keyless == "the worker on east (process 7) has no SOME_KEY in its environment, and the master has one"
    assert note.startswith("the worker on east (process 7) has Python 3.99.0, the master 3.")
    assert bench.muster.take_notes() == []
