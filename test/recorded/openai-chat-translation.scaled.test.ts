import type { DroppedField } from "../../src/canon/generate/edit.ts";
import type { Answer, InferenceEvent } from "../../src/canon/generate/event.ts";
import type { GenerateRequest } from "../../src/canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canon/json.ts";
import { collectAnswer } from "../../src/dialects/answer-events.ts";
import { chatSurface } from "../../src/dialects/openai-chat/dialect.ts";
import { SseFramer, parseSseEvent } from "../../src/dialects/sse.ts";
import { NO_EDITS, NO_HEADERS, targetOf } from "../dialects/laws/target.ts";
import { canon } from "../dialects/openai-chat/canon.ts";
import { brokenLaws } from "../dialects/openai-chat/event-laws.ts";
import { positionsToCut } from "../support/long.ts";
import { readRecordings, streamText, type Recording } from "../support/recordings.ts";
import { describe, expect, it } from "vitest";
import { upstreamFor } from "../../src/dialects/exchange-plan.ts";

const chatUpstream = upstreamFor("generate", "openai-chat");

const recordings = readRecordings("openai-chat");
const answered = (recordings ?? []).filter(({ status }) => status === 200);
const streams = answered.filter(
  ({ response: { body_type: type } }) => type === "sse" || type === "jsonl-chunks",
);
const wholes = answered.filter(({ response: { body_type: type } }) => type === "json");
const encoder = new TextEncoder();
const target = targetOf("openai-chat");

/**
 * The body as the router gets it; members of other vendors that a route would have to strip are
 * stripped.
 */
function bodyOf(recording: Recording): JsonObject | null {
  const body = recording.request?.body;
  return isJsonObject(body) ? { ...body, model: "r" } : null;
}

function wants(request: Partial<GenerateRequest>): GenerateRequest {
  return { ...canon(), ...request };
}

function parseStream(chunks: readonly Uint8Array[]): readonly InferenceEvent[] {
  const parser = chatUpstream.parseStream(wants({ stream: true }), target);
  return [...chunks.flatMap((chunk) => [...parser.push(chunk)]), ...parser.endAnswer()];
}

function said(answer: Answer): string {
  return answer.blocks.map((block) => (block.kind === "text" ? block.text : "")).join("");
}

/** Text of a message or delta, as the recording has it. */
function textIn(content: JsonValue | undefined): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part) => (isJsonObject(part) && typeof part.text === "string" ? part.text : ""))
    .join("");
}

function tally(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function shown(counts: Map<string, number>): string {
  return [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .map(([key, count]) => `${count} × ${key}`)
    .join(", ");
}

describe.skipIf(recordings === null)(
  "recorded chat completions, translated (skipped where ../shared/recordings is absent)",
  () => {
    it("every request is canon and back, or is refused or kept native by the member's name", () => {
      const refused = new Map<string, number>();
      const native = new Map<string, number>();
      let passed = 0;
      for (const recording of recordings ?? []) {
        const body = bodyOf(recording);
        if (body === null || !Array.isArray(body.messages)) continue;
        const request = chatSurface.parse(body, 100, NO_HEADERS);
        if ("code" in request) {
          tally(refused, request.code);
          continue;
        }
        const path = request.paths.get("native_chat");
        const canonical = chatSurface.translation.toCanon(request, "strip", NO_EDITS);
        if ("code" in canonical) {
          if (path === undefined) tally(refused, `${canonical.code} ${canonical.param}`);
          else tally(native, path.replaceAll(/\d+/g, "*"));
          expect(path === undefined ? canonical.code : canonical.param, recording.id).toBe(
            path ?? "invalid_tool_arguments",
          );
          continue;
        }
        const formatted = chatUpstream.format(canonical.request, target);
        if ("code" in formatted) throw new Error(`${recording.id} ${formatted.message}`);
        const again = chatSurface.parse({ ...formatted.body, model: "r" }, 100, NO_HEADERS);
        if ("code" in again) throw new Error(`${recording.id} ${again.message}`);
        const back = chatSurface.translation.toCanon(again, "reject", NO_EDITS);
        if ("code" in back) throw new Error(`${recording.id} ${back.message} ${back.param}`);
        // Files of results come back in a message of their own, and schemas with what they lacked.
        if (!formatted.dropped.some((field) => FITTED.has(field)))
          expect(normalised(back.request), recording.id).toEqual(normalised(canonical.request));
        passed += 1;
      }
      const counts = `${passed} canon and back, native (${shown(native)}), refused (${shown(refused)}), 0 failed`;
      process.stdout.write(`openai-chat to canon: ${counts}\n`);
      expect(passed).toBeGreaterThan(400);
    });

    it("every whole answer is read as lawful events with its text and calls", () => {
      const endings = new Map<string, number>();
      for (const recording of wholes) {
        const bytes = encoder.encode(JSON.stringify(recording.response.body));
        const events = chatUpstream.parseAnswer(bytes, canon(), target);
        expect(brokenLaws(events), recording.id).toEqual([]);
        const answer = collectAnswer(events);
        const code = answer.failure?.code ?? answer.failure?.kind;
        tally(endings, answer.finish?.reason ?? `${code}`);
        const body = recording.response.body;
        const choice = isJsonObject(body) && Array.isArray(body.choices) ? body.choices[0] : null;
        const message = isJsonObject(choice) ? choice.message : null;
        if (answer.finish === null || !isJsonObject(message)) continue;
        expect(said(answer), recording.id).toBe(textIn(message.content));
        const listed = Array.isArray(message.tool_calls) ? message.tool_calls.length : 0;
        const legacy = message.function_call;
        const calls = listed + (isJsonObject(legacy) && legacy.name !== "" ? 1 : 0);
        expect(answer.blocks.filter(({ kind }) => kind === "tool_call").length, recording.id).toBe(
          calls,
        );
      }
      process.stdout.write(`openai-chat whole answers: ${wholes.length} (${shown(endings)})\n`);
      expect(endings.get("stop") ?? 0).toBeGreaterThan(400);
    });

    it(
      "every stream is read as events that obey the laws, whole and cut at every event boundary",
      { timeout: 60_000 },
      () => {
        const endings = new Map<string, number>();
        let cuts = 0;
        for (const recording of streams) {
          const events = new SseFramer().push(encoder.encode(`${streamText(recording)}\n\n`));
          const reported = parseStream(events);
          expect(brokenLaws(reported), recording.id).toEqual([]);
          const answer = collectAnswer(reported);
          tally(
            endings,
            answer.finish?.reason ?? `${answer.failure?.code ?? answer.failure?.kind}`,
          );
          const data = events.map((event) => parseSseEvent(event).data ?? "");
          if (answer.finish !== null)
            expect(said(answer), recording.id).toBe(data.map(deltaText).join(""));
          const finishes = data.findIndex(
            (line) => line === "[DONE]" || /"finish_reason": ?"/.test(line),
          );
          for (const kept of positionsToCut(data.length, 8)) {
            const cut = parseStream(events.slice(0, kept));
            cuts += 1;
            expect(brokenLaws(cut), `${recording.id} cut after ${kept}`).toEqual([]);
            if (finishes === -1 || kept <= finishes)
              expect(cut.at(-1)?.type, `${recording.id} cut after ${kept}`).toBe("failure");
          }
        }
        process.stdout.write(
          `openai-chat streams: ${streams.length}, ${cuts} cuts (${shown(endings)})\n`,
        );
        expect(cuts).toBeGreaterThan(streams.length);
      },
    );
  },
);

function deltaText(data: string): string {
  if (!data.startsWith("{")) return "";
  const chunk: unknown = JSON.parse(data);
  const choice = isJsonObject(chunk) && Array.isArray(chunk.choices) ? chunk.choices[0] : null;
  const delta = isJsonObject(choice) ? choice.delta : null;
  return isJsonObject(delta) ? textIn(delta.content) : "";
}

/**
 * Without the dropped fields: unsigned reasoning is not given back, a schema gets a name, another
 * vendor's service tier is omitted.
 */
const FITTED: ReadonlySet<DroppedField> = new Set([
  "result_files_apart",
  "schema_filled",
  "schema_closed",
  "strictness_dropped",
]);

function normalised(request: GenerateRequest): GenerateRequest {
  const turns = request.turns.map((turn) =>
    turn.role === "assistant"
      ? {
          ...turn,
          content: turn.content.filter(
            (part) => part.kind !== "reasoning" || part.signature !== null,
          ),
        }
      : turn,
  );
  const { format } = request;
  const named =
    format?.kind === "json_schema" && format.name === null
      ? { ...format, name: "response" }
      : format;
  const hints = { ...request.hints, serviceTier: null };
  // The protocol has no cache marks of its own.
  const unmarked: Pick<GenerateRequest, "turns" | "tools"> = JSON.parse(
    JSON.stringify({ turns, tools: request.tools }, (key, value: unknown) =>
      key === "cache" ? null : value,
    ),
  );
  return { ...request, format: named, ...unmarked, hints };
}
