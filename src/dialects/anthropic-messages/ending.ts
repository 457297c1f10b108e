import { readCount, parseAnswerBytes } from "../json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { InferenceRequest } from "../../canon/request.ts";
import type { TokenUsage } from "../../canon/generate/event.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import { refusedAnswer, refusedFrame } from "../refusals.ts";

/**
 * Whether a request only fills the provider's cache: it is answered with nothing, and nothing has
 * no reason to end.
 */
export function asksNothing({ body }: InferenceRequest): boolean {
  return body["max_tokens"] === 0;
}

/**
 * The counts that the protocol keeps apart. Several events report them; each later value replaces
 * the earlier one.
 */
const COUNTS = [
  "input_tokens",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
  "output_tokens",
] as const;
type Count = (typeof COUNTS)[number];

/**
 * Rounds of one answer that the totals leave out: the provider summed the conversation up before it
 * answered.
 */
const UNCOUNTED_ROUND = "compaction";

/**
 * Adds up the usage of one answer. The protocol's input excludes cached tokens, canon's includes
 * them (docs/protocols.md#usage).
 */
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

  /**
   * @param begins the answer is yet to come: its output is not counted, whatever number the
   * protocol has there.
   * @returns whether `usage` is one.
   */
  add(usage: JsonValue | undefined, begins = false): boolean {
    if (!isJsonObject(usage)) return false;
    this.#heard = true;
    for (const name of COUNTS) {
      if (name !== "output_tokens" || !begins)
        this.#counts[name] = readCount(usage[name]) ?? this.#counts[name];
    }
    const details = usage["output_tokens_details"];
    if (isJsonObject(details))
      this.#reasoning = readCount(details["thinking_tokens"]) ?? this.#reasoning;
    const writes = usage["cache_creation"];
    if (isJsonObject(writes)) {
      this.#writtenForAnHour =
        readCount(writes["ephemeral_1h_input_tokens"]) ?? this.#writtenForAnHour;
    }
    this.#extra = uncountedRounds(usage["iterations"]) ?? this.#extra;
    return true;
  }

  #count(name: Count): number | null {
    const count = this.#counts[name];
    return count === null ? null : count + (this.#extra?.[name] ?? 0);
  }
}

/**
 * What the totals leave out and the provider charges for; `null` where there is no such round.
 * Another model's advice is in no total of this one.
 */
function uncountedRounds(
  iterations: JsonValue | undefined,
): Readonly<Record<Count, number>> | null {
  if (!Array.isArray(iterations)) return null;
  const rounds = iterations.filter(
    (round): round is JsonObject => isJsonObject(round) && round["type"] === UNCOUNTED_ROUND,
  );
  if (rounds.length === 0) return null;
  const sum = (name: Count): number =>
    rounds.reduce((total, round) => total + (readCount(round[name]) ?? 0), 0);
  return {
    input_tokens: sum("input_tokens"),
    cache_creation_input_tokens: sum("cache_creation_input_tokens"),
    cache_read_input_tokens: sum("cache_read_input_tokens"),
    output_tokens: sum("output_tokens"),
  };
}

/**
 * Machine codes that say something to a caller and nothing of its content. All others are dropped.
 */
const SAFE_CODES: ReadonlySet<string> = new Set([
  "request_too_large",
  "rate_limit_error",
  "overloaded_error",
  "timeout_error",
  "api_error",
  "billing_error",
  "not_found_error",
  "available_tools_limit_exceeded",
  "tool_name_conflict",
  "tool_reference_unresolved",
  "compaction_unavailable",
  "compaction_block_ambiguous",
  "compaction_block_misplaced",
  "compaction_content_mismatch",
  "compaction_incomplete_turn",
  "compaction_nothing_to_summarize",
  "compaction_signature_invalid",
]);

/** Reads an answer with an error status as a failure (docs/protocols.md#errors-of-providers). */
export function readMessagesError(status: number, bytes: Uint8Array): UpstreamFailure {
  const body = parseAnswerBytes(bytes);
  const error = isJsonObject(body) ? body["error"] : undefined;
  return refusedAnswer(status, error, safeCode(error));
}

/** An error object that arrived inside a stream, or in an answer that said 200. */
export function readErrorFrame(error: JsonValue | undefined): UpstreamFailure {
  return refusedFrame(error, safeCode(error));
}

/**
 * The failure that a message, a block or a piece reports: its type is `error`, or it has an error
 * instead of content. `null` where it reports none. Results of tools have types of their own
 * (`web_search_tool_result_error`) and are content.
 */
function innerFailure(part: JsonValue | undefined): UpstreamFailure | null {
  if (!isJsonObject(part)) return null;
  const { type, error } = part;
  return type === "error" || (error !== undefined && error !== null) ? readErrorFrame(error) : null;
}

/**
 * The failure that a whole message reports, in itself or in one of its blocks; `null` where it
 * reports none.
 */
export function messageFailure(message: JsonObject): UpstreamFailure | null {
  const { content } = message;
  const parts: readonly JsonValue[] = Array.isArray(content) ? [message, ...content] : [message];
  return parts.map(innerFailure).find((failure) => failure !== null) ?? null;
}

/** The same for an event of a stream: in its message, its block or its piece. */
export function eventFailure({
  message,
  content_block: block,
  delta,
}: JsonObject): UpstreamFailure | null {
  const failed = isJsonObject(message) ? messageFailure(message) : null;
  return failed ?? innerFailure(block) ?? innerFailure(delta);
}

function safeCode(error: JsonValue | undefined): string | null {
  if (!isJsonObject(error)) return null;
  const { details, type } = error;
  for (const code of [isJsonObject(details) ? details["error_code"] : undefined, type]) {
    if (typeof code === "string" && SAFE_CODES.has(code)) return code;
  }
  return null;
}
