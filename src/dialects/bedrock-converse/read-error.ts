import type { UpstreamFailure } from "../../canon/failure.ts";
import type { JsonObject, JsonValue } from "../../canon/json.ts";
import type { Target } from "../dialect.ts";
import { memberIn, parseAnswerBytes } from "../json.ts";
import { refusedAnswer, refusedFrame } from "../refusals.ts";

/**
 * Machine codes for the protocol's exceptions. Inside a stream they are named as the members of a
 * union (`throttlingException`), in the body of an error answer as types (`ThrottlingException`,
 * sometimes with a namespace before it); both are looked up in lower case.
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

/** A status of this protocol alone: the model failed, not the request. */
const MODEL_ERROR = 424;

/** Makes a failure of an answer with an error status. */
export function readConverseError(status: number, bytes: Uint8Array): UpstreamFailure {
  const body = parseAnswerBytes(bytes);
  const type = memberIn(body, "__type");
  const refused = refusedAnswer(status, body, codeOf(type));
  return status === MODEL_ERROR ? { ...refused, kind: "server_error" } : refused;
}

/** An exception or an error that arrived inside a stream. */
export function readException(
  type: string | undefined,
  payload: JsonValue | undefined,
): UpstreamFailure {
  return refusedFrame(payload, codeOf(type));
}

function codeOf(type: JsonValue | undefined): string | null {
  const known =
    typeof type === "string"
      ? CODES.get(type.slice(type.lastIndexOf("#") + 1).toLowerCase())
      : null;
  return known ?? null;
}

/** Where Bedrock's InvokeModel calls a model, after the host of its runtime. */
export function invokePath({ endpoint }: Target): string {
  return `/model/${encodeURIComponent(endpoint.upstreamModel)}/invoke`;
}

/**
 * What an answer without results says has gone wrong: an error has a message. `null` where it says
 * nothing of the kind.
 */
export function bedrockErrorIn(answer: JsonObject): UpstreamFailure | null {
  if (typeof memberIn(answer, "message") !== "string") return null;
  const type = memberIn(answer, "__type");
  return readException(typeof type === "string" ? type : undefined, answer);
}
