"""What the official Python clients make of refusals and faults, one line of JSON for each thing tried.

Called by test/clients/matrix/python.long.test.ts with the address and the keys in the environment. The route of a thing is named after its case
and surface: `spent-chat`. Retries are those of the libraries, but without the waits between them.
"""

import json
import os
from collections.abc import Callable
from typing import Any

import anthropic
import openai

URL = os.environ["SIGNALBOX_URL"]
KEYS: dict[str, str] = json.loads(os.environ["SIGNALBOX_KEYS"])

QUESTION = {"role": "user", "content": "Hello"}
LIMIT = 1000

statuses: list[int] = []
"""Status of every answer of the case at hand."""


def answered(response: Any) -> None:
    """The type is that of the HTTP library, which both packages have changed before."""
    statuses.append(response.status_code)
    response.headers["retry-after-ms"] = "1"


HOOKS = {"response": [answered]}


def openai_client(key: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{URL}/v1", api_key=key, http_client=openai.DefaultHttpxClient(event_hooks=HOOKS))


def anthropic_client(key: str) -> anthropic.Anthropic:
    http_client = anthropic.DefaultHttpxClient(event_hooks=HOOKS)
    return anthropic.Anthropic(base_url=f"{URL}/api", api_key=key, http_client=http_client)


def chat(key: str, route: str) -> str:
    stream = openai_client(key).chat.completions.create(model=route, messages=[QUESTION], stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


def responses(key: str, route: str) -> str:
    """This client gives a response that failed like any other; its status says so."""
    text = ""
    for event in openai_client(key).responses.create(model=route, input=[QUESTION], stream=True):
        if event.type == "response.output_text.delta":
            text += event.delta
        if event.type == "response.failed":
            raise openai.OpenAIError(event.response.error.message)
    return text


def messages(key: str, route: str) -> str:
    with anthropic_client(key).messages.stream(model=route, max_tokens=LIMIT, messages=[QUESTION]) as stream:
        return "".join(stream.text_stream)


# One line for each client and surface.
CLIENTS: dict[str, Callable[[str, str], str]] = {"chat": chat, "responses": responses, "messages": messages}


def told(key: str, route: str, ask: Callable[[str, str], str]) -> dict:
    statuses.clear()
    try:
        return {"text": ask(key, route)}
    except (openai.OpenAIError, anthropic.AnthropicError) as error:
        return {"error": type(error).__name__, "message": f"{error} {getattr(error, 'body', '')}"}


for case, key in KEYS.items():
    for surface, ask in CLIENTS.items():
        result = told(key, f"{case}-{surface}", ask)
        print(json.dumps({"case": case, "surface": surface, "statuses": statuses, **result}), flush=True)
