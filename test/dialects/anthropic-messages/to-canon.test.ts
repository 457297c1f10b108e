import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/canon/json.ts";
import {
  countTokensSurface,
  messagesSurface,
} from "../../../src/dialects/anthropic-messages/dialect.ts";
import { parseJsonBytes } from "../../../src/dialects/json.ts";
import {
  answered,
  body,
  canon,
  encoder,
  hello,
  NO_EDITS,
  NO_HEADERS,
  read,
  saying,
} from "./target.ts";

const mark = { type: "ephemeral", ttl: "1h" };
const { toCanon } = messagesSurface.translation;

/** A body with one of everything that canon can take in. */
const rich: JsonObject = {
  model: "r",
  max_tokens: 9_000,
  stream: true,
  temperature: 0.5,
  top_p: 0.9,
  top_k: 4,
  stop_sequences: ["a", "b"],
  system: [{ type: "text", text: "s", cache_control: mark }],
  thinking: { type: "enabled", budget_tokens: 2_000, display: "omitted" },
  output_config: { effort: "high", format: { type: "json_schema", schema: { type: "object" } } },
  tools: [
    {
      name: "f",
      description: "d",
      input_schema: { type: "object" },
      strict: true,
      cache_control: mark,
    },
  ],
  tool_choice: { type: "auto", disable_parallel_tool_use: true },
  metadata: { user_id: "u" },
  provider: { only: ["p"] },
  messages: [
    {
      role: "user",
      content: [
        { type: "text", text: "t", cache_control: mark },
        { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } },
        { type: "image", source: { type: "url", url: "https://a.example/a.png" } },
        {
          type: "document",
          source: { type: "text", media_type: "text/plain", data: "é" },
          title: "n",
        },
        { type: "document", source: { type: "url", url: "https://a.example/a.pdf" } },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "h", signature: "EqoB" },
        { type: "redacted_thinking", data: "EmwK" },
        { type: "text", text: "u", citations: [] },
        { type: "tool_use", id: "toolu_1", name: "f", input: { x: 1 }, caller: { type: "direct" } },
      ],
    },
    {
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: "toolu_1",
          is_error: true,
          content: [
            { type: "text", text: "v" },
            {
              type: "document",
              source: { type: "base64", media_type: "application/pdf", data: "aGk=" },
            },
          ],
        },
        { type: "text", text: "w" },
      ],
    },
    { role: "system", content: [{ type: "text", text: "y" }] },
    { role: "user", content: "z" },
  ],
};

const text = (value: string) => ({ kind: "text", text: value, cache: null });
const cache = { ttl: "1h" };

describe("a body in canon", () => {
  it("has every member of the body", () => {
    const made = toCanon(read(rich), "reject", NO_EDITS);
    if ("code" in made) throw new Error(made.message);
    expect(made.stripped).toEqual(["metadata"]);
    expect(made.dropped).toEqual([]);
    expect(made.request).toEqual({
      purpose: "generate",
      turns: [
        { role: "system", authority: "system", content: [{ kind: "text", text: "s", cache }] },
        {
          role: "user",
          name: null,
          content: [
            { kind: "text", text: "t", cache },
            {
              kind: "image",
              source: { kind: "base64", mediaType: "image/png", data: "aGk=" },
              detail: null,
              cache: null,
            },
            {
              kind: "image",
              source: { kind: "url", url: "https://a.example/a.png" },
              detail: null,
              cache: null,
            },
            {
              kind: "file",
              source: { kind: "base64", mediaType: "text/plain", data: "w6k=" },
              name: "n",
              cache: null,
            },
            {
              kind: "file",
              source: { kind: "url", url: "https://a.example/a.pdf" },
              name: null,
              cache: null,
            },
          ],
        },
        {
          role: "assistant",
          name: null,
          content: [
            {
              kind: "reasoning",
              text: "h",
              summary: false,
              signature: "EqoB",
              family: "anthropic",
            },
            {
              kind: "reasoning",
              text: "",
              summary: false,
              signature: "redacted:EmwK",
              family: "anthropic",
            },
            text("u"),
            { kind: "tool_call", id: "toolu_1", name: "f", arguments: '{"x":1}', cache: null },
          ],
        },
        {
          role: "tool",
          results: [
            {
              callId: "toolu_1",
              content: [
                text("v"),
                {
                  kind: "file",
                  source: { kind: "base64", mediaType: "application/pdf", data: "aGk=" },
                  name: null,
                  cache: null,
                },
              ],
              isError: true,
              cache: null,
            },
          ],
        },
        { role: "user", name: null, content: [text("w")] },
        { role: "system", authority: "system", content: [text("y")] },
        { role: "user", name: null, content: [text("z")] },
      ],
      tools: [{ name: "f", description: "d", parameters: { type: "object" }, strict: true, cache }],
      toolChoice: { mode: "auto" },
      parallelToolCalls: false,
      format: {
        kind: "json_schema",
        name: null,
        description: null,
        schema: { type: "object" },
        strict: null,
      },
      maxOutputTokens: 9_000,
      temperature: 0.5,
      topP: 0.9,
      topK: 4,
      frequencyPenalty: null,
      presencePenalty: null,
      logitBias: null,
      seed: null,
      stop: ["a", "b"],
      logprobs: null,
      reasoning: { effort: "high", budget: 2_000, adaptive: false, display: "omitted" },
      verbosity: null,
      hints: { serviceTier: null, promptCacheKey: null, promptCacheRetention: null },
      stream: true,
    });
  });

  /** Where everything below travels whole or not at all. */
  const FREE = new Set(["input_schema", "schema", "input", "metadata", "provider"]);

  function positions(
    value: JsonValue,
    path: readonly (string | number)[] = [],
  ): (readonly (string | number)[])[] {
    if (Array.isArray(value))
      return value.flatMap((item: JsonValue, index) => positions(item, [...path, index]));
    if (!isJsonObject(value)) return [];
    const inner = Object.entries(value).flatMap(([name, member]) =>
      FREE.has(name) || member === undefined ? [] : positions(member, [...path, name]),
    );
    return [path, ...inner];
  }

  it("no member of any object gets lost: an unknown one is native, refused or recorded", () => {
    const everywhere = positions(rich);
    expect(everywhere.length).toBeGreaterThan(30);
    for (const path of everywhere) {
      const value: JsonObject = structuredClone(rich);
      let position: Record<string, unknown> = value;
      for (const step of path) position = position[step] as Record<string, unknown>;
      position.novelty = 1;
      const request = messagesSurface.parse(value, 100, NO_HEADERS);
      if ("code" in request) continue;
      const where = path.join(".");
      // Only an endpoint of this protocol can get it; were it translated all the same, it would be
      // refused by name.
      if (path.length > 0) expect(request.shape.features, where).toContain("native_messages");
      const code = path.length > 0 ? "feature_not_supported" : "unknown_field";
      for (const mode of ["reject", "forward"] as const) {
        expect(toCanon(request, mode, NO_EDITS), where).toMatchObject({ code, status: 400 });
      }
    }
  });

  it("unknown members are recorded where the route strips them", () => {
    const made = toCanon(read({ ...hello, novelty: 1 }), "strip", NO_EDITS);
    expect(made).toMatchObject({ stripped: ["unknown_field"] });
  });

  it("hints are omitted and recorded", () => {
    const hints = body({
      speed: "fast",
      cache_control: mark,
      service_tier: "standard_only",
      context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
      tools: [{ name: "f", input_schema: {}, eager_input_streaming: true }],
      messages: [{ role: "user", content: [{ type: "text", text: "x", citations: [{}] }] }],
    });
    expect(toCanon(read(hints), "reject", NO_EDITS)).toMatchObject({
      request: { hints: { serviceTier: "default" } },
      dropped: ["cache_mark_dropped", "citations_dropped", "hint_dropped", "service_tier_changed"],
    });
    const stripped = toCanon(read(hints), "reject", {
      maxOutputTokens: null,
      stripFields: ["service_tier"],
    });
    expect(stripped).toMatchObject({
      request: { hints: { serviceTier: null } },
      stripped: ["service_tier"],
    });
  });

  it.each([
    [{ thinking: { type: "disabled" } }, { effort: "none", budget: null, adaptive: false }],
    [{ thinking: { type: "adaptive" } }, { effort: "unspecified", budget: null, adaptive: true }],
    [
      { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: "max" } },
      { effort: "max", adaptive: false, display: "summarized" },
    ],
    [
      { output_config: { effort: "low" } },
      { effort: "low", budget: null, adaptive: false, display: null },
    ],
    [
      { thinking: { type: "enabled", budget_tokens: 1_024 } },
      { effort: "unspecified", budget: 1_024 },
    ],
  ])("%j is read as the reasoning %j", (members, reasoning) => {
    expect(canon(body({ max_tokens: 9_000, ...members })).reasoning).toMatchObject(reasoning);
  });

  it("a policy's cap lowers the limit and the thinking budget", () => {
    const value = body({ max_tokens: 8_000, thinking: { type: "enabled", budget_tokens: 5_000 } });
    const made = toCanon(read(value), "reject", { maxOutputTokens: 4_000, stripFields: [] });
    expect(made).toMatchObject({
      request: { maxOutputTokens: 4_000, reasoning: { budget: 3_999 } },
    });
    expect(canon(value)).toMatchObject({ maxOutputTokens: 8_000, reasoning: { budget: 5_000 } });
  });

  it.each([
    [{ type: "any" }, { toolChoice: { mode: "required" }, parallelToolCalls: null }],
    [{ type: "tool", name: "f" }, { toolChoice: { mode: "named", name: "f" } }],
    [{ type: "none" }, { toolChoice: { mode: "none" } }],
    [
      { type: "auto", disable_parallel_tool_use: false },
      { toolChoice: { mode: "auto" }, parallelToolCalls: true },
    ],
  ])("the tool choice %j is read as %j", (tool_choice, expected) => {
    const tools = [{ name: "f", input_schema: {} }];
    expect(canon(body({ tools, tool_choice }))).toMatchObject(expected);
  });

  it("adjacent tool results are one turn, with other parts between other results", () => {
    const result = (id: string) => ({ type: "tool_result", tool_use_id: id });
    const call = (id: string) => ({ type: "tool_use", id, name: "f", input: {} });
    const { turns } = canon({
      messages: [
        { role: "assistant", content: [call("a"), call("b"), call("c")] },
        {
          role: "user",
          content: [result("a"), result("b"), { type: "text", text: "x" }, result("c")],
        },
      ],
    });
    expect(
      turns
        .slice(1)
        .map((turn) =>
          turn.role === "tool" ? turn.results.map(({ callId }) => callId) : turn.role,
        ),
    ).toEqual([["a", "b"], "user", ["c"]]);
  });

  it("signatures are untagged, with their family; reasoning without a signature has none", () => {
    const { turns } = canon(
      answered(
        { type: "thinking", thinking: "", signature: "sbx1.gpt.gAAA" },
        { type: "redacted_thinking", data: "sbx1.claude.EmwK" },
        { type: "thinking", thinking: "x", signature: "sbx1.unsigned." },
      ),
    );
    expect(turns[1]).toMatchObject({
      content: [
        { text: "", signature: "gAAA", family: "gpt" },
        { text: "", signature: "redacted:EmwK", family: "claude" },
        { text: "x", signature: null, family: null },
      ],
    });
  });

  it("numbers of a call's input are unchanged", () => {
    const bytes = encoder.encode(
      JSON.stringify(answered({ type: "tool_use", id: "t", name: "f", input: { n: 0 } })).replace(
        '"n":0',
        '"n":9007199254740993',
      ),
    );
    const value = parseJsonBytes(bytes) as JsonObject;
    expect(canon(value).turns[1]).toMatchObject({
      content: [{ arguments: '{"n":9007199254740993}' }],
    });
  });

  it("plain text files keep every character", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (data) => {
        const { turns } = canon(
          saying({ type: "document", source: { type: "text", media_type: "text/plain", data } }),
        );
        const [turn] = turns;
        const part = turn?.role === "user" ? turn.content[0] : undefined;
        const source = part?.kind === "file" ? part.source : undefined;
        expect(
          source?.kind === "base64" ? Buffer.from(source.data, "base64").toString() : null,
        ).toBe(data);
      }),
    );
  });

  it("a count has its purpose, no output limit and no stream", () => {
    const request = canon(
      { model: "r", system: "s", messages: hello.messages ?? [] },
      countTokensSurface,
    );
    expect(request).toMatchObject({
      purpose: "count",
      maxOutputTokens: null,
      stream: false,
      stop: [],
    });
    const capped = countTokensSurface.translation.toCanon(
      read({ model: "r", messages: hello.messages ?? [] }, NO_HEADERS, countTokensSurface),
      "reject",
      { maxOutputTokens: 5, stripFields: [] },
    );
    expect(capped).toMatchObject({ request: { maxOutputTokens: null } });
  });
});
