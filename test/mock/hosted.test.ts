import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/canon/json.ts";
import {
  countTokensSurface,
  messagesSurface,
} from "../../src/dialects/anthropic-messages/dialect.ts";
import { chatSurface } from "../../src/dialects/openai-chat/dialect.ts";
import type { ExchangePlan } from "../../src/dialects/exchange-plan.ts";
import type { MockServer } from "../../mock/server.ts";
import { exchangeTo } from "../dialects/anthropic-messages/hosted.ts";
import { codec } from "../dialects/bedrock-converse/wire.ts";
import { mockForTest, postTo } from "./start.ts";

const MESSAGES = [{ role: "user", content: "hello" }];
const REQUESTED: JsonObject = { model: "r", max_tokens: 100, messages: MESSAGES };
const FLAGS = ["bedrock_invoke", "vertex_raw_predict"];
const decoder = new TextDecoder();

/** Sends what the router would send, and gives the client what the router would give. */
async function travel(server: MockServer, exchange: ExchangePlan, stream: boolean) {
  const headers: Record<string, string> = {};
  for (let index = 0; index < exchange.headers.length; index += 2)
    headers[exchange.headers[index] ?? ""] = exchange.headers[index + 1] ?? "";
  const response = await postTo(server, exchange.path, exchange.body(), headers);
  const type = response.headers.get("content-type") ?? "";
  // A connection that breaks has still brought what it brought.
  const bytes = await received(response);
  if (response.status !== 200)
    return { status: response.status, type, text: decoder.decode(bytes), ending: null };
  if (!stream) {
    const { ending, bytes: relayed } = exchange.answer(bytes);
    return { status: 200, type, text: decoder.decode(relayed), ending };
  }
  const machine = exchange.stream();
  const events = [...machine.push(bytes)];
  const { failure } = machine;
  const end =
    failure === null
      ? machine.endStream()
      : { events: [], ending: { failure, finish: null, usage: machine.usage } };
  return {
    status: 200,
    type,
    text: decoder.decode(Buffer.concat([...events, ...end.events])),
    ending: end.ending,
  };
}

async function received(response: Response): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of response.body ?? []) pieces.push(piece);
  } catch {
    return Buffer.concat(pieces);
  }
  return Buffer.concat(pieces);
}

const exchangeOf = (flag: string, more: JsonObject, settings = "") =>
  exchangeTo(
    flag,
    messagesSurface,
    { ...REQUESTED, ...more },
    { upstreamModel: `claude${settings}` },
  );

describe.each(FLAGS)("a model that is hosted: %s", (flag) => {
  test.each([false, true])(
    "answers as the protocol's own provider does (stream: %s)",
    async (stream) => {
      const server = await mockForTest();
      const direct = await travel(server, exchangeOf("", { stream }), stream);
      const hosted = await travel(server, exchangeOf(flag, { stream }), stream);
      expect(hosted.text.replaceAll("mock_2", "mock_1")).toBe(direct.text);
      expect(hosted.ending).toEqual(direct.ending);
      expect(hosted.ending).toMatchObject({ failure: null, finish: "stop" });
      expect(hosted.type === "application/vnd.amazon.eventstream").toBe(
        stream && flag === "bedrock_invoke",
      );
    },
  );

  test("answers requests of another protocol", async () => {
    const server = await mockForTest();
    for (const stream of [false, true]) {
      const exchange = exchangeTo(flag, chatSurface, { model: "r", messages: MESSAGES, stream });
      const { text, ending } = await travel(server, exchange, stream);
      expect(text).toContain("Simulated");
      expect(ending).toMatchObject({ failure: null, finish: "stop" });
    }
  });

  test("calls tools and thinks, and takes its own signatures back", async () => {
    const server = await mockForTest();
    const tools = [{ name: "f", input_schema: { type: "object", properties: {} } }];
    const thinking = { type: "enabled", budget_tokens: 2_000 };
    const more = { tools, thinking, max_tokens: 4_000 };
    const first = await travel(server, exchangeOf(flag, more), false);
    const { content, stop_reason } = JSON.parse(first.text);
    expect([stop_reason, content.map(({ type }: { type: string }) => type)]).toEqual([
      "tool_use",
      ["thinking", "tool_use"],
    ]);
    const result = { type: "tool_result", tool_use_id: content[1].id, content: "1" };
    const messages = [
      ...MESSAGES,
      { role: "assistant", content },
      { role: "user", content: [result] },
    ];
    const second = await travel(server, exchangeOf(flag, { ...more, messages }), false);
    expect(second.ending).toMatchObject({ failure: null, finish: "stop" });
  });

  test("counts tokens, and counts as the protocol's own provider does", async () => {
    const server = await mockForTest();
    const body = {
      model: "r",
      messages: MESSAGES,
      thinking: { type: "enabled", budget_tokens: 2_000 },
    };
    const direct = await travel(server, exchangeTo("", countTokensSurface, body), false);
    const hosted = await travel(server, exchangeTo(flag, countTokensSurface, body), false);
    expect(JSON.parse(hosted.text)).toEqual(JSON.parse(direct.text));
    expect(hosted.ending?.failure).toBeNull();
  });

  test("takes betas where the cloud has them", async () => {
    const server = await mockForTest();
    const betas = ["context-management-2025-06-27"];
    const journey = { provider: { betas }, headers: { version: null, betas } };
    const body = { ...REQUESTED, context_management: { edits: [] } };
    expect(
      await travel(server, exchangeTo(flag, messagesSurface, body, journey), false),
    ).toMatchObject({
      status: 200,
    });
    const [sent] = server.requests;
    expect([sent?.headers["anthropic-beta"], Object(sent?.body).anthropic_beta]).toEqual(
      flag === "bedrock_invoke" ? [undefined, betas] : [betas.join(","), undefined],
    );
  });

  test.each([
    ["cut=after-3", "truncated"],
    ["reset=after-3", "truncated"],
    ["no-done", "truncated"],
    ["malformed=after-3", "malformed"],
    ["error-frame=after-3", "error_frame"],
  ])("fails in the middle of a stream: %s", async (setting, kind) => {
    const server = await mockForTest();
    const { ending, text } = await travel(
      server,
      exchangeOf(flag, { stream: true }, `+${setting}`),
      true,
    );
    expect(ending?.failure?.kind).toBe(kind);
    expect(text).not.toContain("message_stop");
    expect(text).not.toContain("Simulated failure");
  });

  test.each([
    [400, "rejected"],
    [401, "auth"],
    [404, "not_found"],
    [429, "rate_limited"],
    [503, "overloaded"],
    [500, "server_error"],
  ])("refuses with status %i in the cloud's shape", async (status, kind) => {
    const server = await mockForTest();
    const exchange = exchangeOf(flag, {}, `+status=${status}`);
    const { text } = await travel(server, exchange, false);
    expect(exchange.readError(status, new TextEncoder().encode(text))).toMatchObject({
      kind,
      status,
    });
  });
});

describe("what the clouds do in their own way", () => {
  test("a count of a body that is not base64 is refused", async () => {
    const body = { input: { invokeModel: { body: "*" } } };
    const response = await postTo(await mockForTest(), "/model/claude/count-tokens", body);
    expect([response.status, await response.json()]).toEqual([
      400,
      { message: expect.stringMatching(/^input\.invokeModel\.body: /) },
    ]);
  });

  test("frames are those of the maintained codec, and the last holds Bedrock's measurements", async () => {
    const exchange = exchangeOf("bedrock_invoke", { stream: true });
    const response = await postTo(await mockForTest(), exchange.path, exchange.body());
    const bytes = new Uint8Array(await response.arrayBuffer());
    const events: JsonObject[] = [];
    for (let base = 0; base < bytes.length;) {
      const length = new DataView(bytes.buffer, base).getUint32(0);
      const { headers, body: payload } = codec.decode(bytes.subarray(base, base + length));
      expect(headers[":event-type"]?.value).toBe("chunk");
      events.push(
        JSON.parse(Buffer.from(JSON.parse(decoder.decode(payload)).bytes, "base64").toString()),
      );
      base += length;
    }
    expect(events.at(0)?.type).toBe("message_start");
    expect(Object.keys(events.at(-1) ?? {})).toEqual(["type", "amazon-bedrock-invocationMetrics"]);
  });

  test.each(["cut=in-3", "close=in-2", "reset=in-4"])(
    "half a frame is no frame: %s",
    async (setting) => {
      const exchange = exchangeOf("bedrock_invoke", { stream: true }, `+${setting}`);
      const { ending } = await travel(await mockForTest(), exchange, true);
      expect(ending?.failure?.kind).toBe("truncated");
    },
  );

  test("settings for lines are refused where frames have none", async () => {
    const exchange = exchangeOf("bedrock_invoke", { stream: true }, "+keepalive");
    const response = await postTo(await mockForTest(), exchange.path, exchange.body());
    expect([response.status, JSON.parse(await response.text()).message]).toEqual([
      400,
      expect.stringContaining('no form for "keepalive"'),
    ]);
  });

  test.each([
    ["bedrock_invoke", 403],
    ["vertex_raw_predict", 401],
  ])("a call without credentials, where they are requested: %s", async (flag, status) => {
    const exchange = exchangeOf(flag, {}, "+require-auth");
    expect((await postTo(await mockForTest(), exchange.path, exchange.body())).status).toBe(status);
    const answer = await postTo(await mockForTest(), exchange.path, exchange.body(), {
      authorization: "Bearer k",
    });
    expect(answer.status).toBe(200);
  });
});
