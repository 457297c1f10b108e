import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EmbedResult } from "../../../../src/canon/unary.ts";
import type { DialectName } from "../../../../src/dialects/table.ts";
import { ANSWER_FAULTS } from "../../../../src/dialects/answer-ends.ts";
import { asFloatText } from "../../../../src/dialects/unary/vectors.ts";
import { asking, base64Of, read, type TargetOptions } from "./target.ts";

const LENGTH = 3;
/** Says which input a vector belongs to, in numbers that every encoding keeps. */
const vectorOf = (options: number): readonly number[] => [options, options + 0.5, -1];

interface Item {
  index: unknown;
  embedding: unknown;
}

/** What an upstream may do to a right answer. Each gives the name of what it did. */
const TRICKS: Readonly<
  Record<string, (items: (Item | null)[], at: number, other: number) => void>
> = {
  swap: (items, at, other) => {
    [items[at], items[other]] = [items[other] ?? null, items[at] ?? null];
  },
  drop: (items, at) => void items.splice(at, 1),
  add: (items, at) =>
    void items.splice(at, 0, { index: items.length, embedding: vectorOf(items.length) }),
  repeat: (items, at) =>
    void items.splice(at, 0, { ...(items[at] ?? { index: 0, embedding: null }) }),
  reindex: (items, at, other) => change(items, at, { index: other }),
  beyond: (items, at) => change(items, at, { index: items.length }),
  negative: (items, at) => change(items, at, { index: -1 }),
  fractional: (items, at) => change(items, at, { index: at + 0.5 }),
  textual: (items, at) => change(items, at, { index: String(at) }),
  unindexed: (items, at) => change(items, at, { index: undefined }),
  nothing: (items, at) => void (items[at] = null),
  shorter: (items, at) => change(items, at, { embedding: [1, 2] }),
  longer: (items, at) => change(items, at, { embedding: [1, 2, 3, 4] }),
  empty: (items, at) => change(items, at, { embedding: [] }),
  missing: (items, at) => change(items, at, { embedding: null }),
  hole: (items, at) => change(items, at, { embedding: [1, null, 3] }),
  textNumber: (items, at) => change(items, at, { embedding: [1, "2", 3] }),
  nested: (items, at) => change(items, at, { embedding: [[1, 2, 3]] }),
  overflow: (items, at) => change(items, at, { embedding: JSON.rawJSON("1e999") }),
  overflowing: (items, at) => change(items, at, { embedding: [1, JSON.rawJSON("1e999"), 3] }),
  notANumber: (items, at) => change(items, at, { embedding: base64Of([1, NaN, 3]) }),
  infinite: (items, at) => change(items, at, { embedding: base64Of([1, 2, -Infinity]) }),
  halfANumber: (items, at) => change(items, at, { embedding: new Uint8Array(10).toBase64() }),
  otherText: (items, at) => change(items, at, { embedding: "[1,2,3]" }),
};

function change(items: (Item | null)[], at: number, more: Partial<Item>): void {
  items[at] = { ...(items[at] ?? { index: at, embedding: vectorOf(at) }), ...more };
}

const tricks = fc.array(fc.tuple(fc.constantFrom(...Object.keys(TRICKS)), fc.nat(), fc.nat()), {
  minLength: 0,
  maxLength: 3,
});

/**
 * The vectors that the items give each input by their indices, or nothing where they do not give
 * each exactly one right vector.
 */
function honest(
  items: readonly (Item | null)[],
  count: number,
  takesBase64: boolean,
): readonly (readonly number[])[] | null {
  if (items.length !== count) return null;
  const found: (readonly number[])[] = [];
  for (const item of items) {
    const { index, embedding } = item ?? {};
    if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index >= count)
      return null;
    const numbers = takesBase64 ? numbersOf(embedding) : embedding;
    if (found[index] !== undefined || !isVector(numbers)) return null;
    found[index] = numbers;
  }
  return found;
}

function isVector(value: unknown): value is readonly number[] {
  return (
    Array.isArray(value) &&
    value.length === LENGTH &&
    value.every((number) => Number.isFinite(number))
  );
}

function numbersOf(embedding: unknown): unknown {
  if (typeof embedding !== "string" || !/^[A-Za-z0-9+/]+=*$/.test(embedding)) return embedding;
  const bytes = Buffer.from(embedding, "base64");
  if (bytes.length % 4 !== 0) return null;
  return Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
}

function numbersIn({ vectors }: EmbedResult): unknown {
  return vectors.map((vector): unknown => JSON.parse(asFloatText(vector).text));
}

const inputsOf = (count: number) => Array.from({ length: count }, (_, index) => `text ${index}`);
const known: TargetOptions = { model: { defaultDimensions: LENGTH } };

interface Shape {
  readonly dialect: DialectName;
  readonly options: TargetOptions;
  readonly isIndexed: boolean;
  readonly answer: (items: readonly (Item | null)[]) => unknown;
}

const SHAPES: Readonly<Record<string, Shape>> = {
  openai: {
    dialect: "openai-chat",
    options: known,
    isIndexed: true,
    answer: (data) => ({
      object: "list",
      data,
      model: "m",
      usage: { prompt_tokens: 1, total_tokens: 1 },
    }),
  },
  voyage: {
    dialect: "voyage",
    options: known,
    isIndexed: true,
    answer: (data) => ({ data, usage: { total_tokens: 1 } }),
  },
  cohere: {
    dialect: "cohere-chat",
    options: known,
    isIndexed: false,
    answer: (items) => ({ embeddings: { float: items.map((item) => item?.embedding ?? null) } }),
  },
  invoked: {
    dialect: "cohere-chat",
    options: known,
    isIndexed: false,
    answer: (items) => ({ embeddings: items.map((item) => item?.embedding ?? null) }),
  },
  gemini: {
    dialect: "gemini",
    options: known,
    isIndexed: false,
    answer: (items) => ({
      embeddings: items.map((item) => (item === null ? null : { values: item.embedding })),
    }),
  },
  predicted: {
    dialect: "gemini",
    options: { ...known, provider: { flags: ["predict_embeddings"] } },
    isIndexed: false,
    answer: (items) => ({
      predictions: items.map((item) =>
        item === null ? null : { embeddings: { values: item.embedding } },
      ),
    }),
  },
};

function played(
  count: number,
  base64: boolean,
  moves: readonly (readonly [string, number, number])[],
): (Item | null)[] {
  const items: (Item | null)[] = Array.from({ length: count }, (_, index) => ({
    index,
    embedding: base64 ? base64Of(vectorOf(index)) : vectorOf(index),
  }));
  for (const [name, at, other] of moves) {
    const size = Math.max(items.length, 1);
    TRICKS[name]?.(items, at % size, other % size);
  }
  return items;
}

describe.each(Object.entries(SHAPES))(
  "an adversary that speaks %s",
  (_name, { dialect, options, isIndexed, answer }) => {
    it("delivers to each input its own vector, or none", () => {
      const faults = new Set<string>();
      let whole = 0;
      fc.assert(
        fc.property(
          fc.integer({ min: 1, max: 5 }),
          fc.boolean(),
          tricks,
          (count, isPacked, moves) => {
            const base64 = isPacked && isIndexed;
            const items = played(count, base64, moves);
            const result = read(
              dialect,
              answer(items),
              asking({ inputs: inputsOf(count) }),
              options,
            );
            // Without indices the order of the answer is all there is.
            const sent = isIndexed
              ? items
              : items.map((item, index) => (item === null ? null : { ...item, index }));
            const expected = honest(sent, count, isIndexed);
            if ("kind" in result) {
              expect(result).toMatchObject({ kind: "malformed", status: null, retryAfter: null });
              expect(Object.keys(ANSWER_FAULTS)).toContain(result.code);
              expect(expected).toBeNull();
              faults.add(result.code ?? "");
              return;
            }
            whole += 1;
            expect(result.vectors).toHaveLength(count);
            expect(numbersIn(result)).toEqual(expected);
            if (result.isVerbatim) {
              expect(items.map((item) => item?.index)).toEqual(inputsOf(count).keys().toArray());
              expect(items.every((item) => Array.isArray(item?.embedding))).toBe(true);
            }
          },
        ),
        { numRuns: 2_000 },
      );
      expect(whole).toBeGreaterThan(100);
      const indexed = isIndexed ? ["index_invalid", "index_repeated"] : [];
      expect([...faults].toSorted()).toEqual(
        expect.arrayContaining([
          "dimension_mixed",
          "dimension_wrong",
          "result_count",
          "vector_malformed",
          "vector_not_finite",
          ...indexed,
        ]),
      );
    });
  },
);

describe.each<[DialectName, (embedding: unknown) => unknown]>([
  ["bedrock-titan-embed", (embedding) => ({ embedding, inputTextTokenCount: 1 })],
  ["bedrock-nova-embed", (embedding) => ({ embeddings: [{ embedding, embeddingType: "TEXT" }] })],
])("an adversary that speaks %s", (dialect, answer) => {
  it("delivers one right vector, or none", () => {
    const request = asking({ inputs: ["one"] });
    expect(read(dialect, answer(vectorOf(0)), request, known)).toMatchObject({
      vectors: [{ text: "[0,0.5,-1]" }],
    });
    for (const name of [
      "shorter",
      "longer",
      "empty",
      "missing",
      "hole",
      "textNumber",
      "nested",
      "overflowing",
      "otherText",
    ]) {
      const [item] = played(1, false, [[name, 0, 0]]);
      expect(read(dialect, answer(item?.embedding), request, known), name).toMatchObject({
        kind: "malformed",
      });
    }
  });
});

it("more or fewer vectors than one are no answer to one text", () => {
  const item = { embedding: vectorOf(0), embeddingType: "TEXT" };
  for (const embeddings of [[], [item, item]]) {
    const result = read("bedrock-nova-embed", { embeddings }, asking({ inputs: ["one"] }), known);
    expect(result).toMatchObject({ kind: "malformed", code: "result_count" });
  }
});
