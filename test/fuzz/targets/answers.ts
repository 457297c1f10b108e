import fc from "fast-check";
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { FAILURE_KINDS } from "../../../src/canon/failure.ts";
import { collectAnswer } from "../../../src/dialects/answer-events.ts";
import type { InferenceEvent } from "../../../src/canon/generate/event.ts";
import type { AnswerStream } from "../../../src/dialects/dialect.ts";
import type { GenerateDialect } from "../../../src/dialects/table.ts";
import {
  type ExchangePlan,
  planExchange,
  upstreamFor,
} from "../../../src/dialects/exchange-plan.ts";
import { encodeFrame } from "../../dialects/bedrock-converse/wire.ts";
import { contextFor } from "../../dialects/laws/speak.ts";
import { contextOf, DIALECT_NAMES, NO_EDITS, targetOf } from "../../dialects/laws/target.ts";
import { PROTOCOLS, SURFACES, type Spoken } from "../../dialects/laws/table.ts";
import { route } from "../../support/table.ts";
import { cuts, mutated, pieces } from "../mutations.ts";
import type { FuzzTarget } from "../target.ts";
import { prepareTranslation } from "../../../src/dialects/translate-request.ts";

/** A small answer, in canon; every protocol that is a surface prints its own samples of it. */
const REPORTED: readonly InferenceEvent[] = [
  { type: "start", model: "m" },
  { type: "open", index: 0, block: { kind: "text" } },
  { type: "text", index: 0, text: "héllo", logprobs: [] },
  { type: "close", index: 0 },
  { type: "open", index: 1, block: { kind: "tool_call", id: "c", name: "look_up" } },
  { type: "arguments", index: 1, json: '{"city":"Ghent"}' },
  { type: "close", index: 1 },
  { type: "finish", reason: "tool_calls", stopSequence: null },
];

const json = (value: unknown): string => JSON.stringify(value);
const sse = (...events: readonly unknown[]): string =>
  events.map((event) => `data: ${json(event)}\n\n`).join("");

const GEMINI = [
  { candidates: [{ content: { role: "model", parts: [{ text: "héllo" }] } }], modelVersion: "m" },
  {
    candidates: [
      {
        content: { parts: [{ functionCall: { name: "look_up", args: { city: "Ghent" } } }] },
        finishReason: "STOP",
      },
    ],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 },
  },
];

const CONVERSE: readonly (readonly [string, Parameters<typeof encodeFrame>[1]])[] = [
  ["messageStart", { role: "assistant" }],
  ["contentBlockDelta", { contentBlockIndex: 0, delta: { text: "héllo" } }],
  ["contentBlockStop", { contentBlockIndex: 0 }],
  ["messageStop", { stopReason: "end_turn" }],
  ["metadata", { usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } }],
];

const COHERE = [
  { type: "message-start", id: "x", delta: { message: { role: "assistant", content: [] } } },
  { type: "content-start", index: 0, delta: { message: { content: { type: "text", text: "" } } } },
  { type: "content-delta", index: 0, delta: { message: { content: { text: "héllo" } } } },
  { type: "content-end", index: 0 },
  {
    type: "message-end",
    delta: { finish_reason: "COMPLETE", usage: { tokens: { input_tokens: 3, output_tokens: 4 } } },
  },
];

/** Protocols that are no surface say theirs here. */
const OTHERS: Readonly<
  Partial<Record<GenerateDialect, { readonly stream: string | Uint8Array; readonly whole: string }>>
> = {
  gemini: { stream: sse(...GEMINI), whole: json(GEMINI[1]) },
  "bedrock-converse": {
    stream: Buffer.concat(
      CONVERSE.map(([type, body]) =>
        encodeFrame({ ":event-type": type, ":message-type": "event" }, body),
      ),
    ),
    whole: json({
      output: { message: { role: "assistant", content: [{ text: "héllo" }] } },
      stopReason: "end_turn",
      usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 },
    }),
  },
  "cohere-chat": {
    stream: COHERE.map((event) => `event: ${event.type}\ndata: ${json(event)}\n\n`).join(""),
    whole: json({
      id: "x",
      message: { role: "assistant", content: [{ type: "text", text: "héllo" }] },
      finish_reason: "COMPLETE",
      usage: { tokens: { input_tokens: 3, output_tokens: 4 } },
    }),
  },
};

function samplesOf(dialect: GenerateDialect): {
  readonly stream: string | Uint8Array;
  readonly whole: string;
} {
  const other = OTHERS[dialect];
  if (other !== undefined) return other;
  const protocol = PROTOCOLS.find(({ name }) => name === dialect);
  if (protocol === undefined) throw new Error(`test/fuzz has no sample of ${dialect}`);
  const { translation } = protocol.spoken.surface;
  const reported = protocol.telling.calls
    ? REPORTED
    : [...REPORTED.slice(0, 4), { type: "finish", reason: "stop", stopSequence: null } as const];
  const renderer = translation.renderStream(contextFor(protocol));
  return {
    stream: Buffer.concat(reported.flatMap((event) => renderer.push(event))),
    whole: json(translation.renderAnswer(collectAnswer(reported), contextFor(protocol)).body),
  };
}

/**
 * The way from a surface to a dialect and back, for a stream or for a whole answer; `null` where
 * there is none.
 */
function exchangeOf(
  spoken: Spoken,
  dialect: GenerateDialect,
  stream: boolean,
): ExchangePlan | null {
  const request = spoken.read({ ...spoken.body, ...(stream ? { stream: true } : {}) });
  if ("code" in request) throw new Error(request.message);
  const { surface } = spoken;
  const [row, target, upstream] = [
    route("r", "e", []),
    targetOf(dialect),
    upstreamFor("generate", dialect),
  ];
  const canonical = surface.translation.toCanon(request, "reject", NO_EDITS);
  if ("code" in canonical) throw new Error(canonical.message);
  const made = prepareTranslation(canonical, row, request.shape, target, upstream);
  if ("code" in made) return null;
  const prepared = surface.dialect === dialect ? null : made;
  const context = contextOf(request);
  return planExchange(
    { surface, request, prepared, route: row, edits: NO_EDITS, context },
    target,
    upstream,
  );
}

/** All that a client would get of a stream, and how it ended. */
function relayed(
  stream: AnswerStream,
  parts: readonly Uint8Array[],
): { readonly text: string; readonly end: string } {
  const sent: Uint8Array[] = [];
  for (const part of parts) {
    if (stream.failure !== null || stream.hasEnded) break;
    sent.push(...stream.push(part));
  }
  if (stream.failure !== null) return { text: "", end: stream.failure.kind };
  const { ending, events } = stream.endStream();
  const text = Buffer.concat([...sent, ...events]).toString("latin1");
  return { text: ending.failure === null ? text : "", end: ending.failure?.kind ?? "whole" };
}

const KINDS: ReadonlySet<string> = new Set([...FAILURE_KINDS, "whole"]);
const TALKING = SURFACES.filter(({ operation }) => operation !== "messages.count_tokens");

export const ANSWERS: readonly FuzzTarget[] = DIALECT_NAMES.flatMap((dialect) => {
  const { stream, whole } = samplesOf(dialect);
  const surfaces = TALKING.filter((spoken) => exchangeOf(spoken, dialect, true) !== null);
  const open = (spoken: Spoken, streamed: boolean): ExchangePlan => {
    const exchange = exchangeOf(spoken, dialect, streamed);
    if (exchange === null) throw new Error(`${dialect} has no way for ${spoken.operation}`);
    return exchange;
  };
  return [
    {
      name: `${dialect}: a stream ends in one named way, however it is cut, for every surface`,
      property: fc.property(
        mutated([stream]),
        cuts,
        fc.constantFrom(...surfaces),
        (bytes, positions, spoken) => {
          const first = relayed(open(spoken, true).stream(), [bytes]);
          const cut = relayed(open(spoken, true).stream(), pieces(bytes, positions));
          ok(KINDS.has(first.end), first.end);
          strictEqual(cut.end, first.end);
          deepStrictEqual(cut.text, first.text);
        },
      ),
    },
    {
      name: `${dialect}: a whole answer is one or fails by name, for every surface`,
      property: fc.property(mutated([whole]), fc.constantFrom(...surfaces), (bytes, spoken) => {
        const { ending } = open(spoken, false).answer(bytes);
        ok(KINDS.has(ending.failure?.kind ?? "whole"));
      }),
    },
    {
      name: `${dialect}: an error of any bytes has a name`,
      property: fc.property(
        mutated([
          '{"error":{"message":"m","code":"context_length_exceeded","type":"t"}}',
          '{"message":"m"}',
          "<html>",
          whole,
        ]),
        fc.integer({ min: 201, max: 599 }),
        (bytes, status) => {
          const failure = upstreamFor("generate", dialect).readError(status, bytes);
          ok(KINDS.has(failure.kind));
          ok(
            failure.code === null || /^[a-z0-9_.-]{1,80}$/i.test(failure.code),
            "a code that is not of our form",
          );
        },
      ),
    },
  ];
});
