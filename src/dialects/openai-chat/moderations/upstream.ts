import type { AnswerBytes } from "../../unary/answer-bytes.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { UpstreamFailure } from "../../../canon/failure.ts";
import type { DroppedField } from "../../../canon/generate/edit.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import {
  MODERATION_CATEGORIES,
  type CategoryMapping,
  type CategoryVerdict,
  type ModerateRequest,
  type ModerateResult,
  type ModerationCategory,
  type ModerationInput,
  type ModerationPart,
} from "../../../canon/unary.ts";
import type { FormattedRequest, Target } from "../../dialect.ts";
import { parseAnswerBytes, textIn, memberIn } from "../../json.ts";
import { deploymentPath } from "../family.ts";
import { readChatError, failureIn } from "../read-error.ts";
import { readUsage } from "../finish.ts";
import { faultyAnswer, type AnswerFault } from "../../answer-failure.ts";
import { hasOneMeaning } from "../../unary/one-meaning.ts";
import type { UnaryUpstream } from "../../unary/surface.ts";
import { readOwnVerdict, type ReadVerdict } from "./own-verdict.ts";
import { categoryRecord, scoreOf } from "./categories.ts";

const PATH = "/moderations";

const decoder = new TextDecoder();

/**
 * Moderations as providers serve them beside chat completions: OpenAI's request; OpenAI's answer,
 * or one with categories of the model's own.
 */
export const moderationsUpstream: UnaryUpstream<ModerateRequest, ModerateResult> = {
  format: formatModerations,
  parseAnswer: parseModerations,
  readError: readChatError,
};

function formatModerations(
  { input, extras }: ModerateRequest,
  target: Target,
): FormattedRequest | ServiceError {
  const dropped: DroppedField[] = [];
  const mapped = target.model.moderationCategories !== null;
  const refusal = mapped ? (refuseImages(input) ?? refuseForwarded(input)) : null;
  if (refusal !== null) return refusal;
  const printed = mapped ? printTexts(input, dropped) : printInput(input);
  const body: JsonObject = { ...extras, model: target.endpoint.upstreamModel, input: printed };
  return { path: deploymentPath(PATH, target), body, headers: [], dropped };
}

type Printed = string | readonly JsonValue[];

/** As the caller wrote it. */
function printInput(input: ModerationInput): Printed {
  switch (input.kind) {
    case "text":
      return input.text;
    case "texts":
      return input.texts;
    case "parts":
      return input.parts.map(printPart);
  }
}

function printPart(part: ModerationPart): JsonObject {
  if (part.forwarded !== null) return part.forwarded;
  return part.type === "text"
    ? { type: "text", text: part.text }
    : { type: "image_url", image_url: { url: part.url } };
}

/** Models with categories of their own take texts only. */
function refuseImages(input: ModerationInput): ServiceError | null {
  const image = input.kind === "parts" ? input.parts.findIndex(({ type }) => type === "image") : -1;
  if (image === -1) return null;
  const path = `input[${image}]`;
  const message = `${path} is an image, and an endpoint that may get the request judges text only`;
  return invalidRequest("capability_not_supported", message, path);
}

/** Of parts that become one text nothing but their texts is left. */
function refuseForwarded(input: ModerationInput): ServiceError | null {
  const part =
    input.kind === "parts" ? input.parts.findIndex(({ forwarded }) => forwarded !== null) : -1;
  if (part === -1) return null;
  const path = `input[${part}]`;
  const message = `${path} has members that cannot be forwarded: an endpoint that may get the request is sent its text only`;
  return invalidRequest("unknown_field", message, path);
}

/** Parts are judged together, so they go as one text: a list would be judged one by one. */
function printTexts(input: ModerationInput, dropped: DroppedField[]): Printed {
  if (input.kind !== "parts") return printInput(input);
  if (input.parts.length > 1) dropped.push("text_parts_joined");
  return input.parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}

function parseModerations(
  { whole: bytes }: AnswerBytes,
  { input }: ModerateRequest,
  { model }: Target,
): ModerateResult | UpstreamFailure {
  const answer = parseAnswerBytes(bytes);
  if (!isJsonObject(answer)) return faultyAnswer("not_json");
  const failure = failureIn(answer);
  if (failure !== null) return failure;
  const verdicts = readVerdicts(answer["results"], input, model.moderationCategories);
  if (typeof verdicts === "string") return faultyAnswer(verdicts);
  const id = textIn(answer, "id");
  const name = textIn(answer, "model");
  const isWhole = id !== null && name !== null && verdicts.every((verdict) => verdict.isWhole);
  const isVerbatim = isWhole && hasOneMeaning(decoder.decode(bytes));
  // Printed anew, an answer has the categories of canon only; another one must not get lost on the
  // way.
  if (!isVerbatim && verdicts.some(({ hasMore }) => hasMore))
    return faultyAnswer("category_unknown");
  return {
    operation: "moderate",
    verdicts: verdicts.map(({ verdict }) => verdict),
    id,
    model: name,
    inputTokens: readUsage(answer)?.input ?? null,
    hasUnjudged: verdicts.some(({ hasUnjudged }) => hasUnjudged),
    isVerbatim,
  };
}

function readVerdicts(
  results: JsonValue | undefined,
  input: ModerationInput,
  mapping: Target["model"]["moderationCategories"],
): readonly ReadVerdict[] | AnswerFault {
  if (!Array.isArray(results)) return "missing_results";
  const items: readonly JsonValue[] = results;
  if (items.length !== verdictsOf(input)) return "result_count";
  const withImages = input.kind === "parts" && input.parts.some(({ type }) => type === "image");
  const verdicts: ReadVerdict[] = [];
  for (const item of items) {
    const result = isJsonObject(item) ? item : NOTHING;
    const read =
      mapping === null ? readOwnVerdict(result, withImages) : readMappedVerdict(result, mapping);
    if (typeof read === "string") return read;
    verdicts.push(read);
  }
  return verdicts;
}

const NOTHING: JsonObject = Object.freeze({});

/** One for each text, one for all parts together. */
export function verdictsOf(input: ModerationInput): number {
  return input.kind === "texts" ? input.texts.length : 1;
}

interface Judged {
  flagged: boolean;
  score: number;
}

/**
 * Reads a result whose categories are the model's own (Mistral's shape), by the mapping that
 * routes.yaml declares. Both have to have the same categories: one that is not declared would be
 * dropped in silence, one that is missing would read as harmless. Each category of callers is
 * flagged where one that counts for it is, with the largest of their scores; one that nothing
 * counts for is said as OpenAI says it of those that it did not judge.
 */
function readMappedVerdict(
  result: JsonObject,
  mapping: CategoryMapping,
): ReadVerdict | AnswerFault {
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
  return {
    verdict: { flagged, categories: verdicts },
    isWhole: false,
    hasMore: false,
    hasUnjudged,
  };
}

const TEXT = Object.freeze(["text"] as const);
const UNMAPPED: CategoryVerdict = Object.freeze({
  flagged: false,
  score: 0,
  appliedTo: Object.freeze([]),
});
