"""Whether an endpoint can do what its side is said to be able to do ([capabilities]): one small request for each.

Asked only for what is stated, before the clock, besides the three requests of the preflight and in no record. What is
stated and was not seen refuses nothing: it is told. A request that failed for a passing reason has shown nothing.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from llmload.answers import language
from llmload.exits import Stop
from llmload.load.call import Call
from llmload.load.scenario import Capabilities
from llmload.send.asking import Asker, UnansweredError
from llmload.send.heard import Heard, hear, object_of
from llmload.send.look import Look

ANSWER_S = 60.0
"""One of these requests may take so long."""
TOKENS = 96
"""Output tokens of each, at most."""
REFUSED = (400, 404, 405, 415, 422, 501)
"""Statuses that say no for good."""

TOOL = {
    "type": "function",
    "function": {
        "name": "get_time",
        "description": "Tells what time it is in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}

QUESTIONS = {
    "ar": "اشرح في ثلاث جمل بالعربية كيف يتكون قوس قزح.",
    "cs": "Vysvětli ve třech větách česky, jak vzniká duha.",
    "da": "Forklar i tre sætninger på dansk, hvordan en regnbue opstår.",
    "de": "Erkläre in drei Sätzen auf Deutsch, wie ein Regenbogen entsteht.",
    "el": "Εξήγησε σε τρεις προτάσεις στα ελληνικά πώς σχηματίζεται το ουράνιο τόξο.",
    "en": "Explain in three English sentences how a rainbow comes about.",
    "es": "Explica en tres frases en español cómo se forma un arcoíris.",
    "fi": "Selitä kolmella suomenkielisellä lauseella, miten sateenkaari syntyy.",
    "fr": "Explique en trois phrases en français comment se forme un arc-en-ciel.",
    "hi": "हिंदी में तीन वाक्यों में समझाइए कि इंद्रधनुष कैसे बनता है।",
    "hu": "Magyarázd el három magyar mondatban, hogyan keletkezik a szivárvány.",
    "it": "Spiega in tre frasi in italiano come si forma un arcobaleno.",
    "ja": "虹がどのようにしてできるのか、日本語で三つの文で説明してください。",
    "ko": "무지개가 어떻게 생기는지 한국어로 세 문장으로 설명해 주세요.",
    "nl": "Leg in drie Nederlandse zinnen uit hoe een regenboog ontstaat.",
    "pl": "Wyjaśnij w trzech zdaniach po polsku, jak powstaje tęcza.",
    "pt": "Explique em três frases em português como se forma um arco-íris.",
    "ru": "Объясни в трёх предложениях по-русски, как возникает радуга.",
    "sv": "Förklara i tre meningar på svenska hur en regnbåge uppstår.",
    "tr": "Gökkuşağının nasıl oluştuğunu Türkçe üç cümleyle açıkla.",  # noqa: RUF001  (it is Turkish)
    "uk": "Поясни трьома реченнями українською, як виникає веселка.",
    "zh": "请用三句中文说明彩虹是怎样形成的。",
}
"""The question that is asked in each language; any other one is asked for by its code, in English."""

ALIKE = ({"no", "nb", "nn", "da"}, {"hr", "sr", "bs"}, {"id", "ms"}, {"cs", "sk"})
"""Languages that a few sentences do not tell apart for sure."""


def check(look: Look) -> None:
    """Ask for each capability that the scenario states, and put what was seen into the findings."""
    stated = look.scenario.capabilities
    if not stated.stated:
        return
    limit_s = min(look.scenario.limits.total_s, ANSWER_S)
    with Asker(look.sending, look.key, limit_s=limit_s) as asker:
        found = {
            name: {"stated": getattr(stated, name), **asks(look, asker, stated)}
            for name, asks in CHECKS.items()
            if getattr(stated, name) not in (None, ())
        }
    look.found.capabilities = found


def notes(found: dict[str, Any]) -> list[str]:
    """What is stated and was not seen, a sentence each."""
    told = []
    for name, item in found.items():
        each = item.get("each", {})
        rows = [(f"language {code}", one) for code, one in each.items()] or [(named(name, item["stated"]), item)]
        told += [
            f"[capabilities] states {what}, which was not seen: {one['words']}"
            for what, one in rows
            if one["seen"] is False
        ]
    return told


def named(name: str, stated: Any) -> str:
    """What is stated, in words."""
    return f"a context of {stated:,} tokens" if name == "context" else {"json_mode": "JSON mode"}.get(name, name)


def seen(verdict: bool | None, words: str) -> dict[str, Any]:
    """What came out of a check: True, False, or None for what was not found out; and why."""
    return {"seen": verdict, "words": words}


# ---- the checks ------------------------------------------------------------------------------------------------


def tools(look: Look, asker: Asker, stated: Capabilities) -> dict[str, Any]:
    """A call of a tool is forced, and has to come in the stream."""
    if not stated.tools:
        return seen(None, "stated as not there, so it was not asked for")
    call = replace(asking("What time is it in Paris?"), tools=(TOOL,), extra_body={"tool_choice": "required"})

    def judge(heard: Heard) -> dict[str, Any]:
        if not heard.calls:
            return seen(False, "a call was forced, and words were answered")
        name, arguments = heard.calls[min(heard.calls)]
        if name != "get_time":
            return seen(False, "a call of get_time was forced, and another tool was called")
        if object_of(arguments or "{}") is None:
            cut = heard.finish == "length"
            return seen(None if cut else False, "get_time was called with arguments that are no JSON object")
        return seen(True, "a forced call of get_time came")

    return answered(look, asker, call, judge)


def json_mode(look: Look, asker: Asker, stated: Capabilities) -> dict[str, Any]:
    """`response_format` json_object, and the answer has to be such an object."""
    if not stated.json_mode:
        return seen(None, "stated as not there, so it was not asked for")
    call = replace(
        asking("Give the city and the country of the Eiffel Tower as a JSON object with the keys city and country."),
        extra_body={"response_format": {"type": "json_object"}},
    )

    def judge(heard: Heard) -> dict[str, Any]:
        if object_of(heard.content) is not None:
            return seen(True, "the answer was a JSON object")
        begun = heard.content.lstrip()
        if not begun or (heard.finish == "length" and begun.startswith(("{", "`"))):
            return seen(None, f"the answer was cut at {TOKENS} tokens before it was whole")
        return seen(False, "the answer was no JSON object")

    return answered(look, asker, call, judge)


def context(look: Look, _asker: Asker, stated: Capabilities) -> dict[str, Any]:
    """Costs no request: what the endpoint tells, and the longest request that it took."""
    wanted = stated.context or 0
    told = look.found.context or look.found.served.get("context")
    if look.found.longest is not None and look.found.longest >= wanted:
        return seen(True, f"a request of {look.found.longest:,} tokens with its answer was taken")
    if told is None:
        return seen(None, "the endpoint does not tell its context")
    return seen(told >= wanted, f"the endpoint tells {told:,} tokens")


def languages(look: Look, asker: Asker, stated: Capabilities) -> dict[str, Any]:
    """A question in each language, whose answer has to be in it."""
    each = {code: one_language(look, asker, code) for code in stated.languages}
    verdicts = [item["seen"] for item in each.values()]
    verdict = False if False in verdicts else None if None in verdicts else True
    said = "; ".join(f"{code}: {item['words']}" for code, item in each.items())
    return {**seen(verdict, said), "each": each}


def one_language(look: Look, asker: Asker, code: str) -> dict[str, Any]:
    """One of them."""
    low = code.lower().partition("-")[0]
    question = QUESTIONS.get(
        low, f"Explain how a rainbow comes about, in three sentences of the language whose ISO 639 code is {low}."
    )

    def judge(heard: Heard) -> dict[str, Any]:
        told = language.of(heard.content)
        if told is None:
            return seen(None, "the answer is too short, or too mixed, to tell its language")
        same = told == low or any({told, low} <= group for group in ALIKE)
        return seen(same, f"answered in {told}")

    return answered(look, asker, asking(question), judge)


CHECKS: dict[str, Callable[[Look, Asker, Capabilities], dict[str, Any]]] = {
    "tools": tools,
    "json_mode": json_mode,
    "context": context,
    "languages": languages,
}
"""How each capability is checked, by its key in [capabilities]."""


# ---- asking ----------------------------------------------------------------------------------------------------


def asking(text: str) -> Call:
    """A small request."""
    return Call("preflight", "capability", ({"role": "user", "content": text},), text, TOKENS)


def answered(look: Look, asker: Asker, call: Call, judge: Callable[[Heard], dict[str, Any]]) -> dict[str, Any]:
    """Send a request and judge its answer; what came in no form of an answer has shown nothing."""
    if look.sending.api != "chat":
        return seen(None, "not asked: the scenario sends completions, and this is found out by a chat")
    look.found.capability_requests += 1
    try:
        reply = asker.complete(call)
    except (UnansweredError, Stop) as error:
        return seen(None, str(error))
    if reply.status in REFUSED:
        return seen(False, f"refused with {reply.status}: {reply.words}")
    if reply.status != 200:
        return seen(None, f"HTTP {reply.status}: {reply.words}")
    heard = hear(reply)
    if heard.error is not None:
        return seen(None, heard.error)
    told = judge(heard)
    return told | {"words": reply.quote(told["words"])}
