import { AnswerBytes } from "../../../../src/dialects/unary/answer-bytes.ts";
import { describe, expect, it } from "vitest";
import {
  answerOf,
  canon,
  parsed,
  TARGET_NAMES,
  rerankerOf,
  type TargetName,
  type Ranked,
} from "./target.ts";

function outcome(name: TargetName, ranked: Ranked, topN: number | null = null): unknown {
  const result = parsed(name, answerOf(name, ranked), canon({ topN }));
  if ("kind" in result) return result.kind === "malformed" ? result.code : result;
  return result.results.map(({ index, score }) => [index, score]);
}

/** `"1:0.9 0:0.5"`: results in their order, each an index and a score. */
function ranking(text: string): Ranked {
  return text.split(" ").map((result) => {
    const [index, score] = result.split(":");
    return [Number(index), Number(score)];
  });
}

/** Three results of which one is odd. */
function odd(index: unknown, score: unknown = 1): Ranked {
  return [
    [0, 1],
    [index, score],
    [2, 1],
  ];
}

describe.each(TARGET_NAMES)("the parser of %s answers", (name) => {
  const right: readonly (readonly [string, string, number | null, string])[] = [
    ["all, in order", "1:0.9 0:0.5 2:0.1", null, "1:0.9 0:0.5 2:0.1"],
    ["all, permuted", "2:0.1 0:0.5 1:0.9", null, "1:0.9 0:0.5 2:0.1"],
    ["ties by index", "2:0.5 0:0.5 1:0.5", null, "0:0.5 1:0.5 2:0.5"],
    ["zeros of either sign", "1:0 0:-0 2:1", null, "2:1 0:0 1:0"],
    ["more than wanted: the worst are cut", "0:0.1 1:0.9 2:0.5", 2, "1:0.9 2:0.5"],
    ["as many as wanted", "2:3", 1, "2:3"],
    ["as many as there are, when more were wanted", "0:3 1:2 2:1", 9, "0:3 1:2 2:1"],
    ["scores below zero and above one", "0:-4.5 1:12 2:0", null, "1:12 2:0 0:-4.5"],
  ];
  it.each(right)("accepts %s", (_what, ranked, topN, wanted) => {
    expect(outcome(name, ranking(ranked), topN)).toEqual(ranking(wanted));
  });

  const wrong: readonly (readonly [string, Ranked, number | null, string])[] = [
    ["fewer than there are", ranking("0:1 1:1"), null, "result_count"],
    ["fewer than wanted", ranking("0:1"), 2, "result_count"],
    ["none", [], null, "result_count"],
    ["an index twice", odd(0), null, "index_repeated"],
    ["an index twice among the worst", ranking("0:3 1:2 1:1"), 1, "index_repeated"],
    ["an index out of range", odd(3), null, "index_invalid"],
    ["an index below zero", odd(-1), null, "index_invalid"],
    ["a fractional index", odd(1.5), null, "index_invalid"],
    ["an index as text", odd("1"), null, "index_invalid"],
    ["an index that is true", odd(true), null, "index_invalid"],
    ["an index that is null", odd(null), null, "index_invalid"],
    ["a score as text", odd(1, "0.5"), null, "score_invalid"],
    ["no score", odd(1, null), null, "score_invalid"],
    ["a score of true", odd(1, true), null, "score_invalid"],
    // JSON has no NaN: printers make null of it, and a number that is too large becomes infinite
    // when it is read.
    ["a score that is not finite", odd(1, Number.NaN), null, "score_invalid"],
    ["a bad score among the worst", [...ranking("0:3 1:2"), [2, "x"]], 1, "score_invalid"],
  ];
  it.each(wrong)("refuses %s", (_what, ranked, topN, code) =>
    expect(outcome(name, ranked, topN)).toBe(code),
  );

  it("refuses a score beyond a double", () => {
    const text = JSON.stringify(answerOf(name, ranking("0:7 1:1 2:1"))).replace(":7", ":1e999");
    expect(parsed(name, text, canon())).toMatchObject({ kind: "malformed", code: "score_invalid" });
  });

  const foreign: readonly (readonly [unknown, string])[] = [
    ["<html>", "not_json"],
    ["[]", "not_json"],
    ["null", "not_json"],
    [{}, "missing_results"],
    [{ results: null, data: null }, "missing_results"],
    [{ results: { 0: 1 }, data: "x" }, "missing_results"],
    [{ results: [1, 2, 3], data: [null, null, null] }, "index_invalid"],
  ];
  it.each(foreign)("%#: refuses a malformed answer", (answer, code) => {
    expect(parsed(name, answer, canon())).toMatchObject({ kind: "malformed", status: null, code });
  });

  it("refuses invalid UTF-8", () => {
    const result = rerankerOf(name).parseAnswer(
      new AnswerBytes([Uint8Array.of(0x22, 0xff, 0x22)]),
      canon(),
      Object(null),
    );
    expect(result).toMatchObject({ kind: "malformed", code: "not_json" });
  });

  it("reports null for a missing count or model", () => {
    expect(parsed(name, answerOf(name, ranking("0:1 1:1 2:1")), canon())).toMatchObject({
      inputTokens: null,
      searchUnits: null,
      model: null,
    });
  });
});
