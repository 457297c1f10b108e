import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import {
  REASONING_EFFORTS,
  tokenBucket,
  type InferenceRequest,
  type ProtocolHeaders,
  type ReasoningEffort,
} from "../../../canon/request.ts";
import { RequestReading } from "../../request-reading.ts";
import { hasUnknownMember } from "../../fields.ts";
import { parsePreferences } from "../../preferences.ts";
import {
  ENCRYPTED_REASONING,
  OUTPUT_LOGPROBS,
  REASONING_MEMBERS,
  RESPONSES_FIELDS,
  STREAM_OPTION_MEMBERS,
  TEXT_MEMBERS,
} from "../fields.ts";
import { askedFormat } from "../response-format.ts";
import { statefulField } from "../stateful.ts";
import { askInput } from "./ask-input.ts";
import { askTools, forcesTool } from "./ask-tools.ts";
import { RESPONSES_BODY } from "../body.ts";

/** Bytes of JSON per token, on average, in English text; only the context bucket is made from it. */
const BYTES_PER_TOKEN = 4;

const FORMAT_MEMBERS: ReadonlySet<string> = new Set(["type", "name", "description", "schema", "strict"]);
const PLAIN_FORMAT_MEMBERS: ReadonlySet<string> = new Set(["type"]);

/** Reads a validated responses body: what it asks of models and of wire protocols, how large it is, what it prefers. */
export function parseResponsesRequest(
  body: JsonObject,
  bytes: number,
  headers: ProtocolHeaders,
): InferenceRequest | ServiceError {
  const asked = new RequestReading();
  const problem = statefulField(body) ?? askFields(body, asked) ?? askInput(body, asked) ?? askTools(body, asked);
  if (problem !== null) return problem;
  const effort = askReasoning(body, asked);
  const formatProblem = askFormat(body, asked);
  if (formatProblem !== null) return formatProblem;
  const limit = body["max_output_tokens"];
  return {
    model: typeof body["model"] === "string" ? body["model"] : "",
    shape: {
      operation: "responses",
      needs: asked.needs,
      features: asked.features,
      stream: body["stream"] === true,
      context: tokenBucket(bytes / BYTES_PER_TOKEN),
      maxOutput: tokenBucket(typeof limit === "number" ? limit : undefined),
      reasoningEffort: effort,
      signatureFamilies: asked.signatureFamilies,
      dimensions: null,
    },
    preferences: parsePreferences(body["provider"]),
    paths: asked.paths,
    headers,
    body,
    reader: RESPONSES_BODY,
    // The protocol's last event always tells of tokens.
    includeUsage: true,
  };
}

/** What top-level members ask by having a value. */
function askFields(body: JsonObject, asked: RequestReading): ServiceError | null {
  for (const name in body) {
    const value = body[name];
    if (value === null || value === undefined || value === false) continue;
    const facts = Object.hasOwn(RESPONSES_FIELDS, name) ? RESPONSES_FIELDS[name] : undefined;
    if (facts === undefined) continue;
    if (typeof value === "object" && JSON.isRawJSON(value)) {
      return invalidRequest("invalid_type", `${name} must not be a number of this size`, name);
    }
    if (Array.isArray(value) && value.length === 0) continue;
    if (facts.needs !== undefined) asked.need(facts.needs, name);
    if (facts.uses !== undefined) asked.use(facts.uses, name);
  }
  if (numberOf(body["temperature"]) > 1) asked.use("temperature_above_1", "temperature");
  for (const name of ["frequency_penalty", "presence_penalty"]) {
    const penalty = numberOf(body[name]);
    if (penalty !== 0) asked.use("penalties", name);
    if (penalty < 0 || penalty > 1) asked.use("penalties_outside_0_1", name);
  }
  if (body["truncation"] === "auto") asked.use("native_responses", "truncation");
  const options = body["stream_options"];
  if (isJsonObject(options) && hasUnknownMember(options, STREAM_OPTION_MEMBERS)) {
    asked.use("native_responses", "stream_options");
  }
  if (numberOf(body["top_logprobs"]) > 0) askLogprobs("top_logprobs", asked);
  askInclude(body["include"], asked);
  return null;
}

function askInclude(include: JsonValue | undefined, asked: RequestReading): void {
  if (!Array.isArray(include)) return;
  for (const [index, value] of include.entries()) {
    const path = `include[${index}]`;
    if (value === OUTPUT_LOGPROBS) askLogprobs(path, asked);
    else if (value !== ENCRYPTED_REASONING) asked.use("native_responses", path);
  }
}

function askLogprobs(path: string, asked: RequestReading): void {
  asked.need("logprobs", path);
  asked.use("token_logprobs", path);
}

function askReasoning(body: JsonObject, asked: RequestReading): ReasoningEffort {
  const { reasoning } = body;
  if (!isJsonObject(reasoning)) return "unspecified";
  const effort = REASONING_EFFORTS.find((word) => word === reasoning["effort"]) ?? "unspecified";
  if (effort !== "unspecified") asked.use(`effort_${effort}`, "reasoning.effort");
  const summary = reasoning["summary"] ?? reasoning["generate_summary"] ?? null;
  // Summaries are asked of models that reason; where reasoning is switched off there is nothing to sum up.
  if (effort !== "none" && (effort !== "unspecified" || summary !== null)) {
    asked.need("reasoning", effort === "unspecified" ? "reasoning.summary" : "reasoning.effort");
    if (forcesTool(body["tool_choice"])) asked.use("forced_tool_with_reasoning", "tool_choice");
  }
  const { summary: word, generate_summary: older, context, mode } = reasoning;
  if (isSet(word) && isSet(older) && word !== older) asked.use("native_responses", "reasoning.generate_summary");
  if (isSet(context) && context !== "auto") asked.use("native_responses", "reasoning.context");
  if (isSet(mode) && mode !== "standard") asked.use("native_responses", "reasoning.mode");
  if (hasUnknownMember(reasoning, REASONING_MEMBERS)) asked.use("native_responses", "reasoning");
  return effort;
}

/** Formats and verbosity; read last, because reasoning and forced tools change what a schema asks. */
function askFormat(body: JsonObject, asked: RequestReading): ServiceError | null {
  const { text } = body;
  if (isJsonObject(text)) {
    const { verbosity } = text;
    if (isSet(verbosity) && verbosity !== "medium") asked.use("verbosity", "text.verbosity");
    if (hasUnknownMember(text, TEXT_MEMBERS)) asked.use("native_responses", "text");
  }
  const found = askedFormat(body);
  if (found === null) return null;
  if ("code" in found) return found;
  const { format, path } = found;
  const { type } = format;
  if (hasUnknownMember(format, type === "json_schema" ? FORMAT_MEMBERS : PLAIN_FORMAT_MEMBERS)) {
    asked.use("native_responses", path);
  }
  if (type !== "json_object" && type !== "json_schema") return null;
  asked.need(type, path);
  if (Array.isArray(body["tools"]) && body["tools"].length > 0) asked.use("schema_with_tools", path);
  if (type === "json_object") return null;
  if (asked.has("reasoning") || forcesTool(body["tool_choice"])) asked.use("constrained_schema", path);
  if (isJsonObject(format["schema"])) return null;
  return invalidRequest("missing_field", `${path} must have a schema where its type is json_schema`, path);
}

function isSet(value: JsonValue | undefined): value is JsonValue {
  return value !== undefined && value !== null;
}

function numberOf(value: JsonValue | undefined): number {
  return typeof value === "number" ? value : 0;
}
