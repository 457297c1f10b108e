import { describe, expect, it } from "vitest";
import { collectAnswer } from "../../src/dialects/answer-events.ts";
import type { InferenceEvent } from "../../src/canon/generate/event.ts";
import type { GenerateRequest } from "../../src/canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canon/json.ts";
import { dialect } from "../../src/dialects/bedrock-converse/dialect.ts";
import { FrameReader } from "../../src/dialects/bedrock-converse/event-stream-frames.ts";
import { hello, targetWith, parseEvents, withTools } from "../dialects/bedrock-converse/target.ts";
import { readBody } from "../dialects/bedrock-converse/read-body.ts";
import { encodeFrame } from "../dialects/bedrock-converse/wire.ts";
import { brokenLaws } from "../dialects/laws/arbitrary/events.ts";
import { joined } from "../dialects/laws/arbitrary/wire.ts";
import { fewOrMany } from "../support/long.ts";
import { readRecordings, type Recording } from "../support/recordings.ts";

const { generate: converseUpstream } = dialect;

const answers = readRecordings("bedrock-converse");
const streams = readRecordings("bedrock-converse-stream");
const counts = readRecordings("bedrock-count-tokens");

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * Recorded requests had tools of their own; which ones does not matter to the reading of an answer.
 */
const request = withTools;
const target = targetWith();

/** Answers with what callers of other protocols cannot request: tools that the provider runs. */
const REFUSED = "unexpected_output_item";

/**
 * What recorded requests say and canon does not: guardrails, tools that the provider runs, files
 * elsewhere, fields of models under other names.
 */
const FOREIGN =
  "reasoningConfig reasoning_config reasoning_effort output_config inferenceConfig performanceConfig guardrailConfig toolSpec bytes block type name".split(
    " ",
  );

/** The request in canon, or the member that is foreign to it. */
function readRecorded(body: JsonObject): GenerateRequest | string {
  try {
    return readBody(
      { path: "/model/eu.vendor.model-v1%3A0/converse", body, headers: [], dropped: [] },
      "family",
    );
  } catch (error) {
    const message = error instanceof Error ? error.message : "";
    const foreign = FOREIGN.find((feature) => message.includes(feature));
    if (foreign === undefined) throw error;
    return `foreign ${foreign}`;
  }
}

/**
 * A body without what says nothing: members that are empty or hold their default. The order of a
 * schema's members is not part of it.
 */
function comparable(value: JsonObject): unknown {
  const body: Record<string, JsonValue> = JSON.parse(JSON.stringify(value));
  const { toolConfig, outputConfig } = body;
  if (isJsonObject(toolConfig)) {
    const { tools, toolChoice } = toolConfig;
    const list: readonly JsonValue[] = Array.isArray(tools) ? tools : [];
    const isSaid = isJsonObject(toolChoice) && toolChoice.auto === undefined;
    body.toolConfig = { tools: list.map(comparableTool), ...(isSaid ? { toolChoice } : {}) };
  }
  if (outputConfig !== undefined)
    body.outputConfig = JSON.parse(JSON.stringify(outputConfig, schemaAsJson));
  return Object.fromEntries(
    Object.entries(body).filter(
      ([, member]) => typeof member !== "object" || Object.keys(member ?? {}).length > 0,
    ),
  );
}

function comparableTool(tool: JsonValue): JsonValue {
  const specification = isJsonObject(tool) ? tool.toolSpec : undefined;
  if (!isJsonObject(specification)) return tool;
  const { strict, inputSchema, ...rest } = specification;
  const json = isJsonObject(inputSchema) && isJsonObject(inputSchema.json) ? inputSchema.json : {};
  return {
    toolSpec: { ...rest, inputSchema: { type: "object", ...json }, strict: strict === true },
  };
}

function schemaAsJson(name: string, member: JsonValue): JsonValue {
  return name === "schema" && typeof member === "string" ? JSON.parse(member) : member;
}

class Tally {
  passed = 0;
  readonly refused = new Map<string, number>();

  refuse(reason: string): void {
    this.refused.set(reason, (this.refused.get(reason) ?? 0) + 1);
  }

  print(name: string, total: number): void {
    const sum = [...this.refused.values()].reduce((left, right) => left + right, 0);
    const reasons = [...this.refused].map(([reason, count]) => `${count} × ${reason}`).join(", ");
    const failed = total - this.passed - sum;
    process.stdout.write(
      `${name}: ${total} exchanges, ${this.passed} passed, ${sum} refused (${reasons}), ${failed} failed\n`,
    );
    if (failed !== 0) throw new Error(`${name}: ${failed} failed`);
  }
}

const isWhole = ({ response }: Recording): boolean => response.body_type === "json";

/** The frames of a stream; recordings that lost their framing get it back. */
function framesOf({ response }: Recording): readonly Uint8Array[] {
  const text = String(response.body);
  if (response.body_type === "jsonl-chunks") {
    return text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => {
        const event: JsonObject = JSON.parse(line);
        const [[type, body] = ["", {}]] = Object.entries(event);
        return encodeFrame({ ":event-type": type, ":message-type": "event" }, body ?? {});
      });
  }
  const bytes = new Uint8Array(Buffer.from(text, "base64"));
  const frames: Uint8Array[] = [];
  for (let position = 0; position < bytes.length;) {
    const length = new DataView(bytes.buffer, bytes.byteOffset + position).getUint32(0);
    frames.push(bytes.subarray(position, position + length));
    position += length;
  }
  return frames;
}

interface SaidEvent {
  readonly type: string;
  readonly body: JsonObject;
}

function said(frames: readonly Uint8Array[]): readonly SaidEvent[] {
  const reader = new FrameReader(1e7);
  const events = frames.flatMap((frame) => reader.push(frame));
  expect(reader.fault).toBeNull();
  return events.map(({ headers, payload }) => ({
    type: headers.get(":event-type") ?? "",
    body: JSON.parse(decoder.decode(payload)),
  }));
}

function understood(events: readonly InferenceEvent[], kind: "text" | "reasoning"): string {
  return collectAnswer(events)
    .blocks.flatMap((block) => (block.kind === kind ? [block.text] : []))
    .join("");
}

function textAt(value: unknown, ...path: readonly string[]): string {
  const [name, ...rest] = path;
  if (name === undefined) return typeof value === "string" ? value : "";
  return isJsonObject(value) ? textAt(value[name], ...rest) : "";
}

function textsIn(value: unknown): string {
  return (Array.isArray(value) ? value : []).map((item) => textAt(item, "text")).join("");
}

describe.skipIf(answers === null)(
  "recorded Converse (skipped where ../shared/recordings is absent)",
  () => {
    it("a request within canon's reach is printed as it was sent", () => {
      const tally = new Tally();
      const sent = [...(answers ?? []), ...(streams ?? [])].filter(
        ({ request: recorded, status }) => recorded !== null && status === 200,
      );
      for (const { id, request: recorded } of sent) {
        const body = isJsonObject(recorded?.body) ? recorded.body : {};
        const read = readRecorded(body);
        if (typeof read === "string") {
          tally.refuse(read);
          continue;
        }
        const formatted = converseUpstream.format(read, target);
        if ("code" in formatted) throw new Error(`${id}: ${formatted.code}`);
        // Names, ids, blank texts and turns that the provider took of some model and its reference
        // does not allow.
        if (formatted.dropped.length === 0)
          expect(comparable(formatted.body), id).toEqual(comparable(body));
        else
          expect(
            [
              "file_name_changed",
              "empty_text_dropped",
              "turns_merged",
              "turn_made",
              "call_ids_rewritten",
            ],
            id,
          ).toContain(formatted.dropped[0]);
        tally.passed += 1;
      }
      tally.print("bedrock-converse requests", sent.length);
      expect(tally.passed).toBeGreaterThan(sent.length * 0.8);
    });

    it("every whole answer is read with its texts and reasoning", () => {
      const tally = new Tally();
      const whole = (answers ?? []).filter(isWhole);
      for (const { id, status, response } of whole) {
        const bytes = encoder.encode(JSON.stringify(response.body));
        if (status !== null && status >= 400) {
          expect(converseUpstream.readError(status, bytes).kind, id).not.toBe("malformed");
          tally.passed += 1;
          continue;
        }
        const events = converseUpstream.parseAnswer(bytes, request, target);
        expect(brokenLaws(events), id).toEqual([]);
        const { failure, usage, blocks, finish } = collectAnswer(events);
        if (failure !== null) {
          expect(failure.code, id).toBe(REFUSED);
          expect(JSON.stringify(response.body), id).toContain("server_tool_use");
          tally.refuse(REFUSED);
          continue;
        }
        const { body } = response;
        const content =
          isJsonObject(body) && isJsonObject(body.output) ? body.output.message : null;
        const list: readonly unknown[] =
          isJsonObject(content) && Array.isArray(content.content) ? content.content : [];
        const texts = list.map((block) =>
          isJsonObject(block) && isJsonObject(block.citationsContent)
            ? textsIn(block.citationsContent.content)
            : textAt(block, "text"),
        );
        expect(understood(events, "text"), id).toBe(texts.join(""));
        const thoughts = list.map((block) =>
          textAt(block, "reasoningContent", "reasoningText", "text"),
        );
        expect(understood(events, "reasoning"), id).toBe(thoughts.join(""));
        const calls = list.filter((block) => isJsonObject(block) && block.toolUse !== undefined);
        expect(
          blocks.filter(({ kind }) => kind === "tool_call"),
          id,
        ).toHaveLength(calls.length);
        checkUsage(id, isJsonObject(body) ? body.usage : null, usage);
        if (textAt(body, "stopReason") === "guardrail_intervened")
          expect(finish?.reason, id).toBe("content_filter");
        tally.passed += 1;
      }
      tally.print("bedrock-converse whole answers", whole.length);
    });

    it(
      "every stream is read with its texts and reasoning; cut before its stop, it is a failure",
      { timeout: 120_000 },
      () => {
        const tally = new Tally();
        const all = [
          ...(streams ?? []),
          ...(answers ?? []).filter((recording) => !isWhole(recording)),
        ];
        let cuts = 0;
        for (const recording of all) {
          const { id } = recording;
          const frames = framesOf(recording);
          const events = said(frames);
          const bytes = joined(frames);
          const reported = parseEvents([bytes], request, target);
          expect(brokenLaws(reported), id).toEqual([]);
          const { failure, usage, finish } = collectAnswer(reported);
          if (failure === null) {
            const deltas = events.flatMap(({ body }) =>
              isJsonObject(body.delta) ? [body.delta] : [],
            );
            expect(understood(reported, "text"), id).toBe(textsIn(deltas));
            const thoughts = deltas.map((delta) => textAt(delta, "reasoningContent", "text"));
            expect(understood(reported, "reasoning"), id).toBe(thoughts.join(""));
            const metadata = events.find(({ type }) => type === "metadata");
            if (metadata !== undefined) checkUsage(id, metadata.body.usage, usage);
            const stop = events.find(({ type }) => type === "messageStop");
            if (stop?.body.stopReason === "guardrail_intervened")
              expect(finish?.reason, id).toBe("content_filter");
            tally.passed += 1;
          } else {
            expect(failure.code, id).toBe(REFUSED);
            tally.refuse(REFUSED);
          }
          const stopped = events.findIndex(({ type }) => type === "messageStop");
          const whole = joined(frames.slice(0, stopped + 1)).length;
          cuts += checkCuts(recording, frames, failure === null ? whole : bytes.length + 1);
          for (const size of [1, 7, 61]) {
            const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
              bytes.subarray(index * size, (index + 1) * size),
            );
            expect(parseEvents(pieces, request, target), `${id} in pieces of ${size}`).toEqual(
              reported,
            );
          }
        }
        tally.print(`bedrock-converse streams (${cuts} cuts)`, all.length);
      },
    );

    it("every count is requested unchanged, and answered", () => {
      const tally = new Tally();
      for (const { id, request: sent, response, status } of counts ?? []) {
        const bytes = encoder.encode(JSON.stringify(response.body));
        if (status !== 200) {
          expect(converseUpstream.readError(status ?? 0, bytes).kind, id).toBe("rejected");
        } else {
          const [first, usage, last] = converseUpstream.parseAnswer(
            bytes,
            { ...hello, purpose: "count" },
            target,
          );
          expect([first?.type, last?.type], id).toEqual(["start", "finish"]);
          expect(usage, id).toMatchObject({
            usage: { input: isJsonObject(response.body) && response.body.inputTokens },
          });
        }
        tally.passed += 1;
        expect(isJsonObject(sent?.body) && Object.keys(sent.body), id).toEqual(["input"]);
      }
      tally.print("bedrock-count-tokens", counts?.length ?? 0);
    });
  },
);

/**
 * Streams up to so many bytes are cut at every byte (in `npm test` none is); longer ones around
 * every frame, and at every so many bytes.
 */
const EVERY_BYTE = fewOrMany(0, 4_000);
const STRIDE = 97;

/** Reads the beginning of a stream again for every cut. `whole`: how much of it must arrive. */
function checkCuts({ id }: Recording, frames: readonly Uint8Array[], whole: number): number {
  const bytes = joined(frames);
  const positions = new Set<number>();
  for (
    let position = 0;
    position < bytes.length;
    position += bytes.length > EVERY_BYTE ? STRIDE : 1
  )
    positions.add(position);
  let boundary = 0;
  for (const frame of frames) {
    boundary += frame.length;
    for (const position of [boundary - 1, boundary, boundary + 1])
      if (position < bytes.length) positions.add(position);
  }
  for (const kept of positions) {
    const last = parseEvents([bytes.subarray(0, kept)], request, target).at(-1);
    if (last?.type !== (kept < whole ? "failure" : "finish"))
      throw new Error(`${id} cut after ${kept} bytes: ${last?.type}`);
  }
  return positions.size;
}

function checkUsage(
  id: string,
  counted: unknown,
  usage: ReturnType<typeof collectAnswer>["usage"],
): void {
  if (!isJsonObject(counted)) return;
  const number = (name: string): number => Number(counted[name] ?? 0);
  const input =
    number("inputTokens") + number("cacheReadInputTokens") + number("cacheWriteInputTokens");
  expect([usage?.input, usage?.output], id).toEqual([input, number("outputTokens")]);
  // The provider's own sum, where it gives one.
  if (counted.totalTokens !== undefined)
    expect(input + number("outputTokens"), id).toBe(number("totalTokens"));
}
