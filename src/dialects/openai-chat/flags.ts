import { NO_EDITS, editSet, type DroppedField, type EditSet } from "../../canon/generate/edit.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { InferenceRequest } from "../../canon/request.ts";
import type { FlagFacts } from "../dialect.ts";
import { ownValue, type Members } from "../json.ts";
import { CHAT_FLAGS } from "./facts.ts";
import { readToolChoice } from "./family.ts";
import { toolName } from "./parse-request.ts";
import { isFilledText, readReasoningHistory } from "./reasoning.ts";

type Fit = (message: JsonObject, changes: Changes) => JsonObject;

/** Changes of one message, by flag. */
const FITS: readonly (readonly [flag: string, fit: Fit])[] = [
  ["no_developer_role", developerAsSystem],
  ["no_participant_names", withoutName],
  ["joined_text_content", withJoinedText],
  ["replays_reasoning", withReasoningContent],
  ["no_reasoning_history", withoutReasoning],
];

function fitMessages(body: Members, flags: readonly string[], changes: Changes): void {
  const { messages } = body;
  const fits = FITS.flatMap(([flag, fit]) => (flags.includes(flag) ? fit : []));
  if (fits.length === 0 || !Array.isArray(messages)) return;
  body.messages = messages.map((message: JsonValue) => {
    if (!isJsonObject(message)) return message;
    let fitted = message;
    for (const fit of fits) fitted = fit(fitted, changes);
    return fitted;
  });
}

function developerAsSystem(message: JsonObject, { dropped }: Changes): JsonObject {
  if (message.role !== "developer") return message;
  dropped.add("developer_as_system");
  return { ...message, role: "system" };
}

/** In the legacy role `function` the name is the function's, not a participant's. */
function withoutName(message: JsonObject, changes: Changes): JsonObject {
  const { name, role } = message;
  if (name === undefined || role === "function") return message;
  if (name === null) changes.edits |= MEMBER_REWRITTEN;
  else changes.dropped.add("participant_name_dropped");
  return without(message, "name");
}

/** Separator of joined parts: the same as in servers whose templates take text only. */
const BETWEEN_PARTS = "\n";

const TEXT_MEMBERS = ["type", "text", "cache_control"];

/** A list of text parts as one text. A list with other parts stays, for the provider to judge. */
function withJoinedText(message: JsonObject, changes: Changes): JsonObject {
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
  if (texts.length > 1) changes.dropped.add("text_parts_joined");
  else changes.edits |= MEMBER_REWRITTEN;
  if (marked) changes.dropped.add("cache_mark_dropped");
  return { ...message, content: texts.join(BETWEEN_PARTS) };
}

/**
 * Placeholder for missing reasoning, such as in a message of another model: DeepSeek and Moonshot
 * refuse histories in which a message of the assistant lacks it while the model thinks, and
 * Moonshot refuses empty text too.
 */
const NO_REASONING = " ";

/** Moves unsigned reasoning of the history to the member that such providers require. */
function withReasoningContent(message: JsonObject, changes: Changes): JsonObject {
  if (message.role !== "assistant" || isFilledText(message.reasoning_content)) return message;
  const text = readReasoningHistory(message)
    .parts.map((part) => part.text)
    .join("");
  if (text === "") changes.dropped.add("reasoning_placeholder");
  else changes.edits |= MEMBER_REWRITTEN;
  return { ...without(message, "reasoning"), reasoning_content: text === "" ? NO_REASONING : text };
}

/** Signed reasoning stays: the decision has chosen a provider of its family. */
function withoutReasoning(message: JsonObject, changes: Changes): JsonObject {
  if (message.role !== "assistant") return message;
  const { reasoning_details: details } = message;
  let stripped = without(without(message, "reasoning_content"), "reasoning");
  if (details === null || (Array.isArray(details) && !details.some(isSigned))) {
    stripped = without(stripped, "reasoning_details");
  }
  if (stripped === message) return message;
  if (readReasoningHistory(message).parts.length > 0)
    changes.dropped.add("unsigned_reasoning_dropped");
  else changes.edits |= MEMBER_REWRITTEN;
  return stripped;
}

function isSigned(detail: JsonValue): boolean {
  return isJsonObject(detail) && (isFilledText(detail.signature) || isFilledText(detail.data));
}

/** Moves the effort to the provider's own member, unless the caller has set that one. */
function fitReasoning(body: Members, flags: readonly string[], changes: Changes): void {
  const effort = body.reasoning_effort;
  if (!flags.includes("reasoning_object") || typeof effort !== "string") return;
  // Providers refuse both members together; the caller wrote `reasoning` for this provider.
  body.reasoning ??= { effort };
  delete body.reasoning_effort;
  changes.edits |= MEMBER_REWRITTEN;
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
function shortenCallIds(body: Members, changes: Changes): void {
  const { messages } = body;
  if (!Array.isArray(messages)) return;
  const kept = new Set(messages.flatMap(idsOf).filter((id) => SHORT.test(id)));
  const made = new Map<string, string>();
  let number = 0;
  const shorten = (id: string): string => {
    if (SHORT.test(id)) return id;
    let short = made.get(id);
    while (short === undefined) {
      number += 1;
      const candidate = `call${number.toString(36).padStart(NUMBER_LENGTH, "0")}`;
      if (!kept.has(candidate)) made.set(id, (short = candidate));
    }
    return short;
  };
  const renamed = messages.map((message) => withIds(message, shorten));
  if (made.size === 0) return;
  body.messages = renamed;
  changes.dropped.add("call_ids_rewritten");
}

function idsOf(message: JsonValue): readonly string[] {
  if (!isJsonObject(message)) return [];
  const { tool_calls: calls, tool_call_id: answered } = message;
  const ids = Array.isArray(calls)
    ? calls.map((call: JsonValue) => (isJsonObject(call) ? call.id : null))
    : [];
  return [...ids, answered].filter((id) => typeof id === "string");
}

function withIds(message: JsonValue, shorten: (id: string) => string): JsonValue {
  if (!isJsonObject(message)) return message;
  const { tool_calls: calls, tool_call_id: answered } = message;
  const copy: Members = { ...message };
  if (Array.isArray(calls)) copy.tool_calls = calls.map((call: JsonValue) => withId(call, shorten));
  if (typeof answered === "string") copy.tool_call_id = shorten(answered);
  return copy;
}

function withId(call: JsonValue, shorten: (id: string) => string): JsonValue {
  if (!isJsonObject(call) || typeof call.id !== "string") return call;
  const named: JsonObject = { ...call, id: shorten(call.id) };
  return named;
}

/** Filler message of the assistant. */
const ACKNOWLEDGED: JsonObject = { role: "assistant", content: "OK." };

/**
 * "Unexpected role 'user' after role 'tool'", code 3230
 * (github.com/charmbracelet/crush/issues/279).
 */
function partUsersFromTools(body: Members, { dropped }: Changes): void {
  const { messages } = body;
  if (!Array.isArray(messages)) return;
  const roles = messages.map((message: JsonValue) => (isJsonObject(message) ? message.role : null));
  const mayFollow = (index: number): boolean =>
    roles[index] !== "user" || roles[index - 1] !== "tool";
  if (roles.every((_, index) => mayFollow(index))) return;
  body.messages = messages.flatMap((message: JsonValue, index) =>
    mayFollow(index) ? [message] : [ACKNOWLEDGED, message],
  );
  dropped.add("turn_made");
}

/**
 * Adapts a body to a provider's flags (`DIALECTS["openai-chat"].flags`). Relays and translations
 * both use it, so that a flag means the same for both. Requests with withdrawn features have been
 * refused before; other members are rewritten, or dropped and recorded.
 */
export function applyFlags(body: Members, flags: readonly string[]): Changes {
  const changes: Changes = { stripped: [], dropped: new Set(), edits: NO_EDITS };
  if (flags.length === 0) return changes;
  omitMembers(body, flags, changes);
  rename(body, flags, changes);
  fitReasoning(body, flags, changes);
  fitTools(body, flags, changes);
  fitMessages(body, flags, changes);
  const isShort = flags.includes("short_call_ids");
  if (isShort) shortenCallIds(body, changes);
  if (isShort || flags.includes("no_user_after_tool")) partUsersFromTools(body, changes);
  return changes;
}

/** Tools and the choice among them. */
function fitTools(body: Members, flags: readonly string[], changes: Changes): void {
  if (flags.includes("no_tool_strict")) dropStrictness(body, changes);
  if (flags.includes("no_allowed_tools")) filterAllowed(body, changes);
  if (flags.includes("no_tool_choice")) dropChoice(body, changes);
}

/** `strict: false` is the default. */
function dropStrictness(body: Members, changes: Changes): void {
  const { tools } = body;
  if (!Array.isArray(tools)) return;
  body.tools = tools.map((tool: JsonValue) => {
    const definition = isJsonObject(tool) ? tool.function : null;
    // Strict functions have been refused by name; one that gets here is for the provider to refuse.
    if (!isJsonObject(tool) || !isJsonObject(definition) || definition.strict === true) return tool;
    const fitted = without(definition, "strict");
    if (fitted === definition) return tool;
    changes.edits |= MEMBER_REWRITTEN;
    return { ...tool, function: fitted };
  });
}

/** Replaces a choice among some of the tools by a request with those tools only. */
function filterAllowed(body: Members, changes: Changes): void {
  const { tools, tool_choice: choice } = body;
  const allowed = readToolChoice(choice, true);
  if (allowed?.mode !== "allowed" || !Array.isArray(tools)) return;
  const filtered = tools.filter((tool: JsonValue) => allowed.names.includes(toolName(tool)));
  // A choice of unknown tools is for the provider to judge.
  if (filtered.length < new Set(allowed.names).size) return;
  body.tools = filtered;
  body.tool_choice = allowed.required ? "required" : "auto";
  changes.dropped.add("allowed_tools_filtered");
}

/**
 * `auto` is the default; `none` is kept by sending no tools. Other choices stay, for the provider
 * to refuse.
 */
function dropChoice(body: Members, changes: Changes): void {
  const choice = body.tool_choice;
  if (choice === "none") {
    if (body.tools !== undefined) changes.dropped.add("tools_withheld");
    delete body.tools;
    delete body.parallel_tool_calls;
  }
  if (choice === null || choice === "auto" || choice === "none") {
    delete body.tool_choice;
    changes.edits |= MEMBER_REWRITTEN;
  }
}

/** Changes made for a provider's flags. */
export interface Changes {
  /** Registered names of removed top-level members. */
  readonly stripped: string[];
  readonly dropped: Set<DroppedField>;
  edits: EditSet;
}

const USAGE_REQUESTED = editSet("usage_requested");
export const MEMBER_REWRITTEN = editSet("member_rewritten");

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
  no_parallel_tool_calls_field: null,
  no_seed: null,
  no_logit_bias: null,
  no_logprobs: null,
  no_penalties: null,
  no_verbosity: null,
  no_service_tier: "service_tier_changed",
  no_prompt_cache_fields: "cache_hint_dropped",
};

export function omitMembers(body: Members, flags: readonly string[], changes: Changes): void {
  for (const flag of flags) {
    const dropped = ownValue(OMITTING, flag);
    if (dropped === undefined) continue;
    for (const name of FLAGS[flag]?.omits ?? []) {
      const value = body[name];
      if (value === undefined) continue;
      delete body[name];
      changes.stripped.push(name);
      if (dropped !== null && value !== null) changes.dropped.add(dropped);
    }
  }
}

/** Renames members to the provider's names. */
function rename(body: Members, flags: readonly string[], changes: Changes): void {
  if (flags.includes("max_tokens_field"))
    renameLimit(body, "max_completion_tokens", "max_tokens", changes);
  if (flags.includes("max_completion_tokens_field"))
    renameLimit(body, "max_tokens", "max_completion_tokens", changes);
  if (
    flags.includes("random_seed_field") &&
    body.seed !== undefined &&
    body.random_seed === undefined
  ) {
    body.random_seed = body.seed;
    delete body.seed;
    changes.edits |= MEMBER_REWRITTEN;
  }
}

/** With both set, the lower one applies. */
function renameLimit(body: Members, from: string, to: string, changes: Changes): void {
  const value = body[from];
  if (value === undefined) return;
  delete body[from];
  changes.edits |= MEMBER_REWRITTEN;
  const other = body[to];
  if (typeof other === "number" && typeof value === "number") body[to] = Math.min(value, other);
  else if (typeof other !== "number") body[to] = value;
}

/** Requests token counts of a stream, or removes the options where the provider refuses them. */
export function requestUsage(
  body: Members,
  { body: { stream_options: options }, includeUsage, shape }: InferenceRequest,
  flags: readonly string[],
  stripped: string[],
): EditSet {
  if (flags.includes("no_stream_options")) {
    takeOut(body, "stream_options", stripped);
    return NO_EDITS;
  }
  if (!shape.stream) return NO_EDITS;
  body.stream_options = { ...(isJsonObject(options) ? options : {}), include_usage: true };
  return includeUsage ? NO_EDITS : USAGE_REQUESTED;
}

/** Removes a member that the provider refuses, and records it where the caller had sent it. */
export function takeOut(body: Members, name: string, stripped: string[]): void {
  if (!Object.hasOwn(body, name)) return;
  delete body[name];
  stripped.push(name);
}
