import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type {
  ReasoningPart,
  ToolCallPart,
  ToolResult,
  Turn,
} from "../../canon/generate/generate-request.ts";
import { readSignature } from "../../canon/generate/signature.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { parseJsonText, textOf } from "../json.ts";
import { isNamed } from "../openai-chat/family.ts";
import { storedState } from "../kinds.ts";
import type { RequestReading } from "../fields.ts";
import { NATIVE_FAMILY } from "./fields.ts";
import { readSealedReasoning } from "./sealed-reasoning.ts";
import {
  isInput,
  isResult,
  isSaid,
  isTextPart,
  readContent,
  requireText,
  textPart,
  TurnBuilder,
} from "./read-parts.ts";
import { RESPONSES_TYPES } from "./kinds.ts";

/** Members of the items that canon can say. */
const MESSAGE_MEMBERS: ReadonlySet<string> = new Set([
  "type",
  "id",
  "status",
  "role",
  "phase",
  "content",
]);
const REASONING_MEMBERS: ReadonlySet<string> = new Set([
  "type",
  "id",
  "status",
  "summary",
  "content",
  "encrypted_content",
]);
const CALL_MEMBERS: ReadonlySet<string> = new Set([
  "type",
  "id",
  "status",
  "call_id",
  "name",
  "arguments",
]);
const OUTPUT_MEMBERS: ReadonlySet<string> = new Set(["type", "id", "status", "call_id", "output"]);
/** `caller: {"type": "direct"}` is what a call without one is. */
const DIRECT_CALL_MEMBERS: ReadonlySet<string> = new Set([...CALL_MEMBERS, "caller"]);
const DIRECT_OUTPUT_MEMBERS: ReadonlySet<string> = new Set([...OUTPUT_MEMBERS, "caller"]);

const ROLES = ["user", "assistant", "system", "developer"];

/**
 * The conversation as turns: `instructions` first, then the items. Reasoning, texts and calls that
 * follow one another are one assistant's turn, unless two messages do; tool results that follow one
 * another are one turn.
 */
export function readConversation(
  { instructions, input }: JsonObject,
  reading: RequestReading,
): readonly Turn[] {
  const turns: Turn[] = [];
  if (instructions === "") reading.dropped.add("empty_text_dropped");
  else if (typeof instructions === "string") {
    turns.push({ role: "system", authority: "system", content: [textPart(instructions)] });
  }
  if (typeof input === "string")
    turns.push({ role: "user", name: null, content: [textPart(input)] });
  if (!Array.isArray(input)) return turns;
  if (!isOnePrompt(input)) reading.use("conversation", "input");
  const builder = new TurnBuilder(turns);
  let begun = false;
  for (let index = 0; index < input.length; index += 1) {
    const item = input[index];
    if (!isJsonObject(item)) continue;
    const path = `input[${index}]`;
    readItem(item, path, builder, reading);
    if (item["role"] !== "system" && item["role"] !== "developer") begun = true;
    else if (begun) reading.use("mid_conversation_system", `${path}.role`);
  }
  builder.end();
  // Elsewhere an answer that stands last is one to go on with, which this protocol does not say.
  const last = input.at(-1);
  if (isJsonObject(last) && isOfAssistant(last))
    reading.use("native_responses", `input[${input.length - 1}]`);
  return turns;
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
  return (
    item["role"] === "assistant" || item["type"] === "function_call" || item["type"] === "reasoning"
  );
}

/** The 400 for an item that stands for one kept at a provider. Its `type` may be left out. */
function storedItem(item: JsonObject, path: string): ServiceError | null {
  const type = item["type"] ?? null;
  const isBareId = type === null && isNamed(item, "id") && !isNamed(item, "role");
  if (type !== "item_reference" && !isBareId) return null;
  return storedState(
    path,
    "names an item kept at a provider, and none is kept; send the item itself (AI SDK: providerOptions.openai.store = false; others: their setting for store)",
  );
}

function readItem(
  item: JsonObject,
  path: string,
  builder: TurnBuilder,
  reading: RequestReading,
): void {
  const stored = storedItem(item, path);
  if (stored !== null) reading.refuse(stored);
  if (isGiven(item["id"]) || isGiven(item["status"])) reading.dropped.add("item_id_dropped");
  const type = typeof item["type"] === "string" ? item["type"] : "message";
  switch (type) {
    case "message":
      return readMessage(item, path, builder, reading);
    case "reasoning":
      return builder.said(readReasoning(item, path, reading));
    case "function_call":
      return builder.said([readCall(item, path, reading)]);
    case "function_call_output":
      return builder.result(readOutput(item, path, reading));
    default:
      return noteNativeItem(item, type, path, reading);
  }
}

function readMessage(
  item: JsonObject,
  path: string,
  builder: TurnBuilder,
  reading: RequestReading,
): void {
  const { role, content, phase } = item;
  reading.useUnknown(item, MESSAGE_MEMBERS, path, "native_responses", role ?? null);
  if (isGiven(phase)) reading.dropped.add("message_phase_dropped");
  const member = `${path}.content`;
  if (role === "user") {
    builder.turn({
      role,
      name: null,
      content: readContent(content, role, isInput, member, reading),
    });
  } else if (role === "assistant") {
    builder.message(readContent(content, role, isSaid, member, reading));
  } else if (role === "system" || role === "developer") {
    const texts = readContent(content, "system", isTextPart, member, reading);
    builder.turn({ role: "system", authority: role, content: texts });
  } else {
    const sentence = `${path}.role must be one of ${ROLES.join(", ")}`;
    reading.refuse(invalidRequest("invalid_value", sentence, `${path}.role`));
  }
}

const UNSIGNED = { text: "", signature: null, family: null } as const;

/** Full text is signed where there is any; a summary beside it goes along without a signature. */
function readReasoning(
  item: JsonObject,
  path: string,
  reading: RequestReading,
): readonly ReasoningPart[] {
  const { encrypted_content: encrypted, content, summary } = item;
  const isSigned = typeof encrypted === "string" && encrypted !== "";
  if (isSigned)
    reading.signed(readSignature(encrypted, NATIVE_FAMILY).family, `${path}.encrypted_content`);
  if (
    !areTexts(content, ["reasoning_text"], reading) ||
    !areTexts(summary, SUMMARY_TYPES, reading)
  ) {
    reading.use("native_responses", path);
  } else reading.useUnknown(item, REASONING_MEMBERS, path, "native_responses", "assistant");
  // Opening what is sealed costs more than all else here.
  if (!reading.forTranslation) return [];
  const { text: sealed, ...signed } = isSigned ? readSealedReasoning(encrypted) : UNSIGNED;
  const text = joinedTexts(content) || sealed;
  const summed = joinedTexts(summary);
  if (text === "" && summed === "" && signed.signature === null) {
    reading.dropped.add("unsigned_reasoning_dropped");
    return [];
  }
  if (text === "") return [{ kind: "reasoning", text: summed, summary: summed !== "", ...signed }];
  const full: ReasoningPart = { kind: "reasoning", text, summary: false, ...signed };
  if (summed === "") return [full];
  return [{ kind: "reasoning", text: summed, summary: true, signature: null, family: null }, full];
}

/**
 * What parts of a summary are called; one of another kind is no summary, and would not be read as
 * such.
 */
const SUMMARY_TYPES = [undefined, null, "summary_text", "reasoning_text", "text"] as const;
const TEXT_MEMBERS: ReadonlySet<string> = new Set(["type", "text"]);

/** Whether a list, which may be absent, holds texts of these types alone. */
function areTexts(
  parts: JsonValue | undefined,
  types: readonly (JsonValue | undefined)[],
  reading: RequestReading,
): boolean {
  if (!isGiven(parts)) return true;
  return (
    Array.isArray(parts) &&
    parts.every(
      (part) =>
        isJsonObject(part) &&
        types.includes(part["type"]) &&
        typeof part["text"] === "string" &&
        reading.unknownIn(part, TEXT_MEMBERS) === null,
    )
  );
}

/** Texts of several parts, a paragraph each. */
function joinedTexts(parts: JsonValue | undefined): string {
  if (!Array.isArray(parts)) return "";
  return parts.map((part) => (isJsonObject(part) ? textOf(part["text"]) : "")).join("\n\n");
}

function readCall(item: JsonObject, path: string, reading: RequestReading): ToolCallPart {
  reading.need("tools", path);
  reading.useUnknown(
    item,
    isDirect(item) ? DIRECT_CALL_MEMBERS : CALL_MEMBERS,
    path,
    "native_responses",
    "assistant",
  );
  const id = requireText(item["call_id"], `${path}.call_id`, reading);
  const name = requireText(item["name"], `${path}.name`, reading);
  const text = requireText(item["arguments"], `${path}.arguments`, reading);
  reading.called(id);
  const isEmpty = text.trim() === "";
  if (isEmpty) reading.dropped.add("tool_arguments_normalised");
  else if (reading.forTranslation && !isJsonObject(parseJsonText(text))) {
    const sentence = `${path}.arguments must be the JSON text of an object`;
    reading.refuse(invalidRequest("invalid_tool_arguments", sentence, `${path}.arguments`));
  }
  return { kind: "tool_call", id, name, arguments: isEmpty ? "{}" : text, cache: null };
}

function readOutput(item: JsonObject, path: string, reading: RequestReading): ToolResult {
  const { call_id: callId, output } = item;
  reading.need("tools", path);
  reading.useUnknown(
    item,
    isDirect(item) ? DIRECT_OUTPUT_MEMBERS : OUTPUT_MEMBERS,
    path,
    "native_responses",
    "tool",
  );
  // The protocol's newest form names the function instead of the call.
  if (typeof callId !== "string") reading.use("native_responses", path);
  else reading.answered(callId, `${path}.call_id`);
  return {
    callId: textOf(callId),
    content: readContent(output, "tool_result", isResult, `${path}.output`, reading),
    isError: null,
    cache: null,
  };
}

/** What the item holds is read by kind (`kinds.ts`). */
function noteNativeItem(
  item: JsonObject,
  type: string,
  path: string,
  reading: RequestReading,
): void {
  if (!Object.hasOwn(RESPONSES_TYPES, type)) {
    const sentence = `${path}.type is not an item type that this router supports`;
    reading.unknownKind ??= invalidRequest("unknown_item_type", sentence, `${path}.type`);
  }
  reading.use("native_responses", `${path}.type`);
  const { encrypted_content: sealed } = item;
  if (typeof sealed === "string" && sealed !== "") {
    reading.signed(readSignature(sealed, NATIVE_FAMILY).family, `${path}.encrypted_content`);
  }
}

function isDirect({ caller }: JsonObject): boolean {
  return isJsonObject(caller) && caller["type"] === "direct";
}

function isGiven(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null;
}
