import fc from "fast-check";
import { expect, test } from "vitest";
import { base64Of, vectorOf } from "../../mock/unary/embed/vector.ts";
import { codePoint } from "../support/code-point.ts";
import { mockForFile, post } from "./start.ts";

/*
 * `test/clients/unary.test.ts` has each protocol: its vectors, ranks and verdicts through the router.
 */

const server = await mockForFile();

async function answer(path: string, body: object) {
  return JSON.parse(await (await post(server, path, { model: "m", ...body })).text());
}

test("vectors have unit length, and the same numbers in decimal text and in single precision", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: codePoint }),
      fc.integer({ min: 1, max: 400 }),
      (text, length) => {
        const vector = vectorOf(text, length);
        expect(vector).toHaveLength(length);
        expect(Math.hypot(...vector)).toBeCloseTo(1, 3);
        expect(vectorOf(text, length)).toEqual(vector);
        const bytes = Buffer.from(base64Of(vector), "base64");
        const singles = vector.map((_, index) => bytes.readFloatLE(index * 4));
        expect(bytes).toHaveLength(length * 4);
        expect(singles).toEqual(vector.map(Math.fround));
        // Six digits are enough to find the number again, and none of them is too much.
        expect(singles.map((single) => Number(single.toPrecision(6)))).toEqual(vector);
        // Negative zero is another number in base64 than in decimal text.
        expect(vector.some((value) => Object.is(value, -0))).toBe(false);
      },
    ),
    { numRuns: 50 },
  );
});

test("vectors of different texts differ; a short one has the direction of a long one's start", () => {
  const long = vectorOf("a", 1_536);
  const other = vectorOf("b", 1_536);
  const product = long.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
  expect(Math.abs(product)).toBeLessThan(0.15);
  const norm = Math.hypot(...long.slice(0, 256));
  for (const [index, value] of vectorOf("a", 256).entries())
    expect(value).toBeCloseTo((long[index] ?? 0) / norm, 4);
});

test("token numbers have distinct vectors, one for each list", async () => {
  const embed = async (input: unknown): Promise<readonly unknown[]> =>
    (await answer("/v1/embeddings", { input, dimensions: 4 })).data.map(
      ({ embedding }: { readonly embedding: unknown }) => embedding,
    );
  const [one, two] = await embed([[1, 2], [12]]);
  expect(one).not.toEqual(two);
  expect(await embed([1, 2])).toEqual([one]);
});

test("documents are ranked by the terms that they share with the query, ties by index", async () => {
  const documents = ["A signal", "Nothing of it", "Red signal here", "the RED", "signal, red!"];
  const { results } = await answer("/v2/rerank", { query: "red signal", documents });
  // Scores in the order of the documents: 2/4, 0, 4/5, 2/4, 1.
  const ranks = [
    [4, 1],
    [2, 0.8],
    [0, 0.5],
    [3, 0.5],
    [1, 0],
  ] as const;
  expect(results).toMatchObject(ranks.map(([index, score]) => ({ index, relevance_score: score })));
});

test("a hundred and one documents are billed as two searches", async () => {
  const documents = Array.from({ length: 101 }, () => "x");
  const { meta } = await answer("/v2/rerank", { query: "red", documents });
  expect(meta).toMatchObject({ billed_units: { search_units: 2 } });
});

interface Verdict {
  readonly flagged?: boolean;
  readonly categories: object;
  readonly category_scores: object;
  readonly category_applied_input_types: object;
}

async function judge(input: unknown, model = "m"): Promise<readonly Verdict[]> {
  return (await answer("/v1/moderations", { model, input })).results;
}

/** The names of those that are `true`. */
const flaggedIn = (verdict?: Verdict): string[] =>
  Object.entries(verdict?.categories ?? {}).flatMap(([name, is]) => (is === true ? [name] : []));

test("every text has a verdict, in order", async () => {
  const verdicts = await judge([
    "harmless",
    "a simulated-violence.",
    "simulated-violence-graphic and simulated-hate",
    "simulated-violences",
  ]);
  expect(verdicts.map((verdict) => [verdict.flagged, flaggedIn(verdict)])).toEqual([
    [false, []],
    [true, ["violence"]],
    [true, ["hate", "violence/graphic"]],
    [false, []],
  ]);
  for (const verdict of verdicts) {
    const scores = Object.entries(verdict.category_scores);
    expect(scores.filter(([, score]) => score === 0.98).map(([name]) => name)).toEqual(
      flaggedIn(verdict),
    );
    expect(scores.filter(([, score]) => score >= 0.001)).toHaveLength(flaggedIn(verdict).length);
  }
});

test("parts are judged together, pictures in some categories only", async () => {
  const picture = (name: string): object => ({
    type: "image_url",
    image_url: { url: `https://x.example/${name}.png` },
  });
  const pictures = ["violence-and", "sexual", "illicit"].map((name) =>
    picture(`simulated-${name}`),
  );
  const [verdict] = await judge([{ type: "text", text: "simulated-hate" }, ...pictures]);
  expect(flaggedIn(verdict)).toEqual(["sexual", "hate"]);
  const types = { hate: ["text"], sexual: ["text", "image"] };
  expect(verdict?.category_applied_input_types).toMatchObject(types);
});

test("verdicts have the categories of another provider on request", async () => {
  const texts = ["x", "simulated-violence", "simulated-violence-and-threats"];
  const verdicts = await judge(texts, "m+categories=other");
  expect(verdicts.map(flaggedIn)).toEqual([[], [], ["violence_and_threats"]]);
});
