"""One attempt from call to record, over real sockets: times against the server's own clock, limits, cancelling."""

import gc
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import gevent
import gevent.event
import pytest
import tokenizers

from llmload.exits import Stop
from llmload.load.call import Call
from llmload.record.record import Tags
from llmload.send.sdk import Catch
from tests.send.conftest import CALL, Sender, undisturbed
from tests.send.scripted import END, HEAD, Answer, data, plain, serving, stream, token

Make = Callable[..., Sender]
NOISE_MS = 15.0
A = data(token("A"))
PING = "8\r\n: ping\n\n\r\n"


def hanging(*steps: tuple[float, str]) -> Answer:
    """A stream that never ends its body."""
    return Answer([(0, HEAD), *steps], "hang")


@undisturbed
def test_times_are_those_of_the_servers_own_clock(sender: Make) -> None:
    """Each token's time is when the server wrote it, seen from the request; gaps are those between its writes."""
    with serving(stream(5)) as server:
        row = sender(server.url).send()
        seen = server.log()[0]
    writes = [(write - seen["at"]) / 1e6 for write in seen["writes"]]
    assert (row.outcome, row.flags, row.events) == ("ok", [], 5)
    assert row.ttft_ms == pytest.approx(writes[1], abs=NOISE_MS)
    assert row.end_ms == pytest.approx(writes[6], abs=NOISE_MS)
    assert row.gaps_ms == pytest.approx([b - a for a, b in pairwise(writes[1:6])], abs=NOISE_MS)
    assert row.stamp_lag_ms is not None
    assert (row.new_connection, row.connect_ms is not None) == (True, True)


def test_what_is_sent(sender: Make) -> None:
    """The SDK words the request; identity is asked for, extras override, and no key means no header at all."""
    call = Call(
        "s", "p", CALL.messages, "hi", 7, None, 0.5, {"top_k": 1, "stream_options": None}, {"X-Class": "a"}, (), True, 2
    )
    with serving(stream()) as server:
        sender(server.url + "?v=1", headers={"X-All": "b"}, extra_body={"seed": 3}, temperature=0.0).send(call)
        sender(server.url, key="sk-1", api="completions", stream_usage=False, limit_field="max_tokens").send(CALL)
        sender(server.url, limit_field="max_completion_tokens").send(CALL)
        first, second, third = server.log()
    head = first["head"].lower()
    assert head.startswith("post /v1/chat/completions?v=1 http/1.1\r\n")
    for line in (
        "host: 127.0.0.1:",
        "accept-encoding: identity",
        "x-class: a",
        "x-all: b",
        "user-agent: openai/python",
        "connection: keep-alive",
    ):
        assert f"\r\n{line}" in head
    assert "authorization" not in head
    assert json.loads(first["body"]) == {
        "model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 7, "temperature": 0.5,
        "stream": True, "ignore_eos": True, "min_tokens": 2, "seed": 3, "top_k": 1,
    }  # fmt: skip
    assert "\r\nauthorization: bearer sk-1" in second["head"].lower()
    assert json.loads(second["body"]) == {"model": "m", "prompt": "hi", "max_tokens": 3, "stream": True}
    assert json.loads(third["body"])["max_completion_tokens"] == 3


def test_a_calls_own_headers_win_in_whatever_letters(sender: Make) -> None:
    """A header of all requests and the same of one call are one header, with the call's value."""
    call = Call("s", "p", CALL.messages, "hi", 3, headers={"x-class": "own"})
    with serving(stream()) as server:
        sender(server.url, headers={"X-Class": "all", "X-All": "b"}).send(call)
        head = server.log()[0]["head"].lower()
    assert [line for line in head.split("\r\n") if line.startswith("x-class")] == ["x-class: own"]
    assert "\r\nx-all: b" in head


def test_a_request_has_one_name(sender: Make) -> None:
    """Its own, by run, worker and number; one that the scenario gives stands alone, in whatever letters."""
    with serving(stream()) as server:
        sender(server.url).send()
        sender(server.url, headers={"x-REQUEST-id": "mine"}).send()
        sender(server.url).send(Call("s", "p", ({"role": "user", "content": "X-Request-Id: x"},), "", 3))
        heads = [row["head"].lower().split("\r\n") for row in server.log()]
    names = [[line for line in head if line.startswith("x-request-id:")] for head in heads]
    assert names == [["x-request-id: r-w-0"], ["x-request-id: mine"], ["x-request-id: r-w-0"]]


def test_what_the_environment_would_add_stays_out(sender: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proxies (G12), organisations and headers of the environment go to no endpoint unless they are named."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "stranger")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Stranger: stranger")
    with serving(stream()) as server:
        assert sender(server.url).send().outcome == "ok"
        assert "stranger" not in server.log()[0]["head"].lower()


@pytest.mark.parametrize("status", ["408 Oh", "409 Oh", "429 Oh", "500 Oh", "503 Oh"])
@undisturbed
def test_nothing_is_sent_twice(sender: Make, status: str) -> None:
    """F01: two refusals with a wait and then a stream are three records, three requests, and no wait."""
    refusal = plain(status, '{"error": {"message": "not now"}}', "Retry-After: 1\r\n")
    with serving(refusal, refusal, stream()) as server:
        book = sender(server.url)
        rows = [book.send() for _ in range(3)]
        seen = server.log()
    assert len(seen) == 3
    assert [row.attempts for row in rows] == [1, 1, 1]
    assert [row.retry_after_s for row in rows] == [1.0, 1.0, None]
    assert (rows[0].outcome, rows[2].outcome) == (rows[1].outcome, "ok")
    assert rows[2].ttft_ms == pytest.approx((seen[2]["writes"][1] - seen[2]["at"]) / 1e6, abs=NOISE_MS)


def test_the_key_is_in_no_record_even_if_the_server_repeats_it(sender: Make) -> None:
    """F09m."""
    with serving(plain("401 Unauthorized", '{"error": {"message": "sk-very-secret is no key of ours"}}')) as server:
        book = sender(server.url, key="sk-very-secret")
        row = book.send(save_text=True)
    assert row.error == "HTTP 401 Unauthorized: [key] is no key of ours"
    assert "secret" not in row.to_json().decode() + repr(book.client.sending)


@pytest.mark.parametrize(("key", "says"), [("a b", "blanks"), ("a\nX-Evil: 1", "blanks"), ("schlüssel", "blanks")])
def test_a_key_that_no_header_can_carry(sender: Make, key: str, says: str) -> None:
    """Refused before anything is sent, and not repeated."""
    with pytest.raises(Stop, match=says) as stop:
        sender("http://127.0.0.1:1/v1", key=key)
    assert key not in stop.value.message


def test_a_key_goes_over_plain_http_to_another_machine_only_if_allowed(sender: Make) -> None:
    """Loopback is this machine; another needs a word, and so does a proxy."""
    with pytest.raises(Stop, match="--allow-http-key"):
        sender("http://192.0.2.1/v1", key="sk-1")
    with pytest.raises(Stop, match="--allow-http-key"):
        sender("http://127.0.0.1/v1", key="sk-1", proxy="http://192.0.2.1:3128")
    sender("http://192.0.2.1/v1", key="sk-1", allow_http_key=True)
    sender("https://192.0.2.1/v1", key="sk-1")
    sender("http://192.0.2.1/v1", key=None)


@undisturbed
def test_opening_and_finished_are_called_once_each(sender: Make) -> None:
    """Right before the first byte, and at the end, with the text."""
    with serving(stream(2)) as server:
        book = sender(server.url)
        row = book.send()
    assert (len(book.opened), len(book.finished)) == (1, 1)
    assert book.finished[0] == (row, "t0 t1 ")
    assert row.text is None
    assert row.sent_at is not None
    assert 0 <= row.sent_at - book.opened[0] < 0.1, "sent comes right behind its opening"


def test_the_first_token_is_told_at_its_arrival(sender: Make) -> None:
    """Before the stream is over, with the time that the record will hold."""
    told: list[tuple[float, int]] = []
    with serving(stream(10, 30, 30)) as server:
        book = sender(server.url)
        row = book.send(on_first_token=lambda ttft_ms: told.append((ttft_ms, book.client.in_flight)))
    assert told == [(row.ttft_ms, 1)]


@pytest.mark.parametrize(
    ("answer", "settings", "outcome", "moments"),
    [
        (Answer([], "hang"), {"ttft_s": 0.2}, "ttft_timeout", (200, 200)),
        (hanging(*[(50 * k, PING) for k in range(20)]), {"ttft_s": 0.2}, "ttft_timeout", (200, 200)),
        (hanging((20, A)), {"stall_s": 0.2}, "stall_timeout", (220, 220)),
        (hanging(*[(30 * k, A) for k in range(40)]), {"total_s": 0.3}, "total_timeout", (300, 300)),
        (hanging((20, A), (40, data(token("", "stop")))), {"stall_s": 0.2}, "ok", (40, 240)),
        (hanging((20, A), (40, data("[DONE]"))), {}, "ok", (40, 190)),
        (hanging((20, data({"error": "boom"}))), {}, "stream_error", (20, 170)),
    ],
)  # fmt: skip
@undisturbed
def test_limits_and_the_slot(
    sender: Make, answer: Answer, settings: dict[str, float], outcome: str, moments: tuple[float, float]
) -> None:
    """E26: at a limit, or 150 ms after the end mark, the socket is closed, and its connection serves nobody else."""
    with serving(answer, stream()) as server:
        book = sender(server.url, **settings)
        row = book.send()
        assert row.outcome == outcome
        assert book.send().outcome == "ok"
        first, second = server.log()
    assert first["connection"] != second["connection"]
    end_ms, left_ms = moments
    assert row.end_ms == pytest.approx(end_ms, abs=60)
    assert first["left_ms"] == pytest.approx(left_ms, abs=100)


@undisturbed
def test_cancel_ends_all_at_once(sender: Make) -> None:
    """With their partial facts, and nothing is left in flight; the next request is none of its business."""
    with serving(stream(10, 50, 50)) as server:
        book = sender(server.url)
        runs = [gevent.spawn(book.send) for _ in range(3)]
        gevent.sleep(0.2)
        assert book.client.in_flight == 3
        assert book.client.cancel() == 3
        gevent.joinall(runs)
        assert book.client.in_flight == 0
        assert book.send().outcome == "ok"
    rows = [record for record, _ in book.finished]
    assert [row.outcome for row in rows] == ["cancelled"] * 3 + ["ok"]
    assert all(0 < row.events < 10 and row.ttft_ms is not None for row in rows[:3])


def test_cancel_reaches_those_that_are_still_connecting(sender: Make) -> None:
    """They are ended before anything is sent."""
    with serving(stream()) as server:
        book = sender(server.url)
        book.send()
        wait, held = gevent.event.Event(), book.client._line.pool.take
        book.client._line.pool.take = lambda: (wait.wait(), held())[1]  # type: ignore[method-assign]  # a slow connect
        run = gevent.spawn(book.send)
        gevent.sleep(0)
        assert book.client.cancel() == 1
        run.join(5)
        assert len(server.log()) == 1
    record = book.finished[-1][0]
    assert (record.outcome, record.error, record.ttft_ms) == ("cancelled", "cancelled while connecting", None)


@pytest.mark.parametrize("moment", [0.0, 0.03, 0.12])
def test_a_killed_greenlet_leaves_a_record(sender: Make, moment: float) -> None:
    """Before, within and after the first token: `cancelled`, once, and the exception goes on."""
    with serving(stream(10, 60, 60)) as server:
        book = sender(server.url)
        run = gevent.spawn(book.send)
        gevent.sleep(moment)
        run.kill()
        assert isinstance(run.value, gevent.GreenletExit)
        assert [record.outcome for record, _ in book.finished] == (["cancelled"] if book.opened else [])
        with pytest.raises(gevent.Timeout), gevent.Timeout(0.1):
            book.send()
        assert book.finished[-1][0].outcome == "cancelled"
        assert book.client.in_flight == 0


def test_a_call_that_cannot_be_worded_is_refused_before_it_opens(sender: Make) -> None:
    """It is the scenario's fault, not the server's."""
    with serving(stream()) as server:
        book = sender(server.url)
        with pytest.raises(Stop, match="extra_body"):
            book.send(Call("s", "p", CALL.messages, "hi", 3, extra_body={"x": {1, 2}}))
        assert (book.opened, book.client.in_flight) == ([], 0)


def test_an_opening_that_fails_costs_no_connection(sender: Make) -> None:
    """The exception goes on, nothing was sent, and the connection is still good."""
    with serving(stream()) as server:
        book = sender(server.url)

        def opening(_sent_at: float) -> Tags:
            raise RuntimeError("no")

        with pytest.raises(RuntimeError):
            book.client.send(CALL, opening, lambda _record, _text: None)
        assert book.send().outcome == "ok"
        assert len(server.log()) == 1


def test_without_a_stream(sender: Make) -> None:
    """E2E only, and the text."""
    choice = {"index": 0, "message": {"content": "ABC"}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 5, "completion_tokens": 3}
    body = json.dumps({"id": "c", "model": "m", "choices": [choice], "usage": usage})
    with serving(
        plain("200 OK", body, at_ms=60), plain("200 OK", "<html>"), plain("200 OK", '{"error": "busy", "code": 503}')
    ) as server:
        book = sender(server.url, stream=False)
        rows = [book.send() for _ in range(3)]
        assert json.loads(server.log()[0]["body"]) == {
            "model": "m",
            "messages": [{"role": "user", "content": "hi"}],
            "max_tokens": 3,
        }
    assert [row.outcome for row in rows] == ["ok", "protocol_error", "stream_error"]
    assert (rows[0].ttft_ms, rows[0].gaps_ms, rows[0].events, rows[0].output_tokens) == (None, [], 0, 3)
    assert rows[0].end_ms is not None
    assert rows[0].end_ms >= 60
    assert rows[0].last_token_ms is None, "nobody saw when the last token came"
    assert book.finished[0][1] == "ABC"


def test_flags_rest_on_the_tokens_that_are_told_in_the_end(sender: Make, tmp_path: Path) -> None:
    """Without usage a tokenizer file counts, before the flags are judged: one event of eight words came in a burst."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    answer = Answer([(0, HEAD), (40, data(token("a b c d e f g h"))), (60, data(token("", "stop"), "[DONE]") + END)])
    with serving(answer) as server:
        row = sender(server.url, tokenizer=str(tmp_path / "tokenizer.json")).send()
        plainly = sender(server.url).send()
    assert (row.output_tokens, row.output_tokens_source) == (8, "tokenizer")
    assert row.flags == ["buffered", "usage_missing"]
    assert (plainly.output_tokens, plainly.output_tokens_source) == (1, "events")
    assert plainly.flags == ["usage_missing"]


def test_the_meter_counts_events_once(sender: Make) -> None:
    """Events of streams that run and of those that ended, since it was asked last."""
    with serving(stream(6, 20, 20)) as server:
        book = sender(server.url)
        run = gevent.spawn(book.send)
        gevent.sleep(0.1)
        first = book.client.meter()
        run.join()
        second = book.client.meter()
        assert 0 < first.events < 6
        assert first.events + second.events == 6
        assert first.stamp_lag_ms is not None
        assert (book.client.meter().events, book.client.meter().stamp_lag_ms, second.stamp_faults) == (0, None, 0)


def test_an_interim_answer_and_a_head_that_is_cut(sender: Make) -> None:
    """103 is no answer; half a head is a broken protocol, nothing at all on a new connection is no response."""
    early = Answer(
        [(0, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"), (20, HEAD + data(token("A", "stop"), "[DONE]") + END)]
    )
    with serving(early, Answer([(0, HEAD[:20])], "close"), Answer([], "close"), Answer([], "reset")) as server:
        book = sender(server.url, fresh=True)
        assert [book.send().outcome for _ in range(4)] == ["ok", "protocol_error", "no_response", "no_response"]


def test_a_refusal_before_the_prompt_was_read(sender: Make) -> None:
    """A server that answers at the head and closes is heard, however long the prompt."""
    refusal = Answer(plain("413 Too Large", '{"error": {"message": "too long"}}').steps, "close", unread=True)
    long = Call("s", "p", ({"role": "user", "content": "word " * 2_000_000},), "", 3)
    with serving(refusal) as server:
        row = sender(server.url).send(long)
    assert (row.outcome, row.http_status, row.error) == ("http_error", 413, "HTTP 413 Too Large: too long")


def test_nothing_is_left_for_the_garbage_collector(sender: Make) -> None:
    """I07: it is off while measuring, so an attempt may leave nothing that only it could free."""
    with serving(stream(3, 2, 1)) as server:
        book = sender(server.url)
        book.send()
        book.finished.clear()
        gc.collect()
        gc.disable()
        try:
            for _ in range(5):
                book.send(on_first_token=lambda _ttft_ms: None)
            gevent.sleep(0)
            book.finished.clear()
            left = [
                type(item).__name__ for item in gc.get_objects() if str(type(item).__module__).startswith("llmload.")
            ]
        finally:
            gc.enable()
    assert {"Exchange", "Flight", "StreamReading", "Parser", "Attempt", "RequestRecord"} & set(left) == set()


def test_each_greenlet_gets_the_request_it_built(sender: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK may let others run in mid-work; what they build must not be taken for one's own."""
    handle = Catch.handle_request

    def slow(self: Catch, request: Any) -> Any:
        answer = handle(self, request)
        gevent.sleep(0.001)
        return answer

    monkeypatch.setattr(Catch, "handle_request", slow)
    builder = sender("http://127.0.0.1:1/v1").client._line.builder
    runs = [gevent.spawn(builder.request, {"number": number}, {}) for number in range(20)]
    gevent.joinall(runs)
    assert [json.loads(run.value.split(b"\r\n\r\n")[1])["number"] for run in runs] == list(range(20))


def test_a_connection_that_dies_between_two_looks(sender: Make) -> None:
    """Closed after it was taken and before anything was sent: a record all the same, at once."""
    with serving(stream()) as server:
        book = sender(server.url)
        book.send()
        kept = book.client._line.pool._idle[0]
        record = book.client.send(CALL, lambda at: (kept.close(), book.opening(at))[1], lambda _record, _text: None)
    assert (record.outcome, record.ttft_ms) == ("stale_connection", None)
