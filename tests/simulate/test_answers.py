"""The bytes of an answer, exactly."""

import json

import pytest

from llmload.simulate import tokens
from llmload.simulate.answers import WORDS, Answer, words

HEAD = (
    b"HTTP/1.1 200 OK\r\nserver: llmload-simulate\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"connection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n"
)


def answer(**changes):
    """An answer to request 0 with three tokens."""
    facts = {"number": 0, "chat": True, "model": "m", "created": 1, "prompt_tokens": 9, "tokens": 3}
    return Answer(**{**facts, **changes})


def chunked(event):
    """An event in its chunk, the slow way."""
    return f"{len(event):x}\r\n".encode() + event + b"\r\n"


def chat(delta, finish="null"):
    """A chat event by hand."""
    return (
        b'data: {"id":"chatcmpl-000000000000","object":"chat.completion.chunk","created":1,"model":"m","choices":'
        b'[{"index":0,"delta":%b,"logprobs":null,"finish_reason":%b}]}\n\n' % (delta.encode(), finish.encode())
    )


def test_a_chat_stream():
    """Role first, then a token in each event, then finish reason and the end mark."""
    said = answer()
    assert said.opening() == HEAD + chunked(chat('{"role":"assistant","content":""}'))
    assert list(said.stream()) == [
        chunked(chat('{"content":"the"}')),
        chunked(chat('{"content":" order"}')),
        chunked(chat('{"content":" was"}')),
    ]
    assert said.closing("length", 3) == chunked(chat("{}", '"length"')) + chunked(b"data: [DONE]\n\n") + b"0\r\n\r\n"


def test_usage_comes_last():
    """Asked for, usage stands in an event without choices before the end mark."""
    usage = (
        b'data: {"id":"chatcmpl-000000000000","object":"chat.completion.chunk","created":1,"model":"m","choices":[],'
        b'"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12,'
        b'"prompt_tokens_details":{"cached_tokens":0}}}\n\n'
    )
    assert answer(include_usage=True).closing("stop", 3, done=False) == (
        chunked(chat("{}", '"stop"')) + chunked(usage) + b"0\r\n\r\n"
    )


def test_a_completions_stream():
    """No role, and the text in its own field."""
    said = answer(chat=False, tokens=1)
    assert said.opening() == HEAD
    assert list(said.stream()) == [
        chunked(
            b'data: {"id":"cmpl-000000000000","object":"text_completion","created":1,"model":"m","choices":'
            b'[{"index":0,"text":"the","logprobs":null,"finish_reason":null}]}\n\n'
        )
    ]


def test_without_chunks():
    """For HTTP/1.0 the events go out bare, and the body ends with the connection."""
    said = answer(chunked=False, keep_alive=False)
    assert b"transfer-encoding" not in said.opening()
    assert b"connection: close" in said.opening()
    assert next(said.stream()) == chat('{"content":"the"}')
    assert said.closing("stop", 3).endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("model", ["a\\u0000b", 'quote"d', "ü", "a/b:c"])
def test_odd_model_names(model):
    """Whatever the model is called, events are valid JSON and the token is where it belongs."""
    for event in answer(model=model, chunked=False).stream():
        value = json.loads(event.removeprefix(b"data: "))
        assert value["model"] == model
        assert value["choices"][0]["delta"]["content"].strip() in WORDS


def test_several_tokens_an_event():
    """Seven tokens in threes are three events, the last with what is left; the text is the same."""
    said = answer(tokens=7, per_event=3, chunked=False)
    events = [json.loads(event.removeprefix(b"data: ")) for event in said.stream()]
    texts = [event["choices"][0]["delta"]["content"] for event in events]
    assert texts == ["the order was", " sent by mail", " on"]
    assert said.events == 3
    assert [said.tokens_of(events) for events in range(4)] == [0, 3, 6, 7]


def test_whole():
    """The JSON for who asked for no stream."""
    assert json.loads(answer().whole("length", 3)) == {
        "id": "chatcmpl-000000000000",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "the order was"},
                "logprobs": None,
                "finish_reason": "length",
            }
        ],
        "usage": {
            "prompt_tokens": 9,
            "completion_tokens": 3,
            "total_tokens": 12,
            "prompt_tokens_details": {"cached_tokens": 0},
        },
    }
    assert json.loads(answer(chat=False).whole("stop", 2))["choices"][0]["text"] == "the order"


@pytest.mark.parametrize("letters", [6, 3, 1])
@pytest.mark.parametrize("count", [0, 1, 2, 57, 500])
def test_a_word_is_a_token(count, letters):
    """The simulator's own tokenizer counts an answer as usage does, from wherever it begins."""
    for start in (0, 7, 55):
        assert tokens.count(b"".join(words(start, count, letters)).decode(), letters) == count


def test_another_tokenizer_says_less_in_as_many_tokens():
    """With three letters to a token: "the", " ord", "er", " was"."""
    assert b"".join(words(0, 4, 3)) == b"the order was"
