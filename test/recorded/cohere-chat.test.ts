import type { Answer, InferenceEvent } from "../../src/canon/generate/event.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canon/json.ts";
import { collectAnswer } from "../../src/dialects/answer-events.ts";
import { dialect } from "../../src/dialects/cohere-chat/dialect.ts";
import { SseFramer, parseSseEvent } from "../../src/dialects/sse.ts";
import { readBody } from "../dialects/cohere-chat/read-body.ts";
import { asking, target } from "../dialects/cohere-chat/target.ts";
import { brokenLaws } from "../dialects/laws/arbitrary/events.ts";
import { normalRequest } from "../dialects/laws/normal/request.ts";
import { readRecordings, streamText, type Recording } from "../support/recordings.ts";
import { describe, expect, it } from "vitest";

const { generate: cohereChatUpstream } = dialect;

const recordings = readRecordings("cohere-chat");
const encoder = new TextEncoder();

/** What recorded requests say that is no part of our requests: why each was omitted. */
const STRANGE: readonly (readonly [RegExp, string])[] = [
  [/no list: undefined/, "the protocol's first edition"],
  [/unknown members of the body: documents/, "documents of the provider's own kind"],
  [/unknown part "document"/, "documents as results of tools"],
  [/unknown response_format/, "a member that the protocol does not have"],
];

/** Answers of another protocol among the recordings. */
const EXPECTED_REFUSALS = new Set(["the protocol's first edition", "embeddings"]);

interface Tally {
  passed: number;
  readonly refused: Map<string, number>;
}

function print(name: string, total: number, { passed, refused }: Tally): void {
  const sum = [...refused.values()].reduce((left, right) => left + right, 0);
  const reasons = [...refused].map(([reason, times]) => `${times} × ${reason}`).join(", ");
  process.stdout.write(
    `${name}: ${total} exchanges, ${passed} passed, ${sum} refused (${reasons}), ${total - passed - sum} failed\n`,
  );
  expect(total - passed - sum).toBe(0);
}

function count(tally: Tally, reason: string): void {
  tally.refused.set(reason, (tally.refused.get(reason) ?? 0) + 1);
}

const isStream = ({ response }: Recording): boolean =>
  response.body_type === "sse" || response.body_type === "jsonl-chunks";

function memberOf(value: unknown, ...path: readonly string[]): unknown {
  let found: unknown = value;
  for (const name of path) found = isJsonObject(found) ? found[name] : undefined;
  return found;
}

function textAt(value: unknown, ...path: readonly string[]): string {
  const text = memberOf(value, ...path);
  return typeof text === "string" ? text : "";
}

function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const list: unknown = memberOf(value, ...path);
  return Array.isArray(list) ? list : [];
}

/** What the provider said, read without our parser: texts, plan, thoughts, calls. */
function recorded(message: unknown): unknown {
  const parts = listAt(message, "content");
  const join = (name: string): string => parts.map((part) => textAt(part, name)).join("");
  return {
    text: join("text") + textAt(message, "tool_plan"),
    thinking: join("thinking"),
    calls: listAt(message, "tool_calls").map((call) => {
      const json = memberOf(call, "function", "arguments");
      return [
        memberOf(call, "id"),
        memberOf(call, "function", "name"),
        json === "null" || json === "" ? "{}" : json,
      ];
    }),
  };
}

/** The message that a stream's deltas make. */
function assembled(events: readonly JsonObject[]): unknown {
  const content: { text: string; thinking: string }[] = [];
  const calls: { id: unknown; function: { name: unknown; arguments: string } }[] = [];
  let plan = "";
  for (const event of events) {
    const message = memberOf(event, "delta", "message");
    const index = Number(event.index ?? 0);
    if (event.type === "content-delta") {
      const part = (content[index] ??= { text: "", thinking: "" });
      part.text += textAt(message, "content", "text");
      part.thinking += textAt(message, "content", "thinking");
    } else if (event.type === "tool-plan-delta") plan += textAt(message, "tool_plan");
    else if (event.type === "tool-call-start") {
      const name = memberOf(message, "tool_calls", "function", "name");
      calls[index] = {
        id: memberOf(message, "tool_calls", "id"),
        function: { name, arguments: "" },
      };
    } else if (event.type === "tool-call-delta") {
      const call = calls[index];
      if (call !== undefined) {
        call.function.arguments += textAt(message, "tool_calls", "function", "arguments");
      }
    }
  }
  return {
    content: content.filter((part) => part !== undefined),
    tool_plan: plan,
    tool_calls: calls,
  };
}

function understood({ blocks }: Answer): unknown {
  const join = (kind: string): string =>
    blocks.map((block) => (block.kind === kind && "text" in block ? block.text : "")).join("");
  return {
    text: join("text"),
    thinking: join("reasoning"),
    calls: blocks.flatMap((block) =>
      block.kind === "tool_call" ? [[block.id, block.name, block.arguments]] : [],
    ),
  };
}

const FINISHES: Readonly<Record<string, string>> = {
  COMPLETE: "stop",
  STOP_SEQUENCE: "stop_sequence",
  MAX_TOKENS: "length",
  TOOL_CALL: "tool_calls",
};

/** The answer has the provider's reason and counts, or it failed where the provider said so. */
function checkEnding(id: string, answer: Answer, ending: unknown): void {
  const reason = textAt(ending, "finish_reason");
  if (reason === "ERROR")
    expect(answer.failure, id).toMatchObject({ kind: "error_frame", code: "tool_use_failed" });
  else expect(answer.finish?.reason, id).toBe(FINISHES[reason]);
  const tokens = memberOf(ending, "usage", "tokens");
  expect([answer.usage?.input, answer.usage?.output], id).toEqual([
    memberOf(tokens, "input_tokens"),
    memberOf(tokens, "output_tokens"),
  ]);
  expect(answer.usage?.cacheRead ?? undefined, id).toBe(memberOf(ending, "usage", "cached_tokens"));
}

function reported(pieces: readonly Uint8Array[]): readonly InferenceEvent[] {
  const parser = cohereChatUpstream.parseStream(asking(), target);
  return [...pieces.flatMap((piece) => parser.push(piece)), ...parser.endAnswer()];
}

describe.skipIf(recordings === null)(
  "recorded cohere-chat (skipped where ../shared/recordings is absent)",
  () => {
    it("every request means the same when we write it", () => {
      const tally: Tally = { passed: 0, refused: new Map() };
      const sent = (recordings ?? []).filter(({ request }) => request !== null);
      for (const { id, request } of sent) {
        const body = request?.body;
        if (!isJsonObject(body)) throw new Error(id);
        const read = attempt(() => readBody(body));
        if (typeof read === "string") {
          const reason = STRANGE.find(([pattern]) => pattern.test(read))?.[1];
          if (reason === undefined) throw new Error(`${id}: ${read}`);
          count(tally, reason);
          continue;
        }
        const formatted = cohereChatUpstream.format(read, target);
        if ("code" in formatted) throw new Error(`${id}: ${formatted.code} ${formatted.message}`);
        const dropped = new Set(formatted.dropped);
        expect(
          [...dropped].filter((field) => field !== "empty_text_dropped"),
          id,
        ).toEqual([]);
        expect(normalRequest(readBody(formatted.body), dropped), id).toEqual(
          normalRequest(read, dropped),
        );
        tally.passed += 1;
      }
      print("cohere-chat requests", sent.length, tally);
      expect(tally.passed).toBeGreaterThan(sent.length * 0.7);
    });

    it("every whole answer is understood", () => {
      const tally: Tally = { passed: 0, refused: new Map() };
      const answers = (recordings ?? []).filter(
        (recording) => recording.response.body_type === "json",
      );
      for (const { id, status, response } of answers) {
        const bytes = encoder.encode(JSON.stringify(response.body));
        if (status !== null && status >= 400) {
          expect(cohereChatUpstream.readError(status, bytes)).toEqual({
            kind: "auth",
            status,
            code: null,
            retryAfter: null,
          });
          tally.passed += 1;
          continue;
        }
        const events = cohereChatUpstream.parseAnswer(bytes, asking(), target);
        expect(brokenLaws(events), id).toEqual([]);
        const answer = collectAnswer(events);
        if (!isJsonObject(memberOf(response.body, "message"))) {
          expect(answer.failure?.kind, id).toBe("malformed");
          count(
            tally,
            memberOf(response.body, "embeddings") === undefined
              ? "the protocol's first edition"
              : "embeddings",
          );
          continue;
        }
        expect(understood(answer), id).toEqual(recorded(memberOf(response.body, "message")));
        checkEnding(id, answer, memberOf(response.body));
        tally.passed += 1;
      }
      print("cohere-chat whole answers", answers.length, tally);
      expect([...tally.refused.keys()].filter((reason) => !EXPECTED_REFUSALS.has(reason))).toEqual(
        [],
      );
    });

    it("every stream is understood; cut at any event before its end, it is a failure", () => {
      const tally: Tally = { passed: 0, refused: new Map() };
      const streams = (recordings ?? []).filter(isStream);
      let cuts = 0;
      for (const recording of streams) {
        const { id } = recording;
        const framer = new SseFramer();
        const frames = [
          ...framer.push(encoder.encode(streamText(recording))),
          framer.lastEvent(),
        ].filter(({ length }) => length > 0);
        const datas = frames.map((frame) => parseSseEvent(frame).data);
        const sent = datas.flatMap((data): readonly JsonObject[] => {
          const value: JsonValue = data === null || data === "[DONE]" ? null : JSON.parse(data);
          return isJsonObject(value) ? [value] : [];
        });
        const events = reported(frames);
        expect(brokenLaws(events), id).toEqual([]);
        expect(understood(collectAnswer(events)), id).toEqual(recorded(assembled(sent)));
        const last = datas.findIndex((data) => data?.includes('"type":"message-end"') === true);
        checkEnding(
          id,
          collectAnswer(events),
          memberOf(
            sent.find(({ type }) => type === "message-end"),
            "delta",
          ),
        );
        for (let kept = 0; kept < last; kept += 1) {
          cuts += 1;
          const partial = reported(frames.slice(0, kept));
          expect(brokenLaws(partial), `${id} cut after ${kept}`).toEqual([]);
          expect(partial.at(-1), `${id} cut after ${kept}`).toMatchObject({
            type: "failure",
            failure: { kind: "truncated" },
          });
        }
        const bytes = Buffer.concat(frames);
        for (const size of [1, 7, 61]) {
          const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
            bytes.subarray(index * size, (index + 1) * size),
          );
          expect(reported(pieces), `${id} in pieces of ${size}`).toEqual(events);
        }
        tally.passed += 1;
      }
      print(`cohere-chat streams (${cuts} cuts)`, streams.length, tally);
    });

    it("every citation has the position of its text", () => {
      let positions = 0;
      for (const { response } of recordings ?? []) {
        const content = listAt(response.body, "message", "content");
        for (const citation of listAt(response.body, "message", "citations")) {
          const part = content[Number(memberOf(citation, "content_index") ?? 0)];
          const text = Array.from(textAt(part, "text"));
          const cited = text
            .slice(Number(memberOf(citation, "start")), Number(memberOf(citation, "end")))
            .join("");
          expect(cited).toBe(memberOf(citation, "text"));
          positions += 1;
        }
      }
      expect(positions).toBeGreaterThan(30);
    });
  },
);

/** What went wrong, where something did. */
function attempt<Value>(make: () => Value): Value | string {
  try {
    return make();
  } catch (error) {
    return error instanceof Error ? error.message : "unknown";
  }
}
