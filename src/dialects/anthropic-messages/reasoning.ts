import type { GenerateRequest, ReasoningRequest } from "../../canon/generate/generate-request.ts";
import { readSignature, tagSignature } from "../../canon/generate/signature.ts";
import { isJsonObject, type JsonMember, type JsonObject } from "../../canon/json.ts";
import type { ReasoningEffort } from "../../canon/request.ts";
import type { ModelReasoning } from "../../canon/table.ts";
import { memberIn, numberOrNull, ownValue, textOf, type Members } from "../json.ts";
import { budgetOfEffort, continuesWithoutSignedReasoning } from "../reasoning-effort.ts";
import type { RequestDraft } from "../request-draft.ts";
import type { RequestReading } from "../request-reading.ts";

/** The family whose signatures have no tag: the protocol's own provider. */
export const NATIVE_FAMILY = "anthropic";

/** The member with the signature, of each kind of reasoning block and of pieces of one. */
export const SIGNATURE_MEMBERS: Readonly<Record<string, string>> = {
  thinking: "signature",
  redacted_thinking: "data",
  signature_delta: "signature",
};

/**
 * Prefix of the data of reasoning whose text the provider hid. Neither base64 nor a tag has a
 * colon, so no other signature begins with it.
 */
const REDACTED = "redacted:";

/**
 * The signature of a whole redacted block. In canon such reasoning has no text, and neither has
 * reasoning that is signed and not shown; the provider refuses the one written as the other.
 */
export function redactedSignature(data: string): string {
  return `${REDACTED}${data}`;
}

/** Prefix of the tagged signature of a summary: the protocol's clients have one member for both. */
const SUMMARY = "summary:";

/** The signature of a thinking block that came from another protocol. */
export function tagThinking(family: string, signature: string, summary: boolean): string {
  return tagSignature(family, summary ? `${SUMMARY}${signature}` : signature);
}

/** The data of a redacted block; `null` if the signature is that of a thinking block. */
export function redactedData(signature: string): string | null {
  return signature.startsWith(REDACTED) ? signature.slice(REDACTED.length) : null;
}

/**
 * Written as the signature of reasoning without a signature. Clients send it back, and a provider
 * that checks signatures would refuse it. An empty one could also be a provider's own, which must
 * be kept.
 */
export const UNSIGNED = tagSignature("unsigned", "");

/** The same for a summary of reasoning. */
export const UNSIGNED_SUMMARY = tagSignature("unsigned", SUMMARY);

/** Whether a signature is our mark that there is none. */
export function isUnsigned(signature: unknown): boolean {
  return signature === UNSIGNED || signature === UNSIGNED_SUMMARY;
}

/** Who signed, and the bare signature; `null` where unsigned. */
export function readSigned(text: unknown) {
  if (typeof text !== "string" || text === "" || isUnsigned(text)) return null;
  const { family, signature } = readSignature(text, NATIVE_FAMILY);
  return { family, signature: isMarked(text) ? signature.slice(SUMMARY.length) : signature };
}

/** Whether a signature marks its text as a summary. */
export function isSummary(text: unknown): boolean {
  return text === UNSIGNED_SUMMARY || (typeof text === "string" && isMarked(text));
}

/** A provider's own signature has no tag, so a prefix is part of it. */
function isMarked(text: string): boolean {
  const { signature } = readSignature(text, NATIVE_FAMILY);
  return signature !== text && signature.startsWith(SUMMARY);
}

/** The protocol's least budget for thinking, tokens. */
const LEAST_BUDGET = 1024;

/**
 * Refuses a budget that leaves no room for the answer. It names no numbers: they are the caller's.
 */
const BUDGET_ABOVE_LIMIT =
  "The reasoning budget must be below the output limit, which it is a part of; raise the limit or ask for less reasoning";

/**
 * The budget under a limit that a policy has lowered. Thinking is part of the output and its budget
 * must be below the limit, so it is lowered too, down to the protocol's minimum. A limit of the
 * caller's own changes nothing: a budget that does not fit it is the caller's mistake.
 */
export function budgetUnder(budget: number, requested: number | null, limit: number): number {
  const lowered = requested === null || limit < requested;
  return lowered && budget >= limit ? Math.max(limit - 1, LEAST_BUDGET) : budget;
}

/** Efforts that the protocol has as enum values. No reasoning is requested in `thinking`. */
export const EFFORTS = [
  "low",
  "medium",
  "high",
  "xhigh",
  "max",
] as const satisfies readonly ReasoningEffort[];

/**
 * Modes of thinking, and the members of each that canon can hold. Only the protocol itself has the
 * others.
 */
const THINKING_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  enabled: ["type", "budget_tokens", "display"],
  adaptive: ["type", "display"],
  disabled: ["type"],
};

/** Reasoning that has no setting but its effort. */
const PLAIN = { budget: null, adaptive: false, display: null } as const;

/**
 * Reads `thinking` and `output_config.effort`. The protocol requests an effort with `adaptive`
 * thinking; in canon the effort alone means both.
 */
export function readReasoning(
  { thinking, output_config }: JsonObject,
  reading: RequestReading,
): ReasoningRequest | null {
  const requested = memberIn(output_config, "effort");
  const effort = EFFORTS.find((one) => one === requested) ?? "unspecified";
  if (requested != null) {
    reading.need("reasoning", "output_config.effort");
    reading.use(
      effort === "unspecified" ? reading.native : `effort_${effort}`,
      "output_config.effort",
    );
  }
  if (!isJsonObject(thinking)) return effort === "unspecified" ? null : { ...PLAIN, effort };
  const type = textOf(thinking.type);
  const members = ownValue(THINKING_MEMBERS, type) ?? [];
  for (const name in thinking) {
    if (!members.includes(name) && thinking[name] !== null) reading.useNative("thinking");
  }
  const display = readDisplay(thinking.display, reading);
  if (type === "disabled") {
    // Only this protocol has an effort without thinking.
    if (reading.has("reasoning")) reading.useNative("thinking");
    else reading.use("effort_none", "thinking");
    return { ...PLAIN, effort: effort === "unspecified" ? "none" : effort };
  }
  reading.need("reasoning", "thinking");
  if (type === "enabled") reading.use("reasoning_budget", "thinking.budget_tokens");
  const { budget_tokens: budget } = thinking;
  const adaptive = type === "adaptive" && effort === "unspecified";
  return { effort, budget: numberOrNull(budget), adaptive, display };
}

function readDisplay(
  display: JsonMember,
  reading: RequestReading,
): "summarized" | "omitted" | null {
  if (display === "summarized" || display === "omitted") return display;
  if (display != null) reading.useNative("thinking.display");
  return null;
}

/** Where a protocol has the settings of reasoning. */
interface ThinkingFormat {
  /** The object with the member `thinking`. */
  readonly members: Members;
  readonly setEffort: (effort: ReasoningEffort) => void;
  /** The output limit beside a budget, tokens; `null`: none. */
  readonly limitFor: (budget: number) => number | null;
  /** How reasoning is shown; default: not sent. */
  readonly display?: () => string | undefined;
}

/**
 * Writes the settings of reasoning for Anthropic's models. Efforts become budgets by the table in
 * routes.yaml, and nowhere else.
 */
export function formatThinking(
  { reasoning, turns, purpose }: GenerateRequest,
  table: ModelReasoning | null,
  draft: RequestDraft,
  { members, setEffort, limitFor, display }: ThinkingFormat,
): void {
  if (reasoning === null) return;
  const { effort, adaptive } = reasoning;
  if (effort === "none") {
    members.thinking = { type: "disabled" };
    return;
  }
  const tabled = reasoning.budget === null ? budgetOfEffort(effort, table, EFFORTS) : null;
  if (tabled !== null) draft.dropped.add("effort_as_budget");
  else if (effort !== "unspecified") setEffort(effort);
  const budget = reasoning.budget ?? tabled;
  if (budget === null) {
    if (adaptive || effort !== "unspecified")
      members.thinking = { type: "adaptive", display: display?.() };
    else if (reasoning.display !== null) draft.dropped.add("reasoning_display_dropped");
    return;
  }
  if (budget < LEAST_BUDGET)
    draft.refuseRequest(
      "invalid_reasoning_budget",
      `The reasoning budget must be at least ${LEAST_BUDGET} tokens for an endpoint that may get the request`,
    );
  if (continuesWithoutSignedReasoning(turns)) {
    draft.dropped.add("reasoning_turned_off");
    members.thinking = { type: "disabled" };
    return;
  }
  const limit = purpose === "generate" ? limitFor(budget) : null;
  if (limit !== null && limit <= budget)
    draft.refuseRequest("invalid_reasoning_budget", BUDGET_ABOVE_LIMIT);
  members.thinking = { type: "enabled", budget_tokens: budget, display: display?.() };
}
