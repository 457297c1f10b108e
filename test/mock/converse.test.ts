import type { MockServer } from "../../mock/server.ts";
import type { Answer } from "../../src/canon/generate/event.ts";
import type {
  AssistantPart,
  GenerateRequest,
  Turn,
} from "../../src/canon/generate/generate-request.ts";
import { collectAnswer } from "../../src/dialects/answer-events.ts";
import { dialect } from "../../src/dialects/bedrock-converse/dialect.ts";
import { hello, targetWith, text } from "../dialects/bedrock-converse/target.ts";
import { codec } from "../dialects/bedrock-converse/wire.ts";
import { mockForTest, postTo } from "./start.ts";
import { readRecordings } from "../support/recordings.ts";
import { describe, expect, test } from "vitest";

const { generate: converseUpstream } = dialect;

const THOUGHT = "The request is simulated, so there is nothing to think about.";
const schema = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer", minimum: 2 } },
  required: ["city", "days"],
};
const tools = [
  { name: "get_weather", description: null, parameters: schema, strict: null, cache: null },
];

/** Calls as the router does, and reads as it does. The model's name carries the settings. */
async function ask(
  server: MockServer,
  request: GenerateRequest,
  settings = "",
): Promise<{
  readonly answer: Answer;
  readonly types: readonly string[];
  readonly contentType: string | null;
}> {
  const base = targetWith();
  const target = { ...base, endpoint: { ...base.endpoint, upstreamModel: `m${settings}` } };
  const formatted = converseUpstream.format(request, target);
  if ("code" in formatted) throw new Error(formatted.message);
  const response = await postTo(server, formatted.path, formatted.body);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const contentType = response.headers.get("content-type");
  if (response.status !== 200) throw new Error(new TextDecoder().decode(bytes));
  if (!request.stream)
    return {
      answer: collectAnswer(converseUpstream.parseAnswer(bytes, request, target)),
      types: [],
      contentType,
    };
  const parser = converseUpstream.parseStream(request, target);
  const events = [...parser.push(bytes), ...parser.endAnswer()];
  return { answer: collectAnswer(events), types: eventTypes(bytes), contentType };
}

/** The types of the frames, as the maintained codec reads them. */
function eventTypes(bytes: Uint8Array): readonly string[] {
  const types: string[] = [];
  for (let offset = 0; offset + 4 <= bytes.length;) {
    const length = new DataView(bytes.buffer, bytes.byteOffset + offset).getUint32(0);
    if (offset + length > bytes.length) break;
    const { headers } = codec.decode(bytes.subarray(offset, offset + length));
    types.push(String((headers[":event-type"] ?? headers[":exception-type"])?.value));
    offset += length;
  }
  return types;
}

describe.each([false, true])("a conversation (stream: %s)", (stream) => {
  const request: GenerateRequest = { ...hello, stream };

  test("is answered, with the counts of the provider", async () => {
    const { answer, contentType } = await ask(
      await mockForTest(),
      request,
      "+cached=3+cache-write=2",
    );
    expect(contentType).toBe(stream ? "application/vnd.amazon.eventstream" : "application/json");
    expect(answer).toMatchObject({
      blocks: [{ kind: "text", text: "Simulated answer from m to 1 message." }],
      usage: { output: 7, cacheRead: 3, cacheWrite: 2 },
      finish: { reason: "stop" },
    });
    expect(answer.usage?.input).toBeGreaterThan(5);
  });

  test("goes through a tool loop, and takes its own reasoning back", async () => {
    const server = await mockForTest();
    const reasoning = {
      effort: "unspecified",
      budget: 2_000,
      adaptive: false,
      display: null,
    } as const;
    for (const settings of ["+tool-calls=2+times=1", "+tool-calls=2+redacted+times=1"]) {
      const { answer } = await ask(server, { ...request, tools, reasoning }, settings);
      expect(answer.finish?.reason).toBe("tool_calls");
      const [thought] = answer.blocks;
      expect(thought).toMatchObject({
        kind: "reasoning",
        text: settings.includes("redacted") ? "" : THOUGHT,
      });
      const calls = answer.blocks.filter((block) => block.kind === "tool_call");
      expect(calls.map(({ arguments: json }) => JSON.parse(json))).toEqual([
        { city: "simulated", days: 2 },
        { city: "simulated", days: 2 },
      ]);
      const said: AssistantPart[] = answer.blocks.flatMap((block): AssistantPart[] => {
        if (block.kind === "tool_call") return [{ ...block, cache: null }];
        return block.kind === "reasoning" ? [block] : [];
      });
      const results = calls.map(({ id }) => ({
        callId: id,
        content: [text("sunny")],
        isError: null,
        cache: null,
      }));
      const turns: Turn[] = [
        ...hello.turns,
        { role: "assistant", name: null, content: said },
        { role: "tool", results },
      ];
      const second = await ask(server, { ...request, turns, tools, reasoning }, settings);
      expect(second.answer).toMatchObject({
        blocks: [
          { kind: "reasoning" },
          { kind: "text", text: "Simulated answer from m to the result of a tool." },
        ],
        finish: { reason: "stop" },
      });
      // No tools any more: what stands for them is not called.
      const forgotten = await ask(server, { ...request, turns: [...turns, ...hello.turns] });
      expect(forgotten.answer.blocks).toMatchObject([{ kind: "text" }]);
    }
  });

  test("can be forced, can be structured, and can be cut", async () => {
    const server = await mockForTest();
    const forced = await ask(server, {
      ...request,
      tools,
      toolChoice: { mode: "named", name: "get_weather" },
    });
    expect(forced.answer.blocks).toMatchObject([{ kind: "tool_call", name: "get_weather" }]);
    const format = {
      kind: "json_schema",
      name: "n",
      description: null,
      schema,
      strict: null,
    } as const;
    const structured = await ask(server, { ...request, format });
    expect(structured.answer.blocks).toMatchObject([{ text: '{"city":"simulated","days":1}' }]);
    const cut = await ask(server, { ...request, maxOutputTokens: 2 });
    expect(cut.answer.finish?.reason).toBe("length");
    const stopped = await ask(server, { ...request, stop: ["answer"] });
    expect(stopped.answer).toMatchObject({
      blocks: [{ text: "Simulated " }],
      finish: { reason: "stop_sequence", stopSequence: "answer" },
    });
  });

  test.each([
    ["+finish=content_filter", "content_filter"],
    ["+finish=context_window", "context_window"],
    ["+finish=unknown", "other"],
    ["+refusal", "content_filter"],
  ])("%s ends with %s", async (settings, reason) => {
    expect((await ask(await mockForTest(), request, settings)).answer.finish?.reason).toBe(reason);
  });

  test.each([
    ["+malformed", "malformed"],
    ["+no-finish", stream ? "truncated" : "malformed"],
    ...(stream
      ? [
          ["+error-frame", "error_frame"],
          ["+cut=after-3", "truncated"],
          ["+cut=in-2", "truncated"],
          ["+cut=before-finish", "truncated"],
          ["+duplicate=after-4+chunks=1", "malformed"],
        ]
      : []),
  ])("%s is %s", async (settings, kind) => {
    const { answer } = await ask(await mockForTest(), request, settings ?? "");
    expect(answer).toMatchObject({ finish: null, failure: { kind } });
  });
});

describe("a stream of frames", () => {
  test("has the provider's events in its order, whatever the writes", async () => {
    const server = await mockForTest();
    for (const settings of ["", "+split", "+split=7", "+gzip", "+chunk-delay=1ms"]) {
      const { types, answer } = await ask(
        server,
        { ...hello, stream: true, tools },
        `+chunks=2+reasoning${settings}`,
      );
      expect(types.filter((type) => type !== "contentBlockDelta")).toEqual([
        "messageStart",
        "contentBlockStop",
        "contentBlockStart",
        "contentBlockStop",
        "messageStop",
        "metadata",
      ]);
      expect(answer.finish?.reason).toBe("tool_calls");
    }
  });

  test("without its last event, or without counts, is whole", async () => {
    const server = await mockForTest();
    for (const settings of ["+no-done", "+no-usage", "+cut=before-done"]) {
      const { answer } = await ask(server, { ...hello, stream: true }, settings);
      expect(answer).toMatchObject({ usage: null, failure: null, finish: { reason: "stop" } });
    }
  });

  test.each(["crlf", "no-space", "keepalive"])("has no form for %s", async (setting) => {
    await expect(
      ask(await mockForTest(), { ...hello, stream: true }, `+${setting}`),
    ).rejects.toThrow(/no form for/);
  });
});

describe("what Bedrock refuses", () => {
  const user = (...content: object[]) => ({ role: "user", content });
  const assistant = (...content: object[]) => ({ role: "assistant", content });
  const spoken = user({ text: "a" });

  test.each<[string, object, RegExp]>([
    ["an empty conversation", { messages: [] }, /at least one message/],
    [
      "strange signatures",
      {
        messages: [
          spoken,
          assistant({ reasoningContent: { reasoningText: { text: "a", signature: "b" } } }),
          spoken,
        ],
      },
      /signature/,
    ],
    [
      "strange redacted reasoning",
      { messages: [spoken, assistant({ reasoningContent: { redactedContent: "YQ==" } }), spoken] },
      /redacted_thinking/,
    ],
  ])("%s", async (_name, body, message) => {
    const response = await postTo(await mockForTest(), "/model/m/converse", body);
    expect(response.status).toBe(400);
    expect(response.headers.get("x-amzn-errortype")).toBe("ValidationException");
    expect(await response.json()).toEqual({ message: expect.stringMatching(message) });
  });

  test("says so in AWS's shape, with the status that was requested", async () => {
    const server = await mockForTest();
    const answer = await postTo(server, "/model/m%2B429%2Bretry-after%3D3/converse-stream", {
      messages: [spoken],
    });
    expect([
      answer.status,
      answer.headers.get("x-amzn-errortype"),
      answer.headers.get("retry-after"),
    ]).toEqual([429, "ThrottlingException", "3"]);
    const closed = await postTo(
      server,
      "/model/m/converse",
      { messages: [spoken] },
      { "x-mock": "require-auth" },
    );
    expect(closed.status).toBe(403);
    const signed = { "x-mock": "require-auth", authorization: "AWS4-HMAC-SHA256 Credential=a" };
    expect((await postTo(server, "/model/m/converse", { messages: [spoken] }, signed)).status).toBe(
      200,
    );
  });

  test("counts are of a conversation", async () => {
    const server = await mockForTest();
    const counted = await postTo(server, "/model/m/count-tokens", {
      input: { converse: { messages: [spoken] } },
    });
    expect(await counted.json()).toEqual({ inputTokens: expect.any(Number) });
  });
});

/**
 * What a provider with keys of its own has to refuse, and counts of a body of InvokeModel in
 * another protocol.
 */
const KNOWN = /Invalid `(signature|data)` in|at least one message/;

describe("recorded requests", () => {
  test.skipIf(readRecordings("bedrock-converse") === null)(
    "are taken as the provider took them (needs ../shared/recordings)",
    { timeout: 60_000 },
    async () => {
      const server = await mockForTest();
      let taken = 0;
      const strange: string[] = [];
      for (const [name, path] of [
        ["bedrock-converse", "converse"],
        ["bedrock-converse-stream", "converse-stream"],
        ["bedrock-count-tokens", "count-tokens"],
      ] as const) {
        for (const { id, request, response } of readRecordings(name) ?? []) {
          if (request === null || response.status !== 200) continue;
          const answer = await postTo(server, `/model/m/${path}`, request.body);
          const answered = await answer.text();
          if (answer.status === 200) taken += 1;
          else if (!KNOWN.test(answered)) strange.push(`${id}: ${answered}`);
        }
      }
      expect(strange).toEqual([]);
      expect(taken).toBeGreaterThan(150);
    },
  );
});
