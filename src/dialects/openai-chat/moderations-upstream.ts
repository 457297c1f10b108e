import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import {
  MODERATION_CATEGORIES,
  type CategoryMapping,
  type CategoryVerdict,
  type ModerateRequest,
  type ModerateResult,
  type ModerationCategory,
  type ModerationVerdict,
} from "../../canon/unary.ts";
import { faultyAnswer, type AnswerFault } from "../answer-ends.ts";
import type { UnaryUpstream } from "../dialect.ts";
import { listOf, memberIn, parseAnswerBytes, textIn, textOf } from "../json.ts";
import { shownName } from "../request-reading.ts";
import { hasOneMeaning } from "../unary/one-meaning.ts";
import { deploymentPath } from "./family.ts";
import { failureIn, readChatError, readUsage } from "./read-answer.ts";

const decoder = new TextDecoder();

/**
 * Moderations of providers of chat completions: OpenAI's request, and OpenAI's answer or one with
 * the model's own categories.
 */
export const moderationsUpstream: UnaryUpstream<ModerateRequest, ModerateResult> = {
  format: ({ input, extras }, target) => {
    // Parts are judged together. A model with its own categories judges text alone, and a list
    // item by item, so it gets them as one text.
    const parts =
      target.model.moderationCategories === null ? [] : listOf(input).filter(isJsonObject);
    const refusal = parts.map(refusePart).find((error) => error !== null);
    if (refusal !== undefined) return refusal;
    const joined = parts.map(({ text }) => textOf(text)).join("\n");
    return {
      path: deploymentPath("/moderations", target),
      body: {
        ...extras,
        model: target.endpoint.upstreamModel,
        input: parts.length > 0 ? joined : input,
      },
      dropped: parts.length > 1 ? ["text_parts_joined"] : [],
    };
  },
  parseAnswer: ({ whole: bytes }, { input }, { model }) => {
    const answer = parseAnswerBytes(bytes);
    if (!isJsonObject(answer)) return faultyAnswer("not_json");
    const failure = failureIn(answer);
    if (failure !== null) return failure;
    const verdicts = readVerdicts(answer.results, input, model.moderationCategories);
    if (typeof verdicts === "string") return faultyAnswer(verdicts);
    const id = textIn(answer, "id");
    const name = textIn(answer, "model");
    const isWhole = id !== null && name !== null && verdicts.every((verdict) => verdict.isWhole);
    const isVerbatim = isWhole && hasOneMeaning(decoder.decode(bytes));
    // A rewritten answer has the categories of canon only; others must not be lost silently.
    if (!isVerbatim && verdicts.some(({ hasMore }) => hasMore))
      return faultyAnswer("category_unknown");
    return {
      operation: "moderate",
      verdicts,
      id,
      model: name,
      inputTokens: readUsage(answer)?.input ?? null,
      hasUnjudged: verdicts.some(({ hasUnjudged }) => hasUnjudged),
      isVerbatim,
    };
  },
  readError: readChatError,
};

/** The 400 for a part that is not text alone; `null` for one that is. */
function refusePart(part: JsonObject, index: number): ServiceError | null {
  const path = `input[${index}]`;
  const [code, rule] =
    part.type === "text"
      ? [
          "unknown_field",
          "has members that cannot be forwarded: an endpoint that may get the request is sent its text only",
        ]
      : [
          "capability_not_supported",
          "is an image, and an endpoint that may get the request judges text only",
        ];
  return part.type === "text" && unknownMemberOf(part, path) === null
    ? null
    : invalidRequest(code, `${path} ${rule}`, path);
}

/**
 * Path of the first unknown member of a part, or of the image in it; `null` where there is none.
 * Null counts as absent.
 */
export function unknownMemberOf(part: JsonMember, path: string, isImage = false): string | null {
  if (!isJsonObject(part)) return null;
  const content = part.type === "text" ? "text" : "image_url";
  const members = isImage ? ["url"] : ["type", content];
  const name = Object.keys(part).find((one) => !members.includes(one) && part[one] != null);
  if (name !== undefined) return `${path}.${shownName(name)}`;
  return isImage ? null : unknownMemberOf(part.image_url, `${path}.image_url`, true);
}

function readVerdicts(
  results: JsonMember,
  input: JsonValue,
  mapping: CategoryMapping | null,
): readonly ReadVerdict[] | AnswerFault {
  if (!Array.isArray(results)) return "missing_results";
  if (results.length !== verdictsOf(input)) return "result_count";
  const withImages = listOf(input).some((part) => memberIn(part, "type") === "image_url");
  const verdicts: ReadVerdict[] = [];
  for (const item of listOf(results)) {
    const result = isJsonObject(item) ? item : {};
    const read =
      mapping === null ? readOwnVerdict(result, withImages) : readMappedVerdict(result, mapping);
    if (typeof read === "string") return read;
    verdicts.push(read);
  }
  return verdicts;
}

/** One for each text, one for all parts together. */
export function verdictsOf(input: JsonValue): number {
  return Array.isArray(input) && typeof input[0] === "string" ? input.length : 1;
}

/**
 * Reads a result whose categories are the model's own (Mistral's shape), by the mapping that
 * routes.yaml declares. Both have to have the same categories: one that is not declared would be
 * dropped in silence, one that is missing would read as harmless. Each category of callers is
 * flagged where one that counts for it is, with the largest of their scores; one without any is
 * written as OpenAI writes categories that it did not judge.
 */
function readMappedVerdict(
  result: JsonObject,
  mapping: CategoryMapping,
): ReadVerdict | AnswerFault {
  const { categories, category_scores: scores } = result;
  if (!isJsonObject(categories) || !isJsonObject(scores)) return "category_missing";
  const names = [...Object.keys(categories), ...Object.keys(scores)];
  if (names.some((name) => !Object.hasOwn(mapping, name))) return "category_unknown";
  const judged = new Map<ModerationCategory, { flagged: boolean; score: number }>();
  for (const [name, targets] of Object.entries(mapping)) {
    const flagged = memberIn(categories, name);
    const score = scoreOf(memberIn(scores, name));
    if (flagged == null) return "category_missing";
    if (typeof flagged !== "boolean") return "verdict_invalid";
    if (score === null) return "score_invalid";
    for (const category of targets) {
      const before = judged.get(category);
      judged.set(category, {
        flagged: flagged || before?.flagged === true,
        score: Math.max(score, before?.score ?? 0),
      });
    }
  }
  const verdicts = MODERATION_CATEGORIES.map((name): readonly [string, CategoryVerdict] => {
    const judgement = judged.get(name);
    return [name, judgement === undefined ? UNMAPPED : { ...judgement, appliedTo: TEXT_ONLY }];
  });
  return {
    flagged: verdicts.some(([, { flagged }]) => flagged),
    categories: Object.fromEntries(verdicts),
    isWhole: false,
    hasMore: false,
    hasUnjudged: judged.size < MODERATION_CATEGORIES.length,
  };
}

const TEXT_ONLY = ["text"] as const;
const UNMAPPED: CategoryVerdict = { flagged: false, score: 0, appliedTo: [] };

/** One result of an answer, checked. */
interface ReadVerdict extends ModerationVerdict {
  /** It has every member of OpenAI's answers, under the same names. */
  readonly isWhole: boolean;
  /** It has a category that canon cannot hold. */
  readonly hasMore: boolean;
  /** It lacks a verdict of some category of callers. */
  readonly hasUnjudged: boolean;
}

/** Older models do not judge these: `null`, or no member at all (docs/protocols.md#moderations). */
const NULLABLE: ReadonlySet<string> = new Set<ModerationCategory>(["illicit", "illicit/violent"]);

const CATEGORIES: ReadonlySet<string> = new Set(MODERATION_CATEGORIES);

/**
 * Reads a result in OpenAI's shape. An unknown category is checked like the known ones and stays in
 * the answer: the caller gets the answer unchanged, so that a category that OpenAI adds breaks no
 * client.
 *
 * @param withImages whether images were sent; the answer must name them as judged.
 */
function readOwnVerdict(result: JsonObject, withImages: boolean): ReadVerdict | AnswerFault {
  const { flagged, categories: flags, category_scores: scores } = result;
  if (!isJsonObject(flags) || !isJsonObject(scores)) return "category_missing";
  if (typeof flagged !== "boolean") return "verdict_invalid";
  const names = new Set([...MODERATION_CATEGORIES, ...Object.keys(flags), ...Object.keys(scores)]);
  const categories: Record<string, CategoryVerdict> = {};
  const read: CategoryVerdict[] = [];
  let isWhole = true;
  for (const name of names) {
    const score = memberIn(scores, name);
    const types = memberIn(result.category_applied_input_types, name);
    const verdict = readCategory(name, memberIn(flags, name), score, types, withImages);
    if (typeof verdict === "string") return verdict;
    read.push(verdict);
    if (!CATEGORIES.has(name)) continue;
    categories[name] = verdict;
    // Clients demand a number, and the member, where the verdict may be null.
    isWhole &&= Object.hasOwn(flags, name) && typeof score === "number" && types != null;
  }
  // A caller who reads `flagged` alone would accept a flagged category.
  if (!flagged && read.some((verdict) => verdict.flagged)) return "verdict_invalid";
  if (withImages && !read.some(({ appliedTo }) => appliedTo.includes("image")))
    return "input_unjudged";
  return {
    flagged,
    categories,
    isWhole,
    hasMore: names.size > CATEGORIES.size,
    hasUnjudged: Object.values(categories).some((verdict) => verdict.flagged === null),
  };
}

function readCategory(
  name: string,
  flag: JsonMember,
  score: JsonMember,
  types: JsonMember,
  withImages: boolean,
): CategoryVerdict | AnswerFault {
  // Older models leave the types out. They judge text; a judged image must be named.
  const implied = typeof flag === "boolean" && !withImages ? TEXT_ONLY : [];
  const inputTypes: readonly JsonValue[] = types == null ? implied : listOf(types);
  const appliedTo = inputTypes.filter((input) => input === "text" || input === "image");
  if (appliedTo.length < inputTypes.length || (types != null && !Array.isArray(types)))
    return "verdict_invalid";
  const number = scoreOf(score);
  if (flag == null) {
    if (CATEGORIES.has(name) && !NULLABLE.has(name)) return "category_missing";
    // A category without a verdict may still have a score, which then must be valid.
    return number === null && score != null
      ? "score_invalid"
      : { flagged: null, score: number, appliedTo };
  }
  if (typeof flag !== "boolean") return "verdict_invalid";
  return number === null ? "score_invalid" : { flagged: flag, score: number, appliedTo };
}

/** A score as all protocols have it, 0 to 1; `null` for anything else. */
function scoreOf(value: JsonMember) {
  return typeof value === "number" && value >= 0 && value <= 1 ? value : null;
}
