import type { FailureKind, UpstreamFailure } from "../../canon/failure.ts";
import { isJsonObject, type JsonValue, type JsonObject } from "../../canon/json.ts";
import { parseAnswerBytes, memberIn } from "../json.ts";
import { answerFailure, kindOfStatus, codeByBeginning } from "../answer-failure.ts";
import type { Target } from "../dialect.ts";

/**
 * Machine codes for the protocol's exceptions. Inside a stream they are named as the members of a union (`throttlingException`), in the body
 * of an error answer as types (`ThrottlingException`, sometimes with a namespace before it); both are looked up in lower case.
 */
const CODES: ReadonlyMap<string, string> = new Map([
  ["accessdeniedexception", "access_denied"],
  ["internalserverexception", "server_error"],
  ["modelerrorexception", "model_error"],
  ["modelnotreadyexception", "model_not_ready"],
  ["modelstreamerrorexception", "model_stream_error"],
  ["modeltimeoutexception", "model_timeout"],
  ["resourcenotfoundexception", "model_not_found"],
  ["servicequotaexceededexception", "quota_exceeded"],
  ["serviceunavailableexception", "overloaded"],
  ["throttlingexception", "rate_limited"],
  ["validationexception", "invalid_request"],
]);

/** Beginnings of messages that stand for a code that the protocol does not have. */
const TELLING_MESSAGES = [
  [
    /^(?:The model returned the following errors: )?(?:input is too long|input tokens exceeded|prompt is too long|input length and `?max_tokens`? exceed context limit)/i,
    "context_length_exceeded",
  ],
] as const;

/** A status of this protocol alone: the model failed, not the request. */
const MODEL_ERROR = 424;

/** Makes a failure of an answer with an error status. */
export function readConverseError(status: number, bytes: Uint8Array): UpstreamFailure {
  const body = parseAnswerBytes(bytes);
  const type = isJsonObject(body) ? body["__type"] : undefined;
  const kind: FailureKind = status === MODEL_ERROR ? "server_error" : kindOfStatus(status);
  return { kind, status, retryAfter: null, code: codeOf(type, body) };
}

/** An exception or an error that arrived inside a stream. */
export function readException(type: string | undefined, payload: JsonValue | undefined): UpstreamFailure {
  return answerFailure("error_frame", codeOf(type, payload));
}

function codeOf(type: JsonValue | undefined, body: JsonValue | undefined): string | null {
  const known = typeof type === "string" ? CODES.get(type.slice(type.lastIndexOf("#") + 1).toLowerCase()) : null;
  return codeByBeginning(memberIn(body, "message"), TELLING_MESSAGES) ?? known ?? null;
}

/** Where Bedrock's InvokeModel calls a model, after the host of its runtime. */
export function invokePath({ endpoint }: Target): string {
  return `/model/${encodeURIComponent(endpoint.upstreamModel)}/invoke`;
}

/** What an answer without results says has gone wrong: an error has a message. `null` where it says nothing of the kind. */
export function bedrockErrorIn(answer: JsonObject): UpstreamFailure | null {
  if (typeof memberIn(answer, "message") !== "string") return null;
  const type = memberIn(answer, "__type");
  return readException(typeof type === "string" ? type : undefined, answer);
}
