import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
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
  type ModerationInput,
  type ModerationPart,
  type ModerationVerdict,
} from "../../canon/unary.ts";
import { faultyAnswer, type AnswerFault } from "../answer-ends.ts";
import type { FormattedRequest, Target, UnaryUpstream } from "../dialect.ts";
import { memberIn, parseAnswerBytes, textIn } from "../json.ts";
import { failureIn, readChatError, readUsage } from "./read-answer.ts";
import { deploymentPath } from "./family.ts";
import type { AnswerBytes } from "../unary/answer-bytes.ts";
import { hasOneMeaning } from "../unary/one-meaning.ts";

const PATH = "/moderations";

const decoder = new TextDecoder();

/**
 * Moderations of providers of chat completions: OpenAI's request, and OpenAI's answer or one with
 * the model's own categories.
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

/** Unchanged. */
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

/** Models with their own categories accept text only. */
function refuseImages(input: ModerationInput): ServiceError | null {
  const image = input.kind === "parts" ? input.parts.findIndex(({ type }) => type === "image") : -1;
  if (image === -1) return null;
  const path = `input[${image}]`;
  const message = `${path} is an image, and an endpoint that may get the request judges text only`;
  return invalidRequest("capability_not_supported", message, path);
}

/** Parts that become one text lose their other members. */
function refuseForwarded(input: ModerationInput): ServiceError | null {
  const part =
    input.kind === "parts" ? input.parts.findIndex(({ forwarded }) => forwarded !== null) : -1;
  if (part === -1) return null;
  const path = `input[${part}]`;
  const message = `${path} has members that cannot be forwarded: an endpoint that may get the request is sent its text only`;
  return invalidRequest("unknown_field", message, path);
}

/** Parts are judged together, so they are sent as one text: a list would be judged item by item. */
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
    verdicts: verdicts.map(({ verdict }) => verdict),
    id,
    model: name,
    inputTokens: readUsage(answer)?.input ?? null,
    hasUnjudged: verdicts.some(({ hasUnjudged }) => hasUnjudged),
    isVerbatim,
  };
}

function readVerdicts(
  results: JsonMember,
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
  const named = [...Object.keys(categories), ...Object.keys(scores)];
  if (named.some((name) => !Object.hasOwn(mapping, name))) return "category_unknown";
  const judged = new Map<ModerationCategory, { flagged: boolean; score: number }>();
  for (const [name, counted] of Object.entries(mapping)) {
    const flagged = memberIn(categories, name);
    const score = scoreOf(memberIn(scores, name));
    if (flagged == null) return "category_missing";
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

/** One result of an answer, checked. */
interface ReadVerdict {
  readonly verdict: ModerationVerdict;
  /** It has every member of OpenAI's answers, under the same names. */
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
 * Reads a result in OpenAI's shape. An unknown category is checked like the known ones and stays in
 * the answer: the caller gets the answer unchanged, so that a category that OpenAI adds breaks no
 * client.
 *
 * @param withImages whether images were sent; the answer must name them as judged.
 */
function readOwnVerdict(result: JsonObject, withImages: boolean): ReadVerdict | AnswerFault {
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
  // A caller who reads `flagged` alone would accept a flagged category.
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
    if ((NULLABLE.has(name) || !known) && flagged == null) return this.#unjudged(score, appliedTo);
    if (flagged == null) return this.#fail("category_missing");
    const number = scoreOf(score);
    if (typeof flagged !== "boolean") return this.#fail("verdict_invalid");
    if (number === null) return this.#fail("score_invalid");
    return { flagged, score: number, appliedTo };
  }

  /** A category without a verdict may still have a score, which then must be valid. */
  #unjudged(score: JsonMember, appliedTo: CategoryVerdict["appliedTo"]): CategoryVerdict {
    const number = scoreOf(score);
    if (number === null && score != null) return this.#fail("score_invalid");
    return { flagged: null, score: number, appliedTo };
  }

  #appliedTo(name: string, flagged: JsonMember): CategoryVerdict["appliedTo"] {
    const types = this.#applied === null ? undefined : memberIn(this.#applied, name);
    if (types == null) {
      if (KNOWN.has(name)) this.isWhole = false;
      // Older models leave it out. They judge text; a judged image must be named.
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

const NONE = Object.freeze([] as const);

/** One value for each category of callers, in the order of OpenAI's specification. */
export function categoryRecord<Value>(
  make: (name: ModerationCategory) => Value,
): Readonly<Record<ModerationCategory, Value>> {
  return {
    harassment: make("harassment"),
    "harassment/threatening": make("harassment/threatening"),
    hate: make("hate"),
    "hate/threatening": make("hate/threatening"),
    illicit: make("illicit"),
    "illicit/violent": make("illicit/violent"),
    "self-harm": make("self-harm"),
    "self-harm/intent": make("self-harm/intent"),
    "self-harm/instructions": make("self-harm/instructions"),
    sexual: make("sexual"),
    "sexual/minors": make("sexual/minors"),
    violence: make("violence"),
    "violence/graphic": make("violence/graphic"),
  };
}

/** A score as all protocols have it, 0 to 1; `null` for anything else. */
function scoreOf(value: JsonMember): number | null {
  return typeof value === "number" && value >= 0 && value <= 1 ? value : null;
}
