import type { Capability } from "../../canon/capability.ts";
import { invalidRequest } from "../../canon/error.ts";
import type { Kinds, TypeNeeds } from "../kinds.ts";

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

/** Kinds whose names get a version or a suffix, such as `web_search_preview_2025_03_11`. */
const PREFIXES = ["web_search", "computer"] as const;

function toolNeeds(type: string): Capability | null {
  if (Object.hasOwn(TOOL_NEEDS, type)) return TOOL_NEEDS[type] ?? null;
  const prefix = PREFIXES.find((one) => type.startsWith(`${one}_`));
  return prefix === undefined ? null : (TOOL_NEEDS[prefix] ?? null);
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
  native: "native_responses",
  toolNeeds,
  types: RESPONSES_TYPES,
  unknownTool: (_type, path) =>
    invalidRequest(
      "unknown_tool_type",
      `${path} must be one of ${Object.keys(TOOL_NEEDS).join(", ")}`,
      path,
    ),
  unknownType: (path) =>
    invalidRequest("unknown_item_type", `${path} is not a type that this router supports`, path),
};
