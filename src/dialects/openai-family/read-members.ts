import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { Hints } from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { RequestReading } from "../request-reading.ts";

/** `null` where the value is absent, or a number too large for a double. */
export function numberOf(value: JsonValue | undefined): number | null {
  return typeof value === "number" ? value : null;
}

export function textOf(value: JsonValue | undefined): string | null {
  return typeof value === "string" ? value : null;
}

/** 0 is what the protocols do without the member. */
export function readPenalty(
  body: JsonObject,
  name: "frequency_penalty" | "presence_penalty",
  reading: RequestReading,
): number | null {
  const penalty = numberOf(body[name]) ?? 0;
  if (penalty === 0) return null;
  reading.use("penalties", name);
  if (penalty < 0 || penalty > 1) reading.use("penalties_outside_0_1", name);
  return penalty;
}

/** `null` where the member is absent or holds no token. */
export function readLogitBias({ logit_bias: bias }: JsonObject, reading: RequestReading): JsonObject | null {
  if (!isJsonObject(bias) || Object.keys(bias).length === 0) return null;
  reading.use("logit_bias", "logit_bias");
  return bias;
}

/** Stop sequences; what more than four of them use is the caller's to note. Line breaks are common ones, and not all protocols take blank ones. */
export function readStop({ stop }: JsonObject, reading: RequestReading): readonly string[] {
  if (stop === undefined || stop === null) return [];
  const texts = (Array.isArray(stop) ? stop : [stop]).filter((text: JsonValue) => typeof text === "string");
  if (texts.length > 0) reading.use("stop_sequences", "stop");
  if (texts.some((text) => text.trim() === "")) reading.use("stop_sequences_blank", "stop");
  return texts;
}

/** Members that may help, and that canon holds. */
export function readHints(body: JsonObject, reading: RequestReading): Hints {
  if ((body["prompt_cache_options"] ?? null) !== null) reading.dropped.add("cache_hint_dropped");
  return {
    serviceTier: textOf(body["service_tier"]),
    promptCacheKey: textOf(body["prompt_cache_key"]),
    promptCacheRetention: textOf(body["prompt_cache_retention"]),
  };
}

/** Whether the body has stream options. @returns the 400 where it has some and does not stream. */
export function readIncludeUsage(body: JsonObject, stream: boolean): boolean | ServiceError {
  const { stream_options: options } = body;
  if (!isJsonObject(options)) return false;
  if (stream) return options["include_usage"] === true;
  const sentence = "stream_options is only allowed when stream is true";
  return invalidRequest("invalid_stream_options", sentence, "stream_options");
}

/** The type of a content part that the router knows. An unknown part cannot be approved, so it is refused, and the type is `null`. */
export function partType<Known extends object>(
  part: JsonValue | undefined,
  known: Known,
  path: string,
  reading: RequestReading,
): (keyof Known & string) | null {
  const type = isJsonObject(part) ? part["type"] : undefined;
  if (typeof type === "string" && isKeyOf(known, type)) return type;
  const sentence = `${path}.type must be one of ${Object.keys(known).join(", ")}`;
  reading.refuse(invalidRequest("unknown_content_part", sentence, `${path}.type`));
  return null;
}

function isKeyOf<Known extends object>(known: Known, name: string): name is keyof Known & string {
  return Object.hasOwn(known, name);
}

/**
 * The 400 for a top-level member that asks somebody to keep content, or names content that somebody has kept. Such members are refused on every route,
 * also where unknown members are forwarded (docs/protocols.md#stored-state).
 *
 * @param sentences what each member does, and what to send instead.
 */
export function statefulMember(body: JsonObject, sentences: Readonly<Record<string, string>>): ServiceError | null {
  for (const name in sentences) {
    if (!Object.hasOwn(body, name)) continue;
    const value = body[name];
    if (value === undefined || value === null || value === false) continue;
    if (Array.isArray(value) && value.length === 0) continue;
    return stateful(name, sentences[name] ?? "");
  }
  const cache = body["prompt_cache_options"];
  return isJsonObject(cache) && isNamed(cache, "comparison_response_id")
    ? stateful("prompt_cache_options.comparison_response_id", "names an answer kept at a provider; leave it out")
    : null;
}

/** The 400 for a part, or a member of one, that names a file kept at a provider. */
export function storedFile(part: JsonObject, path: string): ServiceError | null {
  if (!isNamed(part, "file_id")) return null;
  return stateful(`${path}.file_id`, "names a file kept at a provider; send the file itself");
}

export function isNamed(object: JsonObject, name: string): boolean {
  const value = object[name];
  return value !== undefined && value !== null;
}

export function stateful(param: string, sentence: string): ServiceError {
  return invalidRequest("unsupported_stateful_feature", `${param} ${sentence}`, param);
}
