import type { RequestEdits } from "../../../../src/canon/decision.ts";
import type { ServiceError } from "../../../../src/canon/error.ts";
import type { UpstreamFailure } from "../../../../src/canon/failure.ts";
import type { JsonObject } from "../../../../src/canon/json.ts";
import type { InferenceRequest } from "../../../../src/canon/request.ts";
import type { UnknownFields } from "../../../../src/canon/table.ts";
import type { RerankRequest, RerankResult } from "../../../../src/canon/unary.ts";
import { rerankSurface } from "../../../../src/dialects/cohere-chat/rerank-surface.ts";
import type { Target, UnaryUpstream } from "../../../../src/dialects/dialect.ts";
import { upstreamFor } from "../../../../src/dialects/exchange-plan.ts";
import type { DialectName } from "../../../../src/dialects/table.ts";
import { AnswerBytes } from "../../../../src/dialects/unary/answer-bytes.ts";
import type { UnaryAnswer, UnaryTask } from "../../../../src/dialects/unary/surface.ts";
import { NO_EDITS, NO_HEADERS, contextOf } from "../../../support/dialects.ts";
import { endpoint, model, provider } from "../../../support/table.ts";

/** Every protocol that ranks, by the names that tests call it. */
export const TARGETS = {
  cohere: { dialect: "cohere-chat", flags: [], upstreamModel: "rerank-v3.5" },
  invoke: {
    dialect: "cohere-chat",
    flags: ["bedrock_invoke"],
    upstreamModel: "cohere.rerank-v3-5:0",
  },
  jina: { dialect: "openai-chat", flags: [], upstreamModel: "jina-reranker-v3" },
  voyage: { dialect: "voyage", flags: [], upstreamModel: "rerank-2.5" },
  bedrock: {
    dialect: "bedrock-rerank",
    flags: [],
    upstreamModel: "arn:aws:bedrock:r::foundation-model/m",
  },
} as const satisfies Record<
  string,
  { dialect: DialectName; flags: readonly string[]; upstreamModel: string }
>;

export type TargetName = keyof typeof TARGETS;

export const TARGET_NAMES: readonly TargetName[] = [
  "cohere",
  "invoke",
  "jina",
  "voyage",
  "bedrock",
];

/** An endpoint of the protocol; its id is the target's name. */
export function targetOf(
  name: TargetName,
  apiVersion: string | null = null,
  moreFlags: readonly string[] = [],
): Target {
  const { dialect, flags, upstreamModel } = TARGETS[name];
  return {
    endpoint: endpoint(name, { dialect, upstreamModel }),
    model: model("m", { operations: ["rerank"], capabilities: [] }),
    provider: provider("p", { dialect, flags: [...flags, ...moreFlags], apiVersion }),
  };
}

export function rerankerOf(name: TargetName): UnaryUpstream<RerankRequest, RerankResult> {
  return upstreamFor("rerank", TARGETS[name].dialect);
}

export function canon(more: Partial<RerankRequest> = {}): RerankRequest {
  return {
    query: "q",
    documents: ["a", "b", "c"],
    topN: null,
    maxTokensPerDocument: null,
    mayTruncate: null,
    priority: null,
    extras: {},
    ...more,
  };
}

const encoder = new TextEncoder();

export function bytesOf(answer: unknown): Uint8Array {
  return encoder.encode(typeof answer === "string" ? answer : JSON.stringify(answer));
}

/** Results as an upstream gives them: an index and a score each, or what replaces them. */
export type Ranked = readonly (readonly [unknown, unknown])[];

/** An answer that ranks, in the members of each protocol. */
export function answerOf(name: TargetName, ranked: Ranked): JsonObject {
  const score = name === "bedrock" ? "relevanceScore" : "relevance_score";
  const list = ranked.map(([index, value]) => ({
    index,
    [score]: value,
  })) as unknown as JsonObject[];
  return { [name === "voyage" ? "data" : "results"]: list };
}

export function parsed(
  name: TargetName,
  answer: unknown,
  request: RerankRequest,
): RerankResult | UpstreamFailure {
  return rerankerOf(name).parseAnswer(new AnswerBytes([bytesOf(answer)]), request, targetOf(name));
}

export function read(body: JsonObject): InferenceRequest | ServiceError {
  return rerankSurface.parse(body, JSON.stringify(body).length, NO_HEADERS);
}

export function accepted(body: JsonObject): InferenceRequest {
  const request = read(body);
  if ("code" in request) throw new Error(request.message);
  return request;
}

export function opened(
  body: JsonObject,
  names: readonly TargetName[],
  unknownFields: UnknownFields = "reject",
  edits: RequestEdits = NO_EDITS,
): UnaryTask | ServiceError {
  const targets = names.map((name) => targetOf(name));
  return rerankSurface.open(accepted(body), { unknownFields, edits, targets, maxBatchSize: null });
}

export function task(...options: Parameters<typeof opened>): UnaryTask {
  const made = opened(...options);
  if ("code" in made) throw new Error(made.message);
  return made;
}

/** What is sent to a target. */
export function sent(
  made: UnaryTask,
  name: TargetName,
): { readonly path: string; readonly body: unknown } {
  const call = made.parts[0]?.callTo(targetOf(name));
  if (call === undefined) throw new Error("a task without a part");
  return { path: call.path, body: JSON.parse(call.body) };
}

/** What a caller gets when the target answers so. */
export function answered(
  body: JsonObject,
  name: TargetName,
  answer: unknown,
): { readonly answer: UnaryAnswer; readonly body: JsonObject } {
  const made = task(body, [name]);
  const bytes = new AnswerBytes([bytesOf(answer)]);
  const result = made.parts[0]?.callTo(targetOf(name)).read(bytes);
  if (result === undefined || "kind" in result) throw new Error(`a fault: ${result?.code}`);
  const whole = made.answer([{ result, bytes }], contextOf(accepted(body)));
  return { answer: whole, body: JSON.parse(new TextDecoder().decode(whole.bytes.whole)) };
}
