import { invalidRequest } from "../../canon/error.ts";
import type {
  AssistantPart,
  RefusalPart,
  TextPart,
  ToolCallPart,
  ToolResult,
  Turn,
} from "../../canon/generate/message.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { CALLED_FUNCTION_MEMBERS, MESSAGE_MEMBERS, TOOL_CALL_MEMBERS } from "./fields.ts";
import { isDeeperThan, MAXIMUM_DEPTH, parseExactJsonText } from "../json-bytes.ts";
import type { RequestReading } from "../fields.ts";
import { isPieceName } from "./reasoning-details.ts";
import { noteSignatures } from "./signatures.ts";
import { readPart, textPart, type ContentPart } from "./read-parts.ts";
import { noteReasoningHistory, readReasoningHistory } from "./reasoning-history.ts";

/** The messages as turns; tool messages that follow each other are one turn's results. */
export function readMessages({ messages }: JsonObject, reading: RequestReading): readonly Turn[] {
  if (!Array.isArray(messages)) return [];
  const turns: Turn[] = [];
  /** Results of the turn that is last; `null` where another kind of turn is. */
  let results: ToolResult[] | null = null;
  let begun = false;
  let role: JsonValue | undefined;
  // An iterator of entries costs more than all else that is done with a plain message.
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index];
    if (!isJsonObject(message)) continue;
    const path = `messages[${index}]`;
    ({ role } = message);
    const isSystem = role === "system" || role === "developer";
    if (isSystem && begun) reading.use("mid_conversation_system", path);
    begun ||= !isSystem;
    if (role === "tool") {
      if (results === null) turns.push({ role, results: (results = []) });
      results.push(readToolResult(message, path, reading));
      continue;
    }
    results = null;
    const turn = readTurn(message, path, reading);
    if (turn !== null) turns.push(turn);
  }
  const last = `messages[${messages.length - 1}]`;
  // An answer begun by the caller is not continued here as it is elsewhere, and other protocols do not answer system text alone.
  if (role === "assistant" || !begun) reading.use("native_chat", last);
  if (messages.length > 1) reading.use("conversation", "messages[1]");
  else if (!isPlainPrompt(messages[0])) reading.use("conversation", "messages[0]");
  return turns;
}

/** One user's text, which a prompt without turns can hold. */
function isPlainPrompt(message: JsonValue | undefined): boolean {
  if (!isJsonObject(message) || message["role"] !== "user") return false;
  const content = message["content"];
  return !Array.isArray(content) || (content.length === 1 && isJsonObject(content[0]) && content[0]["type"] === "text");
}

const isText = (part: ContentPart): part is TextPart => part.kind === "text";
const isSaid = (part: ContentPart): part is TextPart | RefusalPart => part.kind === "text" || part.kind === "refusal";
const isInput = (part: ContentPart): part is Exclude<ContentPart, RefusalPart> => part.kind !== "refusal";
const isNothing = (_part: ContentPart): _part is never => false;

/** `null` for the legacy role `function`, which only this protocol has. */
function readTurn(message: JsonObject, path: string, reading: RequestReading): Turn | null {
  const { name } = message;
  const role = textOf(message["role"]) ?? "";
  switch (role) {
    case "system":
    case "developer":
      noteMembers(message, MESSAGE_MEMBERS.system, path, reading);
      if (typeof name === "string") reading.dropped.add("participant_name_dropped");
      return { role: "system", authority: role, content: readContent(message, isText, path, reading) };
    case "user":
      noteMembers(message, MESSAGE_MEMBERS.user, path, reading);
      return { role, name: textOf(name), content: readContent(message, isInput, path, reading) };
    case "assistant":
      noteMembers(message, MESSAGE_MEMBERS.assistant, path, reading);
      return { role, name: textOf(name), content: readAssistant(message, path, reading) };
    default:
      reading.use("native_chat", path);
      noteMembers(message, null, path, reading);
      readContent(message, isNothing, path, reading);
      return null;
  }
}

function readToolResult(message: JsonObject, path: string, reading: RequestReading): ToolResult {
  const { name, tool_call_id: callId } = message;
  noteMembers(message, MESSAGE_MEMBERS.tool, path, reading);
  reading.need("tools", path);
  if (typeof callId !== "string") reading.use("native_chat", `${path}.tool_call_id`);
  if (typeof name === "string") reading.dropped.add("participant_name_dropped");
  const content = readContent(message, isText, path, reading);
  return { callId: textOf(callId) ?? "", content, isError: null, cache: null };
}

/** Unknown members, and what those for calls, sound and signatures require, which a message of any role may have. */
function noteMembers(
  message: JsonObject,
  known: ReadonlySet<string> | null,
  path: string,
  reading: RequestReading,
): void {
  if (known !== null) reading.useUnknown(message, known, path, "native_chat");
  const { role, tool_calls: calls, function_call: called, audio } = message;
  if (role === "function" || isJsonObject(called)) reading.need("tools", path);
  if (isJsonObject(audio)) reading.need("audio_output", `${path}.audio`);
  if (calls !== undefined && calls !== null && !(Array.isArray(calls) && calls.length === 0)) {
    reading.need("tools", `${path}.tool_calls`);
  }
  noteSignatures(message, path, reading);
}

/** @param isTaken whether canon can hold the part in a turn of this role. */
function readContent<Part extends ContentPart>(
  { role, content }: JsonObject,
  isTaken: (part: ContentPart) => part is Part,
  path: string,
  reading: RequestReading,
): readonly (Part | TextPart)[] {
  if (typeof content === "string") return [textPart(content)];
  if (!Array.isArray(content)) {
    if (role !== "assistant") reading.use("native_chat", path);
    return [];
  }
  const parts: Part[] = [];
  for (const [index, value] of content.entries()) {
    const part = readPart(value, `${path}.content[${index}]`, reading);
    if (part !== null && isTaken(part)) parts.push(part);
    else reading.use("native_chat", `${path}.content[${index}]`);
  }
  return parts;
}

function readAssistant(message: JsonObject, path: string, reading: RequestReading): readonly AssistantPart[] {
  const { content, refusal, annotations, reasoning_details: details } = message;
  const calls = readCalls(message["tool_calls"], `${path}.tool_calls`, reading);
  noteReasoningHistory(message, path, reading);
  const { parts: reasoning, isWhole } = readReasoningHistory(message);
  if (!isWhole) reading.dropped.add("unsigned_reasoning_dropped");
  if (Array.isArray(details) && details.some(isNamed)) reading.dropped.add("item_id_dropped");
  if (Array.isArray(annotations) && annotations.length > 0) reading.dropped.add("citations_dropped");
  // Answers that only call tools come back with empty text; it says nothing.
  const said = content === "" ? [] : readContent(message, isSaid, path, reading);
  const refused: RefusalPart[] =
    typeof refusal === "string" && refusal !== "" ? [{ kind: "refusal", text: refusal }] : [];
  return [...reasoning, ...said, ...refused, ...calls];
}

function isNamed(detail: JsonValue): boolean {
  if (!isJsonObject(detail)) return false;
  const { index, id } = detail;
  // The router's own names keep the pieces apart; others say nothing here.
  return (index ?? null) !== null || ((id ?? null) !== null && !isPieceName(id));
}

function readCalls(calls: JsonValue | undefined, path: string, reading: RequestReading): readonly ToolCallPart[] {
  if (calls === undefined || calls === null) return [];
  const parts: ToolCallPart[] = [];
  for (const [index, call] of (Array.isArray(calls) ? calls : [calls]).entries()) {
    const part = readCall(call, `${path}[${index}]`, reading);
    if (part === null) reading.use("native_chat", path);
    else parts.push(part);
  }
  return parts;
}

/** `null` where it is no call of a function, or says something that canon does not hold. */
function readCall(call: JsonValue, path: string, reading: RequestReading): ToolCallPart | null {
  if (!isJsonObject(call) || (call["type"] ?? "function") !== "function") return null;
  const { function: called, id, index } = call;
  if (reading.unknownIn(call, TOOL_CALL_MEMBERS) !== null || !isJsonObject(called)) return null;
  if (reading.unknownIn(called, CALLED_FUNCTION_MEMBERS) !== null) return null;
  if (index !== undefined && index !== null) reading.dropped.add("item_id_dropped");
  return {
    kind: "tool_call",
    id: textOf(id) ?? "",
    name: textOf(called["name"]) ?? "",
    arguments: readArguments(textOf(called["arguments"]) ?? "", `${path}.function.arguments`, reading),
    cache: null,
  };
}

/** Other protocols want an object where this one takes any text. */
function readArguments(text: string, path: string, reading: RequestReading): string {
  if (text.trim() === "") {
    reading.dropped.add("tool_arguments_normalised");
    return "{}";
  }
  if (reading.forTranslation && !isCallable(parseExactJsonText(text))) {
    const sentence = `${path} must be the text of a JSON object: an endpoint that may get the request takes nothing else`;
    reading.refuse(invalidRequest("invalid_tool_arguments", sentence, path));
  }
  return text;
}

function isCallable(value: JsonValue | undefined): boolean {
  return isJsonObject(value) && !JSON.isRawJSON(value) && !isDeeperThan(value, MAXIMUM_DEPTH);
}

function textOf(value: JsonValue | undefined): string | null {
  return typeof value === "string" ? value : null;
}
