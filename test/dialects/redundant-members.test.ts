import { describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "../../src/canon/json.ts";
import type { InferenceRequest } from "../../src/canon/request.ts";
import { messagesSurface } from "../../src/dialects/anthropic-messages/dialect.ts";
import type { Surface } from "../../src/dialects/dialect.ts";
import { chatSurface } from "../../src/dialects/openai-chat/dialect.ts";
import { responsesSurface } from "../../src/dialects/openai-responses/dialect.ts";
import { endpoint, provider } from "../support/table.ts";
import { NO_EDITS, NO_HEADERS } from "./laws/target.ts";

const user = { role: "user", content: "hi" };

function chat(answer: JsonObject): JsonObject {
  return { model: "r", messages: [user, { role: "assistant", ...answer }, user] };
}

function messages(block: JsonObject): JsonObject {
  return {
    model: "r",
    max_tokens: 9,
    messages: [user, { role: "assistant", content: [block] }, user],
  };
}

function responses(item: JsonObject): JsonObject {
  return { model: "r", input: [user, item, user] };
}

const text = { type: "text", text: "x" };
const json = { type: "text", text: '{"a":1}' };
const call = { id: "c", type: "function", function: { name: "f", arguments: '{"a":1}' } };
const item = { type: "function_call", call_id: "c", name: "f", arguments: '{"a":1,"b":[2]}' };
const output = { type: "output_text", text: '{"a":1}', annotations: [] };

function parsed(surface: Surface, body: JsonObject): InferenceRequest {
  const request = surface.parse(body, 100, NO_HEADERS);
  if ("code" in request) throw new Error(`${request.code} ${request.message}`);
  return request;
}

const EMPTY = "empty_member_dropped";
const REPEATED = "repeated_member_dropped";

/**
 * Surface, body with members that repeat or say nothing, the body without them, and the record of
 * it.
 */
const REDUNDANT: readonly (readonly [
  string,
  Surface,
  JsonObject,
  JsonObject,
  readonly string[],
])[] = [
  [
    "an empty list of a part",
    chatSurface,
    chat({ content: [{ ...text, annotations: [] }] }),
    chat({ content: [text] }),
    [EMPTY],
  ],
  [
    "the role of its message",
    chatSurface,
    chat({ content: [{ ...text, role: "assistant" }] }),
    chat({ content: [text] }),
    [REPEATED],
  ],
  [
    "an empty list of calls",
    chatSurface,
    chat({ content: "y", tool_calls: [] }),
    chat({ content: "y" }),
    [EMPTY],
  ],
  [
    "content without parts",
    chatSurface,
    { ...chat({}), messages: [{ role: "user", content: [] }, user] },
    { ...chat({}), messages: [{ role: "user", content: "" }, user] },
    [EMPTY],
  ],
  [
    "a parsed message",
    chatSurface,
    chat({ content: '{"a":1}', parsed: { a: 1 } }),
    chat({ content: '{"a":1}' }),
    [REPEATED],
  ],
  [
    "a parsed text",
    chatSurface,
    chat({ content: [{ ...json, parsed: { a: 1 } }] }),
    chat({ content: [json] }),
    [REPEATED],
  ],
  [
    "parsed arguments of a call",
    chatSurface,
    chat({
      content: null,
      tool_calls: [{ ...call, function: { ...call.function, parsed_arguments: { a: 1.0 } } }],
    }),
    chat({ content: null, tool_calls: [call] }),
    [REPEATED],
  ],
  [
    "parsed arguments of an item, in another order",
    responsesSurface,
    responses({ ...item, parsed_arguments: { b: [2], a: 1 } }),
    responses(item),
    [REPEATED],
  ],
  [
    "a parsed text of an item",
    responsesSurface,
    responses({
      type: "message",
      role: "assistant",
      content: [{ ...output, parsed: { a: 1 }, extra: [] }],
    }),
    responses({ type: "message", role: "assistant", content: [output] }),
    [EMPTY, REPEATED],
  ],
  [
    "the role of an item",
    responsesSurface,
    responses({ ...item, role: "assistant" }),
    responses(item),
    [REPEATED],
  ],
  [
    "a parsed block",
    messagesSurface,
    messages({ ...json, parsed_output: { a: 1 } }),
    messages(json),
    [REPEATED],
  ],
  [
    "the role of a block's message",
    messagesSurface,
    messages({ ...text, role: "assistant", x: [] }),
    messages(text),
    [EMPTY, REPEATED],
  ],
];

describe("members of a history that repeat another one or have no effect", () => {
  it.each(REDUNDANT)(
    "%s: is left out for every provider, on record",
    (_what, surface, body, clean, dropped) => {
      const request = parsed(surface, body);
      expect(request.dropped?.toSorted()).toEqual(dropped);
      const { dialect } = surface;
      const relayed = surface.relay.edit(
        request,
        endpoint("a", { dialect }),
        provider("p", { dialect }),
        "reject",
        NO_EDITS,
      );
      // Strictly: a member that is only undefined would still change the conversation's key.
      const { messages: sent = relayed.body.input } = relayed.body;
      expect(sent).toStrictEqual(clean.messages ?? clean.input);
      const canonical = surface.translation.toCanon(request, "reject", NO_EDITS);
      const expected = surface.translation.toCanon(parsed(surface, clean), "reject", NO_EDITS);
      if ("code" in canonical || "code" in expected) throw new Error("was refused");
      expect(canonical.request).toEqual(expected.request);
      expect(canonical.dropped).toEqual(expect.arrayContaining([...dropped]));
    },
  );

  it("reads the effort of OpenRouter's libraries as the protocol's own member", () => {
    const sent: JsonObject = {
      model: "r",
      messages: [user],
      reasoning: { effort: "low", exclude: null },
    };
    const request = parsed(chatSurface, sent);
    expect(request).toMatchObject({
      dropped: ["effort_member_renamed"],
      shape: { reasoningEffort: "low" },
    });
    expect(request.body).toEqual({ model: "r", messages: [user], reasoning_effort: "low" });
    expect(request.paths.get("reasoning")).toBe("reasoning.effort");
    expect(chatSurface.refuseUnknown(request.body, "reject")).toBeNull();
    const forwarded = chatSurface.relay.edit(
      request,
      endpoint("a"),
      provider("p"),
      "forward",
      NO_EDITS,
    ).body;
    expect(forwarded).toMatchObject({ reasoning: { effort: "low" } });
    expect(forwarded).not.toHaveProperty("reasoning_effort");
    for (const more of [{ max_tokens: 9 }, { enabled: true }, { exclude: true }]) {
      const other = parsed(chatSurface, { ...sent, reasoning: { effort: "low", ...more } });
      expect(chatSurface.refuseUnknown(other.body, "reject")).toMatchObject({ param: "reasoning" });
    }
  });

  it("leave the caller's body unchanged, with numbers beyond a double", () => {
    const exact = JSON.rawJSON("9007199254740993");
    const body: JsonObject = {
      ...chat({ content: [{ ...text, role: "assistant" }] }),
      extra: { deep: [exact] },
    };
    const before = JSON.stringify(body);
    const request = parsed(chatSurface, body);
    expect(JSON.stringify(body)).toBe(before);
    expect(JSON.stringify(request.body)).toBe(before.replace(',"role":"assistant"}]', "}]"));
  });

  it.each<[string, Surface, JsonObject, string]>([
    [
      "another role",
      chatSurface,
      chat({ content: [{ ...text, role: "user" }] }),
      "messages[1].content[0].role",
    ],
    [
      "a member of a vendor",
      chatSurface,
      chat({ content: [{ ...text, foo: 1 }] }),
      "messages[1].content[0].foo",
    ],
    [
      "other parsed text",
      chatSurface,
      chat({ content: '{"a":1}', parsed: { a: 2 } }),
      "messages[1].parsed",
    ],
    [
      "other parsed arguments of a call",
      chatSurface,
      chat({
        content: null,
        tool_calls: [{ ...call, function: { ...call.function, parsed_arguments: { a: "1" } } }],
      }),
      "messages[1].tool_calls[0].function.parsed_arguments",
    ],
    [
      "a member of a call",
      chatSurface,
      chat({ tool_calls: [{ ...call, foo: 1 }] }),
      "messages[1].tool_calls[0].foo",
    ],
    [
      "a member of an image",
      chatSurface,
      {
        model: "r",
        messages: [
          {
            role: "user",
            content: [{ type: "image_url", image_url: { url: "https://e.example/a", x: 1 } }],
          },
        ],
      },
      "messages[0].content[0].image_url.x",
    ],
    [
      "a schema beside json_object",
      chatSurface,
      { ...chat({ content: "x" }), response_format: { type: "json_object", schema: {} } },
      "response_format.schema",
    ],
    [
      "other parsed arguments of an item",
      responsesSurface,
      responses({ ...item, parsed_arguments: { a: 2 } }),
      "input[1].parsed_arguments",
    ],
    [
      "a member of reasoning",
      responsesSurface,
      { model: "r", input: "hi", reasoning: { x: 1 } },
      "reasoning.x",
    ],
    [
      "another parsed block",
      messagesSurface,
      messages({ ...json, parsed_output: 5 }),
      "messages[1].content[0].parsed_output",
    ],
  ])("%s is refused by its name where it cannot be sent", (_what, surface, body, param) => {
    const canonical = surface.translation.toCanon(parsed(surface, body), "reject", NO_EDITS);
    expect(canonical).toMatchObject({ status: 400, code: "feature_not_supported", param });
  });

  it("counts a copy as one only where the text is JSON that can be compared", () => {
    const deep: JsonValue = JSON.parse(`${"[".repeat(2000)}${"]".repeat(2000)}`);
    const texts = [
      ["{", {}],
      ["[".repeat(2000) + "]".repeat(2000), deep],
    ] as const;
    for (const [content, copy] of texts) {
      const request = parsed(chatSurface, chat({ content, parsed: [copy] }));
      expect(request.paths.get("native_chat")).toBe("messages[1].parsed");
    }
  });
});
