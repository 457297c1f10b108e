import { describe, expect, it } from "vitest";
import { collectAnswer } from "../../src/dialects/answer-events.ts";
import type { InferenceEvent } from "../../src/canon/generate/event.ts";
import type { GenerateRequest } from "../../src/canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject } from "../../src/canon/json.ts";
import type { InferenceRequest, ProtocolHeaders } from "../../src/canon/request.ts";
import {
  dialect,
  countTokensSurface,
  messagesSurface,
} from "../../src/dialects/anthropic-messages/dialect.ts";
import {
  COUNT_TOKENS_SCHEMA,
  MESSAGES_SCHEMA,
} from "../../src/dialects/anthropic-messages/dialect.ts";
import type { AnswerContext, Surface, Target } from "../../src/dialects/dialect.ts";
import { DIALECTS } from "../../src/dialects/table.ts";
import { parseSseEvent, SseFramer } from "../../src/dialects/sse.ts";
import { bodyValidator } from "../../src/http/validate-body.ts";
import { nativeFamilyOf } from "../support/dialects.ts";
import { positionsToCut } from "../support/long.ts";
import { readRecordings, type Recording } from "../support/recordings.ts";
import { endpoint, model, provider } from "../support/table.ts";

const { generate: messagesUpstream } = dialect;

const recordings = readRecordings("anthropic-messages");
const counts = readRecordings("anthropic-count-tokens");
const encoder = new TextEncoder();
const decoder = new TextDecoder();

const target: Target = {
  endpoint: endpoint("a", { dialect: "anthropic-messages" }),
  model: model("m", { signatureFamily: "anthropic", defaultMaxOutputTokens: 4096 }),
  provider: provider("p", { dialect: "anthropic-messages" }),
};
const edits = { maxOutputTokens: null, stripFields: [] } as const;

/** Members that the router owns: it sets them or takes them out. */
const OWNED = new Set(["model", "metadata"]);

/**
 * Refusals that a recorded request may meet: each names something that the router does not do for
 * anybody.
 */
const REFUSALS = new Set([
  "unsupported_stateful_feature container",
  "unsupported_stateful_feature ….source.file_id",
  "unsupported_stateful_feature ….file_id",
  "unsupported_routing_field ….type",
]);

/**
 * Features of which a translated request may get what it requires; what is required beyond them
 * needs an endpoint of this protocol.
 */
const TRANSLATED: ReadonlySet<string> = new Set(
  [
    ...DIALECTS["openai-chat"].features,
    ...DIALECTS["anthropic-messages"].features,
    "mid_conversation_system",
  ].filter((feature) => feature !== "native_messages"),
);

function contextOf(request: InferenceRequest): AnswerContext {
  const signatureFamily = nativeFamilyOf(request);
  return { request, requestId: "req_1", answerId: "1", model: "m", signatureFamily, now: () => 0 };
}

function sentBody(recording: Recording): JsonObject | null {
  const body = recording.request?.body;
  return isJsonObject(body) && Array.isArray(body.messages) ? { ...body, model: "r" } : null;
}

const headers: ProtocolHeaders = { version: null, betas: [] };

const plain: InferenceRequest = parsed(messagesSurface, {
  model: "r",
  max_tokens: 10,
  messages: [{ role: "user", content: "recorded without its request" }],
});

const generating: GenerateRequest = canonical(messagesSurface, plain);

function parsed(surface: Surface, body: JsonObject): InferenceRequest {
  const request = surface.parse(body, 100, headers);
  if ("code" in request) throw new Error(request.message);
  return request;
}

function canonical(surface: Surface, request: InferenceRequest): GenerateRequest {
  const made = surface.translation.toCanon(request, "reject", edits);
  if ("code" in made) throw new Error(`${made.code} ${made.param}`);
  return made.request;
}

/** The stream's events as bytes on the wire; recordings that lost their framing get it back. */
function streamBytes({ response }: Recording): readonly Uint8Array[] {
  const text = String(response.body);
  if (response.body_type !== "jsonl-chunks")
    return new SseFramer().push(encoder.encode(`${text}\n\n`));
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => encoder.encode(`event: ${JSON.parse(line).type}\ndata: ${line}\n\n`));
}

/** Two answers of which one begins in the middle of the other. */
function isSpliced(events: readonly Uint8Array[]): boolean {
  const types = events.map((event) => {
    const { data } = parseSseEvent(event);
    return data === null ? null : JSON.parse(data).type;
  });
  const first = types.slice(0, types.indexOf("message_stop"));
  return (
    first.lastIndexOf("message_start") > first.indexOf("content_block_start") &&
    first.includes("content_block_start")
  );
}

const isStream = ({ response }: Recording) =>
  response.body_type === "sse" || response.body_type === "jsonl-chunks";

function terminals(events: readonly InferenceEvent[]): number {
  return events.filter(({ type }) => type === "finish" || type === "failure").length;
}

/** What the provider said, for comparison with what we understood. */
function recordedText(blocks: unknown): string {
  return (Array.isArray(blocks) ? blocks : [])
    .flatMap((block) => (isJsonObject(block) && typeof block.text === "string" ? [block.text] : []))
    .join("");
}

function understood(events: readonly InferenceEvent[]): string {
  return collectAnswer(events)
    .blocks.flatMap((block) => (block.kind === "text" ? [block.text] : []))
    .join("");
}

interface Tally {
  passed: number;
  native: number;
  readonly refused: Map<string, number>;
}

function tally(): Tally {
  return { passed: 0, native: 0, refused: new Map() };
}

function print(name: string, total: number, { passed, native, refused }: Tally): void {
  const sum = [...refused.values()].reduce((left, right) => left + right, 0);
  const reasons = [...refused].map(([reason, count]) => `${count} × ${reason}`).join(", ");
  process.stdout.write(
    `${name}: ${total} exchanges, ${passed} passed (${native} of them for this protocol only), ${sum} refused (${reasons}), ${total - passed - sum} failed\n`,
  );
  expect(total - passed - sum).toBe(0);
}

const validators = new Map<JsonObject, ReturnType<typeof bodyValidator>>();

function problemIn(schema: JsonObject, body: JsonObject): unknown {
  const validate = validators.get(schema) ?? bodyValidator(schema);
  validators.set(schema, validate);
  return validate(body);
}

/** Relays and, where another protocol could take it, translates one recorded request. */
function takeRequest(
  recording: Recording,
  body: JsonObject,
  surface: Surface,
  schema: JsonObject,
  seen: Tally,
): void {
  expect(problemIn(schema, body), recording.id).toBeNull();
  expect(surface.refuseUnknown(body, "reject"), recording.id).toBeNull();
  const request = surface.parse(body, 100, headers);
  if ("code" in request) {
    const reason = `${request.code} ${request.param?.replace(/^.*\]\./, "….")}`;
    expect([...REFUSALS], recording.id).toContain(reason);
    seen.refused.set(reason, (seen.refused.get(reason) ?? 0) + 1);
    return;
  }
  seen.passed += 1;
  const edited = surface.relay.edit(request, target.endpoint, target.provider, "reject", edits);
  const owned = (object: JsonObject) =>
    Object.fromEntries(Object.entries(object).filter(([name]) => !OWNED.has(name)));
  expect(JSON.parse(JSON.stringify(owned(edited.body))), recording.id).toEqual(owned(body));
  expect(edited.body.model).toBe(target.endpoint.upstreamModel);
  if (
    request.shape.needs.includes("prefill") ||
    !request.shape.features.every((feature) => TRANSLATED.has(feature))
  ) {
    seen.native += 1;
    return;
  }
  const made = surface.translation.toCanon(request, "reject", edits);
  if ("code" in made) throw new Error(`${recording.id}: ${made.code} ${made.param}`);
  const formatted = messagesUpstream.format(made.request, target);
  if ("code" in formatted)
    throw new Error(`${recording.id}: ${formatted.code} ${formatted.message}`);
  const again = canonical(surface, parsed(surface, { ...formatted.body, model: "r" }));
  if (made.dropped.length + formatted.dropped.length === 0)
    expect(again, recording.id).toEqual(made.request);
}

describe.skipIf(recordings === null)(
  "recorded messages (skipped where ../shared/recordings is absent)",
  () => {
    it(
      "every request goes upstream unchanged, is refused by name, or survives canon",
      { timeout: 60_000 },
      () => {
        const seen = tally();
        const sent = (recordings ?? []).flatMap((recording) => {
          const body = sentBody(recording);
          return body === null ? [] : [{ recording, body }];
        });
        for (const { recording, body } of sent)
          takeRequest(recording, body, messagesSurface, MESSAGES_SCHEMA, seen);
        print("anthropic-messages requests", sent.length, seen);
        expect(seen.passed).toBeGreaterThan(sent.length * 0.9);
      },
    );

    it("every count is requested and answered", () => {
      const seen = tally();
      for (const recording of counts ?? []) {
        const body = sentBody(recording);
        if (body === null) throw new Error(recording.id);
        takeRequest(recording, body, countTokensSurface, COUNT_TOKENS_SCHEMA, seen);
        const bytes = encoder.encode(JSON.stringify(recording.response.body));
        if (recording.status !== 200) continue;
        const request = parsed(countTokensSurface, body);
        const { ending } = countTokensSurface.relay.readAnswer(bytes, contextOf(request));
        const input = isJsonObject(recording.response.body)
          ? recording.response.body.input_tokens
          : null;
        expect(ending, recording.id).toMatchObject({
          failure: null,
          usage: { input, output: null },
        });
        const events = messagesUpstream.parseAnswer(
          bytes,
          { ...generating, purpose: "count" },
          target,
        );
        const { body: rendered } = countTokensSurface.translation.renderAnswer(
          collectAnswer(events),
          contextOf(request),
        );
        expect(rendered).toEqual({ input_tokens: input });
      }
      print("anthropic-count-tokens", counts?.length ?? 0, seen);
    });

    it(
      "every whole answer is relayed byte for byte, and understood the same way that it is relayed",
      { timeout: 60_000 },
      () => {
        const seen = tally();
        const answers = (recordings ?? []).filter((recording) => !isStream(recording));
        for (const recording of answers) {
          const { body } = recording.response;
          const bytes = encoder.encode(JSON.stringify(body));
          if (recording.status !== null && recording.status >= 400) {
            const failure = messagesUpstream.readError(recording.status, bytes);
            expect(failure.kind, recording.id).not.toBe("malformed");
            seen.passed += 1;
            continue;
          }
          const { ending, bytes: relayed } = messagesSurface.relay.readAnswer(
            bytes,
            contextOf(plain),
          );
          const events = messagesUpstream.parseAnswer(bytes, generating, target);
          expect(terminals(events), recording.id).toBe(1);
          const answer = collectAnswer(events);
          if (!isJsonObject(body) || body.type !== "message") {
            expect([ending.failure?.kind, answer.failure?.kind], recording.id).toEqual([
              "malformed",
              "malformed",
            ]);
            seen.refused.set("malformed", (seen.refused.get("malformed") ?? 0) + 1);
            continue;
          }
          expect(relayed, recording.id).toEqual(bytes);
          expect(ending.failure, recording.id).toBeNull();
          seen.passed += 1;
          if (answer.failure !== null) {
            // A server's own tools: no caller of another protocol can have requested for them.
            expect(answer.failure.code, recording.id).toBe("unexpected_output_item");
            seen.native += 1;
            continue;
          }
          expect(understood(events), recording.id).toBe(recordedText(body.content));
          expect(answer.usage, recording.id).toEqual(ending.usage);
          expect(answer.finish?.reason, recording.id).toBe(ending.finish);
          const rendered = messagesSurface.translation.renderAnswer(answer, contextOf(plain)).body;
          expect(recordedText(rendered.content), recording.id).toBe(recordedText(body.content));
        }
        print("anthropic-messages whole answers", answers.length, seen);
      },
    );

    it(
      "every stream is relayed byte for byte; cut at any event before its end, it is a failure everywhere",
      { timeout: 60_000 },
      () => {
        const seen = tally();
        const streams = (recordings ?? []).filter(isStream);
        let cuts = 0;
        for (const recording of streams) {
          const events = streamBytes(recording);
          const observer = messagesSurface.relay.observe(contextOf(plain));
          const relayed = events.flatMap((event) => observer.push(event));
          const { ending, events: closing } = observer.endStream();
          if (isSpliced(events)) {
            expect(ending.failure?.kind, recording.id).toBe("malformed");
            seen.refused.set("two answers in one", 1);
            continue;
          }
          expect(ending.failure, recording.id).toBeNull();
          expect(closing).toEqual([]);
          const last = events.findIndex(
            (event) => parseSseEvent(event).data?.includes('"message_stop"') === true,
          );
          expect(relayed, recording.id).toEqual(events.slice(0, last + 1));
          const parser = messagesUpstream.parseStream(generating, target);
          const reported = [
            ...events.flatMap((event) => parser.push(event)),
            ...parser.endAnswer(),
          ];
          expect(terminals(reported), recording.id).toBe(1);
          seen.passed += 1;
          const answer = collectAnswer(reported);
          if (answer.failure !== null) {
            expect(answer.failure.code, recording.id).toBe("unexpected_output_item");
            seen.native += 1;
          } else {
            expect(answer.usage, recording.id).toEqual(ending.usage);
            expect(answer.finish?.reason, recording.id).toBe(ending.finish);
            const renderer = messagesSurface.translation.renderStream(contextOf(plain));
            const printed = reported
              .flatMap((event) => renderer.push(event))
              .map((bytes) => decoder.decode(bytes));
            expect(printed.at(-1)).toBe('event: message_stop\ndata: {"type":"message_stop"}\n\n');
          }
          for (const kept of positionsToCut(last + 1, 8)) {
            cuts += 1;
            const cut = messagesSurface.relay.observe(contextOf(plain));
            for (const event of events.slice(0, kept)) cut.push(event);
            expect(cut.endStream().ending.failure?.kind, `${recording.id} cut after ${kept}`).toBe(
              "truncated",
            );
            const reader = messagesUpstream.parseStream(generating, target);
            const partial = [
              ...events.slice(0, kept).flatMap((event) => reader.push(event)),
              ...reader.endAnswer(),
            ];
            expect(partial.at(-1)?.type, `${recording.id} cut after ${kept}`).toBe("failure");
            expect(terminals(partial)).toBe(1);
          }
        }
        print(`anthropic-messages streams (${cuts} cuts)`, streams.length, seen);
      },
    );

    it("every stream means the same for every cut of its bytes", () => {
      for (const recording of (recordings ?? []).filter(isStream)) {
        const events = streamBytes(recording);
        const bytes = Buffer.concat(events);
        const whole = messagesUpstream.parseStream(generating, target);
        const expected = [...whole.push(bytes), ...whole.endAnswer()];
        for (const size of [1, 7, 61]) {
          const parser = messagesUpstream.parseStream(generating, target);
          const reported: InferenceEvent[] = [];
          for (let start = 0; start < bytes.length; start += size) {
            reported.push(...parser.push(bytes.subarray(start, start + size)));
          }
          reported.push(...parser.endAnswer());
          expect(reported, `${recording.id} in pieces of ${size}`).toEqual(expected);
        }
      }
    });
  },
);
