import { invalidRequest, type ServiceError } from "../canon/error.ts";
import type { DroppedField } from "../canon/generate/edit.ts";
import type {
  GenerateRequest,
  OutputFormat,
  SystemTurn,
  TextPart,
  Tool,
  ToolCallPart,
  ToolChoice,
  Turn,
} from "../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject } from "../canon/json.ts";
import type { FormattedRequest } from "./dialect.ts";
import { ownValue, parseExactJsonText, type Members } from "./json.ts";

/**
 * A request while it is printed for a provider: its body, dropped fields, and the refusal if it
 * cannot be sent.
 */
export class RequestDraft {
  readonly body: Members = {};
  readonly dropped = new Set<DroppedField>();
  /** The first 400; a body that is written after it is never sent. */
  refusal: ServiceError | null = null;

  refuseRequest(code: string, message: string, param?: string): void {
    this.refusal ??= invalidRequest(code, message, param);
  }

  /**
   * Refuses content that the endpoint's features exclude. The decision sends no such request; one
   * that gets here must not lose the content.
   */
  refuseFeature(feature: string): void {
    this.refuseRequest(
      "feature_not_supported",
      `An endpoint that may get the request has no ${feature}`,
    );
  }

  /** The system turns at the beginning, and the rest of the conversation. */
  splitSystem(turns: readonly Turn[]): {
    readonly system: readonly SystemTurn[];
    readonly rest: readonly Turn[];
  } {
    const first = turns.findIndex(({ role }) => role !== "system");
    const leading = turns.slice(0, first === -1 ? turns.length : first);
    const system = leading.filter((turn) => turn.role === "system");
    if (system.length > 1) this.dropped.add("system_joined");
    if (system.some(({ authority }) => authority === "developer"))
      this.dropped.add("developer_as_system");
    return { system, rest: turns.slice(system.length) };
  }

  /** Messages in which user and assistant alternate; tool results are part of a user message. */
  alternatingMessages(
    turns: readonly Turn[],
    print: (turn: Turn) => readonly JsonObject[],
  ): readonly JsonObject[] {
    const messages: { readonly role: string; readonly content: JsonObject[] }[] = [];
    let previous: Turn["role"] | null = null;
    for (const turn of turns) {
      const role = turn.role === "tool" ? "user" : turn.role;
      const message = messages.at(-1);
      if (message?.role === role && role !== "system") {
        if (turn.role === previous && turn.role !== "tool") this.dropped.add("turns_merged");
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
  sentTier(
    { hints: { serviceTier }, purpose }: GenerateRequest,
    tiers: Readonly<Record<string, string | null>>,
  ): string | undefined {
    if (serviceTier === null || purpose === "count") return undefined;
    const tier = ownValue(tiers, serviceTier);
    if (tier !== serviceTier && tier !== null) this.dropped.add("service_tier_changed");
    return tier ?? undefined;
  }

  /** For protocols without prompt cache hints. */
  dropCacheHints({ hints }: GenerateRequest): void {
    if (hints.promptCacheKey !== null || hints.promptCacheRetention !== null)
      this.dropped.add("cache_hint_dropped");
  }

  /** For protocols whose response format is a bare schema. */
  dropSchemaName({
    name,
    description,
    strict,
  }: Extract<OutputFormat, { readonly kind: "json_schema" }>): void {
    if (name !== null || description !== null || strict !== null)
      this.dropped.add("schema_name_dropped");
  }

  /** The printed request, or its refusal. @param path after the provider's base URL. */
  finished(
    path: string,
    body: JsonObject = this.body,
    headers: readonly string[] = [],
  ): FormattedRequest | ServiceError {
    return this.refusal ?? { path, body, headers, dropped: [...this.dropped] };
  }
}

/** A text without a cache mark. */
export function textPart(text: string): TextPart {
  return { kind: "text", text, cache: null };
}

/** The calls of a conversation, in their order. */
export function callsOf(turns: readonly Turn[]): readonly ToolCallPart[] {
  return turns.flatMap((turn) =>
    turn.role === "assistant" ? turn.content.filter((part) => part.kind === "tool_call") : [],
  );
}

/**
 * An object of the members that have a value; `undefined` if none has.
 *
 * @example membersWithValue({ seed: 7, stop: null }) // { seed: 7 }
 */
export function membersWithValue(members: JsonObject): JsonObject | undefined {
  const present = Object.entries(members).filter(([, value]) => value != null);
  return present.length === 0 ? undefined : Object.fromEntries(present);
}

/** The tools that may be called, for protocols that cannot name them in the choice. */
export function allowedTools({ tools, toolChoice }: GenerateRequest): readonly Tool[] {
  return toolChoice?.mode === "allowed"
    ? tools.filter(({ name }) => toolChoice.names.includes(name))
    : tools;
}

/**
 * Whether the answer must call a tool.
 *
 * @example isForced({ mode: "auto" }) // false
 */
export function isForced(choice: ToolChoice | null): boolean {
  if (choice?.mode === "allowed") return choice.required;
  return choice?.mode === "required" || choice?.mode === "named";
}

/** The arguments of a call as an object; readers of requests accept no others. */
export function argumentsOf({ arguments: text }: ToolCallPart): JsonObject {
  const value = parseExactJsonText(text);
  if (!isJsonObject(value)) throw new Error("dialects: a call whose arguments are no object");
  return value;
}
