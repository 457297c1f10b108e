import { editSet, type DroppedField } from "../../canon/generate/edit.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import type { InferenceRequest } from "../../canon/request.ts";
import type { FlagFacts } from "../dialect.ts";
import { listOf, mapObjects, memberIn, ownValue, withMember, withObject } from "../json.ts";
import { CHAT_FLAGS } from "./facts.ts";
import { readToolChoice } from "./family.ts";
import { toolName } from "./parse-request.ts";
import { isFilledText, readReasoningHistory } from "./reasoning.ts";
import type { BodyEdit } from "../relay.ts";
import { MEMBER_REWRITTEN } from "../relay.ts";

function developerAsSystem(message: JsonObject, { dropped }: BodyEdit): JsonObject {
  if (message.role !== "developer") return message;
  dropped.add("developer_as_system");
  return { ...message, role: "system" };
}

/** In the legacy role `function` the name is the function's, not a participant's. */
function withoutName(message: JsonObject, edit: BodyEdit): JsonObject {
  const { name, role } = message;
  if (name === undefined || role === "function") return message;
  if (name === null) edit.edits |= MEMBER_REWRITTEN;
  else edit.dropped.add("participant_name_dropped");
  return without(message, "name");
}

/** Separator of joined parts: the same as in servers whose templates take text only. */
const BETWEEN_PARTS = "\n";

const TEXT_MEMBERS = ["type", "text", "cache_control"];

/** A list of text parts as one text. A list with other parts stays, for the provider to judge. */
function withJoinedText(message: JsonObject, edit: BodyEdit): JsonObject {
  const { content } = message;
  if (!Array.isArray(content) || content.length === 0) return message;
  const texts: string[] = [];
  let marked = false;
  for (const part of content) {
    if (!isJsonObject(part) || part.type !== "text" || typeof part.text !== "string")
      return message;
    if (!Object.keys(part).every((name) => TEXT_MEMBERS.includes(name))) return message;
    texts.push(part.text);
    marked ||= isJsonObject(part.cache_control);
  }
  if (texts.length > 1) edit.dropped.add("text_parts_joined");
  else edit.edits |= MEMBER_REWRITTEN;
  if (marked) edit.dropped.add("cache_mark_dropped");
  return { ...message, content: texts.join(BETWEEN_PARTS) };
}

/**
 * Placeholder for missing reasoning, such as in a message of another model: DeepSeek and Moonshot
 * refuse histories in which a message of the assistant lacks it while the model thinks, and
 * Moonshot refuses empty text too.
 */
const NO_REASONING = " ";

/** Moves unsigned reasoning of the history to the member that such providers require. */
function withReasoningContent(message: JsonObject, edit: BodyEdit): JsonObject {
  if (message.role !== "assistant" || isFilledText(message.reasoning_content)) return message;
  const text = readReasoningHistory(message)
    .parts.map((part) => part.text)
    .join("");
  if (text === "") edit.dropped.add("reasoning_placeholder");
  else edit.edits |= MEMBER_REWRITTEN;
  return { ...without(message, "reasoning"), reasoning_content: text === "" ? NO_REASONING : text };
}

/** Signed reasoning stays: the decision has chosen a provider of its family. */
function withoutReasoning(message: JsonObject, edit: BodyEdit): JsonObject {
  if (message.role !== "assistant") return message;
  const { reasoning_details: details } = message;
  let stripped = without(without(message, "reasoning_content"), "reasoning");
  if (details === null || (Array.isArray(details) && !details.some(isSigned))) {
    stripped = without(stripped, "reasoning_details");
  }
  if (stripped === message) return message;
  if (readReasoningHistory(message).parts.length > 0)
    edit.dropped.add("unsigned_reasoning_dropped");
  else edit.edits |= MEMBER_REWRITTEN;
  return stripped;
}

function isSigned(detail: JsonValue) {
  return isJsonObject(detail) && (isFilledText(detail.signature) || isFilledText(detail.data));
}

/** Moves the effort to the provider's own member, unless the caller has set that one. */
function renameEffort(edit: BodyEdit) {
  const { body } = edit;
  const effort = body.reasoning_effort;
  if (typeof effort !== "string") return;
  // Providers refuse both members together; the caller wrote `reasoning` for this provider.
  body.reasoning ??= { effort };
  delete body.reasoning_effort;
  edit.edits |= MEMBER_REWRITTEN;
}

/**
 * The only ids of calls that Mistral's servers accept
 * (docs/protocols.md#openai-compatible-providers).
 */
const SHORT = /^[a-zA-Z0-9]{9}$/;

/** Characters after the prefix `call`. */
const NUMBER_LENGTH = 5;

/**
 * Gives every call of the history an id of nine letters and digits. Valid ids stay; others are
 * numbered in the order in which they first appear. Histories grow at their end, so the next
 * request of the conversation has the same ids and prompt caches keep working.
 */
function shortenCallIds(edit: BodyEdit) {
  const { body, dropped } = edit;
  const { messages } = body;
  const validIds = new Set(
    listOf(messages)
      .flatMap(idsOf)
      .filter((id) => SHORT.test(id)),
  );
  const shortIds = new Map<string, string>();
  let number = 0;
  const shorten = (id: JsonMember): JsonMember => {
    if (typeof id !== "string" || SHORT.test(id)) return id;
    let short = shortIds.get(id);
    while (short === undefined) {
      number += 1;
      const candidate = `call${number.toString(36).padStart(NUMBER_LENGTH, "0")}`;
      if (!validIds.has(candidate)) shortIds.set(id, (short = candidate));
    }
    return short;
  };
  body.messages = mapObjects(messages, (message) => {
    const shortened = withMember(message, "tool_calls", (calls) =>
      mapObjects(calls, (call) => withMember(call, "id", shorten)),
    );
    return withMember(shortened, "tool_call_id", shorten);
  });
  if (body.messages !== messages) dropped.add("call_ids_rewritten");
  partUsersFromTools(edit);
}

function idsOf(message: JsonValue): readonly string[] {
  const ids = listOf(memberIn(message, "tool_calls")).map((call) => memberIn(call, "id"));
  return [...ids, memberIn(message, "tool_call_id")].filter((id) => typeof id === "string");
}

/** Filler message of the assistant. */
const FILLER: JsonObject = { role: "assistant", content: "OK." };

/**
 * "Unexpected role 'user' after role 'tool'", code 3230
 * (github.com/charmbracelet/crush/issues/279).
 */
function partUsersFromTools({ body, dropped }: BodyEdit) {
  const { messages } = body;
  if (!Array.isArray(messages)) return;
  const roles = messages.map((message: JsonValue) => memberIn(message, "role"));
  const isAllowed = (index: number) => roles[index] !== "user" || roles[index - 1] !== "tool";
  if (roles.every((_, index) => isAllowed(index))) return;
  body.messages = messages.flatMap((message: JsonValue, index) =>
    isAllowed(index) ? [message] : [FILLER, message],
  );
  dropped.add("turn_made");
}

/**
 * `strict: false` is the default. Strict functions have been refused by name; one that gets here is
 * for the provider to refuse.
 */
function dropStrictness(edit: BodyEdit) {
  const tools = mapObjects(edit.body.tools, (tool) =>
    withObject(tool, "function", (definition) =>
      definition.strict === true ? definition : without(definition, "strict"),
    ),
  );
  edit.set("tools", tools, MEMBER_REWRITTEN);
}

/** Replaces a choice among some of the tools by a request with those tools only. */
function filterAllowed({ body, dropped }: BodyEdit) {
  const { tools, tool_choice: choice } = body;
  const allowed = readToolChoice(choice, true);
  if (allowed?.mode !== "allowed" || !Array.isArray(tools)) return;
  const filtered = tools.filter((tool: JsonValue) => allowed.names.includes(toolName(tool)));
  // A choice of unknown tools is for the provider to judge.
  if (filtered.length < new Set(allowed.names).size) return;
  body.tools = filtered;
  body.tool_choice = allowed.required ? "required" : "auto";
  dropped.add("allowed_tools_filtered");
}

/**
 * `auto` is the default; `none` is kept by sending no tools. Other choices stay, for the provider
 * to refuse.
 */
function dropChoice(edit: BodyEdit) {
  const { body } = edit;
  const choice = body.tool_choice;
  if (choice === "none") {
    if (body.tools !== undefined) edit.dropped.add("tools_withheld");
    delete body.tools;
    delete body.parallel_tool_calls;
  }
  if (choice === null || choice === "auto" || choice === "none") {
    delete body.tool_choice;
    edit.edits |= MEMBER_REWRITTEN;
  }
}

const USAGE_REQUESTED = editSet("usage_requested");

/** An object without one of its members; the same object where it does not have it. */
function without(object: JsonObject, name: string): JsonObject {
  if (object[name] === undefined) return object;
  const { [name]: _, ...rest } = object;
  return rest;
}

const FLAGS: Readonly<Record<string, FlagFacts>> = CHAT_FLAGS;

/**
 * Flags whose members (`omits`) are left out whatever their value, with the dropped field to record
 * for a value. Without one, only values without effect get here: the flag withdraws the feature.
 */
const OMITTING: Readonly<Partial<Record<keyof typeof CHAT_FLAGS, DroppedField | null>>> = {
  no_store_field: null,
  no_stream_options: null,
  no_parallel_tool_calls_field: null,
  no_seed: null,
  no_logit_bias: null,
  no_logprobs: null,
  no_penalties: null,
  no_verbosity: null,
  no_service_tier: "service_tier_changed",
  no_prompt_cache_fields: "cache_hint_dropped",
};

/** Also for legacy completions, which have some of the flags. */
export function omitMembers(edit: BodyEdit, flags: readonly string[]): void {
  for (const flag of flags) {
    const dropped = ownValue(OMITTING, flag);
    if (dropped === undefined) continue;
    for (const name of FLAGS[flag]?.omits ?? []) {
      const value = edit.body[name];
      if (value === undefined) continue;
      edit.takeOut(name);
      if (dropped !== null && value !== null) edit.dropped.add(dropped);
    }
  }
}

/** Sends the output limit under the provider's name. With both set, the lower one applies. */
export function renameLimit(from: string, to: string): Change {
  return (edit) => {
    const { body } = edit;
    const { [from]: value, [to]: other } = body;
    if (value === undefined) return;
    delete body[from];
    edit.edits |= MEMBER_REWRITTEN;
    if (typeof other !== "number") body[to] = value;
    else if (typeof value === "number") body[to] = Math.min(value, other);
  };
}

function renameSeed(edit: BodyEdit) {
  const { body } = edit;
  if (body.seed === undefined || body.random_seed !== undefined) return;
  edit.set("random_seed", body.seed, MEMBER_REWRITTEN);
  delete body.seed;
}

type Change = (edit: BodyEdit) => void;

function forEachMessage(fit: (message: JsonObject, edit: BodyEdit) => JsonObject): Change {
  return (edit) => {
    edit.body.messages = mapObjects(edit.body.messages, (message) => fit(message, edit));
  };
}

/** In the order of their application. */
const CHANGES: readonly (readonly [flag: keyof typeof CHAT_FLAGS, change: Change])[] = [
  ["max_tokens_field", renameLimit("max_completion_tokens", "max_tokens")],
  ["max_completion_tokens_field", renameLimit("max_tokens", "max_completion_tokens")],
  ["random_seed_field", renameSeed],
  ["reasoning_object", renameEffort],
  ["no_tool_strict", dropStrictness],
  ["no_allowed_tools", filterAllowed],
  ["no_tool_choice", dropChoice],
  ["no_developer_role", forEachMessage(developerAsSystem)],
  ["no_participant_names", forEachMessage(withoutName)],
  ["joined_text_content", forEachMessage(withJoinedText)],
  ["replays_reasoning", forEachMessage(withReasoningContent)],
  ["no_reasoning_history", forEachMessage(withoutReasoning)],
  ["short_call_ids", shortenCallIds],
  ["no_user_after_tool", partUsersFromTools],
];

/**
 * Adapts a body to a provider's flags (`DIALECTS["openai-chat"].flags`). Relays and translations
 * both use it, so that a flag means the same for both. Requests with withdrawn features have been
 * refused before; other members are rewritten, or dropped and recorded.
 */
export function applyFlags(edit: BodyEdit, flags: readonly string[]): void {
  if (flags.length === 0) return;
  omitMembers(edit, flags);
  for (const [flag, change] of CHANGES) if (flags.includes(flag)) change(edit);
}

/** Requests token counts of a stream, unless the provider refuses the options. */
export function requestUsage(
  edit: BodyEdit,
  { body: { stream_options: options }, includeUsage, shape }: InferenceRequest,
  flags: readonly string[],
): void {
  if (!shape.stream || flags.includes("no_stream_options")) return;
  edit.body.stream_options = { ...(isJsonObject(options) && options), include_usage: true };
  if (!includeUsage) edit.edits |= USAGE_REQUESTED;
}
