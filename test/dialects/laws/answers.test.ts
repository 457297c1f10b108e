import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { collectAnswer } from "../../../src/dialects/answer-events.ts";
import type { InferenceEvent, TokenLogprob } from "../../../src/canon/generate/event.ts";
import type { GenerateRequest } from "../../../src/canon/generate/generate-request.ts";
import type { DroppedField } from "../../../src/canon/generate/edit.ts";
import type { JsonObject } from "../../../src/canon/json.ts";
import { answerEvents, brokenLaws } from "./arbitrary/events.ts";
import { normalAnswer } from "./normal/answer.ts";
import { someText } from "./arbitrary/conversations.ts";
import { answerable, contextFor, requestFor } from "./speak.ts";
import { PROTOCOLS, type Protocol } from "./table.ts";
import { DISGUISES, joined, pieces, singleBytes, someCuts } from "./arbitrary/wire.ts";

const RUNS = 200;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

interface Printed {
  /** Before the first event that ends the answer. */
  readonly body: readonly Uint8Array[];
  readonly ending: readonly Uint8Array[];
  readonly dropped: ReadonlySet<DroppedField>;
}

function print(protocol: Protocol, events: readonly InferenceEvent[]): Printed {
  const renderer = protocol.spoken.surface.translation.renderStream(contextFor(protocol));
  const body = events.slice(0, -1).flatMap((event) => renderer.push(event));
  const ending = events.slice(-1).flatMap((event) => renderer.push(event));
  return { body, ending, dropped: new Set(renderer.dropped) };
}

function read(
  { upstream, signing }: Protocol,
  request: GenerateRequest,
  bytes: readonly Uint8Array[],
): readonly InferenceEvent[] {
  const parser = upstream.parseStream(request, signing);
  const events = bytes.flatMap((piece) => parser.push(piece));
  expect(brokenLaws(events, false)).toEqual([]);
  events.push(...parser.endAnswer());
  expect(brokenLaws(events)).toEqual([]);
  // What has ended stays ended.
  expect([...parser.push(encoder.encode("data: {}\n\n")), ...parser.endAnswer()]).toEqual([]);
  return events;
}

/**
 * What only one of the two ways of telling an answer loses: a stream keeps an order that one
 * message cannot express, and may have no member for counts.
 */
const BY_MANNER: ReadonlySet<DroppedField> = new Set(["parts_reordered", "usage_hidden"]);

function onceWhole(dropped: ReadonlySet<DroppedField>): ReadonlySet<DroppedField> {
  return new Set([...dropped].filter((field) => !BY_MANNER.has(field)));
}

describe.each(PROTOCOLS)("$name as a language for answers", (protocol) => {
  const arbitrary = answerEvents(protocol.signing.model.signatureFamily).map((events) =>
    answerable(protocol, events),
  );
  const request = requestFor(protocol);
  const { telling } = protocol;

  it("a stream that is printed and read again reports the same answer", () => {
    fc.assert(
      fc.property(arbitrary, (events) => {
        const { body, ending, dropped } = print(protocol, events);
        const again = collectAnswer(read(protocol, request, [...body, ...ending]));
        expect(normalAnswer(again, telling, dropped)).toEqual(
          normalAnswer(collectAnswer(events), telling, dropped),
        );
      }),
      { numRuns: RUNS },
    );
  });

  it("a whole answer that is printed and read again reports the same answer, and the same as the stream of it", () => {
    fc.assert(
      fc.property(arbitrary, (events) => {
        const answer = collectAnswer(events);
        const { body, dropped } = protocol.spoken.surface.translation.renderAnswer(
          answer,
          contextFor(protocol),
        );
        const bytes = encoder.encode(JSON.stringify(body));
        const reported = protocol.upstream.parseAnswer(bytes, request, protocol.signing);
        expect(brokenLaws(reported)).toEqual([]);
        const lost = new Set(dropped);
        expect(normalAnswer(collectAnswer(reported), telling, lost)).toEqual(
          normalAnswer(answer, telling, lost),
        );
        const streamed = print(protocol, events);
        expect(onceWhole(lost)).toEqual(onceWhole(streamed.dropped));
      }),
      { numRuns: RUNS },
    );
  });

  it("each write is one whole event, with LF only and its data on one line", () => {
    fc.assert(
      fc.property(arbitrary, (events) => {
        const { body, ending } = print(protocol, events);
        for (const bytes of [...body, ...ending])
          expect(decoder.decode(bytes)).toMatch(/^(event: [\w.]+\n)?data: [^\r\n]+\n\n$/);
      }),
      { numRuns: RUNS / 4 },
    );
  });

  it("no detail that a reader must ignore changes the events", () => {
    fc.assert(
      fc.property(arbitrary, someCuts, (events, cuts) => {
        const { body, ending } = print(protocol, events);
        const bytes = joined([...body, ...ending]);
        const plain = read(protocol, request, [bytes]);
        for (const [name, disguise] of Object.entries(DISGUISES)) {
          const disguised = encoder.encode(disguise(decoder.decode(bytes)));
          expect(read(protocol, request, pieces(disguised, cuts)), name).toEqual(plain);
        }
      }),
      { numRuns: RUNS / 4 },
    );
  });

  it("bytes that arrive one by one mean the same as bytes that arrive at once", () => {
    fc.assert(
      fc.property(arbitrary, fc.constantFrom(...Object.values(DISGUISES)), (events, disguise) => {
        const { body, ending } = print(protocol, events);
        const bytes = encoder.encode(disguise(decoder.decode(joined([...body, ...ending]))));
        expect(read(protocol, request, singleBytes(bytes))).toEqual(
          read(protocol, request, [bytes]),
        );
      }),
      { numRuns: RUNS / 10 },
    );
  });

  it("cut at any event before its end, a stream has failed", () => {
    fc.assert(
      fc.property(arbitrary, (events) => {
        const { body } = print(protocol, events);
        for (let kept = 0; kept <= body.length; kept += 1) {
          const reported = read(protocol, request, body.slice(0, kept));
          expect(reported.at(-1), `cut after ${kept} of ${body.length}`).toMatchObject({
            type: "failure",
          });
        }
      }),
      { numRuns: RUNS / 2 },
    );
  });

  it("cut at any byte, a stream has failed or is reported whole", () => {
    fc.assert(
      fc.property(
        arbitrary,
        fc.double({ min: 0, max: 1, noNaN: true }),
        someCuts,
        (events, share, cuts) => {
          const { body, ending } = print(protocol, events);
          const bytes = joined([...body, ...ending]);
          const kept = bytes.subarray(0, Math.floor(share * bytes.length));
          const reported = read(protocol, request, pieces(kept, cuts));
          const whole = collectAnswer(read(protocol, request, [bytes]));
          const answer = collectAnswer(reported);
          if (answer.finish === null) return;
          expect(kept.length).toBeGreaterThan(joined(body).length);
          // Counts may come after the reason, and a cut may take them; it must take nothing else.
          expect({ ...answer, usage: null }).toEqual({ ...whole, usage: null });
        },
      ),
      { numRuns: RUNS },
    );
  });

  it("a failure with our error is never read as a proper end, at every position", () => {
    const error = {
      status: 502,
      kind: "upstream",
      code: "upstream_truncated",
      message: "The answer broke off",
      param: null,
      denial: null,
      retryable: true,
      retryAfter: null,
    } as const;
    fc.assert(
      fc.property(arbitrary, fc.nat(40), (events, count) => {
        const renderer = protocol.spoken.surface.translation.renderStream(contextFor(protocol));
        const sent = events
          .slice(0, Math.min(count, events.length - 1))
          .flatMap((event) => renderer.push(event));
        const reported = read(protocol, request, [...sent, renderer.fail(error)]);
        expect(reported.at(-1)).toMatchObject({ type: "failure" });
      }),
      { numRuns: RUNS / 2 },
    );
  });
});

/**
 * How a body requests the probabilities of the answer's tokens; protocols that are not here have no
 * member for them.
 */
const LOGPROBS_BODIES: Readonly<Record<string, JsonObject>> = {
  "openai-chat": { logprobs: true, top_logprobs: 2 },
  "openai-responses": { include: ["message.output_text.logprobs"], top_logprobs: 2 },
};

describe("probabilities of tokens", () => {
  it("are reported by every protocol that has them", () => {
    const names = PROTOCOLS.filter(({ target }) =>
      target.endpoint.features.includes("token_logprobs"),
    ).map(({ name }) => name);
    expect(names).toEqual(Object.keys(LOGPROBS_BODIES));
  });

  const token = fc
    .record({ token: someText, logprob: fc.constantFrom(-0.5, 0, -9.25) })
    .map(({ token: text, logprob }): TokenLogprob => ({
      token: text,
      logprob,
      bytes: [...encoder.encode(text)],
      top: [{ token: text, logprob, bytes: [...encoder.encode(text)] }],
    }));
  const answers = fc
    .array(fc.array(token, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 })
    .map((deltas): readonly InferenceEvent[] => [
      { type: "start", model: "upstream-1" },
      { type: "open", index: 0, block: { kind: "text" } },
      ...deltas.map((logprobs): InferenceEvent => ({
        type: "text",
        index: 0,
        text: logprobs.map(({ token: text }) => text).join(""),
        logprobs,
      })),
      { type: "close", index: 0 },
      { type: "finish", reason: "stop", stopSequence: null },
    ]);

  it.each(PROTOCOLS.filter(({ name }) => Object.hasOwn(LOGPROBS_BODIES, name)))(
    "pass through $name unchanged, streamed and not",
    (protocol) => {
      const withLogprobs = LOGPROBS_BODIES[protocol.name] ?? {};
      const { translation } = protocol.spoken.surface;
      fc.assert(
        fc.property(answers, (events) => {
          const renderer = translation.renderStream(contextFor(protocol, withLogprobs));
          const streamed = collectAnswer(
            read(
              protocol,
              requestFor(protocol, withLogprobs),
              events.flatMap((event) => renderer.push(event)),
            ),
          );
          expect(streamed.blocks).toEqual(collectAnswer(events).blocks);
          const { body } = translation.renderAnswer(
            collectAnswer(events),
            contextFor(protocol, withLogprobs),
          );
          const whole = protocol.upstream.parseAnswer(
            encoder.encode(JSON.stringify(body)),
            requestFor(protocol, withLogprobs),
            protocol.signing,
          );
          expect(collectAnswer(whole).blocks).toEqual(collectAnswer(events).blocks);
        }),
        { numRuns: RUNS / 4 },
      );
    },
  );
});
