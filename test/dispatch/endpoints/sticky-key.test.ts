import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BodyReader } from "../../../src/canon/request.ts";
import type { JsonObject, JsonValue } from "../../../src/canon/json.ts";
import { stickyKeys } from "../../../src/dispatch/balance.ts";
import {
  CHAT_BODY,
  COMPLETIONS_BODY,
  MESSAGES_BODY,
  RESPONSES_BODY,
} from "../../support/body-readers.ts";

const READERS: Readonly<Record<string, BodyReader>> = {
  system: MESSAGES_BODY,
  messages: CHAT_BODY,
  input: RESPONSES_BODY,
  prompt: COMPLETIONS_BODY,
};

/** The body with the reader of a protocol that has its members. */
const request = (body: JsonObject) => {
  const member = Object.keys(READERS).find((name) => Object.hasOwn(body, name));
  return { body, reader: READERS[member ?? "messages"] ?? CHAT_BODY };
};

const keysOf = stickyKeys(new Uint8Array(32).fill(7));
const keyOf = (body: JsonObject, session: string | null) => keysOf(request(body), session);

const user = (content: JsonValue, more: JsonObject = {}): JsonObject => ({
  role: "user",
  content,
  ...more,
});
const said = (content: JsonValue): JsonObject => ({ role: "assistant", content });
const system = (content: JsonValue): JsonObject => ({ role: "system", content });

describe("the source of the key", () => {
  it("is the caller's key, then the session, then the beginning of the conversation", () => {
    const body = { messages: [user("hello")] };
    const byCallerKey = keyOf({ ...body, prompt_cache_key: "w" }, "s");
    expect(byCallerKey).toBe(keyOf({ prompt_cache_key: "w", messages: [user("other")] }, null));
    const bySession = keyOf(body, "s");
    expect(bySession).toBe(keyOf({ messages: [user("other")], prompt_cache_key: "" }, "s"));
    const byOpening = keyOf(body, null);
    expect(byOpening).toBe(keyOf(body, ""));
    expect(new Set([byCallerKey, bySession, byOpening, keyOf(body, "w")]).size).toBe(4);
  });

  it.each<[string, JsonObject]>([
    ["an empty request", {}],
    ["no turns", { messages: [] }],
    ["a key that is no text", { prompt_cache_key: 7, messages: [] }],
    ["an empty list of prompts", { prompt: [] }],
    ["neither", { input: 7 }],
  ])("is absent for %s", (_, body) => {
    expect(keyOf(body, null)).toBeNull();
  });
});

describe("a conversation", () => {
  it.each<[string, JsonObject, JsonObject]>([
    [
      "chat",
      { messages: [system("s"), user("one")] },
      { messages: [system("s"), user("one"), said("two"), user("three")] },
    ],
    [
      "responses",
      { instructions: "i", input: [user("one")] },
      {
        instructions: "i",
        input: [user("one", { id: "item_1", status: "completed" }), said("two"), user("three")],
      },
    ],
    [
      "messages, with a cache mark that moves",
      {
        system: "s",
        messages: [user([{ type: "text", text: "one", cache_control: { type: "ephemeral" } }])],
      },
      {
        system: "s",
        messages: [user([{ type: "text", text: "one" }]), said("two"), user("three")],
      },
    ],
    ["completions", { prompt: "p".repeat(1_024) }, { prompt: `${"p".repeat(1_024)} and on` }],
    [
      "other tools",
      { messages: [user("one")], tools: [] },
      { messages: [user("one")], tools: [{ name: "t" }] },
    ],
  ])("keeps its key while it grows: %s", (_, early, late) => {
    expect(keyOf(early, null)).not.toBeNull();
    expect(keyOf(late, null)).toBe(keyOf(early, null));
  });

  it.each<[string, JsonObject, JsonObject]>([
    [
      "another first turn",
      { messages: [system("s"), user("one")] },
      { messages: [system("s"), user("two")] },
    ],
    [
      "another instruction",
      { messages: [system("s"), user("one")] },
      { messages: [system("t"), user("one")] },
    ],
    [
      "another system text",
      { system: "s", messages: [user("one")] },
      { system: "t", messages: [user("one")] },
    ],
    ["another prompt", { prompt: "one" }, { prompt: "two" }],
    ["another input", { input: "one" }, { input: "two" }],
    ["other tokens", { prompt: [[1, 2]] }, { prompt: [[1, 3]] }],
    ["a first turn under long instructions", long("one"), long("two")],
    [
      "pieces that join to the same",
      { messages: [user(["ab", "c"])] },
      { messages: [user(["a", "bc"])] },
    ],
    [
      "a text that looks like structure",
      { messages: [user(["a", "b"])] },
      { messages: [user(['a1"b'])] },
    ],
  ])("has a distinct key: %s", (_, one, other) => {
    expect(keyOf(one, null)).not.toBeNull();
    expect(keyOf(one, null)).not.toBe(keyOf(other, null));
  });

  function long(first: string): JsonObject {
    const blocks = Array.from({ length: 100 }, (_, index) => ({
      type: "text",
      text: `${index}`.repeat(4_000),
    }));
    return { system: blocks, messages: [system("s".repeat(200_000)), user(first)] };
  }
});

describe("a key", () => {
  it("has a fixed length and is different under another secret", () => {
    const body = { messages: [user("a secret of the caller")] };
    const other = stickyKeys()(request(body), null);
    expect(keyOf(body, null)).toMatch(/^[\w-]{43}$/);
    expect(keyOf({ prompt_cache_key: "k".repeat(1e6) }, null)).toMatch(/^[\w-]{43}$/);
    expect(other).not.toBe(keyOf(body, null));
    expect(other).not.toBe(stickyKeys()(request(body), null));
  });

  it("is the same each time, for JSON of any depth", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify({ messages: [{ role: "user", content: value }] });
        expect(keyOf(JSON.parse(text), null)).toBe(keyOf(JSON.parse(text), null));
      }),
    );
    let deep: JsonValue = "bottom";
    for (let level = 0; level < 100_000; level += 1) deep = [deep];
    expect(keyOf({ messages: [user(deep)] }, null)).not.toBeNull();
  });
});
