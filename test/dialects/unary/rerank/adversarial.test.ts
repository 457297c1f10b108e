import { AnswerBytes } from "../../../../src/dialects/unary/answer-bytes.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RankedDocument } from "../../../../src/canon/unary.ts";
import {
  answerOf,
  bytesOf,
  canon,
  parsed,
  TARGET_NAMES,
  rerankerOf,
  type Ranked,
} from "./target.ts";

describe("an adversarial upstream", () => {
  const score = fc.oneof(
    { weight: 6, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 3 }) },
    { weight: 1, arbitrary: fc.constantFrom(null, "0.5", true, Number.NaN, {}) },
  );
  const index = (count: number): fc.Arbitrary<unknown> =>
    fc.oneof(
      { weight: 12, arbitrary: fc.nat(count - 1) },
      { weight: 1, arbitrary: fc.constantFrom<unknown>(-1, count, 0.5, "0", null, true) },
    );
  const context = fc.integer({ min: 1, max: 6 }).chain((count) =>
    fc.record({
      count: fc.constant(count),
      topN: fc.option(fc.integer({ min: 1, max: 8 })),
      // Often a real permutation, so that right answers are seen too.
      ranked: fc.oneof(
        fc
          .shuffledSubarray(
            Array.from({ length: count }, (_, position) => position),
            { minLength: Math.max(0, count - 1) },
          )
          .chain((positions) =>
            fc.tuple(
              ...positions.map((position) => fc.tuple(fc.constant<unknown>(position), score)),
            ),
          ),
        fc.array(fc.tuple(index(count), score), { maxLength: 8 }),
      ),
    }),
  );

  /** What the answer should be, said in another way than the code does. */
  function expected(
    ranked: Ranked,
    count: number,
    topN: number | null,
  ): readonly RankedDocument[] | null {
    const left = new Set(Array.from({ length: count }, (_, position) => position));
    const good: RankedDocument[] = [];
    for (const [position, value] of ranked) {
      const isTaken = typeof position !== "number" || !left.delete(position);
      if (isTaken || typeof value !== "number" || Number.isNaN(value)) return null;
      good.push({ index: position, score: value });
    }
    const wanted = Math.min(topN ?? count, count);
    if (good.length < wanted) return null;
    return good
      .toSorted((one, other) =>
        one.score === other.score ? one.index - other.index : other.score - one.score,
      )
      .slice(0, wanted);
  }

  it.each(TARGET_NAMES)("%s: the right order or a fault, never anything between", (name) => {
    let right = 0;
    fc.assert(
      fc.property(context, ({ count, topN, ranked }) => {
        const documents = Array.from({ length: count }, (_, position) => `document ${position}`);
        const result = parsed(name, answerOf(name, ranked), canon({ documents, topN }));
        const wanted = expected(ranked, count, topN);
        if (wanted === null) {
          expect(result).toMatchObject({ kind: "malformed" });
          return;
        }
        right += 1;
        // JSON has one zero only.
        const written = wanted.map((one) => ({ ...one, score: one.score === 0 ? 0 : one.score }));
        expect(result).toMatchObject({ operation: "rerank", results: written });
      }),
      { numRuns: 400 },
    );
    expect(right).toBeGreaterThan(20);
  });

  it.each(TARGET_NAMES)(
    "%s: bytes that were damaged are an answer or a failure, never an exception",
    (name) => {
      const whole = bytesOf(
        answerOf(name, [
          [0, 0.5],
          [1, 0.25],
          [2, 0.125],
        ]),
      );
      fc.assert(
        fc.property(
          fc.nat(whole.length - 1),
          fc.nat(255),
          fc.nat(whole.length),
          (position, byte, length) => {
            const bytes = whole.slice(0, length);
            if (position < length) bytes[position] = byte;
            const result = rerankerOf(name).parseAnswer(
              new AnswerBytes([bytes]),
              canon(),
              Object(null),
            );
            expect("kind" in result || result.results.length === 3).toBe(true);
          },
        ),
      );
    },
  );
});
