import { hasBlankStop } from "../openai-chat/blank-stop.ts";
import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { tokenBucket, type InferenceRequest, type ProtocolHeaders } from "../../canon/request.ts";
import { RequestReading } from "../request-reading.ts";
import { statefulField } from "../openai-chat/surface/stateful.ts";
import { parsePreferences } from "../preferences.ts";
import { COMPLETIONS_FIELDS } from "./fields.ts";
import { COMPLETIONS_BODY } from "./body.ts";

/** Bytes of JSON per token, on average, in English text; only the context bucket is made from it. */
const BYTES_PER_TOKEN = 4;

/** Stop sequences that every speaker of the protocol takes. */
const COMMON_STOP_SEQUENCES = 4;

/** Reads a validated legacy completions body: what it needs, how large it is, what it prefers. */
export function parseCompletionsRequest(
  body: JsonObject,
  bytes: number,
  headers: ProtocolHeaders,
): InferenceRequest | ServiceError {
  const reading = new RequestReading();
  const problem = statefulField(body) ?? readFields(body, reading);
  if (problem !== null) return problem;
  const stream = body["stream"] === true;
  const options = body["stream_options"];
  if (!stream && isJsonObject(options)) {
    return invalidRequest(
      "invalid_stream_options",
      "stream_options is only allowed when stream is true",
      "stream_options",
    );
  }
  return {
    model: typeof body["model"] === "string" ? body["model"] : "",
    shape: {
      operation: "completions",
      needs: reading.needs,
      features: reading.features,
      stream,
      context: tokenBucket(bytes / BYTES_PER_TOKEN),
      maxOutput: tokenBucket(numberOf(body["max_tokens"])),
      reasoningEffort: "unspecified",
      signatureFamilies: [],
      dimensions: null,
    },
    preferences: parsePreferences(body["provider"]),
    paths: reading.paths,
    headers,
    body,
    reader: COMPLETIONS_BODY,
    includeUsage: isJsonObject(options) && options["include_usage"] === true,
  };
}

/** The one text that a body asks to go on from; `null` where it has several, or tokens. A list of one text is a text. */
export function onlyPrompt(prompt: JsonValue | undefined): string | null {
  const value: JsonValue | undefined = Array.isArray(prompt) && prompt.length === 1 ? prompt[0] : prompt;
  return typeof value === "string" ? value : null;
}

/** How many answers a body asks for: one for each prompt and each of `n`. */
export function choicesAsked({ prompt, n }: JsonObject): number {
  const prompts = Array.isArray(prompt) && typeof prompt[0] !== "number" ? prompt.length : 1;
  return prompts * (numberOf(n) ?? 1);
}

function readFields(body: JsonObject, reading: RequestReading): ServiceError | null {
  for (const name in body) {
    const value = body[name];
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "object" && JSON.isRawJSON(value)) {
      return invalidRequest("invalid_type", `${name} must not be a number of this size`, name);
    }
    const facts = Object.hasOwn(COMPLETIONS_FIELDS, name) ? COMPLETIONS_FIELDS[name] : undefined;
    if (facts?.needs !== undefined) reading.need(facts.needs, name);
    if (facts?.uses !== undefined) reading.use(facts.uses, name);
  }
  // No other protocol goes on from the middle of a text, from tokens, from nothing, or from several texts at once.
  if (!onlyPrompt(body["prompt"])) reading.use("native_completions", "prompt");
  // Zero output tokens are asked for to read the prompt's own probabilities.
  if (body["max_tokens"] === 0) reading.use("native_completions", "max_tokens");
  for (const name of ["n", "best_of"]) {
    if ((numberOf(body[name]) ?? 1) <= 1) continue;
    reading.need("multiple_choices", name);
    reading.use("native_completions", name);
  }
  readSampling(body, reading);
  return null;
}

function readSampling(body: JsonObject, reading: RequestReading): void {
  if ((numberOf(body["temperature"]) ?? 0) > 1) reading.use("temperature_above_1", "temperature");
  for (const name of ["frequency_penalty", "presence_penalty"]) {
    // Clients print the penalty of zero, which is none.
    const penalty = numberOf(body[name]) ?? 0;
    if (penalty !== 0) reading.use("penalties", name);
    if (penalty < 0 || penalty > 1) reading.use("penalties_outside_0_1", name);
  }
  const bias = body["logit_bias"];
  if (isJsonObject(bias) && Object.keys(bias).length > 0) reading.use("logit_bias", "logit_bias");
  const { stop } = body;
  const sequences = Array.isArray(stop) ? stop.length : typeof stop === "string" ? 1 : 0;
  if (sequences > 0) reading.use("stop_sequences", "stop");
  if (hasBlankStop(stop)) reading.use("stop_sequences_blank", "stop");
  if (sequences > COMMON_STOP_SEQUENCES) reading.use("stop_sequences_over_4", "stop");
}

function numberOf(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}
