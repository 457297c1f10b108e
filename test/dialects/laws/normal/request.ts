import type { GenerateRequest } from "../../../../src/canon/generate/generate-request.ts";
import type { Loss } from "../../../../src/canon/generate/loss.ts";
import type { AssistantPart, CacheMark, Tool, ToolChoice, Turn } from "../../../../src/canon/generate/message.ts";
import { canonicalJson, isJsonObject, type JsonValue } from "../../../../src/canon/json.ts";

/** Whether a translation has said that it loses something. */
type Said = (loss: Loss) => boolean;

/**
 * What two requests in canon have in common when one is the other after a way through a wire protocol and back. Everything else must be
 * equal. Two sorts of rules, and no others:
 *
 * Different words for one thing, whatever the protocol:
 * - `toolChoice: auto`, `parallelToolCalls: true` and `strict: false` are what every protocol does without the member;
 * - with the choice `none` no call is made, so that none are made in parallel;
 * - a function without parameters and one whose parameters are the empty object schema;
 * - a tool result that is not marked as an error and one that is marked as none;
 * - tool turns that follow each other are one set of results; the arguments of calls are JSON, not text;
 * - a model that thinks as much as it likes is what protocols of efforts have unasked; so is reasoning that is not shown; a summary of no
 *   stated length is one;
 * - the service tier `auto` is that of nobody who asks.
 *
 * What the way has said to have lost: each loss takes exactly the members that its sentence names.
 */
export function normalRequest(request: GenerateRequest, losses: ReadonlySet<Loss>): unknown {
  const lost: Said = (loss) => losses.has(loss);
  const { hints } = request;
  return {
    ...request,
    turns: normalTurns(request.turns, lost),
    tools: normalTools(request, lost),
    toolChoice: normalChoice(request.toolChoice, lost),
    parallelToolCalls: request.parallelToolCalls === false && request.toolChoice?.mode !== "none" ? false : null,
    format: normalFormat(request.format, lost),
    maxOutputTokens: lost("output_limit_defaulted") ? "defaulted" : request.maxOutputTokens,
    reasoning: normalReasoning(request.reasoning, lost),
    hints: {
      serviceTier: lost("service_tier_changed") || hints.serviceTier === "auto" ? null : hints.serviceTier,
      promptCacheKey: lost("cache_hint_dropped") ? null : hints.promptCacheKey,
      promptCacheRetention: lost("cache_hint_dropped") ? null : hints.promptCacheRetention,
    },
  };
}

function normalTools({ tools, toolChoice }: GenerateRequest, lost: Said): readonly unknown[] {
  const names = lost("allowed_tools_filtered") && toolChoice?.mode === "allowed" ? new Set(toolChoice.names) : null;
  return tools
    .filter(({ name }) => names === null || names.has(name))
    .map((tool: Tool) => ({
      ...tool,
      parameters: isEmptySchema(tool) ? null : tool.parameters,
      strict: tool.strict === true,
      cache: normalCache(tool.cache, lost),
    }));
}

function isEmptySchema({ parameters }: Tool): boolean {
  if (parameters === null) return true;
  const { type, properties, ...rest } = parameters;
  const isBare = properties === undefined || (isJsonObject(properties) && Object.keys(properties).length === 0);
  return (
    type === "object" &&
    isBare &&
    Object.keys(rest).every((name) => name === "additionalProperties" || name === "required")
  );
}

function normalChoice(choice: ToolChoice | null, lost: Said): unknown {
  if (choice === null || choice.mode === "auto") return null;
  if (choice.mode !== "allowed") return choice;
  if (!lost("allowed_tools_filtered")) return { ...choice, names: choice.names.toSorted() };
  return choice.required ? { mode: "required" } : null;
}

function normalFormat(format: GenerateRequest["format"], lost: Said): unknown {
  if (format?.kind !== "json_schema") return format;
  if (lost("schema_name_dropped")) return { kind: format.kind, schema: format.schema };
  return { ...format, name: lost("schema_name_made") ? null : format.name, strict: format.strict === true };
}

function normalReasoning(reasoning: GenerateRequest["reasoning"], lost: Said): unknown {
  if (reasoning === null) return null;
  if (lost("reasoning_turned_off")) return null;
  const { effort, budget } = reasoning;
  const shown =
    reasoning.display === "auto" ? "summarized" : reasoning.display === "omitted" ? null : reasoning.display;
  const display = lost("reasoning_display_dropped") ? null : shown;
  if (lost("effort_as_budget") || lost("budget_as_effort")) return { display };
  return effort === "unspecified" && budget === null && display === null ? null : { effort, budget, display };
}

/** Ids of calls by the order in which they first stand, where they were rewritten. */
class CallIds {
  readonly #seen = new Map<string, string>();

  of(id: string, lost: Said): string {
    if (!lost("call_ids_rewritten")) return id;
    const known = this.#seen.get(id) ?? `call ${this.#seen.size}`;
    this.#seen.set(id, known);
    return known;
  }
}

function normalTurns(turns: readonly Turn[], lost: Said): readonly unknown[] {
  const ids = new CallIds();
  const made: Record<string, unknown>[] = [];
  for (const turn of turns) {
    const next = normalTurn(turn, ids, lost);
    const last = made.at(-1);
    if (Array.isArray(next["content"]) && next["content"].length === 0) continue;
    if (last !== undefined && mayJoin(last, next, lost))
      last["content"] = [...listOf(last["content"]), ...listOf(next["content"])];
    else made.push(next);
  }
  return made;
}

function mayJoin(last: Record<string, unknown>, next: Record<string, unknown>, lost: Said): boolean {
  if (last["role"] !== next["role"]) return false;
  if (next["role"] === "tool") return true;
  return next["role"] === "system" ? lost("system_joined") : lost("turns_merged");
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function normalTurn(turn: Turn, ids: CallIds, lost: Said): Record<string, unknown> {
  if (turn.role === "tool") {
    const content = turn.results.map((result) => ({
      callId: ids.of(result.callId, lost),
      content: result.content.flatMap((part) => normalPart(part, lost)),
      isError: lost("tool_error_flag_dropped") ? false : result.isError === true,
      cache: normalCache(result.cache, lost),
    }));
    return { role: turn.role, content };
  }
  if (turn.role === "system") {
    const authority = lost("developer_as_system") ? "system" : turn.authority;
    return { role: turn.role, authority, content: turn.content.flatMap((part) => normalPart(part, lost)) };
  }
  const name = lost("participant_name_dropped") ? null : turn.name;
  if (turn.role === "user") {
    const content = turn.content.flatMap((part) => normalPart(part, lost));
    return { role: turn.role, name, content: lost("prompt_as_message") ? [joinedText(turn.content)] : content };
  }
  return { role: turn.role, name, content: turn.content.flatMap((part) => normalSaid(part, ids, lost)) };
}

/** A prompt is one text, whatever parts it was made of. */
function joinedText(parts: readonly Part[]): string {
  return parts.map((part) => (part.kind === "text" ? part.text : part.kind)).join("");
}

type Part = Extract<Turn, { role: "user" }>["content"][number];

function normalPart(part: Part, lost: Said): readonly unknown[] {
  switch (part.kind) {
    case "text":
      return part.text === "" && lost("empty_text_dropped") ? [] : [{ ...part, cache: normalCache(part.cache, lost) }];
    case "image": {
      const detail = lost("image_detail_dropped") || part.detail === "auto" ? null : part.detail;
      return [{ ...part, detail, cache: normalCache(part.cache, lost) }];
    }
    case "file": {
      const name = lost("file_name_dropped") || lost("file_name_made") ? null : part.name;
      return [{ ...part, name, cache: normalCache(part.cache, lost) }];
    }
    case "audio":
      return [part];
  }
}

function normalSaid(part: AssistantPart, ids: CallIds, lost: Said): readonly unknown[] {
  switch (part.kind) {
    case "text":
      return normalPart(part, lost);
    case "refusal":
      return [lost("refusal_as_text") ? { kind: "text", text: part.text, cache: null } : part];
    case "reasoning":
      return part.signature === null && lost("unsigned_reasoning_dropped") ? [] : [part];
    case "tool_call": {
      const value: JsonValue = JSON.parse(part.arguments);
      return [
        { ...part, id: ids.of(part.id, lost), arguments: canonicalJson(value), cache: normalCache(part.cache, lost) },
      ];
    }
  }
}

function normalCache(mark: CacheMark | null, lost: Said): CacheMark | null {
  return lost("cache_mark_dropped") ? null : mark;
}
