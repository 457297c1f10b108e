import type { Capability } from "../../../canon/capability.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { readSignature } from "../../../canon/generate/signature.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import type { RequestReading } from "../../request-reading.ts";
import { NATIVE_FAMILY } from "../fields.ts";
import { storedItem } from "../stateful.ts";
import { askPart, isText, type PartContext } from "./ask-parts.ts";
import { askToolList } from "./ask-tools.ts";

/** Members of the items that canon can say. `caller: {"type": "direct"}` is what a call without one is. */
const MESSAGE_MEMBERS: ReadonlySet<string> = new Set(["type", "id", "status", "role", "phase", "content"]);
const REASONING_MEMBERS: ReadonlySet<string> = new Set([
  "type",
  "id",
  "status",
  "summary",
  "content",
  "encrypted_content",
]);
const CALL_MEMBERS: ReadonlySet<string> = new Set(["type", "id", "status", "call_id", "name", "arguments"]);
const OUTPUT_MEMBERS: ReadonlySet<string> = new Set(["type", "id", "status", "call_id", "output"]);

/** Items of tools that only this protocol has, and what made them. */
const NATIVE_ITEMS: Readonly<Record<string, Capability | null>> = {
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
  compaction: null,
  compaction_trigger: null,
};

const ROLES: Readonly<Record<string, PartContext>> = {
  user: "user",
  assistant: "assistant",
  system: "system",
  developer: "system",
};

/** What the conversation asks, item by item. */
export function askInput(body: JsonObject, asked: RequestReading): ServiceError | null {
  const { input } = body;
  if (!Array.isArray(input)) return null;
  if (!isOnePrompt(input)) asked.use("conversation", "input");
  let begun = false;
  for (const [index, item] of input.entries()) {
    if (!isJsonObject(item)) continue;
    const path = `input[${index}]`;
    const problem = askItem(item, path, asked);
    if (problem !== null) return problem;
    if (item["role"] !== "system" && item["role"] !== "developer") begun = true;
    else if (begun) asked.use("mid_conversation_system", `${path}.role`);
  }
  // Elsewhere an answer that stands last is one to go on with, which this protocol does not say.
  const last = input.at(-1);
  if (isJsonObject(last) && isOfAssistant(last)) asked.use("native_responses", `input[${input.length - 1}]`);
  return null;
}

/** One user's message of one text: all that a plain prompt can be. */
function isOnePrompt(input: readonly JsonValue[]): boolean {
  const [item] = input;
  if (input.length !== 1 || !isJsonObject(item) || item["role"] !== "user") return false;
  const { content } = item;
  if (!Array.isArray(content)) return true;
  const [part] = content;
  return content.length <= 1 && (!isJsonObject(part) || typeof part["text"] === "string");
}

function isOfAssistant(item: JsonObject): boolean {
  return item["role"] === "assistant" || item["type"] === "function_call" || item["type"] === "reasoning";
}

function askItem(item: JsonObject, path: string, asked: RequestReading): ServiceError | null {
  const stored = storedItem(item, path);
  if (stored !== null) return stored;
  const type = typeof item["type"] === "string" ? item["type"] : "message";
  switch (type) {
    case "message":
      return askMessage(item, path, asked);
    case "reasoning":
      return askReasoningItem(item, path, asked);
    case "function_call":
      asked.need("tools", path);
      asked.useUnknown(withoutDirectCaller(item), CALL_MEMBERS, path, "native_responses");
      return (
        isText(item["call_id"], `${path}.call_id`) ??
        isText(item["name"], `${path}.name`) ??
        isText(item["arguments"], `${path}.arguments`)
      );
    case "function_call_output":
      return askOutput(item, path, asked);
    default:
      return askNativeItem(item, type, path, asked);
  }
}

function askMessage(item: JsonObject, path: string, asked: RequestReading): ServiceError | null {
  const { role, content } = item;
  const context = typeof role === "string" && Object.hasOwn(ROLES, role) ? ROLES[role] : undefined;
  if (context === undefined) {
    const known = Object.keys(ROLES).join(", ");
    return invalidRequest("invalid_value", `${path}.role must be one of ${known}`, `${path}.role`);
  }
  asked.useUnknown(item, MESSAGE_MEMBERS, path, "native_responses");
  if (!Array.isArray(content)) return isText(content, `${path}.content`);
  return askParts(content, context, `${path}.content`, asked);
}

function askParts(
  parts: readonly JsonValue[],
  context: PartContext,
  path: string,
  asked: RequestReading,
): ServiceError | null {
  for (const [index, part] of parts.entries()) {
    const problem = askPart(part, context, `${path}[${index}]`, asked);
    if (problem !== null) return problem;
  }
  return null;
}

function askReasoningItem(item: JsonObject, path: string, asked: RequestReading): ServiceError | null {
  const { encrypted_content: signature, content } = item;
  if (typeof signature === "string" && signature !== "") {
    asked.signed(readSignature(signature, NATIVE_FAMILY).family, `${path}.encrypted_content`);
  }
  const isPlain =
    content === undefined || content === null || (Array.isArray(content) && content.every(isReasoningText));
  if (!isPlain) asked.use("native_responses", path);
  else asked.useUnknown(item, REASONING_MEMBERS, path, "native_responses");
  return null;
}

function isReasoningText(part: JsonValue): boolean {
  return isJsonObject(part) && part["type"] === "reasoning_text" && typeof part["text"] === "string";
}

function askOutput(item: JsonObject, path: string, asked: RequestReading): ServiceError | null {
  asked.need("tools", path);
  asked.useUnknown(withoutDirectCaller(item), OUTPUT_MEMBERS, path, "native_responses");
  // The protocol's newest form names the function in place of the call.
  if (typeof item["call_id"] !== "string") asked.use("native_responses", path);
  const { output } = item;
  if (!Array.isArray(output)) return isText(output, `${path}.output`);
  return askParts(output, "tool_result", `${path}.output`, asked);
}

function askNativeItem(item: JsonObject, type: string, path: string, asked: RequestReading): ServiceError | null {
  if (!Object.hasOwn(NATIVE_ITEMS, type)) {
    return invalidRequest(
      "unknown_item_type",
      `${path}.type is not a kind of item that this router knows`,
      `${path}.type`,
    );
  }
  const capability = NATIVE_ITEMS[type];
  if (capability !== null && capability !== undefined) asked.need(capability, `${path}.type`);
  asked.use("native_responses", `${path}.type`);
  const { encrypted_content: sealed, tools } = item;
  if (typeof sealed === "string" && sealed !== "") {
    asked.signed(readSignature(sealed, NATIVE_FAMILY).family, `${path}.encrypted_content`);
  }
  return type === "additional_tools" ? askToolList(tools, `${path}.tools`, asked) : null;
}

function withoutDirectCaller(item: JsonObject): JsonObject {
  const { caller } = item;
  return isJsonObject(caller) && caller["type"] === "direct" ? { ...item, caller: null } : item;
}
