import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/canon/json.ts";
import { FEATURES } from "../../src/canon/capability.ts";
import {
  countTokensSurface,
  messagesSurface,
} from "../../src/dialects/anthropic-messages/dialect.ts";
import type { Surface } from "../../src/dialects/dialect.ts";
import { responsesSurface } from "../../src/dialects/openai-responses/dialect.ts";
import { chatSurface } from "../../src/dialects/openai-chat/dialect.ts";
import { NO_EDITS, NO_HEADERS, targetOf } from "./laws/target.ts";
import { upstreamFor } from "../../src/dialects/exchange-plan.ts";

const chatUpstream = upstreamFor("generate", "openai-chat");

function read(surface: Surface, body: JsonObject) {
  const request = surface.parse(body, 10, NO_HEADERS);
  if ("code" in request) throw new Error(request.message);
  return request;
}

const featuresOf = (surface: Surface, body: JsonObject): readonly string[] =>
  read(surface, body).shape.features.filter(
    (feature) => feature.startsWith("tool_choice") || feature.startsWith("native"),
  );

describe("a choice of a tool that the request does not bring", () => {
  const messages = { model: "r", max_tokens: 9, messages: [{ role: "user", content: "hi" }] };
  const own = [{ name: "f", input_schema: { type: "object" } }];

  it.each<[JsonObject, readonly string[]]>([
    [{ tool_choice: { type: "any" } }, ["native_messages"]],
    [{ tool_choice: { type: "any" }, tools: [] }, ["native_messages"]],
    [{ tool_choice: { type: "tool", name: "f" } }, ["native_messages"]],
    [{ tool_choice: { type: "tool", name: "g" }, tools: own }, ["native_messages"]],
    [{ tool_choice: { type: "tool", name: "constructor" }, tools: own }, ["native_messages"]],
    [{ tool_choice: { type: "any" }, tools: own }, ["tool_choice_required"]],
    [{ tool_choice: { type: "tool", name: "f" }, tools: own }, ["tool_choice_required"]],
    [{ tool_choice: { type: "auto" } }, []],
    [{ tool_choice: { type: "none" } }, []],
  ])("in messages, %j requires the features %j", (more, features) => {
    expect(featuresOf(messagesSurface, { ...messages, ...more })).toEqual(features);
    const { max_tokens: _, ...count } = messages;
    expect(featuresOf(countTokensSurface, { ...count, ...more })).toEqual(features);
  });

  const responses = { model: "r", input: "hi" };
  const functions = [{ type: "function", name: "f" }];

  it.each<[JsonObject, readonly string[]]>([
    [{ tool_choice: "required" }, ["native_responses"]],
    [{ tool_choice: { type: "function", name: "f" } }, ["native_responses"]],
    [{ tool_choice: { type: "function", name: "g" }, tools: functions }, ["native_responses"]],
    [{ tool_choice: "required", tools: functions }, ["tool_choice_required"]],
    [{ tool_choice: { type: "function", name: "f" }, tools: functions }, ["tool_choice_required"]],
    [{ tool_choice: "none" }, []],
  ])("in responses, %j requires the features %j", (more, features) => {
    expect(featuresOf(responsesSurface, { ...responses, ...more })).toEqual(features);
  });
});

describe("empty messages", () => {
  const canonOf = (messages: readonly JsonObject[], more: JsonObject = {}) =>
    messagesSurface.translation.toCanon(
      read(messagesSurface, { model: "r", max_tokens: 9, messages, ...more }),
      "reject",
      NO_EDITS,
    );

  it("are omitted on record where something is left to answer", () => {
    const canonical = canonOf([
      { role: "user", content: [] },
      { role: "user", content: "hi" },
    ]);
    if ("code" in canonical) throw new Error(canonical.message);
    expect(canonical.dropped).toEqual(["empty_text_dropped"]);
    const formatted = chatUpstream.format(canonical.request, targetOf("openai-chat"));
    expect(formatted).toMatchObject({ body: { messages: [{ role: "user", content: "hi" }] } });
  });

  it.each<[JsonObject]>([[{}], [{ system: "be brief" }]])(
    "are refused as the only ones, %j",
    (more) => {
      expect(canonOf([{ role: "user", content: [] }], more)).toMatchObject({
        status: 400,
        code: "missing_field",
        param: "messages",
      });
    },
  );
});

describe("members without effect", () => {
  const empty = { refusal: null, deep: { deeper: null } };
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
  const chat = (member: JsonObject) => ({
    messages: [
      { role: "user", content: "hi" },
      { role: "assistant", content: null, tool_calls: [call], ...member },
      { role: "tool", tool_call_id: "c", content: "r" },
    ],
  });
  const responses = (member: JsonObject) => ({
    input: [{ role: "user", content: "hi", ...member }],
  });
  const messages = (member: JsonObject) => ({
    max_tokens: 9,
    messages: [{ role: "user", content: [{ type: "text", text: "hi", ...member }] }],
  });

  it.each<[string, Surface, (member: JsonObject) => JsonObject, param: string]>([
    ["chat", chatSurface, chat, "messages[1].provider_specific_fields"],
    ["responses", responsesSurface, responses, "input[0].provider_specific_fields"],
    ["messages", messagesSurface, messages, "messages[0].content[0].provider_specific_fields"],
  ])(
    "are omitted from translations on record, and others are refused by their name: %s",
    (_, surface, body, param) => {
      const request = read(surface, { model: "r", ...body({ provider_specific_fields: empty }) });
      expect(request.shape.features.filter((feature) => feature.startsWith("native"))).toEqual([]);
      expect(surface.translation.toCanon(request, "reject", NO_EDITS)).toMatchObject({
        dropped: expect.arrayContaining(["empty_member_dropped"]),
      });
      for (const member of [{ refusal: "no" }, {}, [null]] as const) {
        const { shape, paths } = read(surface, {
          model: "r",
          ...body({ provider_specific_fields: member }),
        });
        const feature = shape.features.find((name) => name.startsWith("native"));
        if (feature === undefined) throw new Error("nothing is refused");
        expect(paths.get(feature)).toBe(param);
      }
    },
  );

  it("do not make a request unknown, and are removed from the upstream request", () => {
    const request = read(chatSurface, { model: "r", ...chat({}), extra: null, more: empty });
    expect(chatSurface.refuseUnknown(request.body, "reject")).toBeNull();
    const target = targetOf("openai-chat");
    const edited = chatSurface.relay.edit(
      request,
      target.endpoint,
      target.provider,
      "reject",
      NO_EDITS,
    );
    expect(Object.keys(edited.body)).not.toContain("extra");
    expect(edited.stripped).toEqual(["unknown_field", "unknown_field"]);
    expect(chatSurface.refuseUnknown({ ...request.body, most: 1 }, "reject")).toMatchObject({
      param: "most",
    });
  });
});

describe("the message of a member that cannot be translated", () => {
  it("is true of nested members and of values too", () => {
    for (const name of [
      "native_chat",
      "native_completions",
      "native_responses",
      "native_messages",
    ] as const) {
      expect(FEATURES[name]).toBe(
        "a member or value that cannot be translated to another protocol",
      );
    }
  });
});
