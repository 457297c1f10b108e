import { isJsonObject, type JsonObject } from "../../../canon/json.ts";
import {
  MODERATION_CATEGORIES,
  type CategoryMapping,
  type CategoryVerdict,
  type ModerationCategory,
} from "../../../canon/unary/moderate.ts";
import type { AnswerFault } from "../../translation/answer-failure.ts";
import { memberIn } from "../../answer-members.ts";
import { categoryRecord, scoreOf } from "./categories.ts";
import type { ReadVerdict } from "./own-verdict.ts";

interface Judged {
  flagged: boolean;
  score: number;
}

/**
 * Reads a result whose categories are the model's own (Mistral's shape), by the mapping that routes.yaml declares. Both have to have the same
 * categories: one that is not declared would be dropped in silence, one that is missing would read as harmless.
 * Each category of callers is flagged where one that counts for it is, with the largest of their scores; one that nothing counts for is said as
 * OpenAI says it of those that it did not judge.
 */
export function readMappedVerdict(result: JsonObject, mapping: CategoryMapping): ReadVerdict | AnswerFault {
  const { categories, category_scores: scores } = result;
  if (!isJsonObject(categories) || !isJsonObject(scores)) return "category_missing";
  const named = [...Object.keys(categories), ...Object.keys(scores)];
  if (named.some((name) => !Object.hasOwn(mapping, name))) return "category_unknown";
  const judged = new Map<ModerationCategory, Judged>();
  for (const [name, counted] of Object.entries(mapping)) {
    const flagged = memberIn(categories, name);
    const score = scoreOf(memberIn(scores, name));
    if (flagged === undefined || flagged === null) return "category_missing";
    if (typeof flagged !== "boolean") return "verdict_invalid";
    if (score === null) return "score_invalid";
    for (const category of counted) {
      const before = judged.get(category);
      judged.set(category, {
        flagged: flagged || before?.flagged === true,
        score: Math.max(score, before?.score ?? 0),
      });
    }
  }
  const verdicts = categoryRecord((name): CategoryVerdict => {
    const found = judged.get(name);
    return found === undefined ? UNMAPPED : { ...found, appliedTo: TEXT };
  });
  const flagged = [...judged.values()].some((verdict) => verdict.flagged);
  const hasUnjudged = judged.size < MODERATION_CATEGORIES.length;
  return { verdict: { flagged, categories: verdicts }, isWhole: false, hasMore: false, hasUnjudged };
}

const TEXT = Object.freeze(["text"] as const);
const UNMAPPED: CategoryVerdict = Object.freeze({ flagged: false, score: 0, appliedTo: Object.freeze([]) });
