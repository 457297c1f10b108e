import type { UpstreamFailure } from "../../canon/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { namedMember } from "../answer-ends.ts";
import { listOf, memberIn, parseAnswerBytes } from "../json.ts";
import { refusedAnswer, refusedFrame } from "../refusals.ts";

/** The protocol's error codes (google.rpc.Code), and our codes for them. */
const CODES: Readonly<Record<string, string>> = {
  CANCELLED: "cancelled",
  UNKNOWN: "unknown",
  INVALID_ARGUMENT: "invalid_argument",
  DEADLINE_EXCEEDED: "deadline_exceeded",
  NOT_FOUND: "model_not_found",
  ALREADY_EXISTS: "already_exists",
  PERMISSION_DENIED: "permission_denied",
  UNAUTHENTICATED: "unauthenticated",
  RESOURCE_EXHAUSTED: "rate_limit_exceeded",
  FAILED_PRECONDITION: "failed_precondition",
  ABORTED: "aborted",
  OUT_OF_RANGE: "out_of_range",
  UNIMPLEMENTED: "unimplemented",
  INTERNAL: "internal",
  UNAVAILABLE: "unavailable",
  DATA_LOSS: "data_loss",
};

/** Reasons of a 400 that is about the router's key and not about the request. */
const KEY_REASONS = ["API_KEY_INVALID", "API_KEY_EXPIRED", "API_KEY_SERVICE_BLOCKED"];

/**
 * Reads an answer with an error status as a failure (docs/protocols.md#errors-of-providers). The
 * provider's text is not kept.
 */
export function readGeminiError(status: number, bytes: Uint8Array): UpstreamFailure {
  const error = errorOf(parseAnswerBytes(bytes));
  const details = error === null ? [] : detailsOf(error);
  const isAboutKey =
    status === 400 &&
    details.some(({ reason }) => typeof reason === "string" && KEY_REASONS.includes(reason));
  const refused = refusedAnswer(status, error ?? undefined, safeCode(error));
  const retryAfter = retryDelay(details);
  if (isAboutKey) return { ...refused, retryAfter, kind: "auth", code: "api_key_invalid" };
  return { ...refused, retryAfter, ...violated(details) };
}

/** An error that arrived inside a stream, or in an answer that said 200. */
export function readErrorFrame(error: JsonValue | undefined): UpstreamFailure {
  return refusedFrame(error, safeCode(isJsonObject(error) ? error : null));
}

/**
 * The error object of a body; streams that are requested as one JSON array have their error in one
 * as well.
 */
export function errorOf(body: JsonValue | undefined): JsonObject | null {
  const holder: JsonValue | undefined = Array.isArray(body) ? body[0] : body;
  const error = memberIn(holder, "error");
  return isJsonObject(error) ? error : null;
}

function safeCode(error: JsonObject | null): string | null {
  if (error === null) return null;
  const { status } = error;
  return typeof status === "string" && Object.hasOwn(CODES, status)
    ? (CODES[status] ?? null)
    : null;
}

/** `google.rpc.BadRequest`: the first member that is not as it should be. */
function violated(details: readonly JsonObject[]): { readonly param: string } | null {
  for (const { fieldViolations } of details) {
    const [first] = listOf(fieldViolations);
    if (isJsonObject(first)) return namedMember(first.field);
  }
  return null;
}

function detailsOf({ details }: JsonObject): readonly JsonObject[] {
  return Array.isArray(details) ? details.filter(isJsonObject) : [];
}

/** Longest wait that is believed, seconds. */
const LONGEST_RETRY = 86_400;

/** `google.rpc.RetryInfo`: seconds with up to nine decimals and an `s`. */
function retryDelay(details: readonly JsonObject[]): number | null {
  for (const { retryDelay: delay } of details) {
    const match = typeof delay === "string" ? /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(delay) : null;
    const seconds = Number(match?.[1] ?? NaN);
    if (seconds <= LONGEST_RETRY) return Math.ceil(seconds * 1000);
  }
  return null;
}

/** The methods of a model that this router calls. A stream is a method of its own. */
type Method = "generateContent" | "streamGenerateContent" | "countTokens";

/**
 * The resource name of a model below the provider's base URL. A plain name is one of `models/`; one
 * with a slash is a resource name already, such as `tunedModels/x`, or `endpoints/7` where the base
 * URL ends before `publishers`.
 */
export function resourceName(upstreamModel: string): string {
  return upstreamModel.includes("/") ? upstreamModel : `models/${upstreamModel}`;
}

export function methodPath(upstreamModel: string, method: Method): string {
  const name = resourceName(upstreamModel).split("/").map(encodeURIComponent).join("/");
  // Without the option a stream is one JSON array, whose end only its last byte shows.
  return `/${name}:${method}${method === "streamGenerateContent" ? "?alt=sse" : ""}`;
}
