import { describe, expect, it } from "vitest";
import { collectAnswer } from "../../src/dialects/answer-events.ts";
import type { InferenceEvent } from "../../src/canon/generate/event.ts";
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../src/canon/json.ts";
import type { InferenceRequest } from "../../src/canon/request.ts";
import type { AnswerContext, Surface } from "../../src/dialects/dialect.ts";
import { GENERATE_DIALECTS, type GenerateDialect } from "../../src/dialects/table.ts";
import { SseFramer } from "../../src/dialects/sse.ts";
import { TranslatedStream, endCheck, filtered } from "../../src/dialects/translated-stream.ts";
import {
  contextOf,
  DIALECT_NAMES,
  NO_EDITS,
  NO_HEADERS,
  SURFACE_DIALECTS,
  SURFACES,
  targetOf,
  type SurfaceDialect,
} from "../support/dialects.ts";
import { readRecordings, streamText, type Recording } from "../support/recordings.ts";
import { forOneTool } from "../../src/dialects/translate-request.ts";
import { upstreamFor } from "../../src/dialects/exchange-plan.ts";

/**
 * Every recorded exchange of a surface, translated to every other protocol: no leaf of a request
 * disappears without a record (docs/translation.md#nothing-disappears), and a stream that is cut
 * ends as a failure (docs/protocols.md#how-a-stream-ends).
 */
const present = readRecordings("openai-chat") !== null;
const encoder = new TextEncoder();

/** What becomes of one request at one dialect, as a line that can be compared and counted. */
type Fate =
  | { readonly kind: "mapped" | "lossy"; readonly line: string; readonly body: string }
  | { readonly kind: "refused"; readonly line: string };

function fateOf(surface: SurfaceDialect, dialect: GenerateDialect, body: JsonObject): Fate {
  const request = SURFACES[surface].parse(body, JSON.stringify(body).length, NO_HEADERS);
  if ("code" in request) return { kind: "refused", line: `${request.code} ${request.param ?? ""}` };
  const facts = GENERATE_DIALECTS[dialect];
  const { needs, features } = request.shape;
  const need = needs.find((capability) => !facts.expresses.some((own) => own === capability));
  if (need !== undefined)
    return { kind: "refused", line: `capability ${need} ${request.paths.get(need) ?? "?"}` };
  const feature = features.find((name) => !facts.features.some((own) => own === name));
  if (feature !== undefined) {
    return { kind: "refused", line: `feature ${feature} ${request.paths.get(feature) ?? "?"}` };
  }
  const canonical = SURFACES[surface].translation.toCanon(request, "reject", NO_EDITS);
  if ("code" in canonical)
    return { kind: "refused", line: `${canonical.code} ${canonical.param ?? ""}` };
  const { request: sent, firstCallOnly } = forOneTool(canonical.request, facts);
  const formatted = upstreamFor("generate", dialect).format(sent, targetOf(dialect));
  if ("code" in formatted)
    return { kind: "refused", line: `format ${formatted.code} ${formatted.param ?? ""}` };
  const dropped = [...canonical.dropped, ...formatted.dropped, ...canonical.stripped].toSorted();
  return {
    kind: dropped.length === 0 ? "mapped" : "lossy",
    line: dropped.join(","),
    body: `${formatted.path} ${formatted.headers.join()} ${canonicalJson(formatted.body)} ${firstCallOnly}`,
  };
}

interface Leaf {
  readonly path: readonly (string | number)[];
  readonly value: string | number | boolean;
}

function leavesOf(
  value: JsonValue | undefined,
  path: readonly (string | number)[] = [],
): readonly Leaf[] {
  if (value === null || value === undefined) return [];
  if (typeof value !== "object") return [{ path, value }];
  if (Array.isArray(value))
    return value.flatMap((item: JsonValue, index) => leavesOf(item, [...path, index]));
  return Object.entries(value).flatMap(([name, member]) => leavesOf(member, [...path, name]));
}

/** Another value of the same type, at the same position. */
function changed(leaf: Leaf): string | number | boolean {
  if (typeof leaf.value === "boolean") return !leaf.value;
  if (typeof leaf.value === "number")
    return Number.isInteger(leaf.value) ? leaf.value + 1 : leaf.value / 2;
  return `${leaf.value}x`;
}

function replaced(
  value: JsonValue | undefined,
  path: readonly (string | number)[],
  leaf: JsonValue,
): JsonValue {
  const [first, ...rest] = path;
  if (first === undefined) return leaf;
  if (Array.isArray(value))
    return value.map((item: JsonValue, index) =>
      index === first ? replaced(item, rest, leaf) : item,
    );
  if (isJsonObject(value)) return { ...value, [first]: replaced(value[first], rest, leaf) };
  throw new Error("a path that leads nowhere");
}

/**
 * Leaves that say something about themselves only: the router answers for them, whatever they say.
 */
const OWNED = new Set([
  "model",
  "stream",
  "store",
  "include_usage",
  "include_obfuscation",
  "provider",
]);

/**
 * Leaves whose values are dropped or nothing: another value of theirs is dropped in the same way.
 */
function saysTheSame(fate: Fate, other: Fate): boolean {
  return (
    fate.kind === other.kind &&
    fate.line === other.line &&
    fate.kind !== "refused" &&
    other.kind !== "refused" &&
    fate.body === other.body
  );
}

/**
 * The body without every leaf whose path is the same but for positions in lists, and without what
 * is empty then.
 */
function without(value: JsonValue | undefined, pattern: string, path = ""): JsonValue | undefined {
  if (path === pattern) return undefined;
  if (Array.isArray(value)) {
    return value.flatMap((item: JsonValue) => without(item, pattern, `${path}[]`) ?? []);
  }
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).flatMap(([name, member]) => {
    const rest = without(member, pattern, `${path}.${name}`);
    return rest === undefined ? [] : [[name, rest] as const];
  });
  return members.length === 0 && Object.keys(value).length > 0
    ? undefined
    : Object.fromEntries(members);
}

function patternOf({ path }: Leaf): string {
  return path.map((step) => (typeof step === "number" ? "[]" : `.${step}`)).join("");
}

/**
 * What disappeared: leaves that can be changed and taken out without any difference, neither in
 * what is sent nor in what is recorded as lost. A leaf that says a default only differs when it is
 * changed; one that is lost on record when all of its kind are taken out.
 */
function silentLeaves(
  surface: SurfaceDialect,
  dialect: GenerateDialect,
  body: JsonObject,
  fate: Fate,
): readonly string[] {
  if (fate.kind === "refused") return [];
  // Closed objects are on record, whether or not the caller closed some of them.
  const isClosed = fate.line.includes("schema_closed");
  const leaves = leavesOf(body).filter(
    ({ path }) =>
      !path.some((name) => OWNED.has(String(name))) &&
      !(isClosed && path.at(-1) === "additionalProperties"),
  );
  const step = Math.max(1, Math.floor(leaves.length / 40));
  const unheard = new Set<string>();
  for (const leaf of leaves.filter((_, index) => index % step === 0)) {
    const altered = replaced(body, leaf.path, changed(leaf));
    if (isJsonObject(altered) && saysTheSame(fate, fateOf(surface, dialect, altered)))
      unheard.add(patternOf(leaf));
  }
  // One dropped field may stand for several: each is looked at alone. Withheld tools are withheld
  // whole, as long as one is there.
  const bare = fateOf(surface, dialect, withoutAll(body, unheard));
  return [...unheard].filter((pattern) => {
    if (fate.line.includes("tools_withheld") && pattern.startsWith(".tools[]")) return false;
    const others = new Set(unheard);
    others.delete(pattern);
    return saysTheSame(bare, fateOf(surface, dialect, withoutAll(body, others)));
  });
}

function withoutAll(body: JsonObject, patterns: ReadonlySet<string>): JsonObject {
  let rest = body;
  for (const pattern of patterns) {
    const next = without(rest, pattern);
    if (isJsonObject(next)) rest = next;
  }
  return rest;
}

/** Events of a whole stream, or of its first part. */
function terminalOf(bytes: readonly Uint8Array[], dialect: SurfaceDialect): InferenceEvent["type"] {
  const parser = upstreamFor("generate", dialect).parseStream(REQUESTED, targetOf(dialect));
  const events = [...bytes.flatMap((one) => parser.push(one)), ...parser.endAnswer()];
  const answer = collectAnswer(events);
  return answer.finish === null ? "failure" : "finish";
}

/** The simplest request, for streams that were recorded without theirs. */
const PLAIN: Readonly<Record<SurfaceDialect, JsonObject>> = {
  "openai-chat": { model: "m", stream: true, messages: [{ role: "user", content: "x" }] },
  "openai-completions": { model: "m", stream: true, prompt: "x" },
  "openai-responses": { model: "m", stream: true, input: "x" },
  "anthropic-messages": {
    model: "m",
    stream: true,
    max_tokens: 10,
    messages: [{ role: "user", content: "x" }],
  },
};

function plainRequest(dialect: SurfaceDialect): InferenceRequest {
  const request = SURFACES[dialect].parse(PLAIN[dialect], 100, NO_HEADERS);
  if ("code" in request) throw new Error(request.message);
  return request;
}

const canonical = SURFACES["openai-chat"].translation.toCanon(
  plainRequest("openai-chat"),
  "reject",
  NO_EDITS,
);
if ("code" in canonical) throw new Error(canonical.message);
const REQUESTED = canonical.request;

function translate(
  recorded: GenerateDialect,
  surface: SurfaceDialect,
  bytes: readonly Uint8Array[],
): {
  readonly printed: readonly Uint8Array[];
  readonly failed: boolean;
  readonly code: string;
} {
  const context: AnswerContext = contextOf(plainRequest(surface));
  const { translation }: Surface = SURFACES[surface];
  const parser = upstreamFor("generate", recorded).parseStream(REQUESTED, targetOf(recorded));
  const stream = new TranslatedStream(
    filtered(parser, [endCheck(translation)]),
    translation.renderStream(context),
  );
  const printed = bytes.flatMap((one) => stream.push(one));
  const { ending, events } = stream.endStream();
  const { failure } = ending;
  return {
    printed: [...printed, ...events],
    failed: failure !== null,
    code: failure === null ? "" : `${failure.kind} ${failure.code ?? ""}`.trim(),
  };
}

describe.skipIf(!present)(
  "recorded traffic crossed (skipped where ../shared/recordings is absent)",
  () => {
    it(
      "every request at every other protocol is mapped, lossy on record, or refused by name; no leaf disappears",
      { timeout: 300_000 },
      () => {
        const table: string[] = [];
        const silent = new Set<string>();
        for (const protocol of SURFACE_DIALECTS) {
          const bodies = (readRecordings(protocol) ?? []).flatMap(({ id, request }) =>
            isJsonObject(request?.body) ? [{ id, body: { ...request.body, model: "m" } }] : [],
          );
          for (const dialect of DIALECT_NAMES) {
            if (dialect === protocol) continue;
            const counts = { mapped: 0, lossy: 0, refused: 0 };
            const reasons = new Map<string, number>();
            for (const { id, body } of bodies) {
              const fate = fateOf(protocol, dialect, body);
              expect(fateOf(protocol, dialect, body), id).toEqual(fate);
              for (const leaf of silentLeaves(protocol, dialect, body, fate))
                silent.add(`${protocol} to ${dialect}: ${leaf} (${id})`);
              counts[fate.kind] += 1;
              if (fate.kind !== "refused") continue;
              // Positions in lists say nothing about the kind of refusal.
              const reason = fate.line.replaceAll(/\[\d+\]/g, "[]");
              expect(reason, id).toMatch(/^(capability|feature) \w+ [^?]|^[a-z_]+ /);
              reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
            }
            const top = [...reasons].toSorted((left, right) => right[1] - left[1]).slice(0, 6);
            table.push(
              `${protocol} -> ${dialect}: ${bodies.length} requests, ${counts.mapped} mapped, ${counts.lossy} lossy, ${counts.refused} refused (${top.map(([reason, count]) => `${count} ${reason}`).join("; ")}), 0 lost`,
            );
          }
        }
        process.stdout.write(`${table.join("\n")}\n`);
        expect([...silent]).toEqual([]);
      },
    );

    it(
      "every stream on every other surface gives the same answer, and is a failure for every cut",
      { timeout: 300_000 },
      () => {
        const table: string[] = [];
        for (const protocol of DIALECT_NAMES) {
          const streams = (readRecordings(STREAM_FILES[protocol] ?? protocol) ?? []).filter(
            ({ status, response }) => status === 200 && response.body_type !== "json",
          );
          for (const surface of SURFACE_DIALECTS) {
            if (surface === protocol) continue;
            const codes = new Map<string, number>();
            let [whole, cuts] = [0, 0];
            for (const recording of streams) {
              const bytes = eventsOf(recording);
              const result = translate(protocol, surface, bytes);
              if (result.failed) {
                expect(terminalOf(result.printed, surface), recording.id).toBe("failure");
                codes.set(result.code, (codes.get(result.code) ?? 0) + 1);
                continue;
              }
              whole += 1;
              expect(terminalOf(result.printed, surface), recording.id).toBe("finish");
              for (let count = 0; count < bytes.length; count += 1) {
                const cut = translate(protocol, surface, bytes.slice(0, count));
                if (!cut.failed) {
                  // Only what has been said may be repeated: nothing but a usage chunk or `[DONE]`
                  // was cut off.
                  expect(
                    saidItsEnd(protocol, bytes.slice(0, count)),
                    `${recording.id} cut after ${count}`,
                  ).toBe(true);
                  continue;
                }
                cuts += 1;
                expect(terminalOf(cut.printed, surface), `${recording.id} cut after ${count}`).toBe(
                  "failure",
                );
              }
            }
            table.push(
              `${protocol} on ${surface}: ${streams.length} streams, ${whole} whole, ${streams.length - whole} failed by name (${[...codes].map(([code, count]) => `${count} ${code}`).join("; ")}), ${cuts} cuts, none a success`,
            );
          }
        }
        process.stdout.write(`${table.join("\n")}\n`);
      },
    );
  },
);

/** What each protocol's providers say when an answer is whole. */
const ENDS: Readonly<Record<GenerateDialect, RegExp>> = {
  "openai-chat": /"finish_reason":\s*"\w|\[DONE\]/,
  "openai-completions": /"finish_reason":\s*"\w|\[DONE\]/,
  "openai-responses": /"type":\s*"response\.(completed|incomplete)"/,
  "anthropic-messages": /"type":\s*"message_stop"/,
  "cohere-chat": /"type":\s*"message-end"/,
  gemini: /"finishReason":|"blockReason":/,
  "bedrock-converse": /messageStop/,
};

function saidItsEnd(protocol: GenerateDialect, bytes: readonly Uint8Array[]): boolean {
  return ENDS[protocol].test(Buffer.concat(bytes).toString());
}

/** Where the streams of a protocol stand, if not in the file of its name. */
const STREAM_FILES: Readonly<Partial<Record<GenerateDialect, string>>> = {
  "bedrock-converse": "bedrock-converse-stream",
};

/** Frames begin with their length, 32 bits, most significant byte first. */
function framesOf(bytes: Buffer): readonly Uint8Array[] {
  const frames: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; start += bytes.readUInt32BE(start)) {
    frames.push(bytes.subarray(start, start + bytes.readUInt32BE(start)));
  }
  return frames;
}

function eventsOf(recording: Recording): readonly Uint8Array[] {
  const { body, body_type: type } = recording.response;
  if (type === "aws-eventstream") return framesOf(Buffer.from(String(body), "base64"));
  const framer = new SseFramer();
  return [...framer.push(encoder.encode(streamText(recording))), framer.lastEvent()].filter(
    ({ length }) => length > 0,
  );
}
