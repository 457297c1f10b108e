import type { DroppedField } from "../canon/generate/edit.ts";
import type {
  AssistantTurn,
  GenerateRequest,
  OutputFormat,
  SystemTurn,
  Turn,
} from "../canon/generate/generate-request.ts";
import type { JsonObject } from "../canon/json.ts";
import { REASONING_EFFORTS, type ReasoningEffort } from "../canon/request.ts";
import type { ModelReasoning } from "../canon/table.ts";
import { ownValue } from "./json.ts";

/**
 * The effort to request instead of a budget: that of the largest budget in the model's table that
 * is not above the requested one, or of the smallest entry. Only efforts that the model accepts
 * count, and never `none`: a caller with a budget requests reasoning.
 *
 * @param budget tokens.
 * @param supported the dialect's efforts, for a model whose row names none.
 * @returns `null` where the table has no such entry.
 */
export function effortOfBudget(
  budget: number,
  table: ModelReasoning | null,
  supported: readonly ReasoningEffort[],
): ReasoningEffort | null {
  const accepted = table?.efforts ?? supported;
  const entries = REASONING_EFFORTS.flatMap((effort) => {
    const tokens = table?.budgets?.[effort];
    return tokens === undefined || effort === "none" || !accepted.includes(effort)
      ? []
      : [{ effort, tokens }];
  }).toSorted((left, right) => left.tokens - right.tokens);
  return (entries.findLast(({ tokens }) => tokens <= budget) ?? entries[0])?.effort ?? null;
}

/**
 * The budget to request instead of an effort that the model does not accept, in tokens.
 *
 * @param supported as for `effortOfBudget`.
 * @returns `null` where the effort itself is to be sent.
 */
export function budgetOfEffort(
  effort: ReasoningEffort,
  table: ModelReasoning | null,
  supported: readonly ReasoningEffort[],
): number | null {
  if (effort === "unspecified" || (table?.efforts ?? supported).includes(effort)) return null;
  return table?.budgets?.[effort] ?? null;
}

/**
 * Whether the request continues an answer that began without signed reasoning: the history ends
 * with tool results, and the first part after the last user message is not reasoning. Models that
 * think within a budget refuse to think in the middle of such an answer ("Expected `thinking` or
 * `redacted_thinking`, but found `tool_use`": BerriAI/litellm#9020, pydantic/pydantic-ai#2040).
 */
export function continuesWithoutSignedReasoning(turns: readonly Turn[]): boolean {
  let begun: AssistantTurn | null = null;
  let calls = false;
  let isAnsweringTools = false;
  for (const turn of turns) {
    if (turn.role === "assistant") {
      begun ??= turn;
      isAnsweringTools = false;
    } else if (turn.role === "tool") {
      calls = true;
      isAnsweringTools = true;
    } else if (turn.role === "user" && !isAnsweringTools) {
      // A user message ends the answer, unless it is part of one message with tool results.
      begun = null;
      calls = false;
    }
  }
  if (begun === null || !calls) return false;
  // Unsigned reasoning is dropped from the history.
  const first = begun.content.find((part) => part.kind !== "reasoning" || part.signature !== null);
  return first?.kind !== "reasoning";
}

/** The system turns at the beginning, and the rest of the conversation. */
export function splitSystem(
  turns: readonly Turn[],
  dropped: Set<DroppedField>,
): { readonly system: readonly SystemTurn[]; readonly rest: readonly Turn[] } {
  const first = turns.findIndex(({ role }) => role !== "system");
  const leading = turns.slice(0, first === -1 ? turns.length : first);
  const system = leading.filter((turn): turn is SystemTurn => turn.role === "system");
  if (system.length > 1) dropped.add("system_joined");
  if (system.some(({ authority }) => authority === "developer")) dropped.add("developer_as_system");
  return { system, rest: turns.slice(system.length) };
}

/** Messages in which user and assistant alternate; tool results are part of a user message. */
export function alternatingMessages(
  turns: readonly Turn[],
  dropped: Set<DroppedField>,
  print: (turn: Turn) => readonly JsonObject[],
): readonly JsonObject[] {
  const messages: { readonly role: string; readonly content: JsonObject[] }[] = [];
  let previous: Turn["role"] | null = null;
  for (const turn of turns) {
    const role = turn.role === "tool" ? "user" : turn.role;
    const message = messages.at(-1);
    if (message?.role === role && role !== "system") {
      if (turn.role === previous && turn.role !== "tool") dropped.add("turns_merged");
      for (const block of print(turn)) message.content.push(block);
    } else messages.push({ role, content: [...print(turn)] });
    previous = turn.role;
  }
  return messages;
}

/**
 * The provider's value for the caller's service tier. A tier that the table lacks is left out;
 * `null` is the provider's default, which needs no member.
 */
export function sentTier(
  { hints: { serviceTier }, purpose }: GenerateRequest,
  tiers: Readonly<Record<string, string | null>>,
  dropped: Set<DroppedField>,
): string | undefined {
  if (serviceTier === null || purpose === "count") return undefined;
  const tier = ownValue(tiers, serviceTier);
  if (tier !== serviceTier && tier !== null) dropped.add("service_tier_changed");
  return tier ?? undefined;
}

/** For protocols without prompt cache hints. */
export function dropCacheHints({ hints }: GenerateRequest, dropped: Set<DroppedField>): void {
  if (hints.promptCacheKey !== null || hints.promptCacheRetention !== null)
    dropped.add("cache_hint_dropped");
}

/** For protocols whose response format is a bare schema. */
export function dropSchemaName(
  { name, description, strict }: Extract<OutputFormat, { readonly kind: "json_schema" }>,
  dropped: Set<DroppedField>,
): void {
  if (name !== null || description !== null || strict !== null) dropped.add("schema_name_dropped");
}
