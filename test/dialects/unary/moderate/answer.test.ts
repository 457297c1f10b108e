import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MODERATION_CATEGORIES } from "../../../../src/canon/unary.ts";
import {
  answered,
  bytesOf,
  jsonOf,
  MAPPING,
  mappedResult,
  mappedTarget,
  opened,
  ownAnswer,
  ownResult,
  plainTarget,
  read,
  textOf,
} from "./target.ts";

const one = { input: "a" };
const withImage = {
  input: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA" } }],
};

/** Scores and input types of the categories that older models do not judge, taken away. */
function older(result: Record<string, Record<string, unknown>>): void {
  for (const name of ["illicit", "illicit/violent"]) delete result.categories?.[name];
  for (const name of ["illicit", "illicit/violent"]) delete result.category_scores?.[name];
  delete result.category_applied_input_types;
}

const category = fc.constantFrom(...MODERATION_CATEGORIES);
const required = category.filter((name) => !name.startsWith("illicit"));
const notBoolean = fc.constantFrom<unknown>("true", "false", 0, 1, [], {});
const badScore = fc.oneof(
  fc.constantFrom<unknown>("0.5", null, true, [], {}, -1e-9, 1.000001, -1, 2),
  fc.double({ min: 1.001, noNaN: true, noDefaultInfinity: true }),
);

describe("an answer in OpenAI's shape", () => {
  it("is relayed byte for byte", () => {
    const text = `${JSON.stringify(ownAnswer(ownResult()), null, 2)}\n`;
    expect(textOf(answered(one, text))).toBe(text);
  });

  it.each<[string, string, string]>([
    ["two verdicts", '"flagged":false', '"flagged":true,"flagged":false'],
    [
      "two verdicts, one with an escape",
      '"flagged":false',
      String.raw`"fl\u0061gged":true,"flagged":false`,
    ],
    ["two verdicts of a category", '"hate":false', '"hate":true,"hate":false'],
    ["two lists of results", '"results":', '"results":[],"results":'],
  ])("with a repeated name, %s, is printed from the values as read", (_what, from, to) => {
    const text = JSON.stringify(ownAnswer(ownResult()));
    expect(text).toContain(from);
    expect(textOf(answered(one, text.replace(from, to)))).toBe(text);
  });

  it("has the provider's verdict of each text, in order", () => {
    const flagged = ownResult(
      (result) => void (result.categories = { ...result.categories, hate: true }),
      true,
    );
    const result = read({ input: ["a", "b", "c"] }, ownAnswer(ownResult(), flagged, ownResult()));
    expect(result).toMatchObject({
      isVerbatim: true,
      verdicts: [
        { flagged: false },
        { flagged: true, categories: { hate: { flagged: true } } },
        { flagged: false },
      ],
    });
  });

  it.each([0, 2, 3])("with %i results for one input is refused", (count) => {
    const answer = ownAnswer(...Array.from({ length: count }, () => ownResult()));
    expect(read(one, answer)).toBe("malformed result_count");
    expect(
      read(
        {
          input: [
            { type: "text", text: "a" },
            { type: "text", text: "b" },
          ],
        },
        answer,
      ),
    ).toBe("malformed result_count");
  });

  it("with any other number of results than texts is refused", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 0, max: 21 }),
        (texts, results) => {
          const answer = ownAnswer(...Array.from({ length: results }, () => ownResult()));
          const result = read({ input: Array.from({ length: texts }, () => "a") }, answer);
          if (texts === results) expect(result).toMatchObject({ isVerbatim: true });
          else expect(result).toBe("malformed result_count");
        },
      ),
    );
  });

  it.each<[string, unknown, string]>([
    ["no JSON", "oops", "malformed not_json"],
    ["a list", "[]", "malformed not_json"],
    ["no results", { id: "modr-1", model: "m" }, "malformed missing_results"],
    [
      "results that are no list",
      { id: "modr-1", model: "m", results: {} },
      "malformed missing_results",
    ],
    ["a result that is no object", ownAnswer(null), "malformed category_missing"],
    [
      "an error that said 200",
      { error: { code: "rate_limit_exceeded", message: "secret" } },
      "error_frame rate_limit_exceeded",
    ],
    ["flagged as text", ownAnswer(ownResult(() => {}, "false")), "malformed verdict_invalid"],
    ["no flagged", ownAnswer(ownResult(() => {}, null)), "malformed verdict_invalid"],
    [
      "an infinite score",
      JSON.stringify(ownAnswer(ownResult())).replace("0.25", "1e999"),
      "malformed score_invalid",
    ],
  ])("%s is a failure", (_name, answer, failure) => {
    expect(read(one, answer)).toBe(failure);
  });

  it("is refused without a category, or with null for one that every model judges", () => {
    fc.assert(
      fc.property(required, fc.constantFrom<unknown>(undefined, null), (name, value) => {
        const answer = ownAnswer(
          ownResult((result) => void (result.categories = { ...result.categories, [name]: value })),
        );
        expect(read(one, answer)).toBe("malformed category_missing");
      }),
    );
  });

  it("with a verdict that is no boolean is refused", () => {
    fc.assert(
      fc.property(fc.oneof(category, fc.constant("novel")), notBoolean, (name, value) => {
        const answer = ownAnswer(
          ownResult((result) => void (result.categories = { ...result.categories, [name]: value })),
        );
        expect(read(one, answer)).toBe("malformed verdict_invalid");
      }),
    );
  });

  it("with a score outside 0 to 1 is refused", () => {
    fc.assert(
      fc.property(category, badScore, (name, value) => {
        const answer = ownAnswer(
          ownResult(
            (result) =>
              void (result.category_scores = { ...result.category_scores, [name]: value }),
          ),
        );
        expect(read(one, answer)).toBe("malformed score_invalid");
      }),
    );
  });

  it("accepts scores of 0 and 1", () => {
    const answer = ownAnswer(
      ownResult(
        (result) =>
          void (result.category_scores = { ...result.category_scores, hate: 0, sexual: 1 }),
      ),
    );
    expect(read(one, answer)).toMatchObject({ isVerbatim: true });
  });

  it("that is not flagged although a category is, is refused", () => {
    fc.assert(
      fc.property(fc.oneof(category, fc.constant("novel")), (name) => {
        const flag = (flagged: boolean): object =>
          ownAnswer(
            ownResult((result) => {
              result.categories = { ...result.categories, [name]: true };
              result.category_scores = { ...result.category_scores, [name]: 0.9 };
            }, flagged),
          );
        expect(read(one, flag(false))).toBe("malformed verdict_invalid");
        expect(read(one, flag(true))).toMatchObject({ verdicts: [{ flagged: true }] });
      }),
    );
  });

  it("is refused with unknown types of input", () => {
    for (const value of ["text", ["audio"], [1]]) {
      const change = (result: Record<string, Record<string, unknown>>): void => {
        result.category_applied_input_types = {
          ...result.category_applied_input_types,
          hate: value,
        };
      };
      expect(read(one, ownAnswer(ownResult(change)))).toBe("malformed verdict_invalid");
    }
  });

  it("is not quoted in a failure", () => {
    const call = opened(one).parts[0]?.callTo(plainTarget);
    const failure = call?.readError(
      400,
      bytesOf({ error: { message: "my secret text", code: "my_secret_code" } }),
    );
    expect(failure).toEqual({ kind: "rejected", status: 400, retryAfter: null, code: null });
  });
});

describe("a category that OpenAI adds", () => {
  const novel = ownResult((result) => {
    result.categories = { ...result.categories, novel: true };
    result.category_scores = { ...result.category_scores, novel: 0.75 };
  }, true);

  it("stays in a relayed answer", () => {
    expect(jsonOf(answered(one, ownAnswer(novel)))).toEqual(ownAnswer(novel));
  });

  it("may be null, where only some models judge it", () => {
    const answer = ownAnswer(
      ownResult((result) => void (result.categories = { ...result.categories, novel: null })),
    );
    expect(read(one, answer)).toMatchObject({ isVerbatim: true });
  });

  it("is not lost where the answer has to be printed: the answer is refused", () => {
    expect(read(one, { ...ownAnswer(novel), id: null })).toBe("malformed category_unknown");
  });
});

describe("an answer of an older model", () => {
  it("has null for categories that it does not judge, and 0 and no input types for their scores", () => {
    const printed = jsonOf(answered(one, ownAnswer(ownResult(older))));
    expect(printed).toMatchObject({
      id: "modr-1",
      model: "omni-moderation-latest",
      results: [
        {
          flagged: false,
          categories: { illicit: null, "illicit/violent": null, hate: false },
          category_scores: { illicit: 0, "illicit/violent": 0, hate: 0.25 },
          category_applied_input_types: { illicit: [], "illicit/violent": [], hate: ["text"] },
        },
      ],
    });
    const [result] = Array.isArray(printed.results) ? printed.results : [];
    for (const member of ["categories", "category_scores", "category_applied_input_types"]) {
      expect(Object.keys(result[member])).toEqual([...MODERATION_CATEGORIES]);
    }
  });

  it("records categories_unjudged where a score is made up, and nothing where it is relayed", () => {
    expect(answered(one, ownAnswer(ownResult(older))).dropped).toEqual(["categories_unjudged"]);
    const silent = ownResult(
      (result) => void (result.categories = { ...result.categories, illicit: null }),
    );
    expect(answered(one, ownAnswer(silent)).dropped).toEqual([]);
    expect(answered(one, { ...ownAnswer(ownResult()), id: null }).dropped).toEqual([]);
    expect(answered(one, { ...ownAnswer(silent), id: null }).dropped).toEqual([
      "categories_unjudged",
    ]);
  });

  it("gets an id and a model where it has none", () => {
    const { results } = ownAnswer(ownResult());
    expect(jsonOf(answered(one, { results }))).toEqual({
      id: "modr-1",
      model: "upstream-model",
      results,
    });
  });

  it("may contain null", () => {
    const answer = ownAnswer(
      ownResult((result) => void (result.categories = { ...result.categories, illicit: null })),
    );
    expect(read(one, answer)).toMatchObject({
      isVerbatim: true,
      verdicts: [{ categories: { illicit: { flagged: null, score: 0.25 } } }],
    });
  });

  it("gets a score of 0 where the provider has null for a category that it does not judge", () => {
    const answer = ownAnswer(
      ownResult((result) => {
        result.categories = { ...result.categories, illicit: null };
        result.category_scores = { ...result.category_scores, illicit: null };
      }),
    );
    expect(jsonOf(answered(one, answer))).toMatchObject({
      results: [{ categories: { illicit: null }, category_scores: { illicit: 0 } }],
    });
  });

  it("lists the text as judged only for categories that report it, where images were sent", () => {
    const answer = ownAnswer(
      ownResult(
        (result) =>
          (result.category_applied_input_types = { sexual: ["image"], violence: ["text"] }),
      ),
    );
    expect(jsonOf(answered(withImage, answer))).toMatchObject({
      results: [
        { category_applied_input_types: { sexual: ["image"], violence: ["text"], hate: [] } },
      ],
    });
  });

  it("fails where an image was sent and no category has the image's input type", () => {
    const judged = ownResult(
      (result) =>
        void (result.category_applied_input_types = {
          ...result.category_applied_input_types,
          sexual: ["image"],
        }),
    );
    expect(read(withImage, ownAnswer(judged))).toMatchObject({ isVerbatim: true });
    expect(read(withImage, ownAnswer(ownResult()))).toBe("malformed input_unjudged");
    expect(
      read(
        withImage,
        ownAnswer(ownResult((result) => void delete result.category_applied_input_types)),
      ),
    ).toBe("malformed input_unjudged");
  });
});

describe("an answer in a model's own categories", () => {
  const mapped = (...results: readonly object[]): object => ({
    id: "mod-7",
    model: "mistral-moderation",
    results,
  });
  const flag = (name: string, score: number): object =>
    mappedResult((result) => {
      result.categories[name] = true;
      result.category_scores[name] = score;
    });

  it("is mapped to the callers' categories: flagged where a mapped one is, with the largest score", () => {
    const printed = jsonOf(answered(one, mapped(flag("violence_and_threats", 0.75)), mappedTarget));
    expect(printed).toMatchObject({ id: "mod-7", model: "mistral-moderation" });
    expect(printed.results).toEqual([
      {
        flagged: true,
        categories: Object.fromEntries(
          MODERATION_CATEGORIES.map((name) => [
            name,
            ["violence", "harassment", "harassment/threatening"].includes(name),
          ]),
        ),
        category_scores: {
          harassment: 0.75,
          "harassment/threatening": 0.75,
          hate: 0.125,
          "hate/threatening": 0,
          illicit: 0.125,
          "illicit/violent": 0,
          "self-harm": 0.125,
          "self-harm/intent": 0,
          "self-harm/instructions": 0,
          sexual: 0.125,
          "sexual/minors": 0,
          violence: 0.75,
          "violence/graphic": 0,
        },
        category_applied_input_types: {
          harassment: ["text"],
          "harassment/threatening": ["text"],
          hate: ["text"],
          "hate/threatening": [],
          illicit: ["text"],
          "illicit/violent": [],
          "self-harm": ["text"],
          "self-harm/intent": [],
          "self-harm/instructions": [],
          sexual: ["text"],
          "sexual/minors": [],
          violence: ["text"],
          "violence/graphic": [],
        },
      },
    ]);
  });

  it("records that unmapped categories read as not flagged", () => {
    expect(answered(one, mapped(mappedResult()), mappedTarget).dropped).toEqual([
      "categories_unjudged",
    ]);
    const everything = { hate: MODERATION_CATEGORIES };
    const whole = {
      ...mappedTarget,
      model: { ...mappedTarget.model, moderationCategories: everything },
    };
    const answer = mapped({ categories: { hate: false }, category_scores: { hate: 0.5 } });
    expect(answered(one, answer, whole).dropped).toEqual([]);
  });

  it("hides categories that are mapped to none", () => {
    const printed = jsonOf(answered(one, mapped(flag("pii", 1)), mappedTarget));
    expect(printed).toMatchObject({ results: [{ flagged: false }] });
    expect(JSON.stringify(printed)).not.toMatch(/pii|true/);
  });

  it("is never relayed unchanged, even in OpenAI's format", () => {
    const declared = {
      ...mappedTarget,
      model: { ...mappedTarget.model, moderationCategories: { hate: ["sexual"] } },
    } as const;
    const answer = mapped({
      flagged: true,
      categories: { hate: true },
      category_scores: { hate: 0.5 },
    });
    const printed = jsonOf(answered(one, answer, declared));
    expect(printed).toMatchObject({
      results: [{ flagged: true, categories: { hate: false, sexual: true } }],
    });
  });

  it("is mapped to the declared categories", () => {
    const judged = fc.record({
      flagged: fc.boolean(),
      score: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    const names = Object.keys(MAPPING);
    fc.assert(
      fc.property(
        fc.array(judged, { minLength: names.length, maxLength: names.length }),
        (given) => {
          const of = (name: string) => given[names.indexOf(name)] ?? { flagged: false, score: 0 };
          const answer = mapped({
            categories: Object.fromEntries(names.map((name) => [name, of(name).flagged])),
            category_scores: Object.fromEntries(names.map((name) => [name, of(name).score])),
          });
          const result = read(one, answer, mappedTarget);
          if (typeof result === "string" || result.operation !== "moderate")
            throw new Error("refused");
          const [verdict] = result.verdicts;
          for (const name of MODERATION_CATEGORIES) {
            const counted = names.filter((own) => MAPPING[own]?.includes(name) === true).map(of);
            expect(verdict?.categories[name]).toMatchObject({
              flagged: counted.some(({ flagged }) => flagged),
              score: Math.max(0, ...counted.map(({ score }) => score)),
            });
          }
          const all = MODERATION_CATEGORIES.some(
            (name) => verdict?.categories[name]?.flagged === true,
          );
          expect(verdict?.flagged).toBe(all);
        },
      ),
    );
  });

  it("is refused with an undeclared category, at every position", () => {
    for (const member of ["categories", "category_scores"] as const) {
      for (const name of ["jailbreaking", "constructor", "__proto__"]) {
        const text = JSON.stringify(mapped(mappedResult())).replace(
          `"${member}":{`,
          `"${member}":{"${name}":${member === "categories"},`,
        );
        expect(read(one, text, mappedTarget), name).toBe("malformed category_unknown");
      }
    }
  });

  it.each<[string, object, string]>([
    [
      "without a declared category",
      mappedResult((result) => void delete result.categories.law),
      "category_missing",
    ],
    [
      "with null for one",
      mappedResult((result) => void (result.categories.law = null)),
      "category_missing",
    ],
    [
      "with a verdict as text",
      mappedResult((result) => void (result.categories.law = "false")),
      "verdict_invalid",
    ],
    [
      "without a score",
      mappedResult((result) => void delete result.category_scores.law),
      "score_invalid",
    ],
    [
      "with a score above 1",
      mappedResult((result) => void (result.category_scores.law = 1.5)),
      "score_invalid",
    ],
    ["in OpenAI's categories", ownResult(), "category_unknown"],
    ["of nothing", {}, "category_missing"],
  ])("%s is refused", (_name, result, code) => {
    expect(read(one, mapped(result), mappedTarget)).toBe(`malformed ${code}`);
  });

  it("lacks a declared category that has the name of something every object has", () => {
    const mapping = { moderationCategories: { hate: ["hate"], constructor: ["sexual"] } } as const;
    const declared = { ...mappedTarget, model: { ...mappedTarget.model, ...mapping } };
    const result = { categories: { hate: true }, category_scores: { hate: 0.5 } };
    expect(read(one, mapped(result), declared)).toBe("malformed category_missing");
  });

  it("is refused where routes.yaml does not map the categories", () => {
    expect(read(one, mapped({ flagged: false, ...mappedResult() }))).toBe(
      "malformed category_missing",
    );
  });
});

describe("tokens", () => {
  it.each<[unknown, number | null]>([
    [{ prompt_tokens: 7, total_tokens: 7 }, 7],
    [{ prompt_tokens: -1 }, null],
    [undefined, null],
  ])("of usage %j count as %j", (usage, tokens) => {
    expect(read(one, { ...ownAnswer(ownResult()), usage })).toMatchObject({ inputTokens: tokens });
  });
});
