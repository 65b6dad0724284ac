"""The simulator on real sockets: what it answers, when it sends, what it counts, and what it says of it afterwards."""

import contextlib
import http.client
import json
import random
import socket
import statistics
import threading
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from llmload.exits import Exit, Stop
from llmload.simulate import failures, lengths, tokens
from llmload.simulate.hub import listen
from llmload.simulate.truth import TruthFile
from tests.simulate.talk import Talk, chat, events, request, said, until

CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"


def state(served):
    """The page of counts."""
    with Talk(served.address) as talk:
        return talk.ask("/_state")[1]


# Answers.


def test_chat_stream(serve):
    """Role, tokens, finish reason, usage, end mark, and the connection is kept for the next."""
    with Talk(serve().address) as talk:
        for number in range(2):
            talk.send(CHAT, chat(stream_options={"include_usage": True}))
            answer = talk.receive()
            assert answer.status == 200
            assert answer.headers["content-type"].startswith("text/event-stream")
            first, *middle, finish, usage, done = events(answer)
            assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
            assert len(said(middle)) == 3
            assert finish["choices"][0]["finish_reason"] == "length"
            assert usage["usage"]["prompt_tokens"] == 9
            assert usage["usage"]["completion_tokens"] == 3
            assert usage["choices"] == []
            assert done == "[DONE]"
            assert {event["id"] for event in middle} == {f"chatcmpl-{number:012d}"}


def test_completions_and_whole_answers(serve):
    """The other endpoint, and answers that are no stream."""
    with Talk(serve(answer_tokens=lengths.parse("fixed:2")).address) as talk:
        talk.send(TEXT, {"model": "simulated", "prompt": "hello", "stream": True})
        texts = [event["choices"][0]["text"] for event in events(talk.receive())[:-1]]
        assert len("".join(texts).split()) == 2
        status, value = talk.ask(CHAT, chat(5, stream=False))
        assert (status, value["choices"][0]["finish_reason"]) == (200, "stop")
        assert len(value["choices"][0]["message"]["content"].split()) == 2
        assert talk.ask(TEXT, {"model": "simulated", "prompt": "hello"})[1]["usage"]["total_tokens"] == 3


def test_pages(serve):
    """Models, health, version; a query and a slash at the end do not matter."""
    with Talk(serve(model="m", max_context=4096).address) as talk:
        (model,) = talk.ask("/v1/models")[1]["data"]
        assert (model["id"], model["max_model_len"]) == ("m", 4096)
        assert talk.ask("/v1/models/?x=y")[1]["data"][0]["id"] == "m"
        assert talk.ask("/health")[1] == {"status": "ok"}
        assert "version" in talk.ask("/version")[1]


def test_tokenize_is_what_usage_counts(serve):
    """The two forms of vLLM and the one of llama.cpp; a chat's count is the usage's, the text's lacks the template."""
    text = "Could you please check order 4471-09, and tell me where it is?"
    messages = [{"role": "user", "content": text}]
    with Talk(serve().address) as talk:
        counted = talk.ask("/tokenize", {"model": "simulated", "messages": messages})[1]
        bare = talk.ask("/tokenize", {"prompt": text})[1]
        usage = talk.ask(CHAT, chat(messages=messages, stream=False))[1]["usage"]
        assert counted["count"] == len(counted["tokens"]) == usage["prompt_tokens"]
        assert bare["count"] + tokens.overhead(1) == usage["prompt_tokens"]
        assert len(talk.ask("/tokenize", {"content": text})[1]["tokens"]) == bare["count"]
        assert (
            talk.ask(TEXT, {"model": "simulated", "prompt": text, "max_tokens": 1})[1]["usage"]["prompt_tokens"]
            == bare["count"]
        )
        tools = [{"type": "function", "function": {"name": "f"}}]
        counted = talk.ask("/tokenize", {"messages": messages, "tools": tools})[1]
        assert (
            talk.ask(CHAT, chat(messages=messages, tools=tools, stream=False))[1]["usage"]["prompt_tokens"]
            == (counted["count"])
        )


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        ("/v1/nothing", None, 404, "no such page: /v1/nothing"),
        ("/v1/models", {}, 405, "/v1/models takes GET, not POST"),
        (CHAT, None, 405, "takes POST, not GET"),
        (CHAT, chat(model="x"), 404, "The model `x` does not exist"),
        (CHAT, chat(10**6), 400, "maximum context length is 32768 tokens"),
        (CHAT, chat(messages=[]), 400, "at least one message"),
        (CHAT, [], 400, "must be a JSON object"),
        ("/tokenize", {}, 400, "expected prompt or messages"),
        ("/tokenize", {"messages": [1]}, 400, "must be an object with a role"),
    ],
)
def test_errors(serve, path, body, status, says):
    """An error object in OpenAI's form, and the connection goes on."""
    with Talk(serve().address) as talk:
        got, value = talk.ask(path, body)
        assert got == status
        assert says in value["error"]["message"]
        assert set(value["error"]) == {"message", "type", "param", "code"}
        assert talk.ask("/health")[0] == 200


def test_refusals_are_in_the_truth(serve):
    """A request that asks wrongly is a line too, with what the client should make of it."""
    served = serve()
    with Talk(served.address) as talk:
        talk.ask(CHAT, chat(model="x"))
    (line,) = served.truth()
    assert (line["outcome"], line["status"], line["expected"]) == ("refused", 404, "http_error")
    assert state(served)["by_outcome"] == {"refused": 1}


def test_key(serve):
    """With a key, requests need it; the pages for machines do not. It is in no line of the truth."""
    served = serve(key="s3cret-key")
    with Talk(served.address) as talk:
        for given in ({}, {"authorization": "Bearer wrong"}, {"authorization": "s3cret-key"}):
            status, value = talk.ask(CHAT, chat(), **given)
            assert (status, value["error"]["code"]) == (401, "invalid_api_key")
        assert talk.ask("/v1/models")[0] == 401
        assert talk.ask("/tokenize", {"prompt": "a"})[0] == 401
        assert talk.ask("/health")[0] == 200
        assert talk.ask(CHAT, chat(stream=False), authorization="Bearer s3cret-key")[0] == 200
    assert [line["status"] for line in served.truth(4)] == [401, 401, 401, 200]
    assert b"s3cret" not in served.path.read_bytes()


# The wire.


def test_torn_and_pipelined(serve):
    """A request in single bytes, and two in one write: each is answered, in order."""
    served = serve()
    with Talk(served.address) as talk:
        for byte in request(CHAT, chat(stream=False), x_llmload_request="torn"):
            talk.sock.sendall(bytes([byte]))
        assert talk.receive().read()
        talk.sock.sendall(
            request(CHAT, chat(2), x_request_id="a") + request("/health") + request(CHAT, chat(1), x_request_id="b")
        )
        # One parser for all three, as http.client would swallow what follows.
        data = b""
        while data.count(b"[DONE]") < 2:
            data += talk.sock.recv(65536)
        assert data.index(b"[DONE]") < data.index(b'"status":"ok"') < data.rindex(b"[DONE]")
    assert [(line["client_request"], line["on_connection"]) for line in served.truth(3)] == [
        ("torn", 0),
        ("a", 1),
        ("b", 3),
    ]
    assert {line["connection"] for line in served.truth(3)} == {0}


def test_chunked_request_body(serve):
    """A body in chunks, torn between them."""
    body = json.dumps(chat(stream=False)).encode()
    with Talk(serve().address) as talk:
        talk.sock.sendall(f"POST {CHAT} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n".encode())
        for part in (body[:10], body[10:]):
            talk.sock.sendall(b"%x\r\n%b\r\n" % (len(part), part))
        talk.sock.sendall(b"0\r\n\r\n")
        assert talk.receive().status == 200


def test_expect_continue(serve):
    """A client that asks for leave to send its body gets it."""
    data = request(CHAT, chat(stream=False), expect="100-continue")
    head, _, body = data.partition(b"\r\n\r\n")
    with Talk(serve().address) as talk:
        talk.sock.sendall(head + b"\r\n\r\n")
        assert talk.sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        talk.sock.sendall(body)
        assert talk.receive().status == 200


def test_closed_when_asked(serve):
    """`Connection: close` and HTTP/1.0 end the connection behind the answer, a stream's too."""
    served = serve()
    with Talk(served.address) as talk:
        talk.send(CHAT, chat(), connection="close")
        assert events(talk.receive())[-1] == "[DONE]"
    with Talk(served.address) as talk:
        talk.sock.sendall(request(CHAT, chat()).replace(b"HTTP/1.1", b"HTTP/1.0"))
        answer = talk.receive()
        assert "transfer-encoding" not in answer.headers
        assert events(answer)[-1] == "[DONE]"
    with Talk(served.address) as talk:
        talk.send("/health", connection="close")
        talk.receive().read()
        assert talk.ended()


def test_head(serve):
    """HEAD gets the head alone, so that the next answer is found where it begins."""
    with Talk(serve().address) as talk:
        talk.sock.sendall(request("/health").replace(b"GET", b"HEAD"))
        answer = http.client.HTTPResponse(talk.sock, method="HEAD")
        answer.begin()
        assert (answer.status, answer.headers["content-length"]) == (200, "15")
        assert talk.ask("/health")[1] == {"status": "ok"}


@pytest.mark.parametrize("data", [b"\x16\x03\x01\x02\x00\x01\x00", b"hello there\r\n\r\n"])
def test_no_http(serve, data):
    """A TLS hello and prose get a 400 and the end of the connection; the server lives on."""
    served = serve()
    with Talk(served.address) as talk:
        talk.sock.sendall(data)
        assert talk.sock.recv(100).startswith(b"HTTP/1.1 400 ")
    assert state(served)["requests"] == 0


def test_garbage_during_a_stream(serve):
    """Bytes that are no HTTP in the middle of a stream end it: the client has left the protocol."""
    served = serve(itl_s=30.0)
    with Talk(served.address) as talk:
        talk.send(CHAT, chat())
        talk.receive()
        talk.sock.sendall(b"hello there\r\n\r\n")
        assert served.truth()[0]["outcome"] == "client_left"


def test_too_many_requests_ahead(serve):
    """A connection that piles up requests behind one that takes long is closed."""
    served = serve(itl_s=30.0)
    with Talk(served.address) as talk:
        talk.send(CHAT, chat())
        talk.receive()
        with contextlib.suppress(OSError):
            talk.sock.sendall(request("/health") * 100)


def test_huge_prompt_and_its_limits(serve):
    """A prompt of two megabytes is counted like any other."""
    text = "word " * 400_000 + "end"
    with Talk(serve(max_context=10**6).address) as talk:
        assert talk.ask(TEXT, {"model": "simulated", "prompt": text, "max_tokens": 1})[1]["usage"]["prompt_tokens"] == (
            400_001
        )


def test_a_reader_that_stops_reading(serve):
    """What the socket does not take waits in order; nothing is lost, and others are served meanwhile."""
    served = serve(ttft_s=0.0, itl_s=0.0)
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect(served.address)
    with sock:
        sock.sendall(request(CHAT, chat(30_000)))
        until(lambda: state(served)["running"] == 0)
        assert state(served)["in_flight"] == 1  # all is generated, not all is handed over
        answer = http.client.HTTPResponse(sock)
        answer.begin()
        found = events(answer)
    assert len(said(found)) == 30_000
    assert found[-1] == "[DONE]"
    until(lambda: state(served)["in_flight"] == 0)
    assert served.truth()[0]["outcome"] == "ok"


# Times.


def test_sends_are_due_at_absolute_times(serve):
    """No event is early, and what held the loop up does not shift the events behind it.

    The hold-up is another client's prompt of megabytes, which the loop counts in one go.
    """
    served = serve(ttft_s=0.05, itl_s=0.01, max_context=10**7)
    with Talk(served.address) as talk, Talk(served.address) as other:
        talk.send(CHAT, chat(120, messages=[{"role": "user", "content": "timed"}]))
        answer = talk.receive()
        other.ask("/tokenize", {"prompt": "word " * 800_000})
        assert len(said(events(answer))) == 120
    (line,) = served.truth()
    late = [at - line["started_at"] - 0.05 - 0.01 * k for k, at in enumerate(line["event_at"])]
    assert min(late) > -0.001  # two clocks are read one after the other
    assert max(late) > 0.05
    assert min(late[-20:]) < max(late) / 4
    assert line["late_ms"] == pytest.approx(max(late) * 1e3, abs=1.0)


def test_truth_is_what_the_client_sees(serve):
    """Every event comes after its line's time and before the next one is sent; all times are in order."""
    served = serve(ttft_s=0.03, itl_s=0.01, distribution="lognormal", spread=0.3, seed=5)
    seen = []
    with Talk(served.address) as talk:
        before = time.time()
        talk.send(CHAT, chat(30), x_llmload_request="w1-17")
        answer = talk.receive()
        while line := answer.readline():
            if b'"content":"' in line and b'"content":""' not in line:
                seen.append(time.time())
    (line,) = served.truth()
    assert line["client_request"] == "w1-17"
    assert len(line["event_at"]) == line["output_tokens"] == 30
    assert all(sent <= got for sent, got in zip(line["event_at"], seen, strict=True))
    # Half of the events at least are read before the next is sent, or these are not the times of these events.
    assert sum(got < sent for got, sent in zip(seen, line["event_at"][1:], strict=False)) > 15
    order = [before, line["received_at"], line["started_at"], line["first_event_at"], *line["event_at"], line["end_at"]]
    assert order == sorted(order)
    gaps = [b - a for a, b in zip(line["event_at"], line["event_at"][1:], strict=False)]
    assert statistics.stdev(gaps) > 0.0005


def test_several_tokens_an_event(serve):
    """Ten tokens in fours are three events, and usage counts ten."""
    served = serve(tokens_per_event=4)
    with Talk(served.address) as talk:
        talk.send(CHAT, chat(10, stream_options={"include_usage": True}))
        found = events(talk.receive())
    assert [len(text.split()) for text in said(found)] == [4, 4, 2]
    assert found[-2]["usage"]["completion_tokens"] == 10
    (line,) = served.truth()
    assert (len(line["event_at"]), line["output_tokens"]) == (3, 10)


def test_heads_tell_requests_apart(serve):
    """A line has the beginning of the last user message, 80 characters of it."""
    served = serve()
    with Talk(served.address) as talk:
        talk.ask(CHAT, chat(stream=False, messages=[{"role": "user", "content": "unique head 17 " + "x" * 100}]))
    assert served.truth()[0]["head"] == ("unique head 17 " + "x" * 100)[:80]


# Slots, counts and clients that leave.


def test_slots_queue_in_order(serve):
    """Two slots, five requests: the third begins when one of the first two ends, and so on, first come first served."""
    served = serve(slots=2, ttft_s=0.04, itl_s=0.01)
    with contextlib.ExitStack() as stack:
        talks = [stack.enter_context(Talk(served.address)) for _ in range(5)]
        for number, talk in enumerate(talks):
            talk.send(CHAT, chat(5))
            until(lambda number=number: state(served)["requests"] > number)
        for talk in talks:
            assert events(talk.receive())[-1] == "[DONE]"
    lines = served.truth(5)
    starts = [line["started_at"] for line in lines]
    assert starts == sorted(starts)
    for number in range(2, 5):
        assert starts[number] >= lines[number - 2]["event_at"][-1]
    assert lines[4]["event_at"][0] - lines[4]["started_at"] >= 0.039  # the first token counts from the start of service


def test_counts_of_a_closed_loop(serve):
    """Four clients that ask again at once: a peak of four, and nearly four on average."""
    served = serve(ttft_s=0.03, itl_s=0.005)

    def user():
        with Talk(served.address) as talk:
            for _ in range(6):
                talk.send(CHAT, chat(12))
                talk.receive().read()

    users = [threading.Thread(target=user) for _ in range(4)]
    with Talk(served.address) as talk:
        assert talk.ask("/_reset", {})[1]["requests"] == 0
    for thread in users:
        thread.start()
    until(lambda: state(served)["requests"] >= 20)
    counts = state(served)
    for thread in users:
        thread.join()
    assert counts["peak_in_flight"] == 4
    assert counts["mean_in_flight"] > 3
    after = state(served)
    assert (after["in_flight"], after["requests"], after["by_outcome"]) == (0, 24, {"ok": 24})
    whole = sum(line["end_at"] - line["received_at"] for line in served.truth(24))
    assert after["in_flight_seconds"] == pytest.approx(whole, rel=0.05)


@pytest.mark.parametrize("where", ["running", "waiting"])
def test_a_client_that_leaves_frees_its_slot(serve, where):
    """Its dead work stops, the next begins, and the truth says so."""
    served = serve(slots=1, ttft_s=0.01, itl_s=30.0 if where == "running" else 0.002)
    with Talk(served.address) as first, Talk(served.address) as second:
        first.send(CHAT, chat(1000 if where == "waiting" else 2))
        answer = first.receive()
        while b'"content":"the"' not in answer.readline():
            pass  # its first token is out
        second.send(CHAT, chat(1, messages=[{"role": "user", "content": "second"}]))
        until(lambda: state(served)["waiting"] == 1)
        (first if where == "running" else second).leave()
        until(lambda: state(served)["waiting"] == 0)
        if where == "running":
            assert events(second.receive())[-1] == "[DONE]"
    until(lambda: state(served)["in_flight"] == 0)
    left = [line for line in served.truth(2) if line["client_left"]]
    assert {line["outcome"] for line in left} == {"client_left"}
    assert {line["expected"] for line in left} == {None}
    if where == "running":
        assert len(left[0]["event_at"]) == 1
    else:
        waited = next(line for line in left if line["head"] == "second")
        assert (waited["started_at"], waited["event_at"]) == (None, [])


def test_many_clients_leave_the_queue_at_once(serve):
    """A thousand dead requests in the queue are passed over without harm."""
    served = serve(slots=1, ttft_s=5.0)
    with contextlib.ExitStack() as stack:
        talks = [stack.enter_context(Talk(served.address)) for _ in range(400)]
        for talk in talks:
            talk.send(CHAT, chat())
        until(lambda: state(served)["waiting"] == 399)
        for talk in talks:
            talk.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            talk.sock.close()
        until(lambda: state(served)["in_flight"] == 0)
    assert state(served)["by_outcome"] == {"client_left": 400}


def test_requests_in_the_works_when_it_stops(serve):
    """Each open request gets its line, and every connection is closed."""
    served = serve(slots=1, itl_s=30.0)
    with Talk(served.address) as first, Talk(served.address) as second:
        first.send(CHAT, chat())
        first.receive()
        second.send(CHAT, chat())
        until(lambda: state(served)["waiting"] == 1)
        served.server.stop()
        assert second.ended()
    assert {(line["outcome"], line["expected"]) for line in served.truth(2)} == {("server_stopped", None)}


def test_metrics_page_counts(serve):
    """Valid, and what was generated is what the answers said, while running and afterwards."""
    served = serve(slots=1, ttft_s=0.01, itl_s=0.02)

    def samples():
        with Talk(served.address) as talk:
            talk.send("/metrics")
            page = talk.receive().read().decode()
        families = text_string_to_metric_families(page)
        return {
            (s.name, s.labels.get("finished_reason", s.labels.get("le"))): s.value for f in families for s in f.samples
        }

    with Talk(served.address) as first, Talk(served.address) as second:
        first.send(CHAT, chat(20))
        until(lambda: state(served)["running"] == 1)
        second.send(CHAT, chat(5, stream=False))
        until(lambda: state(served)["waiting"] == 1)
        during = samples()
        first.receive().read()
        second.receive().read()
    found = samples()
    assert during["vllm:num_requests_running", None] == 1
    assert during["vllm:num_requests_waiting", None] == 1
    assert during["vllm:kv_cache_usage_perc", None] > 0
    assert found["vllm:num_requests_running", None] == 0
    assert found["vllm:kv_cache_usage_perc", None] == 0
    assert found["vllm:prompt_tokens_total", None] == 18
    assert found["vllm:generation_tokens_total", None] == 25
    assert found["vllm:request_success_total", "length"] == 2
    assert found["vllm:time_to_first_token_seconds_count", None] == 2
    assert found["vllm:inter_token_latency_seconds_count", None] == 19 + 4
    assert found["vllm:inter_token_latency_seconds_sum", None] == pytest.approx(23 * 0.02, rel=0.2)


# Failures.


def outcome_of(address, body):
    """What a plain client makes of one request, in the words of the records."""
    with Talk(address) as talk:
        talk.sock.settimeout(0.4)
        talk.send(CHAT, body)
        try:
            answer = talk.receive()
        except (http.client.RemoteDisconnected, ConnectionResetError):
            return "no_response"
        except TimeoutError:
            return "ttft_timeout"
        if answer.status != 200:
            return failures.expected_status(answer.status)
        data = b""
        try:
            while piece := answer.read1():
                data += piece
        except TimeoutError:
            return (
                "stall_timeout"
                if b'"content":" ' in data or b'"content":"' in data.split(b"\n\n")[1:2] or (data.count(b"data: ") > 1)
                else "ttft_timeout"
            )
        except (http.client.IncompleteRead, ConnectionResetError):
            return "stream_truncated"
    return judge(answer.headers["content-type"], data)


def judge(kind, data):
    """The outcome of a body that came whole."""
    if "event-stream" not in kind:
        return "not_sse"
    try:
        found = [json.loads(block[6:]) for block in data.decode().split("\n\n") if block and "[DONE]" not in block]
    except json.JSONDecodeError:
        return "protocol_error"
    if any("error" in event for event in found):
        return "stream_error"
    finish = [choice["finish_reason"] for event in found for choice in event["choices"] if choice["finish_reason"]]
    if not finish:
        return "empty_stream" if not said(found) else "stream_truncated"
    return {"abort": "aborted", "content_filter": "content_filtered"}.get(finish[0], "ok")


@pytest.mark.parametrize("kind", [*failures.KINDS, "429", "503", "500", "502", "307"])
def test_every_failure_is_what_the_truth_says(serve, kind):
    """A client that looks closely gets the outcome that the truth line expects, and tokens as far as it says."""
    served = serve(failures=failures.parse(f"{kind}=1"), ttft_s=0.01, itl_s=0.002)
    seen = outcome_of(served.address, chat(8))
    (line,) = served.truth()
    assert line["outcome"] == kind
    assert seen == line["expected"]
    midway = kind in {"cut", "reset", "stall", "error-event", "garbage", "abort", "filter"}
    assert len(line["event_at"]) in (range(1, 8) if midway else {8} if kind == "no-done" else {0, 1})
    assert line["client_left"] == (kind in {"stall", "silent"})
    assert state(served)["by_outcome"] == {kind: 1}


def test_mixed_failures_are_drawn_by_number(serve):
    """Of sixty requests those fail that the draw says, each as it says; the others are whole."""
    wanted = failures.parse("429=0.2,cut=0.2,json=0.1,error-event=0.1")
    served = serve(failures=wanted, seed=11, ttft_s=0.001, itl_s=0.001)
    seen = [outcome_of(served.address, chat(4)) for _ in range(60)]
    lines = served.truth(60)
    assert [line["outcome"] for line in lines] == [wanted.pick(11, n, stream=True) or "ok" for n in range(60)]
    assert [line["expected"] for line in lines] == seen
    assert len(set(seen)) == 5


def test_every_request_has_one_line(serve):
    """A crowd on few slots, with every kind of failure and clients that leave at any moment: the books balance."""
    kinds = ",".join(f"{kind}=0.06" for kind in [*failures.KINDS, "429"])
    served = serve(failures=failures.parse(kinds), slots=4, ttft_s=0.002, itl_s=0.001)
    users, each = 12, 25

    def user(number):
        chance = random.Random(number)
        for _ in range(each):
            with contextlib.suppress(OSError, http.client.HTTPException), Talk(served.address) as talk:
                talk.sock.settimeout(0.05)
                talk.send(CHAT, chat(chance.choice([1, 5, 20]), stream=chance.random() < 0.8))
                if chance.random() < 0.8:
                    talk.receive().read()

    threads = [threading.Thread(target=user, args=(number,)) for number in range(users)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until(lambda: state(served)["in_flight"] == 0)
    counts = state(served)
    lines = served.truth(counts["requests"])
    assert [line["request"] for line in lines] == list(range(users * each))
    assert (counts["running"], counts["waiting"], counts["peak_in_flight"] <= users) == (0, 0, True)
    assert sum(counts["by_outcome"].values()) == users * each
    for line in lines:
        assert len(line["event_at"]) <= 20
        assert (line["outcome"] == "client_left") <= line["client_left"]
        assert line["end_at"] >= line["received_at"]


def test_retry_after(serve):
    """A 429 says when to come back, and keeps the connection."""
    with Talk(serve(failures=failures.parse("429=1")).address) as talk:
        for _ in range(2):
            talk.send(CHAT, chat())
            answer = talk.receive()
            answer.read()
            assert (answer.status, answer.headers["retry-after"]) == (429, "1")


def test_close_on_a_used_connection(serve):
    """The same close counts as a stale connection once something was answered on it."""
    served = serve(failures=failures.parse("close=1"))
    with Talk(served.address) as talk:
        talk.ask("/health")
        talk.send(CHAT, chat())
        assert talk.ended()
    assert served.truth()[0]["expected"] == "stale_connection"


# Addresses.


def test_a_port_that_is_taken():
    """One sentence with what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Stop, match=f"port {port} on 127.0.0.1 is taken") as raised:
            listen("127.0.0.1", port)
        assert raised.value.code == Exit.USAGE


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1"])
def test_an_address_that_is_not_ours(host):
    """A name that does not resolve, and an address of another machine."""
    with pytest.raises(Stop, match=host.replace(".", r"\.")):
        listen(host, 0)


def test_ipv6(serve):
    """An IPv6 address stands in brackets in the URL."""
    served = serve(host="::1")
    assert served.server.url.startswith("http://[::1]:")
    assert state(served)["in_flight"] == 0


def test_truth_that_cannot_be_written(tmp_path):
    """A folder that is not there is named before anything is served."""
    with pytest.raises(Stop, match="cannot be written: No such file"):
        TruthFile(tmp_path / "nowhere" / "truth.jsonl")
