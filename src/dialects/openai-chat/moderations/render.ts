import { AnswerBytes } from "../../unary/answer-bytes.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { CategoryVerdict, ModerateResult, ModerationVerdict } from "../../../canon/unary/moderate.ts";
import type { AnswerContext } from "../../dialect.ts";
import type { PartEnd, UnaryAnswer } from "../../unary/surface.ts";
import { categoryRecord } from "./categories.ts";

/** OpenAI's answer. One that is already that goes on as it came. */
export function renderModerations(ends: readonly PartEnd[], context: AnswerContext): UnaryAnswer {
  const [end] = ends;
  if (end === undefined || ends.length > 1 || "failure" in end) {
    throw new Error("moderations: an answer of anything but one whole part");
  }
  const { result, bytes } = end;
  if (result.operation !== "moderate") throw new Error("moderations: the result of another operation");
  return {
    bytes: result.isVerbatim ? bytes : new AnswerBytes([encoder.encode(JSON.stringify(printAnswer(result, context)))]),
    dropped: result.hasUnjudged && !result.isVerbatim ? ["categories_unjudged"] : [],
    inputTokens: result.inputTokens,
    gaps: 0,
  };
}

const encoder = new TextEncoder();

function printAnswer(
  { id, model, verdicts }: ModerateResult,
  { answerId, model: fallback }: AnswerContext,
): JsonObject {
  return { id: id ?? `modr-${answerId}`, model: model ?? fallback, results: verdicts.map(printVerdict) };
}

function printVerdict({ flagged, categories }: ModerationVerdict): JsonObject {
  const each = <Value>(read: (verdict: CategoryVerdict) => Value): Readonly<Record<string, Value>> =>
    categoryRecord((name) => read(categories[name]));
  return {
    flagged,
    categories: each((verdict) => verdict.flagged),
    // Clients count on a number; that nothing was judged stands in the other two.
    category_scores: each(({ score }) => score ?? 0),
    category_applied_input_types: each(({ appliedTo }) => appliedTo),
  };
}
