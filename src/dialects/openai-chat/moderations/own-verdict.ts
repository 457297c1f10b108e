import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import {
  MODERATION_CATEGORIES,
  type CategoryVerdict,
  type ModerationCategory,
  type ModerationVerdict,
} from "../../../canon/unary.ts";
import type { AnswerFault } from "../../answer-failure.ts";
import { memberIn } from "../../json.ts";
import { categoryRecord, scoreOf } from "./categories.ts";

/** One result of an answer, checked. */
export interface ReadVerdict {
  readonly verdict: ModerationVerdict;
  /** Nothing is missing of what OpenAI's answers have, and nothing has another name. */
  readonly isWhole: boolean;
  /** It has a category that canon cannot hold. */
  readonly hasMore: boolean;
  /** It lacks a verdict of some category of callers. */
  readonly hasUnjudged: boolean;
}

/** Older models do not judge these: `null`, or no member at all (docs/protocols.md#moderations). */
const NULLABLE: ReadonlySet<string> = new Set<ModerationCategory>(["illicit", "illicit/violent"]);

const KNOWN: ReadonlySet<string> = new Set(MODERATION_CATEGORIES);

/**
 * Reads a result in OpenAI's shape. A category besides the known ones is checked like them and left
 * in the answer: the caller speaks the same protocol and gets the answer as it came, so nothing is
 * renamed or lost, and a category that OpenAI adds breaks no client.
 *
 * @param withImages whether images were judged; an answer must then say that they were.
 */
export function readOwnVerdict(result: JsonObject, withImages: boolean): ReadVerdict | AnswerFault {
  const {
    flagged,
    categories,
    category_scores: scores,
    category_applied_input_types: applied,
  } = result;
  if (!isJsonObject(categories) || !isJsonObject(scores)) return "category_missing";
  if (typeof flagged !== "boolean") return "verdict_invalid";
  const reader = new CategoryReader(
    categories,
    scores,
    isJsonObject(applied) ? applied : null,
    withImages,
  );
  const verdict = categoryRecord((name) => reader.read(name));
  const more = [...new Set([...Object.keys(categories), ...Object.keys(scores)])].filter(
    (name) => !KNOWN.has(name),
  );
  for (const name of more) reader.read(name);
  if (reader.fault !== null) return reader.fault;
  // A caller who looks at `flagged` alone would let through what a category says is flagged.
  if (!flagged && reader.anyFlagged) return "verdict_invalid";
  if (withImages && !reader.imagesJudged) return "input_unjudged";
  return {
    verdict: { flagged, categories: verdict },
    isWhole: reader.isWhole,
    hasMore: more.length > 0,
    hasUnjudged: MODERATION_CATEGORIES.some((name) => verdict[name].flagged === null),
  };
}

const UNJUDGED: CategoryVerdict = Object.freeze({ flagged: null, score: null, appliedTo: [] });

class CategoryReader {
  readonly #flags: JsonObject;
  readonly #scores: JsonObject;
  readonly #applied: JsonObject | null;
  readonly #withImages: boolean;
  fault: AnswerFault | null = null;
  anyFlagged = false;
  imagesJudged = false;
  isWhole = true;

  constructor(
    flags: JsonObject,
    scores: JsonObject,
    applied: JsonObject | null,
    withImages: boolean,
  ) {
    this.#flags = flags;
    this.#scores = scores;
    this.#applied = applied;
    this.#withImages = withImages;
  }

  read(name: string): CategoryVerdict {
    const flagged = memberIn(this.#flags, name);
    const score = memberIn(this.#scores, name);
    const appliedTo = this.#appliedTo(name, flagged);
    const known = KNOWN.has(name);
    // Clients demand a number, and the member, where the verdict may be null.
    if (known && (flagged === undefined || typeof score !== "number")) this.isWhole = false;
    if (flagged === true) this.anyFlagged = true;
    if ((NULLABLE.has(name) || !known) && (flagged ?? null) === null)
      return this.#unjudged(score, appliedTo);
    if (flagged === undefined || flagged === null) return this.#fail("category_missing");
    const number = scoreOf(score);
    if (typeof flagged !== "boolean") return this.#fail("verdict_invalid");
    if (number === null) return this.#fail("score_invalid");
    return { flagged, score: number, appliedTo };
  }

  /** A category that the model says nothing of may still have a score, which then has to be one. */
  #unjudged(
    score: JsonValue | undefined,
    appliedTo: CategoryVerdict["appliedTo"],
  ): CategoryVerdict {
    const number = scoreOf(score);
    if (number === null && (score ?? null) !== null) return this.#fail("score_invalid");
    return { flagged: null, score: number, appliedTo };
  }

  #appliedTo(name: string, flagged: JsonValue | undefined): CategoryVerdict["appliedTo"] {
    const types = this.#applied === null ? undefined : memberIn(this.#applied, name);
    if (types === undefined || types === null) {
      if (KNOWN.has(name)) this.isWhole = false;
      // Older models leave it out. They judge text; whether an image was judged has to be said.
      return typeof flagged === "boolean" && !this.#withImages ? TEXT : NONE;
    }
    const inputs: readonly JsonValue[] = Array.isArray(types) ? types : [null];
    const known = inputs.filter((input) => input === "text" || input === "image");
    if (known.length !== inputs.length) this.#fail("verdict_invalid");
    if (known.includes("image")) this.imagesJudged = true;
    return known;
  }

  /** The first fault is the one that is reported. */
  #fail(fault: AnswerFault): CategoryVerdict {
    this.fault ??= fault;
    return UNJUDGED;
  }
}

const TEXT = Object.freeze(["text"] as const);
const NONE = Object.freeze([] as const);
