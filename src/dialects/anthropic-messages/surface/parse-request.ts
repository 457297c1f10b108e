import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import { tokenBucket, type InferenceRequest, type ProtocolHeaders } from "../../../canon/request.ts";
import { RequestReading } from "../../request-reading.ts";
import { parsePreferences } from "../../preferences.ts";
import { fieldsOf } from "../fields.ts";
import { typeOf } from "../type-of.ts";
import { isPlainMark } from "./read-blocks.ts";
import { readConversation } from "./read-messages.ts";
import { readReasoning } from "./read-reasoning.ts";
import { readToolChoice, readTools } from "./read-tools.ts";
import { refusedMember } from "./refusals.ts";
import { readVersion, removedMember } from "./version.ts";
import { MESSAGES_BODY } from "../body.ts";

/** Bytes of JSON per token, on average, in English text; only the context bucket is made from it. */
const BYTES_PER_TOKEN = 4;

/** Stop sequences that every protocol takes which takes any. */
const COMMON_STOP_SEQUENCES = 4;

export type MessagesOperation = "messages" | "messages.count_tokens";

/** Reads a validated body of either operation: what it needs, how large it is, what it prefers. */
export function parseMessagesRequest(
  operation: MessagesOperation,
  body: JsonObject,
  bytes: number,
  headers: ProtocolHeaders,
): InferenceRequest | ServiceError {
  const version = readVersion(headers);
  if (typeof version !== "string") return version;
  const asked = new RequestReading();
  if (operation === "messages.count_tokens") asked.use("count_tokens", "messages");
  const problem =
    refusedMember(body) ??
    removedMember(body, version) ??
    readFields(operation, body, asked) ??
    readFormat(body, asked) ??
    readConversation(body, asked, version) ??
    readTools(body["tools"], asked);
  if (problem !== null) return problem;
  const effort = readReasoning(body, asked);
  readCombinations(body, asked);
  const limit = body["max_tokens"];
  return {
    model: typeof body["model"] === "string" ? body["model"] : "",
    shape: {
      operation,
      needs: asked.needs,
      features: asked.features,
      stream: operation === "messages" && body["stream"] === true,
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
    reader: MESSAGES_BODY,
    // Streams of this protocol always end with it.
    includeUsage: true,
  };
}

/** What top-level members bring by having a value. */
function readFields(operation: MessagesOperation, body: JsonObject, asked: RequestReading): ServiceError | null {
  const registry = fieldsOf(operation);
  for (const name in body) {
    const value = body[name];
    const facts = Object.hasOwn(registry, name) ? registry[name] : undefined;
    if (facts === undefined || value === null || value === undefined) continue;
    if (typeof value === "object" && JSON.isRawJSON(value)) {
      return invalidRequest("invalid_type", `${name} must not be a number of this size`, name);
    }
    if (Array.isArray(value) && value.length === 0) continue;
    if (facts.needs !== undefined) asked.need(facts.needs, name);
    if (facts.uses !== undefined) asked.use(facts.uses, name);
  }
  const stops = body["stop_sequences"];
  if (Array.isArray(stops) && stops.length > 0) {
    asked.use("stop_sequences", "stop_sequences");
    if (stops.length > COMMON_STOP_SEQUENCES) asked.use("stop_sequences_over_4", "stop_sequences");
  }
  // Reads the prompt into the provider's cache and answers nothing: no other protocol has that.
  if (body["max_tokens"] === 0) asked.use("native_messages", "max_tokens");
  if (!isPlainMark(body["cache_control"])) asked.use("native_messages", "cache_control");
  const tier = body["service_tier"];
  if (typeof tier === "string" && tier !== "auto" && tier !== "standard_only") {
    asked.use("native_messages", "service_tier");
  }
  if (!editsNothing(body["context_management"])) asked.use("native_messages", "context_management");
  return null;
}

/** Agents always send an edit that keeps all thinking; it takes nothing out of any conversation. */
function editsNothing(management: JsonValue | undefined): boolean {
  if (!isJsonObject(management)) return true;
  return Object.entries(management).every(([name, value]) => {
    if (value === null) return true;
    return name === "edits" && Array.isArray(value) && value.every(keepsAll);
  });
}

function keepsAll(edit: JsonValue): boolean {
  return (
    isJsonObject(edit) &&
    typeOf(edit).startsWith("clear_thinking_") &&
    edit["keep"] === "all" &&
    Object.keys(edit).length === 2
  );
}

const CONFIG_MEMBERS: ReadonlySet<string> = new Set(["effort", "format"]);

/** `output_config` but for the effort, and the older `output_format`. */
function readFormat({ output_config, output_format }: JsonObject, asked: RequestReading): ServiceError | null {
  const format = isJsonObject(output_config) ? output_config["format"] : undefined;
  if (isJsonObject(output_config)) {
    asked.useUnknown(output_config, CONFIG_MEMBERS, "output_config", "native_messages");
  }
  if (isJsonObject(format) && isJsonObject(output_format) && canonicalJson(format) !== canonicalJson(output_format)) {
    const sentence = "output_format and output_config.format ask for different things; send one of them";
    return invalidRequest("conflicting_fields", sentence, "output_format");
  }
  readSchema(format, "output_config.format", asked);
  readSchema(output_format, "output_format", asked);
  return null;
}

function readSchema(format: JsonValue | undefined, path: string, asked: RequestReading): void {
  if (!isJsonObject(format)) return;
  asked.need("json_schema", path);
  const plain =
    format["type"] === "json_schema" && Object.keys(format).every((name) => name === "type" || name === "schema");
  if (!plain) asked.use("native_messages", path);
}

/** What models may refuse together although they take each alone. */
function readCombinations(body: JsonObject, asked: RequestReading): void {
  const forced = readToolChoice(body["tool_choice"], body["tools"], asked);
  const reasons = asked.has("reasoning");
  if (forced && reasons) asked.use("forced_tool_with_reasoning", "tool_choice");
  const schema = asked.paths.get("json_schema");
  if (schema === undefined) return;
  if (forced || reasons) asked.use("constrained_schema", schema);
  if (Array.isArray(body["tools"]) && body["tools"].length > 0) asked.use("schema_with_tools", schema);
}
