"""The sampler of GPUs and of the server's own metrics, as the process that conducts sees it: a child, line by line.

It is `python -m llmload.gather`, in a session of its own, so that no Ctrl-C reaches it, and it ends with its standard
input, so that it never outlives this process. What it cannot look at is a refusal before the load; from then on
nothing that becomes of it ends a run: it is a note.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import gevent
import orjson
from gevent.event import AsyncResult
from gevent.fileobject import FileObjectPosix

from llmload import handover
from llmload.exits import Exit, Stop
from llmload.load.sources import METRICS, Sources, hidden
from llmload.plain import one_line
from llmload.record import clock, samples
from llmload.send import target
from llmload.send.settings import Sending

COMMAND = (sys.executable, "-m", "llmload.gather")
READY_S = 60.0
"""By then it has looked at everything once …"""
ANSWER_S = 15.0
"""… by then it has answered a word …"""
OVER_S = 120.0
"""… and by then it has fetched from a Prometheus what that has of a long run."""
HURRY_S = 8.0
"""Behind a Ctrl-C, for which is looked so often:"""
LOOK_S = 0.1
AGE_S = 1.5
"""What a page tells of GPUs may be so old: of the end of a window it tells later …"""
LATE_S = 0.25
"""… and anybody takes so long to answer."""
IDLE_S, IDLE_LOOKS, IDLE_MOST_S = 3.0, 3, 30.0
"""Before the first request GPUs are watched for so long, and for so many looks, but never longer than that."""

UNSTARTED = "the sampler of GPUs and server could not be started"
SILENT = "the sampler of GPUs and server did not start, or did not answer within a minute"
WITHOUT = "leave out --gpu, --prometheus, --server-metrics and --server-log to run without it"

ADVICE = {
    "--gpu": "see that `llmload sidecar` runs there; name its page, as http://gpu-host:9835/metrics, or leave it out",
    "--prometheus": "name the Prometheus itself, as http://prometheus-host:9090, or leave it out",
    "--server-metrics": "name the page of the server's own metrics, or off",
}
"""What to do about a source that is refused."""

Said = dict[str, Any]


class Sampling:
    """One per run in which something is sampled. `facts` is what run.json says of it, and goes on growing."""

    def __init__(self, sources: Sources, folder: Path, sending: Sending) -> None:
        self.sources = sources
        self._order = {
            "folder": str(folder.resolve()),
            "anchor_s": clock.at(0),
            "every_s": sources.every_s,
            "gpu": list(sources.gpu),
            "server": sources.server or (None if sources.no_server else guess(sending.base_url)),
            "server_asked": sources.server is not None,
            "server_log": sources.server_log,
            "prometheus": sources.prometheus,
            "selector": sources.selector,
            "ca": sending.ca,
            "insecure": sending.insecure,
        }
        self._folder = folder
        unneeded = {sending.key_env, handover.COMMAND}
        self._environment = {name: value for name, value in os.environ.items() if name not in unneeded}
        """Without the key: no page of metrics is ever sent it."""
        self._child: Child | None = None
        self._reader: Any = None
        self._awaited: dict[str, AsyncResult[Said | None]] = {}
        """Who waits for which word; None is given where the child ends before it."""
        self._restarts = 1
        self._going = self._paused = False
        self.facts: dict[str, Any] = {
            "every_s": sources.every_s,
            "gpu": [],
            "server": None,
            "prometheus": None,
            "idle": None,
            "notes": [],
        }

    @property
    def notes(self) -> list[str]:
        """What is to be known of it, and spoils nothing."""
        notes: list[str] = self.facts["notes"]
        return notes

    @property
    def _age_s(self) -> float:
        return LATE_S + (AGE_S if self.sources.gpu else 0.0)

    # Beginning

    def begin(self) -> str:
        """Start it and wait for its first looks; returns what is sampled, in words.

        Raises Stop(UNMEASURABLE) if something that was named cannot be sampled; no file is left then.
        """
        try:
            ready = self._start(READY_S)
            if ready is not None:
                self._refuse(ready)
                self._keep(ready)
                self._going = True
            elif self.sources.named:
                raise Stop(f"{SILENT if self._child else self.notes[-1]}; {WITHOUT}", Exit.UNMEASURABLE)
        except BaseException:
            self.close()
            for name in (samples.GPU, samples.SERVER):
                (self._folder / name).unlink(missing_ok=True)
            raise
        if not (self.sources.named or self.facts["server"]):
            self.close()  # nothing is there to be looked at
            if self.sources.repeated is not None:
                raise Stop(
                    f"--observer-check: nothing is sampled that could be paused ({'; '.join(self._words())}); "
                    "name what is, as --gpu URL, or leave it out",
                    Exit.UNMEASURABLE,
                )
        words = self._words()
        between = " " if len(words) == 1 else "\n  "  # a line each: URLs are long, and there may be many
        return between.join([f"sampled every {self.sources.every_s:g} s:", *words])

    def _refuse(self, ready: Said) -> None:
        told = [("--gpu", item) for item in ready["gpu"]]
        told += [("--prometheus", ready["prometheus"])] if ready.get("prometheus") else []
        told += [("--server-metrics", ready["server"])] if ready.get("server") and self.sources.server else []
        for option, item in told:
            if not item["ok"]:
                raise Stop(f"{option}: {sentence(item)}; {ADVICE[option]}", Exit.UNMEASURABLE)

    def _keep(self, ready: Said) -> None:
        self.facts["gpu"] = [
            {name: item.get(name) for name in ("source", "gpus", "clock_offset_ms")} for item in ready["gpu"]
        ]
        for name in ("server", "prometheus"):
            item = ready.get(name)
            if item and item["ok"]:
                self.facts[name] = {key: value for key, value in item.items() if key not in ("ok", "error")}

    def _words(self) -> list[str]:
        parts = [
            f"{(n := len(item['gpus'] or ()))} GPU{'s' * (n != 1)} at {item['source']}" for item in self.facts["gpu"]
        ]
        if (prometheus := self.sources.prometheus) is not None:
            parts.append(f"what {hidden(prometheus)} has of GPUs, at the end")
        server = self.facts["server"]
        if server is not None:
            parts.append(f"server metrics: in {server['engine']}'s form, at {server['source']}")
        elif self._order["server"] is not None:
            parts.append(f"server metrics: none at {hidden(str(self._order['server']))}")
        if self.sources.server_log is not None:
            parts.append(f"errors in {self.sources.server_log}")
        return parts

    def idle(self, say: Callable[[str], None]) -> None:
        """Watch the GPUs for a while before the first request, so that it is known what they draw by themselves."""
        if not self.sources.tells_of_gpus or self._child is None:
            return
        seconds = min(max(IDLE_S, IDLE_LOOKS * self.sources.every_s), IDLE_MOST_S)
        say(f"watching the idle GPUs for {seconds:g} s")
        begin = clock.now()
        until(begin + seconds)
        self.facts["idle"] = {"from_s": begin, "to_s": clock.now()}

    # While a run goes on

    @contextlib.contextmanager
    def paused(self, measured_until: float) -> Iterator[None]:
        """Nothing is sampled meanwhile, and everything is once more before, behind the last window."""
        until(measured_until + min(self.sources.every_s, IDLE_MOST_S) + self._age_s)
        self._paused = True
        said = self._ask({"do": "pause"}, "paused", ANSWER_S)
        if said is None:
            self.notes.append("sampling could not be paused for --observer-check: the sampler gave no answer")
        for source in (said or {}).get("went_on") or ():
            self.notes.append(
                f"{hidden(str(source))} could not be paused for --observer-check, and went on sampling by itself"
            )
        try:
            yield
        finally:
            self._paused = False
            self._tell({"do": "resume"})

    def end(self, begin: float, measured_until: float, hurry: Callable[[], bool]) -> None:
        """Have it take its last looks and fetch what a Prometheus has of that time; its notes are there then.

        Somebody may come to be in a hurry meanwhile.
        """
        if self._child is None:
            return
        if not hurry():
            until(measured_until + self._age_s)
        self._going = False
        last = gevent.spawn(self._ask, {"do": "stop", "from_s": begin, "to_s": clock.now()}, "over", OVER_S)
        hurried = 0.0
        while not last.ready() and hurried < HURRY_S:
            last.join(LOOK_S)
            hurried += LOOK_S if hurry() else 0.0
        said = last.value
        last.kill()
        if said is None:
            self.notes.append(
                "the sampler of GPUs and server was ended before it was done; what it has written is there"
            )
        else:
            self.facts["prometheus"] = said.get("prometheus") or self.facts["prometheus"]
            self.notes.extend(one_line(str(note)) for note in said.get("notes") or ())
        self.close()

    def close(self) -> None:
        """End it now."""
        self._going = False
        child, self._child = self._child, None
        if child is not None:
            self._reader.kill()
            child.end()

    # The child

    def _start(self, limit_s: float) -> Said | None:
        """Start it, and give its first word; None if there is none, and a note where the machine refuses a process."""
        self._child = None
        try:
            self._child = Child(self._environment)
        except OSError as error:
            self.notes.append(f"{UNSTARTED}: {error.strerror}")
            return None
        self._reader = gevent.spawn(self._read, self._child)
        return self._ask(self._order, "ready", limit_s)

    def _ask(self, word: Said, answer: str, limit_s: float) -> Said | None:
        """Say something and wait for the answer; None if none comes in time."""
        awaited: AsyncResult[Said | None] = AsyncResult()
        self._awaited[answer] = awaited
        try:
            if not self._tell(word):
                return None
            said: Said | None = awaited.get(timeout=limit_s)
        except gevent.Timeout:
            return None
        else:
            return said
        finally:
            self._awaited.pop(answer, None)

    def _tell(self, word: Said) -> bool:
        """Say something; whether there is somebody to hear it."""
        return self._child is not None and self._child.tell(word)

    def _read(self, child: "Child") -> None:
        """Hear what it says until it says no more; where it ended by itself, start it once again."""
        for line in child.said:
            with contextlib.suppress(orjson.JSONDecodeError, AttributeError):
                said = orjson.loads(line)
                awaited = self._awaited.get(str(said.get("say")))
                if awaited is not None:
                    awaited.set(said)
        for awaited in list(self._awaited.values()):
            awaited.set(None)
        if self._going:
            gevent.spawn(self._again, child)

    def _again(self, child: "Child") -> None:
        """It died in mid-run."""
        if not self._going:
            return
        code = child.end()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        if not self._restarts:
            self._child = None
            self.notes.append(f"the sampler of GPUs and server died again ({how}): nothing was sampled from then on")
            return
        self._restarts -= 1
        self.notes.append(f"the sampler of GPUs and server died ({how}) and was started again: its samples have a gap")
        ready = self._start(READY_S)
        if not self._going:
            self.close()
        elif self._paused and ready is not None:
            self._ask({"do": "pause"}, "paused", ANSWER_S)


class Child:
    """The process, and the pipes to it: our own, for those of `subprocess` would stop everything here."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        ours, its_output = os.pipe()
        its_input, to_it = os.pipe()
        self.said = FileObjectPosix(ours, "rb")
        self._hears = FileObjectPosix(to_it, "wb")
        try:
            self._process = subprocess.Popen(
                COMMAND, stdin=its_input, stdout=its_output, env=environment, start_new_session=True
            )
        except OSError:
            self.said.close()
            self._hears.close()
            raise
        finally:
            os.close(its_input)
            os.close(its_output)

    def tell(self, word: Said) -> bool:
        """Say something; whether there is somebody to hear it."""
        try:
            self._hears.write(orjson.dumps(word) + b"\n")
            self._hears.flush()
        except (OSError, ValueError):
            return False
        return True

    def end(self) -> int:
        """Let it end by the end of its input, or make it; returns its exit code."""
        with contextlib.suppress(OSError):
            self._hears.close()
        self.said.close()
        try:
            return self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def until(moment: float) -> None:
    """Wait for it."""
    while (left := moment - clock.now()) > 0:
        gevent.sleep(left)


def sentence(item: Said) -> str:
    """What is wrong with a source, with its address in it once."""
    said, source = one_line(str(item["error"])), hidden(str(item["source"]))
    return said if source in said else f"{source}: {said}"


def guess(base_url: str) -> str:
    """Where servers have their metrics: beside the version in the base path. A query, which may hold a key, goes."""
    found = replace(target.split(base_url), query="")
    return found.origin + found.path_of(METRICS)
