import { NO_EDITS, editSet, type DroppedField, type EditSet } from "../../canon/generate/edit.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { InferenceRequest } from "../../canon/request.ts";

/**
 * A finished body of this protocol that is still ours to change; the objects inside it are not, so
 * they are copied.
 */
export type EditableBody = Record<string, JsonValue | undefined>;

/** What a provider's flags changed. */
export interface Changes {
  /** Registered names of top-level members that were taken out. */
  readonly stripped: string[];
  readonly dropped: Set<DroppedField>;
  edits: EditSet;
}

const USAGE_REQUESTED = editSet("usage_requested");
export const MEMBER_REWRITTEN = editSet("member_rewritten");

/** An object without one of its members; the same object where it does not have it. */
export function without(object: JsonObject, name: string): JsonObject {
  if (object[name] === undefined) return object;
  const { [name]: _, ...rest } = object;
  return rest;
}

interface LeftOut {
  readonly flag: string;
  readonly members: readonly string[];
  /**
   * The dropped field to record where a member had a value; `null` where only values without effect
   * get here: all others are features that the flag withdraws.
   */
  readonly dropped: DroppedField | null;
}

/** Members that providers refuse whatever their value. */
const LEFT_OUT: readonly LeftOut[] = [
  { flag: "no_parallel_tool_calls_field", members: ["parallel_tool_calls"], dropped: null },
  { flag: "no_seed", members: ["seed"], dropped: null },
  { flag: "no_logit_bias", members: ["logit_bias"], dropped: null },
  { flag: "no_logprobs", members: ["logprobs", "top_logprobs"], dropped: null },
  { flag: "no_penalties", members: ["frequency_penalty", "presence_penalty"], dropped: null },
  { flag: "no_verbosity", members: ["verbosity"], dropped: null },
  { flag: "no_service_tier", members: ["service_tier"], dropped: "service_tier_changed" },
  {
    flag: "no_prompt_cache_fields",
    members: ["prompt_cache_key", "prompt_cache_retention", "prompt_cache_options"],
    dropped: "cache_hint_dropped",
  },
];

export function leaveOut(body: EditableBody, flags: readonly string[], changes: Changes): void {
  for (const { flag, members, dropped } of LEFT_OUT) {
    if (!flags.includes(flag)) continue;
    for (const name of members) {
      const value = body[name];
      if (value === undefined) continue;
      delete body[name];
      changes.stripped.push(name);
      if (dropped !== null && value !== null) changes.dropped.add(dropped);
    }
  }
}

/** Members under the names that the provider knows; the values stay, so nothing is lost. */
export function rename(body: EditableBody, flags: readonly string[], changes: Changes): void {
  if (flags.includes("max_tokens_field"))
    renameLimit(body, "max_completion_tokens", "max_tokens", changes);
  if (flags.includes("max_completion_tokens_field"))
    renameLimit(body, "max_tokens", "max_completion_tokens", changes);
  if (
    flags.includes("random_seed_field") &&
    body["seed"] !== undefined &&
    body["random_seed"] === undefined
  ) {
    body["random_seed"] = body["seed"];
    delete body["seed"];
    changes.edits |= MEMBER_REWRITTEN;
  }
}

/** A caller that sets both means the lower one: neither may be exceeded. */
function renameLimit(body: EditableBody, from: string, to: string, changes: Changes): void {
  const value = body[from];
  if (value === undefined) return;
  delete body[from];
  changes.edits |= MEMBER_REWRITTEN;
  const other = body[to];
  if (typeof other === "number" && typeof value === "number") body[to] = Math.min(value, other);
  else if (typeof other !== "number") body[to] = value;
}

/**
 * Has the counts of a stream sent, or takes the options out where the provider refuses them. Says
 * what the caller had not requested.
 */
export function requestUsage(
  body: EditableBody,
  { body: { stream_options: options }, includeUsage, shape }: InferenceRequest,
  flags: readonly string[],
  stripped: string[],
): EditSet {
  if (flags.includes("no_stream_options")) {
    takeOut(body, "stream_options", stripped);
    return NO_EDITS;
  }
  if (!shape.stream) return NO_EDITS;
  body["stream_options"] = { ...(isJsonObject(options) ? options : {}), include_usage: true };
  return includeUsage ? NO_EDITS : USAGE_REQUESTED;
}

/** Takes out what a provider refuses to see, and says so where the caller had sent it. */
export function takeOut(body: EditableBody, name: string, stripped: string[]): void {
  if (!Object.hasOwn(body, name)) return;
  delete body[name];
  stripped.push(name);
}
