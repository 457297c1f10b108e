import { describe, expect, it } from "vitest";
import { collectAnswer } from "../../src/dialects/answer-events.ts";
import type { InferenceEvent } from "../../src/canon/generate/event.ts";
import { isJsonObject, type JsonObject } from "../../src/canon/json.ts";
import { dialect } from "../../src/dialects/gemini/dialect.ts";
import { SseFramer } from "../../src/dialects/sse.ts";
import { hello, targetWith } from "../dialects/gemini/target.ts";
import { brokenLaws } from "../dialects/laws/arbitrary/events.ts";
import { readRecordings, type Recording } from "../support/recordings.ts";

const { generate: geminiUpstream } = dialect;

const recordings = readRecordings("gemini");
const counts = readRecordings("gemini-count-tokens");
const encoder = new TextEncoder();
const target = targetWith();

/** Bodies that are no answers of the method. */
const OTHER = /batch_with_gemini|google-vertex-embedding|test_gemini_token_counts_streaming/;

/** Answers that only somebody who spoke this protocol to the provider can have requested. */
const NATIVE = new Set([
  "executableCode",
  "codeExecutionResult",
  "toolCall",
  "toolResponse",
  "partialArgs",
]);

const isStream = ({ response }: Recording): boolean =>
  response.body_type === "sse" || response.body_type === "jsonl-chunks";

/** What the provider said, piece by piece. */
function piecesOf({ response }: Recording): readonly JsonObject[] {
  if (response.body_type === "json") return [response.body].filter(isJsonObject);
  const lines = String(response.body).split(/\r?\n/);
  return lines.flatMap((line) => {
    const data = response.body_type === "sse" ? (/^data: ?(.*)$/.exec(line)?.[1] ?? "") : line;
    return data.trim() === "" ? [] : [JSON.parse(data) as JsonObject];
  });
}

/** The stream's events as bytes on the wire; recordings that lost their framing get it back. */
function eventsOf(recording: Recording): readonly Uint8Array[] {
  const body = String(recording.response.body);
  const text =
    recording.response.body_type === "sse"
      ? body
      : piecesOf(recording)
          .map((piece) => `data: ${JSON.stringify(piece)}\r\n\r\n`)
          .join("");
  return new SseFramer().push(encoder.encode(`${text}\r\n\r\n`));
}

/** The parts of the one candidate, in order. */
function partsOf(pieces: readonly JsonObject[]): readonly JsonObject[] {
  return pieces.flatMap(({ candidates }) => {
    const [candidate] = Array.isArray(candidates) ? candidates : [];
    const content = isJsonObject(candidate) ? candidate.content : undefined;
    const parts = isJsonObject(content) ? content.parts : undefined;
    return Array.isArray(parts) ? parts.filter(isJsonObject) : [];
  });
}

function finishOf(pieces: readonly JsonObject[]): string | null {
  const reasons = pieces.flatMap(({ candidates }) =>
    (Array.isArray(candidates) ? candidates : []).flatMap((candidate) => {
      const reason = isJsonObject(candidate) ? candidate.finishReason : undefined;
      return typeof reason === "string" ? [reason] : [];
    }),
  );
  return reasons.at(-1) ?? null;
}

const isNative = (pieces: readonly JsonObject[]): boolean =>
  partsOf(pieces).some((part) => {
    const { functionCall } = part;
    return [
      ...Object.keys(part),
      ...(isJsonObject(functionCall) ? Object.keys(functionCall) : []),
    ].some((name) => NATIVE.has(name));
  });

/** The same answer in the provider's values and in ours. */
function compare(
  id: string,
  pieces: readonly JsonObject[],
  events: readonly InferenceEvent[],
): void {
  const answer = collectAnswer(events);
  const parts = partsOf(pieces);
  const joined = (wanted: boolean): string =>
    parts
      .map(({ text, thought }) =>
        typeof text === "string" && (thought === true) === wanted ? text : "",
      )
      .join("");
  const reported = (kind: string): string =>
    answer.blocks
      .map((block) => (block.kind === kind && "text" in block ? block.text : ""))
      .join("");
  expect(reported("text"), id).toBe(joined(false));
  expect(reported("reasoning"), id).toBe(joined(true));
  const calls = answer.blocks.filter((block) => block.kind === "tool_call");
  expect(
    calls.map((block) => [block.name, JSON.parse(block.arguments)]),
    id,
  ).toEqual(
    parts.flatMap(({ functionCall }) =>
      isJsonObject(functionCall) ? [[functionCall.name, functionCall.args ?? {}]] : [],
    ),
  );
  expect(new Set(calls.map((block) => block.id)).size, id).toBe(calls.length);
  const signatures = answer.blocks.flatMap((block) =>
    block.kind === "reasoning" && block.signature !== null
      ? [block.signature.replace(/^\w+\./, "")]
      : [],
  );
  expect(signatures, id).toEqual(
    parts.flatMap(({ thoughtSignature }) =>
      typeof thoughtSignature === "string" ? [thoughtSignature] : [],
    ),
  );
  const metadata = pieces.at(-1)?.usageMetadata;
  const total = isJsonObject(metadata) ? metadata.totalTokenCount : undefined;
  if (typeof total === "number") {
    expect((answer.usage?.input ?? 0) + (answer.usage?.output ?? 0), id).toBe(total);
  }
}

/** The history that a client sends back is what the provider had said. */
function comeBack(
  id: string,
  pieces: readonly JsonObject[],
  events: readonly InferenceEvent[],
): void {
  const content = collectAnswer(events).blocks.map((block) => {
    if (block.kind === "tool_call") return { ...block, cache: null };
    if (block.kind === "text") return { kind: block.kind, text: block.text, cache: null };
    if (block.kind === "refusal")
      throw new Error(`${id}: a refusal, which the protocol does not have`);
    return block;
  });
  if (content.length === 0) return;
  const turns = [
    ...hello.turns,
    { role: "assistant", name: null, content } as const,
    ...hello.turns,
  ];
  const unsigning = targetWith({ signatureFamily: null });
  const formatted = geminiUpstream.format({ ...hello, turns }, unsigning);
  if ("code" in formatted) throw new Error(`${id}: ${formatted.message}`);
  const { contents }: { contents: { parts: JsonObject[] }[] } = JSON.parse(
    JSON.stringify(formatted.body),
  );
  const bare = (part: JsonObject): JsonObject => {
    const { functionCall } = part;
    if (!isJsonObject(functionCall)) return part;
    return {
      ...part,
      functionCall: { name: functionCall.name, args: functionCall.args ?? {} },
    };
  };
  expect((contents[1]?.parts ?? []).map(bare), id).toEqual(joinTexts(partsOf(pieces)).map(bare));
}

const textOf = ({ text }: JsonObject): string => (typeof text === "string" ? text : "");

/** Texts that a stream tore apart are one; empty ones without a signature are none. */
function joinTexts(parts: readonly JsonObject[]): readonly JsonObject[] {
  const joined: JsonObject[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    const isText = (made: JsonObject | undefined): boolean =>
      typeof made?.text === "string" && made.thoughtSignature === undefined;
    if (part.text === "" && part.thoughtSignature === undefined) continue;
    if (last !== undefined && isText(last) && isText(part) && last.thought === part.thought) {
      joined[joined.length - 1] = { ...part, text: textOf(last) + textOf(part) };
    } else {
      joined.push(part);
    }
  }
  return joined;
}

/** One recording has lost the status of its error. */
function errorStatus({ response: { body } }: Recording): number | null {
  const error = isJsonObject(body) ? body.error : undefined;
  const code = isJsonObject(error) ? error.code : undefined;
  return typeof code === "number" ? code : null;
}

const bodyText = ({ response }: Recording): string => JSON.stringify(response.body);

interface Tally {
  passed: number;
  readonly refused: Map<string, number>;
}

const tally = (): Tally => ({ passed: 0, refused: new Map() });

function refuse({ refused }: Tally, reason: string): void {
  refused.set(reason, (refused.get(reason) ?? 0) + 1);
}

function print(name: string, total: number, { passed, refused }: Tally): void {
  const sum = [...refused.values()].reduce((left, right) => left + right, 0);
  const reasons = [...refused].map(([reason, count]) => `${count} × ${reason}`).join(", ");
  process.stdout.write(
    `${name}: ${total} exchanges, ${passed} passed, ${sum} refused (${reasons}), ${total - passed - sum} failed\n`,
  );
  expect(total - passed - sum).toBe(0);
}

/** Judges one answer that was read as `events`. */
function judge(recording: Recording, events: readonly InferenceEvent[], seen: Tally): void {
  const { id } = recording;
  const pieces = piecesOf(recording);
  expect(brokenLaws(events), id).toEqual([]);
  const { finish, failure } = collectAnswer(events);
  const reason = finishOf(pieces);
  if (OTHER.test(id)) {
    expect(failure, id).toMatchObject({ kind: "malformed" });
    return refuse(seen, "another method's answer");
  }
  if (isNative(pieces)) {
    expect(failure, id).toMatchObject({ kind: "malformed", code: "unexpected_output_item" });
    return refuse(seen, "parts of the provider's own tools");
  }
  if (reason === "UNEXPECTED_TOOL_CALL") {
    expect(failure, id).toMatchObject({ kind: "error_frame", code: "unexpected_tool_call" });
    return refuse(seen, "unexpected_tool_call");
  }
  expect(failure, id).toBeNull();
  const hasCall = partsOf(pieces).some((part) => part.functionCall !== undefined);
  const expected =
    reason === "STOP"
      ? hasCall
        ? "tool_calls"
        : "stop"
      : reason === "MAX_TOKENS"
        ? "length"
        : "content_filter";
  expect(finish?.reason, id).toBe(expected);
  compare(id, pieces, events);
  comeBack(id, pieces, events);
  seen.passed += 1;
}

describe.skipIf(recordings === null)(
  "recorded generateContent (skipped where ../shared/recordings is absent)",
  () => {
    it("every whole answer is understood, or refused with its reason", () => {
      const seen = tally();
      const whole = (recordings ?? []).filter((recording) => !isStream(recording));
      for (const recording of whole) {
        const bytes = encoder.encode(JSON.stringify(recording.response.body));
        const status = errorStatus(recording);
        if (status !== null) {
          const failure = geminiUpstream.readError(status, bytes);
          expect(failure.code, recording.id).not.toBeNull();
          expect(failure.retryAfter === null, recording.id).toBe(
            !bodyText(recording).includes("RetryInfo"),
          );
          seen.passed += 1;
        } else {
          judge(recording, geminiUpstream.parseAnswer(bytes, hello, target), seen);
        }
      }
      print("gemini whole answers", whole.length, seen);
      expect(seen.passed).toBeGreaterThan(whole.length * 0.9);
    });

    it("every stream is understood; cut at any event before its end, it is a failure", () => {
      const seen = tally();
      const streams = (recordings ?? []).filter(isStream);
      let cuts = 0;
      for (const recording of streams) {
        const events = eventsOf(recording);
        const parser = geminiUpstream.parseStream(hello, target);
        judge(
          recording,
          [...events.flatMap((event) => parser.push(event)), ...parser.endAnswer()],
          seen,
        );
        for (let kept = 0; kept < piecesOf(recording).length; kept += 1) {
          cuts += 1;
          const cut = geminiUpstream.parseStream(hello, target);
          const reported = [
            ...events.slice(0, kept).flatMap((event) => cut.push(event)),
            ...cut.endAnswer(),
          ];
          expect(brokenLaws(reported), `${recording.id} cut after ${kept}`).toEqual([]);
          expect(reported.at(-1)?.type, `${recording.id} cut after ${kept}`).toBe("failure");
        }
      }
      print(`gemini streams (${cuts} cuts)`, streams.length, seen);
    });

    it("every stream means the same for every cut of its bytes", () => {
      for (const recording of (recordings ?? []).filter(isStream)) {
        const bytes = new Uint8Array(Buffer.concat(eventsOf(recording)));
        const whole = geminiUpstream.parseStream(hello, target);
        const expected = [...whole.push(bytes), ...whole.endAnswer()];
        for (const size of [1, 7, 61]) {
          const parser = geminiUpstream.parseStream(hello, target);
          const reported: InferenceEvent[] = [];
          for (let start = 0; start < bytes.length; start += size) {
            reported.push(...parser.push(bytes.subarray(start, start + size)));
          }
          reported.push(...parser.endAnswer());
          expect(reported, `${recording.id} in pieces of ${size}`).toEqual(expected);
        }
      }
    });

    it("every count is understood", () => {
      const seen = tally();
      for (const recording of counts ?? []) {
        const { body } = recording.response;
        const bytes = encoder.encode(JSON.stringify(body));
        if (recording.status === 404) {
          expect(geminiUpstream.readError(404, bytes)).toMatchObject({
            kind: "not_found",
            code: "model_not_found",
          });
        } else {
          const { usage, finish } = collectAnswer(
            geminiUpstream.parseAnswer(bytes, { ...hello, purpose: "count" }, target),
          );
          expect([usage?.input, finish?.reason]).toEqual([
            isJsonObject(body) ? body.totalTokens : null,
            "stop",
          ]);
        }
        seen.passed += 1;
      }
      print("gemini-count-tokens", counts?.length ?? 0, seen);
    });
  },
);
