import fc from "fast-check";
import type {
  FinishReason,
  InferenceEvent,
  OpenBlock,
  TokenUsage,
} from "../../../src/canon/generate/event.ts";
import { collectAnswer } from "../../../src/dialects/answer-events.ts";
import { frames, parseEvents, withTools, type Event } from "./target.ts";
import { answerEvents, brokenLaws } from "../laws/arbitrary/events.ts";
import { joined, pieces, singleBytes, someCuts } from "../laws/arbitrary/wire.ts";
import { normalAnswer, type Telling } from "../laws/normal/answer.ts";
import { describe, expect, it } from "vitest";

const REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "end_turn",
  stop_sequence: "stop_sequence",
  length: "max_tokens",
  context_window: "model_context_window_exceeded",
  tool_calls: "tool_use",
  refusal: "content_filtered",
  content_filter: "guardrail_intervened",
  pause: "pause",
  other: "other",
};

/** A refusal is a text that was filtered; a thought is a thought, summed up or not. */
const TELLING: Telling = {
  order: true,
  reasoning: true,
  summaries: false,
  refusals: false,
  calls: true,
  unknownCounts: true,
};

/** The protocol names no model, and gives no positions in the text. */
function asReported(events: readonly InferenceEvent[]): readonly InferenceEvent[] {
  return events.map((event) => {
    if (event.type === "start") return { ...event, model: null };
    return event.type === "citation"
      ? { ...event, citation: { ...event.citation, start: null, end: null } }
      : event;
  });
}

/** Writes an answer as the provider would: counts come last. */
function written(events: readonly InferenceEvent[]): readonly Event[] {
  const made: Event[] = [{ messageStart: { role: "assistant" } }];
  let usage: TokenUsage | null = null;
  for (const event of events) {
    if (event.type === "usage") usage = event.usage;
    else made.push(...writtenOne(event));
  }
  return [
    ...made,
    {
      metadata: { metrics: { latencyMs: 1 }, ...(usage === null ? {} : { usage: counts(usage) }) },
    },
  ];
}

function counts({ input, output, cacheRead, cacheWrite }: TokenUsage): Event {
  return {
    ...(input === null ? {} : { inputTokens: input - (cacheRead ?? 0) - (cacheWrite ?? 0) }),
    ...(output === null ? {} : { outputTokens: output }),
    ...(cacheRead === null ? {} : { cacheReadInputTokens: cacheRead }),
    ...(cacheWrite === null ? {} : { cacheWriteInputTokens: cacheWrite }),
  };
}

function writtenOne(event: InferenceEvent): readonly Event[] {
  const delta = (index: number, change: Event): readonly Event[] => [
    { contentBlockDelta: { contentBlockIndex: index, delta: change } },
  ];
  switch (event.type) {
    case "open":
      return opening(event.index, event.block);
    case "text":
    case "refusal":
      return delta(event.index, { text: event.text });
    case "reasoning":
      return delta(event.index, { reasoningContent: { text: event.text } });
    case "signature":
      return delta(event.index, { reasoningContent: { signature: event.signature } });
    case "arguments":
      return delta(event.index, { toolUse: { input: event.json } });
    case "citation": {
      const { url, title } = event.citation;
      return delta(event.index, {
        citation: { ...(title === null ? {} : { title }), location: { web: { url } } },
      });
    }
    case "close":
      return [{ contentBlockStop: { contentBlockIndex: event.index } }];
    case "finish":
      return [{ messageStop: { stopReason: REASONS[event.reason] } }];
    case "start":
    case "usage":
    case "dropped":
    case "failure":
      return [];
  }
}

function opening(index: number, block: OpenBlock): readonly Event[] {
  if (block.kind !== "tool_call") return [];
  return [
    {
      contentBlockStart: {
        contentBlockIndex: index,
        start: { toolUse: { toolUseId: block.id, name: block.name } },
      },
    },
  ];
}

const arbitrary = answerEvents("family").map(asReported);

describe("an answer in frames", () => {
  it("means the same for every cut of its bytes", () => {
    fc.assert(
      fc.property(arbitrary, someCuts, (events, cuts) => {
        const reported = parseEvents(pieces(joined(frames(written(events))), cuts), {
          ...withTools,
          stop: ["END"],
        });
        expect(brokenLaws(reported)).toEqual([]);
        const none = new Set<never>();
        expect(normalAnswer(collectAnswer(reported), TELLING, none)).toEqual(
          normalAnswer(collectAnswer(events), TELLING, none),
        );
      }),
      { numRuns: 300 },
    );
  });

  it("cut at any byte before its stop is a failure; after it, it is whole", () => {
    fc.assert(
      fc.property(arbitrary, (events) => {
        const sent = frames(written(events));
        const bytes = joined(sent);
        // All but the counts.
        const stopped = bytes.length - (sent.at(-1)?.length ?? 0);
        for (let kept = 0; kept < bytes.length; kept += 1) {
          const reported = parseEvents([bytes.subarray(0, kept)]);
          expect(brokenLaws(reported), `cut after ${kept} bytes`).toEqual([]);
          expect(reported.at(-1)?.type, `cut after ${kept} bytes`).toBe(
            kept < stopped ? "failure" : "finish",
          );
        }
      }),
      { numRuns: 15 },
    );
  });

  it("reports the same things at once and byte by byte", () => {
    fc.assert(
      fc.property(arbitrary, (events) => {
        const bytes = joined(frames(written(events)));
        expect(parseEvents(singleBytes(bytes))).toEqual(parseEvents([bytes]));
      }),
      { numRuns: 50 },
    );
  });

  it("with one damaged bit is malformed, at every position", () => {
    fc.assert(
      fc.property(
        arbitrary,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (events, at) => {
          const bytes = joined(frames(written(events)));
          const bit = Math.floor(at * bytes.length * 8);
          bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
          const reported = parseEvents([bytes]);
          expect(brokenLaws(reported)).toEqual([]);
          expect(reported.at(-1)).toMatchObject({
            type: "failure",
            failure: { kind: "malformed" },
          });
        },
      ),
    );
  });
});
