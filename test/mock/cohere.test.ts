import type { MockServer } from "../../mock/server.ts";
import type { Answer } from "../../src/canon/generate/event.ts";
import type {
  AssistantPart,
  GenerateRequest,
  Tool,
  Turn,
} from "../../src/canon/generate/generate-request.ts";
import { collectAnswer } from "../../src/dialects/answer-events.ts";
import { dialect } from "../../src/dialects/cohere-chat/dialect.ts";
import { asking, target } from "../dialects/cohere-chat/target.ts";
import { HELLO, mockForTest, namedEvents, postTo } from "./start.ts";
import { readRecordings } from "../support/recordings.ts";
import { describe, expect, test } from "vitest";

const { generate: cohereChatUpstream } = dialect;

const PATH = "/v2/chat";
const THOUGHT = "The request is simulated, so there is nothing to think about.";

const schema = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer", minimum: 2 } },
  required: ["city", "days"],
  additionalProperties: false,
};
const weather: Tool = {
  name: "get_weather",
  description: null,
  parameters: schema,
  strict: true,
  cache: null,
};

/** Sends a request as the router would and reads the answer as it would. */
async function ask(
  server: MockServer,
  settings: string,
  more: Partial<GenerateRequest> = {},
): Promise<Answer> {
  const request = asking(more);
  const base = { ...target, endpoint: { ...target.endpoint, upstreamModel: `m${settings}` } };
  const formatted = cohereChatUpstream.format(request, base);
  if ("code" in formatted) throw new Error(`${formatted.code} ${formatted.message}`);
  const answer = await postTo(server, formatted.path, formatted.body);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  if (answer.status !== 200) throw new Error(new TextDecoder().decode(bytes));
  if (!request.stream) return collectAnswer(cohereChatUpstream.parseAnswer(bytes, request, base));
  const parser = cohereChatUpstream.parseStream(request, base);
  return collectAnswer([...parser.push(bytes), ...parser.endAnswer()]);
}

describe.each([false, true])("through our own reader (stream: %s)", (stream) => {
  test("text is said, and every token is counted once", async () => {
    const answer = await ask(await mockForTest(), "+cached=5", { stream });
    expect(answer).toEqual({
      model: null,
      blocks: [
        {
          kind: "text",
          text: "Simulated answer from m to 1 message.",
          logprobs: [],
          citations: [],
        },
      ],
      usage: { input: 6, output: 7, cacheRead: 5, cacheWrite: null, reasoning: null },
      finish: { reason: "stop", stopSequence: null },
      failure: null,
    });
  });

  test("a tool loop goes round: plan, calls, results, answer", async () => {
    const server = await mockForTest();
    const first = await ask(server, "+tool-calls=2", { stream, tools: [weather] });
    expect(first.finish?.reason).toBe("tool_calls");
    expect(first.blocks).toMatchObject([
      { kind: "text", text: "I will use the get_weather tool." },
      { kind: "tool_call", id: "get_weather_mock_1_0", name: "get_weather" },
      { kind: "tool_call", id: "get_weather_mock_1_1", name: "get_weather" },
    ]);
    const content = first.blocks.flatMap((block): readonly AssistantPart[] => {
      if (block.kind === "text") return [{ kind: "text", text: block.text, cache: null }];
      return block.kind === "tool_call"
        ? [
            {
              kind: "tool_call",
              id: block.id,
              name: block.name,
              arguments: block.arguments,
              cache: null,
            },
          ]
        : [];
    });
    const results = content.flatMap((part) =>
      part.kind === "tool_call"
        ? [
            {
              callId: part.id,
              content: [{ kind: "text" as const, text: "rain", cache: null }],
              isError: null,
              cache: null,
            },
          ]
        : [],
    );
    const turns: readonly Turn[] = [
      ...asking().turns,
      { role: "assistant", name: null, content },
      { role: "tool", results },
    ];
    const second = await ask(server, "", { stream, turns, tools: [weather] });
    expect(second.blocks).toMatchObject([
      { text: "Simulated answer from m to the result of a tool." },
    ]);
    expect(server.requests[1]?.body).toMatchObject({
      messages: [
        {},
        { tool_plan: "I will use the get_weather tool.", tool_calls: [{}, {}] },
        {},
        {},
      ],
      strict_tools: true,
    });
  });

  test("a model that thinks says its thoughts, and counts them", async () => {
    const reasoning = {
      effort: "unspecified",
      budget: 512,
      adaptive: false,
      display: null,
    } as const;
    const answer = await ask(await mockForTest(), "", { stream, reasoning, tools: [weather] });
    expect(answer.blocks).toMatchObject([
      { kind: "reasoning", text: THOUGHT },
      { kind: "tool_call" },
    ]);
    expect(answer.usage?.reasoning).toBe(THOUGHT.split(" ").length);
  });

  test("an answer has the form of its schema", async () => {
    const format = {
      kind: "json_schema",
      name: null,
      description: null,
      schema,
      strict: null,
    } as const;
    const { blocks } = await ask(await mockForTest(), "", { stream, format });
    const [block] = blocks;
    expect(JSON.parse(block?.kind === "text" ? block.text : "")).toEqual({
      city: expect.any(String),
      days: 2,
    });
  });

  test("log probabilities come with the text", async () => {
    const { blocks } = await ask(await mockForTest(), "", { stream, logprobs: 0 });
    const [block] = blocks;
    if (block?.kind !== "text") throw new Error("no text");
    expect(block.logprobs.map(({ token }) => token).join("")).toBe(block.text);
  });

  test.each([
    ["+finish=length", "length"],
    ["+finish=tool_calls", "tool_calls"],
    ["+finish=unknown", "other"],
  ])("%s ends with %s", async (settings, reason) => {
    expect((await ask(await mockForTest(), settings, { stream })).finish?.reason).toBe(reason);
  });

  test("a text that ends the answer ends it, and is not reported", async () => {
    const answer = await ask(await mockForTest(), "", { stream, stop: ["from"] });
    expect(answer).toMatchObject({
      blocks: [{ text: "Simulated answer " }],
      finish: { reason: "stop_sequence" },
    });
  });

  test.each([
    ["+error-frame", "error_frame", stream ? "tool_use_failed" : null],
    ["+failed", "error_frame", "generation_timeout"],
    ["+malformed", "malformed", null],
    ["+no-finish", "truncated", null],
    ["+cut", stream ? "truncated" : "malformed", null],
  ])("%s is a failure", async (settings, kind, code) => {
    const answer = await ask(await mockForTest(), settings, { stream });
    expect(answer).toMatchObject({ finish: null, failure: { kind, code } });
  });

  test.each(["+unicode+split", "+unicode+crlf+no-space+keepalive+split", "+no-done", "+gzip"])(
    "%s changes nothing",
    async (settings) => {
      const answer = await ask(await mockForTest(), settings, { stream });
      expect(answer).toMatchObject({ finish: { reason: "stop" }, failure: null });
      if (settings.includes("unicode"))
        expect(answer.blocks).toMatchObject([{ text: expect.stringContaining("信号 🚦") }]);
    },
  );

  test("without usage there is none", async () => {
    expect((await ask(await mockForTest(), "+no-usage", { stream })).usage).toBeNull();
  });
});

test("a stream has the events of recorded ones, in their order, and a byte that says so", async () => {
  const answer = await postTo(await mockForTest(), PATH, {
    model: "m+reasoning+chunks=2",
    messages: HELLO,
    stream: true,
  });
  expect(answer.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const names = namedEvents(await answer.text()).map(({ name, data }) => name ?? data);
  expect(names.filter((name, index) => name !== names[index - 1])).toEqual([
    "message-start",
    "content-start",
    "content-delta",
    "content-end",
    "content-start",
    "content-delta",
    "content-end",
    "message-end",
    "[DONE]",
  ]);
});

describe("what the provider refuses", () => {
  test.each<[string, object]>([["messages", { messages: [] }]])("%s: %j", async (param, more) => {
    const answer = await postTo(await mockForTest(), PATH, {
      model: "m",
      messages: HELLO,
      ...more,
    });
    const body: unknown = await answer.json();
    expect(answer.status).toBe(400);
    expect(body).toEqual({
      id: "mock-1",
      message: expect.stringMatching(new RegExp(`^${RegExp.escape(param)}: invalid request: `)),
    });
  });

  test.each(["refusal", "redacted", "cache-write=5", "finish=content_filter"])(
    "there is no form for %s",
    async (settings) => {
      const answer = await postTo(await mockForTest(), PATH, {
        model: `m+${settings}`,
        messages: HELLO,
      });
      expect([answer.status, await answer.text()]).toEqual([
        400,
        expect.stringContaining("mock: "),
      ]);
    },
  );

  test("a key is requested where the settings say so", async () => {
    const server = await mockForTest();
    const body = { model: "m+require-auth", messages: HELLO };
    expect((await postTo(server, PATH, body)).status).toBe(401);
    expect((await postTo(server, PATH, body, { authorization: "Bearer x" })).status).toBe(200);
  });
});

/** Requests of the protocol's first edition. */
const KNOWN = /list of messages must not be empty/;

const recordings = readRecordings("cohere-chat");

test.skipIf(recordings === null)(
  "takes what the provider took (needs ../shared/recordings)",
  async () => {
    const server = await mockForTest();
    const strange: string[] = [];
    let taken = 0;
    for (const { id, host, request, response } of recordings ?? []) {
      if (host !== "api.cohere.com" || request === null || response.status !== 200) continue;
      const answer = await postTo(server, PATH, request.body);
      const text = await answer.text();
      if (answer.status === 200) taken += 1;
      else if (!KNOWN.test(text)) strange.push(`${id}: ${text}`);
    }
    expect(strange).toEqual([]);
    expect(taken).toBeGreaterThan(80);
  },
);
