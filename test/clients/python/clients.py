"""What the official Python clients make of the router, one line of JSON for each thing tried.

Called by test/clients/python.test.ts with the address and a key in the environment, and the routes as arguments.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable

import anthropic
import openai

URL = os.environ["SIGNALBOX_URL"]
KEY = os.environ["SIGNALBOX_KEY"]
REGULATED_KEY = os.environ["SIGNALBOX_REGULATED_KEY"]

QUESTION = {"role": "user", "content": "How is the weather?"}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CHAT_TOOL = {"type": "function", "function": {"name": "weather", "parameters": CITY}}
RESPONSES_TOOL = {"type": "function", "name": "weather", "parameters": CITY, "strict": False}
MESSAGES_TOOL = {"name": "weather", "input_schema": CITY}
LIMIT = 1000


sent: list[str] = []
"""Path of every request of the case at hand, retries too."""

HOOKS = {"request": [lambda request: sent.append(request.url.path)]}


def openai_client(key: str = KEY) -> openai.OpenAI:
    http_client = openai.DefaultHttpxClient(event_hooks=HOOKS)
    return openai.OpenAI(base_url=f"{URL}/v1", api_key=key, http_client=http_client)


def anthropic_client(key: str = KEY) -> anthropic.Anthropic:
    http_client = anthropic.DefaultHttpxClient(event_hooks=HOOKS)
    return anthropic.Anthropic(base_url=f"{URL}/api", api_key=key, http_client=http_client)


def chat_whole(route: str) -> dict:
    made = openai_client().chat.completions.create(model=route, messages=[QUESTION])
    return {"text": made.choices[0].message.content, "finish": made.choices[0].finish_reason}


def chat_stream(route: str) -> dict:
    stream = openai_client().chat.completions.create(model=route, messages=[QUESTION], stream=True)
    text, finish = "", None
    for chunk in stream:
        text += chunk.choices[0].delta.content or ""
        finish = chunk.choices[0].finish_reason or finish
    return {"text": text, "finish": finish}


def chat_helper(route: str) -> dict:
    with openai_client().chat.completions.stream(model=route, messages=[QUESTION]) as stream:
        final = stream.get_final_completion()
    return {"text": final.choices[0].message.content, "finish": final.choices[0].finish_reason}


def chat_tools(route: str) -> dict:
    client = openai_client()
    messages: list = [QUESTION]
    calls = 0
    for choice in ("required", "required", "auto"):
        made = client.chat.completions.create(model=route, messages=messages, tools=[CHAT_TOOL], tool_choice=choice)
        turn = made.choices[0].message
        messages.append(turn)
        for call in turn.tool_calls or []:
            calls += 1
            city = json.loads(call.function.arguments)["city"]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": f"rain in {city}"})
    return {"text": messages[-1].content, "finish": made.choices[0].finish_reason, "calls": calls}


def completions_whole(route: str) -> dict:
    made = openai_client().completions.create(model=route, prompt="Hello")
    return {"text": made.choices[0].text, "finish": made.choices[0].finish_reason}


def completions_stream(route: str) -> dict:
    text, finish = "", None
    for chunk in openai_client().completions.create(model=route, prompt="Hello", stream=True):
        text += chunk.choices[0].text
        finish = chunk.choices[0].finish_reason or finish
    return {"text": text, "finish": finish}


def responses_whole(route: str) -> dict:
    made = openai_client().responses.create(model=route, input=[QUESTION])
    return {"text": made.output_text, "finish": made.status}


def responses_stream(route: str) -> dict:
    with openai_client().responses.stream(model=route, input=[QUESTION]) as stream:
        final = stream.get_final_response()
    return {"text": final.output_text, "finish": final.status}


def responses_tools(route: str) -> dict:
    client = openai_client()
    history: list = [QUESTION]
    calls = 0
    for choice in ("required", "required", "auto"):
        made = client.responses.create(model=route, input=history, tools=[RESPONSES_TOOL], tool_choice=choice)
        history += made.output
        for item in made.output:
            if item.type == "function_call":
                calls += 1
                city = json.loads(item.arguments)["city"]
                history.append({"type": "function_call_output", "call_id": item.call_id, "output": f"rain in {city}"})
    return {"text": made.output_text, "finish": made.status, "calls": calls}


def messages_whole(route: str) -> dict:
    made = anthropic_client().messages.create(model=route, max_tokens=LIMIT, messages=[QUESTION])
    return {"text": made.content[0].text, "finish": made.stop_reason}


def messages_stream(route: str) -> dict:
    with anthropic_client().messages.stream(model=route, max_tokens=LIMIT, messages=[QUESTION]) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    return {"text": text, "finish": final.stop_reason}


def messages_tools(route: str) -> dict:
    client = anthropic_client()
    messages: list = [QUESTION]
    calls = 0
    for choice in ("any", "any", "auto"):
        made = client.messages.create(
            model=route,
            max_tokens=LIMIT,
            messages=messages,
            tools=[MESSAGES_TOOL],
            tool_choice={"type": choice},
        )
        messages.append({"role": "assistant", "content": made.content})
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": f"rain in {block.input['city']}"}
            for block in made.content
            if block.type == "tool_use"
        ]
        calls += len(results)
        if results:
            messages.append({"role": "user", "content": results})
    return {"text": made.content[-1].text, "finish": made.stop_reason, "calls": calls}


def count_tokens(route: str) -> dict:
    counted = anthropic_client().messages.count_tokens(model=route, messages=[QUESTION], tools=[MESSAGES_TOOL])
    return {"tokens": counted.input_tokens}


def told(error: openai.APIError | anthropic.APIError) -> dict:
    return {"error": type(error).__name__, "status": getattr(error, "status_code", None), "message": str(error)}


def refused_of(call: Callable[[], object]) -> dict:
    try:
        call()
    except (openai.APIError, anthropic.APIError) as error:
        return told(error)
    return {"error": None}


def chat_denied(route: str) -> dict:
    client = openai_client(REGULATED_KEY)
    return refused_of(lambda: client.chat.completions.create(model=route, messages=[QUESTION]))


def responses_denied(route: str) -> dict:
    return refused_of(lambda: openai_client(REGULATED_KEY).responses.create(model=route, input=[QUESTION]))


def messages_denied(route: str) -> dict:
    client = anthropic_client(REGULATED_KEY)
    return refused_of(lambda: client.messages.create(model=route, max_tokens=LIMIT, messages=[QUESTION]))


def exhaust(stream: Iterable) -> None:
    for _ in stream:
        pass


def chat_broken(route: str) -> dict:
    def call() -> None:
        exhaust(openai_client().chat.completions.create(model=f"{route}.cut", messages=[QUESTION], stream=True))

    return refused_of(call)


def responses_broken(route: str) -> dict:
    """This client gives a response that failed like any other; its status says so."""
    last = None
    for event in openai_client().responses.create(model=f"{route}.cut", input=[QUESTION], stream=True):
        last = event
    return {"error": last.type, "status": None, "message": last.response.error.message}


def messages_broken(route: str) -> dict:
    def call() -> None:
        client = anthropic_client()
        with client.messages.stream(model=f"{route}.cut", max_tokens=LIMIT, messages=[QUESTION]) as stream:
            stream.get_final_message()

    return refused_of(call)


CASES: dict[str, Callable[[str], dict]] = {
    "chat whole": chat_whole,
    "chat stream": chat_stream,
    "chat helper": chat_helper,
    "chat tools": chat_tools,
    "chat denied": chat_denied,
    "chat broken": chat_broken,
    "completions whole": completions_whole,
    "completions stream": completions_stream,
    "responses whole": responses_whole,
    "responses stream": responses_stream,
    "responses tools": responses_tools,
    "responses denied": responses_denied,
    "responses broken": responses_broken,
    "messages whole": messages_whole,
    "messages stream": messages_stream,
    "messages tools": messages_tools,
    "messages denied": messages_denied,
    "messages broken": messages_broken,
    "count_tokens": count_tokens,
}


def main(routes: list[str]) -> None:
    for route in routes:
        for name, case in CASES.items():
            sent.clear()
            try:
                result = case(route)
            except (openai.APIError, anthropic.APIError) as error:
                result = told(error)
            print(json.dumps({"route": route, "case": name, "requests": len(sent), **result}), flush=True)


main(sys.argv[1:])
