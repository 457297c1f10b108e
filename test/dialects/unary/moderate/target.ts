import type { ServiceError } from "../../../../src/canon/error.ts";
import type { JsonObject, JsonValue } from "../../../../src/canon/json.ts";
import type { InferenceRequest } from "../../../../src/canon/request.ts";
import type { UnknownFields } from "../../../../src/canon/table.ts";
import { MODERATION_CATEGORIES, type CategoryMapping } from "../../../../src/canon/unary.ts";
import type { Target, UnaryResult } from "../../../../src/dialects/dialect.ts";
import { moderationsSurface } from "../../../../src/dialects/openai-chat/moderations-surface.ts";
import { AnswerBytes } from "../../../../src/dialects/unary/answer-bytes.ts";
import type { UnaryAnswer, UnaryTask } from "../../../../src/dialects/unary/surface.ts";
import { NO_EDITS, NO_HEADERS, contextOf, targetOf } from "../../../support/dialects.ts";
import { model } from "../../../support/table.ts";

/** As Mistral's categories may be declared: two count for several, three for none. */
export const MAPPING: CategoryMapping = {
  sexual: ["sexual"],
  hate_and_discrimination: ["hate", "harassment"],
  violence_and_threats: ["violence", "harassment/threatening", "harassment"],
  dangerous_and_criminal_content: ["illicit"],
  selfharm: ["self-harm"],
  health: [],
  financial: [],
  law: [],
  pii: [],
};

export const plainTarget: Target = targetOf("openai-chat");
export const mappedTarget: Target = {
  ...plainTarget,
  model: model("m", { moderationCategories: MAPPING }),
};

export function parsed(body: JsonObject): InferenceRequest {
  const request = moderationsSurface.parse(body, 100, NO_HEADERS);
  if ("code" in request) throw new Error(request.message);
  return request;
}

export function opened(
  body: JsonObject,
  target = plainTarget,
  unknownFields: UnknownFields = "reject",
): UnaryTask {
  const task = tried(body, target, unknownFields);
  if ("code" in task) throw new Error(task.message);
  return task;
}

export function tried(
  body: JsonObject,
  target = plainTarget,
  unknownFields: UnknownFields = "reject",
): UnaryTask | ServiceError {
  const options = { unknownFields, edits: NO_EDITS, targets: [target], maxBatchSize: null };
  return moderationsSurface.open(parsed(body), options);
}

/** What goes upstream. */
export function sent(
  task: UnaryTask,
  target = plainTarget,
): { readonly path: string; readonly body: JsonValue } {
  const call = task.parts[0]?.callTo(target);
  if (call === undefined) throw new Error("no part");
  return { path: call.path, body: JSON.parse(call.body) };
}

export function bytesOf(answer: unknown): Uint8Array {
  return new TextEncoder().encode(typeof answer === "string" ? answer : JSON.stringify(answer));
}

/** What is made of an upstream's answer: the checked result, or the code of the failure. */
export function read(
  body: JsonObject,
  answer: unknown,
  target = plainTarget,
): UnaryResult | string {
  const result = opened(body, target)
    .parts[0]?.callTo(target)
    .read(new AnswerBytes([bytesOf(answer)]));
  if (result === undefined) throw new Error("no part");
  return "kind" in result ? `${result.kind} ${result.code}` : result;
}

export function answered(body: JsonObject, answer: unknown, target = plainTarget): UnaryAnswer {
  const task = opened(body, target);
  const result = read(body, answer, target);
  if (typeof result === "string") throw new Error(result);
  return task.answer(
    [{ result, bytes: new AnswerBytes([bytesOf(answer)]) }],
    contextOf(parsed(body)),
  );
}

export function textOf(answer: UnaryAnswer): string {
  return new TextDecoder().decode(answer.bytes.whole);
}

export function jsonOf(answer: UnaryAnswer): JsonObject {
  return JSON.parse(textOf(answer));
}

type Members = Record<string, unknown>;

/** A result as OpenAI's newest model gives it, changed by a test. */
export function ownResult(
  change: (result: Record<string, Members>) => void = () => {},
  flagged: unknown = false,
): object {
  const each = (value: unknown): Members =>
    Object.fromEntries(MODERATION_CATEGORIES.map((name) => [name, structuredClone(value)]));
  const members = {
    categories: each(false),
    category_scores: each(0.25),
    category_applied_input_types: each(["text"]),
  };
  change(members);
  return { flagged, ...members };
}

export function ownAnswer(...results: readonly unknown[]): Members {
  return { id: "modr-1", model: "omni-moderation-latest", results };
}

/** A result in Mistral's shape. */
export function mappedResult(
  change: (result: { categories: Members; category_scores: Members }) => void = () => {},
): object {
  const each = (value: unknown): Members =>
    Object.fromEntries(Object.keys(MAPPING).map((name) => [name, value]));
  const members = { categories: each(false), category_scores: each(0.125) };
  change(members);
  return members;
}
