import { readCount } from "../answer-members.ts";
import type { FinishReason } from "../../canon/generate/event.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { InferenceRequest } from "../../canon/request.ts";
import type { TokenUsage } from "../../canon/generate/usage.ts";

/** The protocol's reasons for a proper end (docs/protocols.md#finish-reasons). */
const REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop_sequence",
  max_tokens: "length",
  model_context_window_exceeded: "context_window",
  tool_use: "tool_calls",
  refusal: "refusal",
  pause_turn: "pause",
};

/** `null` where no reason is given; `other` for an unknown value, so that no upstream text reaches evidence. */
export function readStopReason(value: JsonValue | undefined): FinishReason | null {
  if (typeof value !== "string" || value === "") return null;
  return (Object.hasOwn(REASONS, value) ? REASONS[value] : undefined) ?? "other";
}

/** Whether a request only fills the provider's cache: it is answered with nothing, and nothing has no reason to end. */
export function asksNothing({ body }: InferenceRequest): boolean {
  return body["max_tokens"] === 0;
}

const STOP_REASONS: Readonly<Record<FinishReason, string | null>> = {
  stop: "end_turn",
  stop_sequence: "stop_sequence",
  length: "max_tokens",
  context_window: "model_context_window_exceeded",
  tool_calls: "tool_use",
  refusal: "refusal",
  content_filter: "refusal",
  pause: "pause_turn",
  other: null,
};

/** @throws for `other`, which native relays alone know: a translation would have to make a reason up. */
export function formatStopReason(reason: FinishReason): string {
  const stopReason = STOP_REASONS[reason];
  if (stopReason === null) throw new Error("formatStopReason: a finish reason that no translation gives");
  return stopReason;
}

/** The counts that the protocol keeps apart. Several events report them; each later value replaces the earlier one. */
const COUNTS = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"] as const;
type Count = (typeof COUNTS)[number];

/** Rounds of one answer that the totals leave out: the provider summed the conversation up before it answered. */
const UNCOUNTED_ROUND = "compaction";

/** Adds up the usage of one answer. The protocol's input excludes cached tokens, canon's includes them (docs/protocols.md#usage). */
export class UsageTally {
  readonly #counts: Record<Count, number | null> = {
    input_tokens: null,
    cache_creation_input_tokens: null,
    cache_read_input_tokens: null,
    output_tokens: null,
  };
  #reasoning: number | null = null;
  #writtenForAnHour: number | null = null;
  #extra: Readonly<Record<Count, number>> | null = null;
  #heard = false;

  /** `null` while nothing has been said. */
  get usage(): TokenUsage | null {
    if (!this.#heard) return null;
    const written = this.#count("cache_creation_input_tokens");
    const read = this.#count("cache_read_input_tokens");
    const fresh = this.#count("input_tokens");
    const usage = {
      input: fresh === null ? null : fresh + (written ?? 0) + (read ?? 0),
      output: this.#count("output_tokens"),
      cacheRead: read,
      cacheWrite: written,
      reasoning: this.#reasoning,
    };
    const cacheWriteHour = this.#writtenForAnHour ?? 0;
    return cacheWriteHour === 0 ? usage : { ...usage, cacheWriteHour };
  }

  /** @returns whether `usage` is one. */
  add(usage: JsonValue | undefined): boolean {
    if (!isJsonObject(usage)) return false;
    this.#heard = true;
    for (const name of COUNTS) this.#counts[name] = readCount(usage[name]) ?? this.#counts[name];
    const details = usage["output_tokens_details"];
    if (isJsonObject(details)) this.#reasoning = readCount(details["thinking_tokens"]) ?? this.#reasoning;
    const writes = usage["cache_creation"];
    if (isJsonObject(writes)) {
      this.#writtenForAnHour = readCount(writes["ephemeral_1h_input_tokens"]) ?? this.#writtenForAnHour;
    }
    this.#extra = uncountedRounds(usage["iterations"]) ?? this.#extra;
    return true;
  }

  #count(name: Count): number | null {
    const count = this.#counts[name];
    return count === null ? null : count + (this.#extra?.[name] ?? 0);
  }
}

/** What the totals leave out and the provider charges for; `null` where there is no such round. Another model's advice is in no total of this one. */
function uncountedRounds(iterations: JsonValue | undefined): Readonly<Record<Count, number>> | null {
  if (!Array.isArray(iterations)) return null;
  const rounds = iterations.filter(
    (round): round is JsonObject => isJsonObject(round) && round["type"] === UNCOUNTED_ROUND,
  );
  if (rounds.length === 0) return null;
  const sum = (name: Count): number => rounds.reduce((total, round) => total + (readCount(round[name]) ?? 0), 0);
  return {
    input_tokens: sum("input_tokens"),
    cache_creation_input_tokens: sum("cache_creation_input_tokens"),
    cache_read_input_tokens: sum("cache_read_input_tokens"),
    output_tokens: sum("output_tokens"),
  };
}

/** Whether an answer must make up a count. */
export function hasUnknownCounts(usage: TokenUsage | null): boolean {
  return usage === null || usage.input === null || usage.output === null;
}

/**
 * Usage as answers carry it. Official clients demand numbers for input and output and do sums with them, so the two read 0 where the
 * upstream did not say; every other unknown is null.
 */
export function formatUsage(usage: TokenUsage | null): JsonObject {
  const cached = (usage?.cacheRead ?? 0) + (usage?.cacheWrite ?? 0);
  return {
    input_tokens: Math.max((usage?.input ?? 0) - cached, 0),
    cache_creation_input_tokens: usage?.cacheWrite ?? null,
    cache_read_input_tokens: usage?.cacheRead ?? null,
    output_tokens: usage?.output ?? 0,
    output_tokens_details: usage?.reasoning == null ? null : { thinking_tokens: usage.reasoning },
    server_tool_use: null,
  };
}
