import type { ServiceError } from "../../../canon/error.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { InferenceRequest } from "../../../canon/request.ts";
import type { UnknownFields } from "../../../canon/table.ts";
import { OPENAI_FAMILY } from "../family.ts";
import { refusingUnknown } from "../../fields.ts";
import {
  singlePartTask,
  type PartEnd,
  type UnaryAnswer,
  type UnaryOptions,
  type UnarySurface,
  type UnaryTask,
} from "../../unary/surface.ts";
import {
  MODERATIONS_FIELDS,
  parseModerationsRequest,
  readModerationsRequest,
  strangePartError,
  strangePartMember,
} from "./read-request.ts";
import { verdictsOf } from "./upstream.ts";
import { MODERATION, MODERATIONS_EXAMPLES, MODERATIONS_SCHEMA } from "./schema.ts";
import { AnswerBytes } from "../../unary/answer-bytes.ts";
import type { CategoryVerdict, ModerateResult, ModerationVerdict } from "../../../canon/unary.ts";
import type { AnswerContext } from "../../dialect.ts";
import { categoryRecord } from "./categories.ts";
import { upstreamFor } from "../../exchange-plan.ts";

/** Moderations for clients: OpenAI's request and answer (docs/protocols.md#moderations). */
export const moderationsSurface: UnarySurface = {
  kind: "unary",
  dialect: "openai-chat",
  parse: parseModerationsRequest,
  refuseUnknown,
  open: openModerations,
  family: OPENAI_FAMILY,
  contract: { body: MODERATIONS_SCHEMA, answer: MODERATION, examples: MODERATIONS_EXAMPLES },
};

const refuseUnknownFields = refusingUnknown(MODERATIONS_FIELDS, "moderations");

function refuseUnknown(body: JsonObject, mode: UnknownFields): ServiceError | null {
  const unknown = refuseUnknownFields(body, mode);
  if (unknown !== null || mode !== "reject") return unknown;
  const strange = strangePartMember(body["input"]);
  return strange === null ? null : strangePartError(strange);
}

function openModerations(
  { body }: InferenceRequest,
  options: UnaryOptions,
): UnaryTask | ServiceError {
  const read = readModerationsRequest(body, options.unknownFields, options.edits);
  if ("code" in read) return read;
  const inputs = verdictsOf(read.request.input);
  return singlePartTask(
    read,
    inputs,
    options.targets,
    ({ endpoint }) => upstreamFor("moderate", endpoint.dialect),
    renderModerations,
  );
}

/** OpenAI's answer. One that is already that goes on as it came. */
function renderModerations(ends: readonly PartEnd[], context: AnswerContext): UnaryAnswer {
  const [end] = ends;
  if (end === undefined || ends.length > 1 || "failure" in end) {
    throw new Error("moderations: an answer of anything but one whole part");
  }
  const { result, bytes } = end;
  if (result.operation !== "moderate")
    throw new Error("moderations: the result of another operation");
  return {
    bytes: result.isVerbatim
      ? bytes
      : new AnswerBytes([encoder.encode(JSON.stringify(printAnswer(result, context)))]),
    dropped: result.hasUnjudged && !result.isVerbatim ? ["categories_unjudged"] : [],
    gaps: 0,
  };
}

const encoder = new TextEncoder();

function printAnswer(
  { id, model, verdicts }: ModerateResult,
  { answerId, model: fallback }: AnswerContext,
): JsonObject {
  return {
    id: id ?? `modr-${answerId}`,
    model: model ?? fallback,
    results: verdicts.map(printVerdict),
  };
}

function printVerdict({ flagged, categories }: ModerationVerdict): JsonObject {
  const each = <Value>(
    read: (verdict: CategoryVerdict) => Value,
  ): Readonly<Record<string, Value>> => categoryRecord((name) => read(categories[name]));
  return {
    flagged,
    categories: each((verdict) => verdict.flagged),
    // Clients count on a number; that nothing was judged stands in the other two.
    category_scores: each(({ score }) => score ?? 0),
    category_applied_input_types: each(({ appliedTo }) => appliedTo),
  };
}
