import fc from "fast-check";
import { codedError } from "../../../src/canon/error-codes.ts";
import type { DroppedField } from "../../../src/canon/generate/edit.ts";
import type { InferenceEvent } from "../../../src/canon/generate/event.ts";
import { collectAnswer } from "../../../src/dialects/answer-events.ts";
import { TranslatedStream } from "../../../src/dialects/translated-stream.ts";
import { answerEvents, brokenLaws } from "./arbitrary/events.ts";
import { joined, pieces, someCuts } from "./arbitrary/wire.ts";
import { normalAnswer, type Telling } from "./normal/answer.ts";
import { answerable, contextFor, requestFor } from "./speak.ts";
import { PROTOCOLS, type Protocol } from "./table.ts";
import { fewOrMany } from "../../support/long.ts";
import { describe, expect, it } from "vitest";

const RUNS = fewOrMany(40, 100);

const PAIRS = PROTOCOLS.flatMap((from) =>
  PROTOCOLS.filter((to) => to !== from).map((to) => ({
    from,
    to,
    names: `${from.name} to ${to.name}`,
  })),
);

/** What is reported when one protocol's answer becomes another's: what both can report. */
function both(left: Telling, right: Telling): Telling {
  return {
    order: left.order && right.order,
    reasoning: left.reasoning && right.reasoning,
    summaries: left.summaries && right.summaries,
    refusals: left.refusals && right.refusals,
    calls: left.calls && right.calls,
    unknownCounts: left.unknownCounts && right.unknownCounts,
  };
}

/**
 * An answer as the provider's bytes, each item one event; what had to be lost to write it is no
 * part of the law.
 */
function provided({ from }: { readonly from: Protocol }, events: readonly InferenceEvent[]) {
  const renderer = from.spoken.surface.translation.renderStream(contextFor(from));
  const body = events.slice(0, -1).flatMap((event) => renderer.push(event));
  return {
    body,
    ending: events.slice(-1).flatMap((event) => renderer.push(event)),
    dropped: [...renderer.dropped],
  };
}

/** What the client gets of the provider's bytes. */
function passed(from: Protocol, to: Protocol, bytes: readonly Uint8Array[]) {
  const renderer = to.spoken.surface.translation.renderStream(contextFor(to));
  const stream = new TranslatedStream(
    from.upstream.parseStream(requestFor(from), from.signing),
    renderer,
  );
  const sent = bytes.flatMap((piece) => stream.push(piece));
  const { ending, events } = stream.endStream();
  return { stream, ending, sent: [...sent, ...events] };
}

/** What the client understands. */
function understood(to: Protocol, bytes: readonly Uint8Array[]): readonly InferenceEvent[] {
  const parser = to.upstream.parseStream(requestFor(to), to.signing);
  const events = [...bytes.flatMap((piece) => parser.push(piece)), ...parser.endAnswer()];
  expect(brokenLaws(events)).toEqual([]);
  return events;
}

describe.each(PAIRS)("answers from $names", ({ from, to }) => {
  const arbitrary = answerEvents(from.signing.model.signatureFamily).map((events) =>
    answerable(to, answerable(from, events)),
  );
  const telling = both(from.telling, to.telling);

  it("mean the same, token for token, for every cut of the provider's bytes", () => {
    fc.assert(
      fc.property(arbitrary, someCuts, (events, cuts) => {
        const { body, ending: last, dropped } = provided({ from }, events);
        const { ending, sent } = passed(from, to, pieces(joined([...body, ...last]), cuts));
        expect(ending.failure).toBeNull();
        const lost = new Set<DroppedField>([...dropped, ...ending.dropped]);
        const heard = collectAnswer(understood(to, sent));
        expect(normalAnswer(heard, telling, lost)).toEqual(
          normalAnswer(collectAnswer(events), telling, lost),
        );
      }),
      { numRuns: RUNS },
    );
  });

  it("mean the same whole as streamed", () => {
    fc.assert(
      fc.property(arbitrary, (events) => {
        const { body, ending: last } = provided({ from }, events);
        const { ending, sent } = passed(from, to, [...body, ...last]);
        const reported = collectAnswer(
          from.upstream.parseAnswer(encode(wholeOf(from, events)), requestFor(from), from.signing),
        );
        const { body: answer } = to.spoken.surface.translation.renderAnswer(
          reported,
          contextFor(to),
        );
        const heard = collectAnswer(
          to.upstream.parseAnswer(encode(answer), requestFor(to), to.signing),
        );
        const lost = new Set<DroppedField>(ending.dropped);
        const orderless = { ...telling, order: false };
        expect(normalAnswer(heard, orderless, lost)).toEqual(
          normalAnswer(collectAnswer(understood(to, sent)), orderless, lost),
        );
      }),
      { numRuns: RUNS },
    );
  });

  it("that the provider breaks off are failures, and the client gets an error", () => {
    const error = codedError("upstream_truncated", "The answer broke off");
    fc.assert(
      fc.property(arbitrary, fc.double({ min: 0, max: 1, noNaN: true }), (events, share) => {
        const { body } = provided({ from }, events);
        const kept = joined(body).subarray(0, Math.floor(share * joined(body).length));
        const { stream, ending, sent } = passed(from, to, [kept]);
        expect(ending.failure).not.toBeNull();
        expect(ending.finish).toBeNull();
        expect(collectAnswer(understood(to, sent)).finish).toBeNull();
        expect(understood(to, [...sent, stream.fail(error)]).at(-1)).toMatchObject({
          type: "failure",
        });
      }),
      { numRuns: RUNS },
    );
  });
});

function wholeOf(protocol: Protocol, events: readonly InferenceEvent[]): unknown {
  return protocol.spoken.surface.translation.renderAnswer(
    collectAnswer(events),
    contextFor(protocol),
  ).body;
}

function encode(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

describe("the counts of one answer", () => {
  it("are the same on every surface", () => {
    fc.assert(
      fc.property(answerEvents(null), (reported) => {
        const { usage } = collectAnswer(reported);
        if (usage === null) return;
        for (const protocol of PROTOCOLS) {
          const events = answerable(protocol, reported);
          const { body, ending } = provided({ from: protocol }, events);
          expect(
            collectAnswer(understood(protocol, [...body, ...ending])).usage,
            protocol.name,
          ).toMatchObject({
            input: usage.input,
            output: usage.output,
          });
          const whole = protocol.upstream.parseAnswer(
            encode(wholeOf(protocol, events)),
            requestFor(protocol),
            protocol.target,
          );
          expect(collectAnswer(whole).usage, protocol.name).toMatchObject({
            input: usage.input,
            output: usage.output,
          });
        }
      }),
      { numRuns: RUNS },
    );
  });
});
