import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/canon/json.ts";
import {
  countTokensSurface,
  messagesSurface,
} from "../../src/dialects/anthropic-messages/dialect.ts";
import type { ExchangePlan } from "../../src/dialects/exchange-plan.ts";
import type { MockServer } from "../../mock/server.ts";
import { exchangeTo } from "../dialects/anthropic-messages/hosted.ts";
import { framesOf, mockForTest, postTo } from "./start.ts";

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
    ["cut=in-3", "truncated"],
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

test("the last of Bedrock's frames has its measurements", async () => {
  const exchange = exchangeOf("bedrock_invoke", { stream: true });
  const response = await postTo(await mockForTest(), exchange.path, exchange.body());
  const frames = framesOf(new Uint8Array(await response.arrayBuffer()));
  expect(new Set(frames.map(({ name }) => name))).toEqual(new Set(["chunk"]));
  const events = frames.map(({ data }): JsonObject =>
    JSON.parse(Buffer.from(JSON.parse(data).bytes, "base64").toString()),
  );
  expect(events.at(0)?.type).toBe("message_start");
  expect(Object.keys(events.at(-1) ?? {})).toEqual(["type", "amazon-bedrock-invocationMetrics"]);
});
