import { invalid, type Problem } from "../../problem.ts";
import type { Call } from "../../simulate.ts";
import type { Rendered } from "../protocol.ts";
import { listResults } from "../results.ts";
import { flagsOf, judge, scoresOf, type Judged } from "./verdict.ts";

/** The categories of Mistral's moderation (its reference, "Moderation"). */
const CATEGORIES: readonly string[] = [
  "sexual",
  "hate_and_discrimination",
  "violence_and_threats",
  "dangerous",
  "criminal",
  "selfharm",
  "health",
  "financial",
  "law",
  "pii",
  "jailbreaking",
];

/** Verdicts in Mistral's shape: its own categories, nothing over all of them, and texts only. */
export function renderOther(
  batch: readonly Judged[],
  { model, behaviour, sequence }: Call,
): Rendered | Problem {
  if (model === "") return invalid("model", "Field required", "missing_required_parameter");
  if (batch.some(({ images }) => images.length > 0))
    return invalid("input", "Input should be a valid string");
  const listed = listResults(
    batch.map(({ text }, index) => ({ index, item: text ?? "" })),
    batch.length,
    behaviour,
  );
  if ("status" in listed) return listed;
  const results = listed.map(({ item }, position) => {
    const judged = CATEGORIES.map((category) => [category, judge(item, category)] as const);
    return {
      categories: flagsOf(judged),
      category_scores: scoresOf(judged, behaviour.nan && position === 0),
    };
  });
  return { body: { id: `mod-mock-${sequence}`, model, results } };
}
