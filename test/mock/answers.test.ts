import { describe, expect, test } from "vitest";
import type { Answer } from "../../src/canon/generate/event.ts";
import type { GenerateRequest } from "../../src/canon/generate/generate-request.ts";
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
  const response = await post(server, formatted.path, formatted.body);
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (response.status !== 200) return Buffer.from(bytes).toString();
  if (!request.stream) return collectAnswer(upstream.parseAnswer(bytes, request, target));
  const parser = upstream.parseStream(request, target);
  return collectAnswer([...parser.push(bytes), ...parser.endAnswer()]);
}

/** The answer as a whole, and streamed. */
async function askTwice(...[dialect, request, settings]: Parameters<typeof ask>) {
  const whole = await ask(dialect, request, settings);
  return [whole, await ask(dialect, { ...request, stream: true }, settings)] as const;
}

const schema = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer", minimum: 2 } },
  required: ["city", "days"],
  additionalProperties: false,
};
const tool = { description: null, parameters: schema, strict: null, cache: null };
const tools = ["f", "g"].map((name) => ({ ...tool, name }));
const oneByOne = { tools, parallelToolCalls: false };
const budget = { effort: "unspecified", budget: 2_000, adaptive: false, display: null } as const;
const effort = { ...budget, effort: "high", budget: null } as const;
const named = { mode: "named", name: "g" } as const;
const format = { kind: "json_schema", name: "n", description: null, schema, strict: null } as const;

const byCity = '{"city":"simulated","days":2}';
const usual = expect.stringMatching(/^Simulated answer from m to (1 message|a prompt)\.$/);
const said = (value: unknown = usual) => ({ kind: "text", text: value });
const thought = { kind: "reasoning", text: expect.stringMatching(/^The request is simulated, so/) };
const sealed = { signature: expect.stringMatching(/^redacted:/) };
const called = (name: string): object => ({
  kind: "tool_call",
  id: expect.stringContaining("mock"),
  name,
  arguments: byCity,
});
const declined = "This is a simulated refusal.";
const holding = (...blocks: object[]) => ({ blocks });
const ends = (reason: string, ...blocks: object[]) => ({ finish: { reason }, blocks });
const limited = { finish: { reason: "length" }, usage: { output: 16 } };
const likely = { logprobs: [{ token: "signal" }, { token: " block" }] };
const unicode = { ...ends("stop", said(expect.stringContaining("信号 🚦"))), usage: null };

/** Titles of the answers that a protocol has no form for. */
const FORMLESS: Readonly<Partial<Record<GenerateDialect, RegExp>>> = {
  "openai-chat": /provider can read|context window/,
  "openai-completions": /reasoning|tool|JSON|log|refusal|context window|cache/,
  "openai-responses": /stop sequence|provider can read|context window/,
  "bedrock-converse": /log|lines/,
  gemini: /provider can read|context window|written/,
  "cohere-chat": /provider can read|parallel|names|refusal|context window|written/,
};

const rows: readonly [title: string, Partial<GenerateRequest>, settings: string, object][] = [
  ["as many tokens as the limit allows", { maxOutputTokens: 16 }, "+chunks=20", limited],
  ["text up to a stop sequence", { stop: ["z", " from"] }, "", holding(said("Simulated answer"))],
  ["reasoning that only the provider can read", {}, "+redacted", holding(sealed, said())],
  ["a tool call by the schema", { tools }, "", ends("tool_calls", called("f"))],
  ["no forbidden tool call", { tools, toolChoice: { mode: "none" } }, "", ends("stop", said())],
  ["the tool that the request names", { tools, toolChoice: named }, "", holding(called("g"))],
  ["no parallel tool calls", oneByOne, "+tool-calls=2", holding(called("f"))],
  ["JSON by the schema", { format }, "", holding(said(byCity))],
  ["log probabilities of every token", { logprobs: 0 }, "+chunks=2", holding(likely)],
  ["a refusal", {}, "+refusal", ends("refusal", { kind: "refusal", text: declined })],
  ["an end by an unknown reason", {}, "+finish=unknown", ends("other", said())],
  ["an end by a full context window", {}, "+finish=context_window", ends("context_window", said())],
  ["tokens from a cache", {}, "+cached=3", { usage: { cacheRead: 3 } }],
  ["tokens written to a cache", {}, "+cached=3+cache-write=2", { usage: { cacheWrite: 2 } }],
  ["characters of several bytes, without counts", {}, "+unicode+split+no-usage", unicode],
  ["lines of another style", {}, "+crlf+no-space+keepalive", ends("stop", said())],
];

/** The bound is no part of the schemas that some providers take. */
const unbound = holding(said('{"city":"simulated","days":1}'));
const stopped = { finish: { reason: "stop_sequence", stopSequence: " from" } };

/** Answers of single protocols that differ from the others'. */
const OTHERWISE: Readonly<Record<string, object>> = {
  "text up to a stop sequence, anthropic-messages": stopped,
  // Only Cohere's models announce the call.
  "a tool call by the schema, cohere-chat": holding(said("I will use the f tool."), called("f")),
  // It has no such setting.
  "no parallel tool calls, gemini": holding(called("f"), called("g")),
  "JSON by the schema, anthropic-messages": unbound,
  "JSON by the schema, bedrock-converse": unbound,
  "log probabilities of every token, anthropic-messages": holding({ logprobs: [] }),
  "a refusal, anthropic-messages": ends("refusal"),
  "a refusal, gemini": { ...ends("content_filter"), usage: { input: 6 } },
  "a refusal, bedrock-converse": ends("content_filter", said(declined)),
};

const FAULTS = ["+malformed", "+error-frame", "+failed", "+no-finish", "+no-done"];
/**
 * How an answer of each protocol ends with each of these faults: whole, and streamed if otherwise.
 */
const ENDINGS: Readonly<Record<GenerateDialect, string>> = {
  "openai-chat": "malformed; error_frame; none; malformed; whole",
  "openai-completions": "malformed; error_frame; none; malformed; whole",
  "openai-responses": "malformed; error_frame; error_frame; malformed, truncated; whole, truncated",
  "anthropic-messages": "malformed; error_frame; none; malformed; whole, truncated",
  "bedrock-converse": "malformed; malformed, error_frame; none; malformed, truncated; whole",
  gemini: "malformed; error_frame; none; malformed, truncated; whole, truncated",
  "cohere-chat": "malformed; error_frame; error_frame; truncated; whole",
};

/** Without the blocks in which Gemini signs others. */
function shown({ blocks, ...answer }: Answer): object {
  const isSignature = /^(text|call|empty)\./;
  const kept = blocks.filter(
    (block) => block.kind !== "reasoning" || !isSignature.test(block.signature ?? ""),
  );
  return { ...answer, blocks: kept };
}

/** Without what differs between requests: their numbers, and signatures. */
const comparable = (answer: Answer): unknown =>
  JSON.parse(JSON.stringify(shown(answer)).replaceAll(/mock_\d+|(?<="signature":")[^"]*/g, "-"));

describe.each(DIALECT_NAMES)("the simulated provider with %s:", (dialect) => {
  test.each(rows)("%s", async (title, request, settings, expected) => {
    const [whole, streamed] = await askTwice(dialect, { ...hello, ...request }, settings);
    if (FORMLESS[dialect]?.test(title) === true)
      return expect([whole, streamed]).toEqual([expect.any(String), expect.any(String)]);
    if (typeof whole === "string" || typeof streamed === "string")
      throw new Error(`refused: ${JSON.stringify(whole)}`);
    for (const answer of [whole, streamed])
      expect(shown(answer)).toMatchObject(OTHERWISE[`${title}, ${dialect}`] ?? expected);
    expect(comparable(streamed)).toEqual(comparable(whole));
  });

  test("answers with faults end as the protocol allows", async () => {
    const seen: string[] = [];
    for (const settings of FAULTS) {
      const endings = (await askTwice(dialect, hello, settings)).map((answer) => {
        if (typeof answer === "string") return answer.includes("never comes") ? "none" : answer;
        return answer.finish === null ? answer.failure?.kind : "whole";
      });
      seen.push([...new Set(endings)].join(", "));
    }
    expect(seen.join("; ")).toBe(ENDINGS[dialect]);
  });

  if (dialect === "openai-completions") return;
  test("its own reasoning and parallel calls are accepted, and their results answered", async () => {
    // Some models think within a budget, some by effort, some by either.
    const openai = dialect.startsWith("openai");
    const ways = [openai ? effort : budget, dialect === "cohere-chat" ? budget : effort];
    for (const [index, reasoning] of ways.entries()) {
      const request = { ...hello, tools, reasoning, stream: index === 1 };
      const first = await ask(dialect, request, "+tool-calls=2");
      if (typeof first === "string") throw new Error(`refused: ${first}`);
      // Without a summary only the provider can read the reasoning of responses.
      const read = dialect === "openai-responses" ? { ...thought, text: "" } : thought;
      expect(first).toMatchObject({ finish: { reason: "tool_calls" }, usage: { output: 17 } });
      expect(first.blocks[0]).toMatchObject(read);
      const calls = first.blocks.filter((block) => block.kind === "tool_call");
      expect(calls).toMatchObject([called("f"), called("g")]);
      const content = first.blocks.map((block) => ({ ...block, cache: null }));
      const result = { content: [text("sunny")], isError: null, cache: null };
      const turns: GenerateRequest["turns"] = [
        ...hello.turns,
        { role: "assistant", name: null, content },
        { role: "tool", results: calls.map(({ id }) => ({ ...result, callId: id })) },
      ];
      const answered = said("Simulated answer from m to the result of a tool.");
      expect(await ask(dialect, { ...request, turns }, "")).toMatchObject({
        blocks: expect.arrayContaining([expect.objectContaining(answered)]),
      });
    }
  });
});
