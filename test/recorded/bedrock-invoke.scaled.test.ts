import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/canon/json.ts";
import {
  countTokensSurface,
  messagesSurface,
} from "../../src/dialects/anthropic-messages/dialect.ts";
import type { Surface } from "../../src/dialects/dialect.ts";
import { chatSurface } from "../../src/dialects/openai-chat/dialect.ts";
import { parseSseEvent, SseFramer } from "../../src/dialects/sse.ts";
import type { ExchangePlan } from "../../src/dialects/exchange-plan.ts";
import { exchangeTo } from "../dialects/anthropic-messages/hosted.ts";
import { codec } from "../dialects/bedrock-converse/wire.ts";
import { joined } from "../dialects/laws/arbitrary/wire.ts";
import { positionsToCut } from "../support/long.ts";
import { readRecordings, type Recording } from "../support/recordings.ts";

const recordings = readRecordings("bedrock-invoke");
const counts = readRecordings("bedrock-count-tokens");
const encoder = new TextEncoder();
const decoder = new TextDecoder();

const MESSAGES = [{ role: "user", content: "recorded without its surface" }];

/** Members that the router never sends on, because they say who the user is. */
const IDENTITY = "metadata";

/**
 * What the exchange was about: bodies of InvokeModel belong to the model, and only Anthropic's have
 * this protocol.
 */
function bodyOf({ request }: Recording): JsonObject | null {
  const body = request?.body;
  return isJsonObject(body) && body.anthropic_version !== undefined ? body : null;
}

function modelOf(recording: Recording): { readonly model: string; readonly operation: string } {
  const path = pathOf(recording);
  const [, model = "", operation = ""] = /^\/model\/([^/]+)\/([a-z-]+)$/.exec(path) ?? [];
  return { model: decodeURIComponent(model), operation };
}

function pathOf({ request }: Recording): string {
  const path: unknown = request !== null && "path" in request ? request.path : "";
  return typeof path === "string" ? path : "";
}

/**
 * The request as a client of the protocol's own provider would have sent it, on its way to Bedrock.
 */
function exchangeOf(recording: Recording, body: JsonObject, surface: Surface): ExchangePlan {
  const { model, operation } = modelOf(recording);
  const { anthropic_version: _version, anthropic_beta: betas, ...rest } = body;
  const names = Array.isArray(betas) ? betas.filter((beta) => typeof beta === "string") : [];
  const stream = operation === "invoke-with-response-stream" ? { stream: true } : {};
  return exchangeTo(
    "bedrock_invoke",
    surface,
    { ...rest, ...stream, model: "r" },
    { upstreamModel: model, headers: { version: null, betas: names }, provider: { betas: names } },
  );
}

/** Paths in one spelling: clients encode the colons of a model's name, or do not. */
const spelt = (path: string) => path.replaceAll(":", "%3A");

/** The same request translated: only its answers matter. */
function translatedExchange(recording: Recording): ExchangePlan {
  const { model, operation } = modelOf(recording);
  const stream = operation === "invoke-with-response-stream";
  return exchangeTo(
    "bedrock_invoke",
    chatSurface,
    { model: "r", messages: MESSAGES, stream },
    { upstreamModel: model },
  );
}

function textOf(blocks: unknown): string {
  return (Array.isArray(blocks) ? blocks : [])
    .flatMap((block) => (isJsonObject(block) && typeof block.text === "string" ? [block.text] : []))
    .join("");
}

function checkWhole(recording: Recording, exchange: ExchangePlan): void {
  const { body } = recording.response;
  if (!isJsonObject(body)) throw new Error(recording.id);
  const bytes = encoder.encode(JSON.stringify(body));
  const { ending, bytes: relayed } = exchange.answer(bytes);
  expect(decoder.decode(relayed), recording.id).toBe(JSON.stringify(body));
  expect(ending.failure, recording.id).toBeNull();
  const other = translatedExchange(recording).answer(bytes);
  expect(other.ending, recording.id).toMatchObject({
    failure: null,
    finish: ending.finish,
    usage: ending.usage,
  });
  const answer = JSON.parse(decoder.decode(other.bytes));
  expect(answer.choices[0].message.content, recording.id).toBe(textOf(body.content));
}

/** The events of a recorded stream, as the maintained codec reads its frames. */
function eventsOf(bytes: Uint8Array): readonly JsonObject[] {
  const events: JsonObject[] = [];
  for (let position = 0; position < bytes.length;) {
    const length = new DataView(bytes.buffer, bytes.byteOffset + position).getUint32(0);
    const frame = JSON.parse(
      decoder.decode(codec.decode(bytes.subarray(position, position + length)).body),
    );
    events.push(JSON.parse(Buffer.from(frame.bytes, "base64").toString()));
    position += length;
  }
  return events;
}

function play(exchange: ExchangePlan, bytes: Uint8Array) {
  const stream = exchange.stream();
  const events = [...stream.push(bytes)];
  const { failure, hasEnded } = stream;
  if (failure !== null)
    return { sent: joined(events), hasEnded, ending: { failure, finish: null } };
  const { ending, events: rest } = stream.endStream();
  return { sent: joined([...events, ...rest]), hasEnded, ending };
}

/** Relays and translates a recorded stream, whole and cut; gives the number of cuts. */
function checkStream(recording: Recording, exchange: ExchangePlan): number {
  const bytes = new Uint8Array(Buffer.from(String(recording.response.body), "base64"));
  const recorded = eventsOf(bytes);
  const { sent, hasEnded, ending } = play(exchange, bytes);
  expect([ending.failure, hasEnded], recording.id).toEqual([null, true]);
  const events = new SseFramer().push(sent).map(parseSseEvent);
  expect(
    events.map(({ event }) => event),
    recording.id,
  ).toEqual(recorded.map(({ type }) => type));
  const plain = recorded.map((event) =>
    Object.fromEntries(
      Object.entries(event).filter(([name]) => !name.startsWith("amazon-bedrock-")),
    ),
  );
  expect(
    events.map(({ data }) => JSON.parse(data ?? "")),
    recording.id,
  ).toEqual(plain);
  const translation = translatedExchange(recording);
  const reported = play(translation, bytes).ending;
  expect(reported, recording.id).toMatchObject({ failure: null, finish: ending.finish });
  const positions = positionsToCut(bytes.length, 100);
  for (const length of positions) {
    const cut = bytes.subarray(0, length);
    for (const way of [exchange, translation]) {
      expect(play(way, cut).ending.failure?.kind, `${recording.id} cut at byte ${length}`).toBe(
        "truncated",
      );
    }
  }
  return positions.length;
}

function print(
  name: string,
  total: number,
  passed: number,
  refused: ReadonlyMap<string, number>,
): void {
  const sum = [...refused.values()].reduce((left, right) => left + right, 0);
  const reasons = [...refused].map(([reason, count]) => `${count} × ${reason}`).join(", ");
  const failed = total - passed - sum;
  process.stdout.write(
    `${name}: ${total} exchanges, ${passed} passed, ${sum} refused (${reasons}), ${failed} failed\n`,
  );
  expect(failed).toBe(0);
}

describe.skipIf(recordings === null)(
  "recorded InvokeModel (skipped where ../shared/recordings is absent)",
  () => {
    it(
      "a client's request is sent as it was recorded, and its answer is read",
      { timeout: 120_000 },
      () => {
        let passed = 0;
        let cuts = 0;
        const refused = new Map<string, number>();
        for (const recording of recordings ?? []) {
          const body = bodyOf(recording);
          if (body === null) {
            // Models of other vendors have protocols of their own behind the same operation.
            refused.set("another vendor's body", (refused.get("another vendor's body") ?? 0) + 1);
            continue;
          }
          const exchange = exchangeOf(recording, body, messagesSurface);
          expect(exchange.path, recording.id).toBe(spelt(pathOf(recording)));
          const { [IDENTITY]: _user, ...said } = body;
          expect(JSON.parse(exchange.body()), recording.id).toEqual(said);
          if (recording.response.body_type === "aws-eventstream")
            cuts += checkStream(recording, exchange);
          else checkWhole(recording, exchange);
          passed += 1;
        }
        print("bedrock-invoke", recordings?.length ?? 0, passed, refused);
        process.stdout.write(
          `bedrock-invoke: ${cuts} cuts of streams, each relayed and translated\n`,
        );
        expect(passed).toBe(11);
      },
    );

    it("counts are requested and answered as was recorded", () => {
      let passed = 0;
      const refused = new Map<string, number>();
      for (const recording of counts ?? []) {
        const body = countedBody(recording);
        if (body === null) {
          refused.set(
            "a conversation of Converse",
            (refused.get("a conversation of Converse") ?? 0) + 1,
          );
          continue;
        }
        const { max_tokens: _limit, [IDENTITY]: _user, ...said } = body;
        const exchange = exchangeOf(recording, said, countTokensSurface);
        expect(exchange.path, recording.id).toBe(spelt(pathOf(recording)));
        const { input } = JSON.parse(exchange.body());
        const sent = JSON.parse(Buffer.from(input.invokeModel.body, "base64").toString());
        expect(sent, recording.id).toEqual({ ...said, max_tokens: 1 });
        const bytes = encoder.encode(JSON.stringify(recording.response.body));
        if (recording.status === 200) {
          const { inputTokens } = JSON.parse(decoder.decode(bytes));
          const { ending, bytes: relayed } = exchange.answer(bytes);
          expect(JSON.parse(decoder.decode(relayed)), recording.id).toEqual({
            input_tokens: inputTokens,
          });
          expect(ending, recording.id).toMatchObject({
            failure: null,
            usage: { input: inputTokens },
          });
        } else {
          expect(exchange.readError(recording.status ?? 0, bytes), recording.id).toMatchObject({
            kind: "rejected",
          });
        }
        passed += 1;
      }
      print("bedrock-count-tokens", counts?.length ?? 0, passed, refused);
      expect(passed).toBe(3);
    });
  },
);

/** The body that the exchange counts; `null` where it counts a conversation. */
function countedBody({ request }: Recording): JsonObject | null {
  const input = isJsonObject(request?.body) ? request.body.input : undefined;
  const invoked = isJsonObject(input) ? input.invokeModel : undefined;
  const text = isJsonObject(invoked) ? invoked.body : undefined;
  if (typeof text !== "string") return null;
  const body: unknown = JSON.parse(Buffer.from(text, "base64").toString());
  return isJsonObject(body) ? body : null;
}
