import type { Capability } from "../../canon/capability.ts";
import { canonicalJson, isJsonObject, type JsonObject } from "../../canon/json.ts";
import type { Kinds, TypeNeeds } from "../kinds.ts";
import {
  CONVERSATION_FIELDS,
  CORE,
  IDENTITY,
  ROUTER,
  STATE,
  type FieldRegistry,
} from "../request-reading.ts";
import { memberIn, ownValue } from "../json.ts";
import { membersWithValue } from "../request-draft.ts";

/**
 * Every known top-level member of a responses request
 * (docs/protocols.md#classes-of-request-members), those of coding agents included.
 */
export const RESPONSES_FIELDS: FieldRegistry = {
  ...CONVERSATION_FIELDS,
  model: CORE,
  input: CORE,
  instructions: { uses: "conversation" },
  stream: CORE,
  stream_options: CORE,
  tools: { uses: "conversation" },
  tool_choice: CORE,
  max_tool_calls: { uses: "native_responses" },
  max_output_tokens: CORE,
  reasoning: CORE,
  text: CORE,
  include: CORE,
  truncation: CORE,
  moderation: { uses: "native_responses" },
  access_programs: { uses: "native_responses" },
  image: { uses: "native_responses" },
  store: STATE,
  background: STATE,
  background_options: STATE,
  previous_response_id: STATE,
  conversation: STATE,
  prompt: STATE,
  context_management: STATE,
  client_metadata: IDENTITY,
  /** The chat protocol's spelling of `text.format`; sent as that. */
  response_format: ROUTER,
  provider: ROUTER,
};

/** Members of `reasoning`, `text` and `stream_options` that canon can hold. */
export const REASONING_MEMBERS = ["effort", "summary", "generate_summary", "context", "mode"];
export const TEXT_MEMBERS = ["format", "verbosity"];
export const STREAM_OPTION_MEMBERS = ["include_obfuscation"];

/** Values of `include` that every endpoint's answers can be made to carry. */
export const ENCRYPTED_REASONING = "reasoning.encrypted_content";
export const OUTPUT_LOGPROBS = "message.output_text.logprobs";

/** The protocol refuses smaller limits. Tokens. */
export const MINIMUM_OUTPUT_TOKENS = 16;

/** Family whose encrypted reasoning has no tag: OpenAI's own. */
export const NATIVE_FAMILY = "openai";

/** Tools with the capability that each needs (docs/protocols.md#tools-of-responses). */
const TOOL_NEEDS: Readonly<Record<string, Capability>> = {
  function: "tools",
  namespace: "tools",
  tool_search: "tools",
  custom: "custom_tools",
  web_search: "web_search",
  x_search: "web_search",
  file_search: "file_search",
  code_interpreter: "code_execution",
  shell: "code_execution",
  local_shell: "code_execution",
  apply_patch: "code_execution",
  programmatic_tool_calling: "code_execution",
  computer: "computer_use",
  mcp: "mcp",
  image_generation: "image_output",
};

/** Types whose names have a version or a suffix, such as `web_search_preview_2025_03_11`. */
const PREFIXES = ["web_search", "computer"] as const;

function toolNeeds(type: string): Capability | null {
  const prefix = PREFIXES.find((one) => type.startsWith(`${one}_`));
  return ownValue(TOOL_NEEDS, type) ?? ownValue(TOOL_NEEDS, prefix ?? "") ?? null;
}

/**
 * Types that carry content and settings only: of parts, of actions and results of tools, of filters
 * and of containers.
 */
const PLAIN = (
  "message reasoning item_reference compaction compaction_trigger configuration_update " +
  "input_text output_text text refusal reasoning_text summary_text allowed_tools " +
  "click double_click drag keypress move screenshot scroll type wait computer_screenshot " +
  "search open_page find_in_page url exec create_file update_file delete_file exit timeout logs image " +
  "http_error mcp_protocol_error mcp_tool_execution_error " +
  "and or eq ne gt gte lt lte in nin approximate auto local container_auto container_reference inline base64 " +
  "skill_reference allowlist disabled direct grammar"
).split(" ");

/** Every known `type` of the protocol but those of tools (OpenAI's SDK, `responses.d.ts`). */
export const RESPONSES_TYPES: TypeNeeds = {
  ...Object.fromEntries(PLAIN.map((type) => [type, null])),
  input_image: "image_input",
  input_file: "file_input",
  input_audio: "audio_input",
  input_video: "video_input",
  json_object: "json_object",
  json_schema: "json_schema",
  function_call: "tools",
  function_call_output: "tools",
  web_search_call: "web_search",
  x_search_call: "web_search",
  file_search_call: "file_search",
  code_interpreter_call: "code_execution",
  local_shell_call: "code_execution",
  local_shell_call_output: "code_execution",
  shell_call: "code_execution",
  shell_call_output: "code_execution",
  apply_patch_call: "code_execution",
  apply_patch_call_output: "code_execution",
  program: "code_execution",
  program_output: "code_execution",
  computer_call: "computer_use",
  computer_call_output: "computer_use",
  mcp_list_tools: "mcp",
  mcp_call: "mcp",
  mcp_approval_request: "mcp",
  mcp_approval_response: "mcp",
  image_generation_call: "image_output",
  custom_tool_call: "custom_tools",
  custom_tool_call_output: "custom_tools",
  tool_search_call: "tools",
  tool_search_output: "tools",
  additional_tools: "tools",
};

export const RESPONSES_KINDS: Kinds = {
  toolNeeds,
  types: RESPONSES_TYPES,
  toolTypes: Object.keys(TOOL_NEEDS),
  unknownType: "unknown_item_type",
};

/** The requested format, in the spelling of `text.format`. */
interface RequestedFormat {
  readonly format: JsonObject;
  /** The member that requests it. */
  readonly path: "text.format" | "response_format";
}

/**
 * `text.format`, or the alias `response_format` in its chat spelling (`json_schema` nested) or
 * flat; `null` without either: a bare `text: {}` requests nothing
 * (docs/protocols.md#responses).
 */
export function requestedFormat(body: JsonObject): RequestedFormat | null {
  const { text, response_format: alias } = body;
  const format = memberIn(text, "format");
  if (isJsonObject(format)) return { format, path: "text.format" };
  return isJsonObject(alias) ? { format: flattened(alias), path: "response_format" } : null;
}

/** Whether a body has the format in both spellings, and they differ. */
export function hasTwoFormats({ text, response_format: alias }: JsonObject): boolean {
  const format = memberIn(text, "format");
  if (!isJsonObject(format) || !isJsonObject(alias)) return false;
  const [one, other] = [format, flattened(alias)].map(membersWithValue);
  return canonicalJson(one) !== canonicalJson(other);
}

/** Flattens the chat spelling; a flat one stays. */
function flattened({ json_schema: nested, ...rest }: JsonObject): JsonObject {
  return isJsonObject(nested) ? { ...rest, ...nested } : rest;
}
