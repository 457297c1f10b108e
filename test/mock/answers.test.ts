import { beforeAll, describe, expect, test } from "vitest";
import { startMock, type MockServer } from "../../mock/server.ts";
import type { FailureKind } from "../../src/canon/failure.ts";
import type { Answer } from "../../src/canon/generate/event.ts";
import type {
  AssistantPart,
  GenerateRequest,
  ReasoningRequest,
  Turn,
} from "../../src/canon/generate/generate-request.ts";
import { collectAnswer } from "../../src/dialects/answer-events.ts";
import { upstreamFor } from "../../src/dialects/exchange-plan.ts";
import type { GenerateDialect } from "../../src/dialects/table.ts";
import { hello, text } from "../dialects/bedrock-converse/target.ts";
import { DIALECT_NAMES, targetOf } from "../dialects/laws/target.ts";
import { whenFileEnds } from "../support/file-end.ts";
import { postTo } from "./start.ts";

let server: MockServer;

beforeAll(async () => {
  server = await startMock({ host: "127.0.0.1", port: 0 });
  whenFileEnds(() => server.close());
});

/**
 * Sends a request as the router does, to a model with these settings, and reads the answer as it
 * does. A string is the refusal of the protocol's printer or of the simulated provider.
 */
async function ask(
  dialect: GenerateDialect,
  request: GenerateRequest,
  settings: string,
): Promise<Answer | string> {
  const upstream = upstreamFor("generate", dialect);
  const base = targetOf(dialect);
  const target = { ...base, endpoint: { ...base.endpoint, upstreamModel: `m${settings}` } };
  const formatted = upstream.format(request, target);
  if ("code" in formatted) return formatted.message;
  const headers: Record<string, string> = {};
  for (let index = 0; index < formatted.headers.length; index += 2)
    headers[formatted.headers[index] ?? ""] = formatted.headers[index + 1] ?? "";
  const response = await postTo(server, formatted.path, formatted.body, headers);
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (response.status !== 200) return Buffer.from(bytes).toString();
  if (!request.stream) return collectAnswer(upstream.parseAnswer(bytes, request, target));
  const parser = upstream.parseStream(request, target);
  return collectAnswer([...parser.push(bytes), ...parser.endAnswer()]);
}

const SAID = /^Simulated answer from m to (1 message|a prompt)\.$/;
const THOUGHT = "The request is simulated, so there is nothing to think about.";

const schema = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer", minimum: 2 } },
  required: ["city", "days"],
  additionalProperties: false,
};
const tools = ["f", "g"].map((name) => ({
  name,
  description: null,
  parameters: schema,
  strict: null,
  cache: null,
}));
const reasoning: ReasoningRequest = {
  effort: "unspecified",
  budget: 2_000,
  adaptive: false,
  display: null,
};
const effort: ReasoningRequest = { ...reasoning, effort: "high", budget: null };
const format = {
  kind: "json_schema",
  name: "n",
  description: null,
  schema,
  strict: null,
} as const;

const said = (value: unknown = expect.stringMatching(SAID)): object => ({
  kind: "text",
  text: value,
});
const thought = { kind: "reasoning", text: THOUGHT };
const called = (name: string): object => ({
  kind: "tool_call",
  id: expect.stringContaining("mock"),
  name,
  arguments: '{"city":"simulated","days":2}',
});
/** Only Cohere's models announce the call. */
const planned = (...calls: object[]): object => ({
  "cohere-chat": { blocks: [said("I will use the f tool."), ...calls] },
});
const ends = (reason: string, more: object = {}): object => ({ finish: { reason }, ...more });

/** Protocols without a form for the request or the setting. */
const none = (...dialects: GenerateDialect[]): object =>
  Object.fromEntries(dialects.map((dialect) => [dialect, null]));

interface Row {
  readonly title: string;
  readonly request?: Partial<GenerateRequest>;
  readonly settings?: string;
  readonly expected: object;
  /** What other protocols answer; `null` where they have no form for it. */
  readonly but?: Partial<Record<GenerateDialect, object | null>>;
}

const rows: readonly Row[] = [
  {
    title: "text, every token counted once",
    expected: { blocks: [said()], usage: { output: 7 }, ...ends("stop") },
  },
  {
    title: "as many tokens as the limit allows",
    request: { maxOutputTokens: 16 },
    settings: "+chunks=20",
    expected: { usage: { output: 16 }, ...ends("length") },
  },
  {
    title: "text up to a stop sequence",
    request: { stop: ["zz", " from"] },
    expected: { blocks: [said("Simulated answer")], finish: expect.anything() },
    but: {
      ...none("openai-responses"),
      "anthropic-messages": { finish: { reason: "stop_sequence", stopSequence: " from" } },
    },
  },
  {
    title: "reasoning within a budget",
    request: { reasoning },
    expected: { blocks: [thought, said()], usage: { output: 18 } },
    but: {
      ...none("openai-completions"),
      // Those whose models think by effort do not think by a budget.
      "openai-chat": { blocks: [said()] },
      "openai-responses": { blocks: [said()] },
    },
  },
  {
    title: "reasoning by effort",
    request: { reasoning: effort },
    expected: { blocks: [thought, said()], usage: { output: 18 } },
    but: {
      ...none("openai-completions", "cohere-chat"),
      // Without a summary only the provider can read it.
      "openai-responses": { blocks: [{ kind: "reasoning", text: "" }, said()] },
    },
  },
  {
    title: "reasoning that only the provider can read",
    settings: "+redacted",
    expected: { blocks: [{ signature: expect.stringMatching(/^redacted:/) }, said()] },
    but: none("openai-chat", "openai-completions", "openai-responses", "gemini", "cohere-chat"),
  },
  {
    title: "a tool call with arguments by the schema",
    request: { tools },
    expected: { blocks: [called("f")], ...ends("tool_calls") },
    but: { ...none("openai-completions"), ...planned(called("f")) },
  },
  {
    title: "parallel tool calls",
    request: { tools },
    settings: "+tool-calls=2",
    expected: { blocks: [called("f"), called("g")], ...ends("tool_calls") },
    but: { ...none("openai-completions"), ...planned(called("f"), called("g")) },
  },
  {
    title: "one tool call where the request forbids parallel ones",
    request: { tools, parallelToolCalls: false },
    settings: "+tool-calls=2",
    expected: { blocks: [called("f")] },
    but: {
      ...none("openai-completions", "cohere-chat"),
      // It has no such setting.
      gemini: { blocks: [called("f"), called("g")] },
    },
  },
  {
    title: "no tool call where the request forbids them",
    request: { tools, toolChoice: { mode: "none" } },
    expected: { blocks: [said()], ...ends("stop") },
    but: none("openai-completions"),
  },
  {
    title: "the tool that the request names",
    request: { tools, toolChoice: { mode: "named", name: "g" } },
    expected: { blocks: [called("g")] },
    but: none("openai-completions", "cohere-chat"),
  },
  {
    title: "JSON by the schema",
    request: { format },
    expected: { blocks: [said('{"city":"simulated","days":2}')] },
    but: {
      ...none("openai-completions"),
      // The bound is no part of the schemas that these providers take.
      "anthropic-messages": { blocks: [said('{"city":"simulated","days":1}')] },
      "bedrock-converse": { blocks: [said('{"city":"simulated","days":1}')] },
    },
  },
  {
    title: "log probabilities of every token",
    request: { logprobs: 0 },
    settings: "+chunks=2",
    expected: { blocks: [{ logprobs: [{ token: "signal" }, { token: " block" }] }] },
    but: {
      ...none("openai-completions", "bedrock-converse"),
      "anthropic-messages": { blocks: [{ logprobs: [] }] },
    },
  },
  {
    title: "a refusal",
    settings: "+refusal",
    expected: ends("refusal", {
      blocks: [{ kind: "refusal", text: "This is a simulated refusal." }],
    }),
    but: {
      ...none("openai-completions", "cohere-chat"),
      "anthropic-messages": ends("refusal", { blocks: [] }),
      gemini: ends("content_filter", { blocks: [], usage: { input: 6 } }),
      "bedrock-converse": ends("content_filter", {
        blocks: [said("This is a simulated refusal.")],
      }),
    },
  },
  {
    title: "an end by a filter",
    settings: "+finish=content_filter",
    expected: ends("content_filter"),
    but: { ...none("cohere-chat"), "anthropic-messages": ends("refusal") },
  },
  {
    title: "an end by an unknown reason",
    settings: "+finish=unknown",
    expected: ends("other"),
  },
  {
    title: "an end by a full context window",
    settings: "+finish=context_window",
    expected: ends("context_window"),
    but: none("openai-chat", "openai-completions", "openai-responses", "gemini", "cohere-chat"),
  },
  {
    title: "tokens from a cache",
    settings: "+cached=3",
    expected: { usage: { cacheRead: 3 } },
    but: none("openai-completions"),
  },
  {
    title: "tokens written to a cache",
    settings: "+cached=3+cache-write=2",
    expected: { usage: { cacheRead: 3, cacheWrite: 2 } },
    but: none("openai-completions", "gemini", "cohere-chat"),
  },
  { title: "no counts", settings: "+no-usage", expected: { blocks: [said()], usage: null } },
  {
    title: "characters of several bytes, cut where parsers break",
    settings: "+unicode+split",
    expected: { blocks: [said(expect.stringContaining("信号 🚦"))], ...ends("stop") },
  },
  {
    title: "text in a compressed body that is cut",
    settings: "+gzip+split=7+chunk-delay=1ms",
    expected: { blocks: [said()], ...ends("stop") },
  },
  {
    title: "text in lines of another style",
    settings: "+crlf+no-space+keepalive",
    expected: { blocks: [said()], ...ends("stop") },
    but: none("bedrock-converse"),
  },
];

type Ending = FailureKind | "proper";

/** How an answer with a fault ends, whole and streamed; `null` where there is no such fault. */
const endings: readonly {
  readonly settings: string;
  readonly ends: readonly [Ending, Ending] | null;
  readonly but?: Partial<Record<GenerateDialect, readonly [Ending, Ending]>>;
}[] = [
  { settings: "+cut", ends: ["malformed", "truncated"] },
  { settings: "+malformed", ends: ["malformed", "malformed"] },
  {
    settings: "+error-frame",
    ends: ["error_frame", "error_frame"],
    but: { "bedrock-converse": ["malformed", "error_frame"] },
  },
  {
    settings: "+failed",
    ends: null,
    but: {
      "openai-responses": ["error_frame", "error_frame"],
      "cohere-chat": ["error_frame", "error_frame"],
    },
  },
  {
    settings: "+no-finish",
    ends: ["malformed", "truncated"],
    but: {
      "openai-chat": ["malformed", "malformed"],
      "openai-completions": ["malformed", "malformed"],
      "anthropic-messages": ["malformed", "malformed"],
      "cohere-chat": ["truncated", "truncated"],
    },
  },
  {
    settings: "+no-done",
    ends: ["proper", "proper"],
    but: {
      "openai-responses": ["proper", "truncated"],
      "anthropic-messages": ["proper", "truncated"],
      gemini: ["proper", "truncated"],
    },
  },
];

/** Without the numbers that each request has for itself, and signatures that differ with them. */
function comparable({ blocks, ...answer }: Answer): object {
  const shown = blocks
    .filter((block) => block.kind !== "reasoning" || block.text !== "")
    .map((block) => (block.kind === "reasoning" ? { ...block, signature: null } : block));
  const json = JSON.stringify({ ...answer, blocks: shown });
  return JSON.parse(json.replaceAll(/mock_\d+/g, "mock_N"));
}

/** Gemini signs in blocks of their own. */
function withoutSignatures(answer: Answer): Answer {
  const blocks = answer.blocks.filter(
    (block) => block.kind !== "reasoning" || !/^(text|call|empty)\./.test(block.signature ?? ""),
  );
  return { ...answer, blocks };
}

describe.each(DIALECT_NAMES)("the simulated provider with %s:", (dialect) => {
  test.each(rows)("$title", async ({ request = {}, settings = "", expected, but }) => {
    const own = but?.[dialect];
    const whole = await ask(dialect, { ...hello, ...request }, settings);
    const streamed = await ask(dialect, { ...hello, ...request, stream: true }, settings);
    if (own === null) {
      expect([whole, streamed]).toEqual([expect.any(String), expect.any(String)]);
      return;
    }
    if (typeof whole === "string" || typeof streamed === "string")
      throw new Error(`refused: ${JSON.stringify(whole)}`);
    expect(withoutSignatures(whole)).toMatchObject(own ?? expected);
    expect(withoutSignatures(streamed)).toMatchObject(own ?? expected);
    expect(comparable(streamed)).toEqual(comparable(whole));
  });

  test.each(endings)("an end by $settings", async ({ settings, ends: usual, but }) => {
    const expected = but?.[dialect] ?? usual;
    for (const stream of [false, true]) {
      const answer = await ask(dialect, { ...hello, stream }, settings);
      if (expected === null) {
        expect(answer).toContain("never comes");
        continue;
      }
      if (typeof answer === "string") throw new Error(`refused: ${answer}`);
      const ending = answer.finish === null ? answer.failure?.kind : "proper";
      expect(ending).toBe(expected[stream ? 1 : 0]);
    }
  });
});

/** How much the models of a protocol that calls tools think: by a budget, or by effort. */
const THINKING: readonly (readonly [GenerateDialect, ReasoningRequest])[] = DIALECT_NAMES.filter(
  (dialect) => dialect !== "openai-completions",
).map((dialect) => [
  dialect,
  dialect === "openai-chat" || dialect === "openai-responses" ? effort : reasoning,
]);

test.each(THINKING)(
  "the simulated %s accepts its own reasoning and calls, and answers their results",
  async (dialect, thinking) => {
    for (const stream of [false, true]) {
      const request = { ...hello, tools, reasoning: thinking, stream };
      const first = await ask(dialect, request, "+tool-calls=2");
      if (typeof first === "string") throw new Error(`refused: ${first}`);
      const calls = first.blocks.filter((block) => block.kind === "tool_call");
      expect(calls).toHaveLength(2);
      const content = first.blocks.flatMap((block): readonly AssistantPart[] => {
        if (block.kind === "text") return [text(block.text)];
        if (block.kind === "tool_call") return [{ ...block, cache: null }];
        return block.kind === "reasoning" ? [block] : [];
      });
      const results = calls.map(({ id }) => ({
        callId: id,
        content: [text("sunny")],
        isError: null,
        cache: null,
      }));
      const turns: readonly Turn[] = [
        ...hello.turns,
        { role: "assistant", name: null, content },
        { role: "tool", results },
      ];
      const second = await ask(dialect, { ...request, turns }, "");
      if (typeof second === "string") throw new Error(`refused: ${second}`);
      expect(second.blocks).toContainEqual(
        expect.objectContaining(said("Simulated answer from m to the result of a tool.")),
      );
    }
  },
);
