import { describe, expect, test } from "vitest";
import type { Answer } from "../../src/canon/generate/event.ts";
import type {
  AssistantPart,
  GenerateRequest,
  Turn,
} from "../../src/canon/generate/generate-request.ts";
import { collectAnswer } from "../../src/dialects/answer-events.ts";
import { upstreamFor } from "../../src/dialects/exchange-plan.ts";
import type { GenerateDialect } from "../../src/dialects/table.ts";
import { hello, text } from "../dialects/bedrock-converse/target.ts";
import { DIALECT_NAMES, targetOf } from "../dialects/laws/target.ts";
import { mockForFile, post } from "./start.ts";

/*
 * `test/clients/answers.test.ts` has what each protocol answers plainly, cut short and filtered.
 */

const server = await mockForFile();

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
  const response = await post(server, formatted.path, formatted.body, headers);
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (response.status !== 200) return Buffer.from(bytes).toString();
  if (!request.stream) return collectAnswer(upstream.parseAnswer(bytes, request, target));
  const parser = upstream.parseStream(request, target);
  return collectAnswer([...parser.push(bytes), ...parser.endAnswer()]);
}

const schema = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer", minimum: 2 } },
  required: ["city", "days"],
  additionalProperties: false,
};
const tool = { description: null, parameters: schema, strict: null, cache: null };
const tools = ["f", "g"].map((name) => ({ ...tool, name }));
const budget = { effort: "unspecified", budget: 2_000, adaptive: false, display: null } as const;
const effort = { ...budget, effort: "high", budget: null } as const;
const format = { kind: "json_schema", name: "n", description: null, schema, strict: null } as const;

const SAID = /^Simulated answer from m to (1 message|a prompt)\.$/;
const said = (value: unknown = expect.stringMatching(SAID)) => ({ kind: "text", text: value });
const thought = { kind: "reasoning", text: expect.stringMatching(/^The request is simulated, so/) };
const called = (name: string): object => ({
  kind: "tool_call",
  id: expect.stringContaining("mock"),
  name,
  arguments: '{"city":"simulated","days":2}',
});
const holding = (...all: object[]) => ({ blocks: all });
const ends = (reason: string, more: object = {}) => ({ finish: { reason }, ...more });
/** The bound is no part of the schemas that some providers take. */
const unbound = holding(said('{"city":"simulated","days":1}'));
const declined = "This is a simulated refusal.";

/** Titles of the answers that a protocol has no form for. */
const FORMLESS: Readonly<Partial<Record<GenerateDialect, RegExp>>> = {
  "openai-chat": /provider can read|context window/,
  "openai-completions": /reasoning|tool|JSON|log|refusal|context window|cache/,
  "openai-responses": /stop sequence|provider can read|context window/,
  "bedrock-converse": /log|lines/,
  gemini: /provider can read|context window|written/,
  "cohere-chat": /effort|provider can read|parallel|names|refusal|context window|written/,
};

interface Row {
  readonly title: string;
  readonly request?: Partial<GenerateRequest>;
  readonly settings?: string;
  readonly expected: object;
  /** What other protocols answer. */
  readonly but?: Partial<Record<GenerateDialect, object>>;
}

const rows: readonly Row[] = [
  {
    title: "as many tokens as the limit allows",
    request: { maxOutputTokens: 16 },
    settings: "+chunks=20",
    expected: ends("length", { usage: { output: 16 } }),
  },
  {
    title: "text up to a stop sequence",
    request: { stop: ["zz", " from"] },
    expected: holding(said("Simulated answer")),
    but: { "anthropic-messages": { finish: { reason: "stop_sequence", stopSequence: " from" } } },
  },
  {
    title: "reasoning within a budget",
    request: { reasoning: budget },
    expected: { ...holding(thought, said()), usage: { output: 18 } },
    // Those whose models think by effort do not think by a budget.
    but: { "openai-chat": holding(said()), "openai-responses": holding(said()) },
  },
  {
    title: "reasoning by effort",
    request: { reasoning: effort },
    expected: { ...holding(thought, said()), usage: { output: 18 } },
    // Without a summary only the provider can read it.
    but: { "openai-responses": holding({ ...thought, text: "" }, said()) },
  },
  {
    title: "reasoning that only the provider can read",
    settings: "+redacted",
    expected: holding({ signature: expect.stringMatching(/^redacted:/) }, said()),
  },
  {
    title: "a tool call with arguments by the schema",
    request: { tools },
    expected: ends("tool_calls", holding(called("f"))),
    // Only Cohere's models announce the call.
    but: { "cohere-chat": holding(said("I will use the f tool."), called("f")) },
  },
  {
    title: "one tool call where the request forbids parallel ones",
    request: { tools, parallelToolCalls: false },
    settings: "+tool-calls=2",
    expected: holding(called("f")),
    // It has no such setting.
    but: { gemini: holding(called("f"), called("g")) },
  },
  {
    title: "no tool call where the request forbids them",
    request: { tools, toolChoice: { mode: "none" } },
    expected: ends("stop", holding(said())),
  },
  {
    title: "the tool that the request names",
    request: { tools, toolChoice: { mode: "named", name: "g" } },
    expected: holding(called("g")),
  },
  {
    title: "JSON by the schema",
    request: { format },
    expected: holding(said('{"city":"simulated","days":2}')),
    but: { "anthropic-messages": unbound, "bedrock-converse": unbound },
  },
  {
    title: "log probabilities of every token",
    request: { logprobs: 0 },
    settings: "+chunks=2",
    expected: holding({ logprobs: [{ token: "signal" }, { token: " block" }] }),
    but: { "anthropic-messages": holding({ logprobs: [] }) },
  },
  {
    title: "a refusal",
    settings: "+refusal",
    expected: ends("refusal", holding({ kind: "refusal", text: declined })),
    but: {
      "anthropic-messages": ends("refusal", holding()),
      gemini: ends("content_filter", { ...holding(), usage: { input: 6 } }),
      "bedrock-converse": ends("content_filter", holding(said(declined))),
    },
  },
  { title: "an end by an unknown reason", settings: "+finish=unknown", expected: ends("other") },
  {
    title: "an end by a full context window",
    settings: "+finish=context_window",
    expected: ends("context_window"),
  },
  { title: "tokens from a cache", settings: "+cached=3", expected: { usage: { cacheRead: 3 } } },
  {
    title: "tokens written to a cache",
    settings: "+cached=3+cache-write=2",
    expected: { usage: { cacheRead: 3, cacheWrite: 2 } },
  },
  { title: "no counts", settings: "+no-usage", expected: { ...holding(said()), usage: null } },
  {
    title: "characters of several bytes, cut where parsers break",
    settings: "+unicode+split",
    expected: ends("stop", holding(said(expect.stringContaining("信号 🚦")))),
  },
  {
    title: "text in lines of another style",
    settings: "+crlf+no-space+keepalive",
    expected: ends("stop", holding(said())),
  },
];

/** Faults, and how an answer of each protocol ends with them: whole, and streamed. */
const FAULTS = ["+malformed", "+error-frame", "+failed", "+no-finish", "+no-done"];
const ENDINGS: Readonly<Record<GenerateDialect, string>> = {
  "openai-chat": "bad, bad; error, error; none, none; bad, bad; whole, whole",
  "openai-completions": "bad, bad; error, error; none, none; bad, bad; whole, whole",
  "openai-responses": "bad, bad; error, error; error, error; bad, short; whole, short",
  "anthropic-messages": "bad, bad; error, error; none, none; bad, bad; whole, short",
  "bedrock-converse": "bad, bad; bad, error; none, none; bad, short; whole, whole",
  gemini: "bad, bad; error, error; none, none; bad, short; whole, short",
  "cohere-chat": "bad, bad; error, error; error, error; short, short; whole, whole",
};
const NAMES = new Map([
  ["malformed", "bad"],
  ["error_frame", "error"],
  ["truncated", "short"],
]);

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
  test.each(rows)("$title", async ({ title, request = {}, settings = "", expected, but }) => {
    const whole = await ask(dialect, { ...hello, ...request }, settings);
    const streamed = await ask(dialect, { ...hello, ...request, stream: true }, settings);
    if (FORMLESS[dialect]?.test(title) === true) {
      expect([whole, streamed]).toEqual([expect.any(String), expect.any(String)]);
      return;
    }
    if (typeof whole === "string" || typeof streamed === "string")
      throw new Error(`refused: ${JSON.stringify(whole)}`);
    for (const answer of [whole, streamed])
      expect(withoutSignatures(answer)).toMatchObject(but?.[dialect] ?? expected);
    expect(comparable(streamed)).toEqual(comparable(whole));
  });

  test("answers with faults end as the protocol allows", async () => {
    const seen: string[] = [];
    for (const settings of FAULTS) {
      const pair: string[] = [];
      for (const stream of [false, true]) {
        const answer = await ask(dialect, { ...hello, stream }, settings);
        if (typeof answer === "string") pair.push(/never comes/.test(answer) ? "none" : answer);
        else
          pair.push(
            answer.finish === null ? (NAMES.get(answer.failure?.kind ?? "") ?? "?") : "whole",
          );
      }
      seen.push(pair.join(", "));
    }
    expect(seen.join("; ")).toBe(ENDINGS[dialect]);
  });

  if (dialect === "openai-completions") return;
  test("its own reasoning and parallel calls are accepted, and their results answered", async () => {
    const byEffort = dialect === "openai-chat" || dialect === "openai-responses";
    for (const stream of [false, true]) {
      const request = { ...hello, tools, reasoning: byEffort ? effort : budget, stream };
      const first = await ask(dialect, request, "+tool-calls=2");
      if (typeof first === "string") throw new Error(`refused: ${first}`);
      const calls = first.blocks.filter((block) => block.kind === "tool_call");
      expect(calls).toMatchObject([called("f"), called("g")]);
      expect(first.finish?.reason).toBe("tool_calls");
      const content = first.blocks.flatMap((block): readonly AssistantPart[] => {
        if (block.kind === "text") return [text(block.text)];
        if (block.kind === "tool_call") return [{ ...block, cache: null }];
        return block.kind === "reasoning" ? [block] : [];
      });
      const result = { content: [text("sunny")], isError: null, cache: null };
      const turns: readonly Turn[] = [
        ...hello.turns,
        { role: "assistant", name: null, content },
        { role: "tool", results: calls.map(({ id }) => ({ ...result, callId: id })) },
      ];
      expect(await ask(dialect, { ...request, turns }, "")).toMatchObject({
        blocks: expect.arrayContaining([
          expect.objectContaining(said("Simulated answer from m to the result of a tool.")),
        ]),
      });
    }
  });
});
