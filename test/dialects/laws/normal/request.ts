import type { DroppedField } from "../../../../src/canon/generate/edit.ts";
import type {
  AssistantPart,
  CacheMark,
  GenerateRequest,
  Tool,
  ToolChoice,
  Turn,
} from "../../../../src/canon/generate/generate-request.ts";
import { canonicalJson, isJsonObject, type JsonValue } from "../../../../src/canon/json.ts";

/** Whether a translation has said that it loses something. */
type IsDropped = (field: DroppedField) => boolean;

/**
 * What two requests in canon have in common when one is the other after a way through a wire
 * protocol and back. Everything else must be equal. Two sorts of rules, and no others:
 *
 * Different spellings of one thing, whatever the protocol:
 * - `toolChoice: auto`, `parallelToolCalls: true` and `strict: false` are what every protocol does
 *   without the member;
 * - with the choice `none` no call is made, so that none are made in parallel;
 * - a function without parameters and one whose parameters are the empty object schema;
 * - a tool result that is not marked as an error and one that is marked as none;
 * - tool turns that follow each other are one set of results; the arguments of calls are JSON, not
 *   text;
 * - a model that thinks as much as it likes is what protocols of efforts have unasked; so is
 *   reasoning that is not shown; a summary of no stated length is one;
 * - the service tier `auto` is that of a request without one.
 *
 * Without the dropped fields: each removes exactly the members that its sentence names.
 */
export function normalRequest(
  request: GenerateRequest,
  dropped: ReadonlySet<DroppedField>,
): unknown {
  const isDropped: IsDropped = (field) => dropped.has(field);
  const { hints } = request;
  return {
    ...request,
    ...(isDropped("sampling_dropped") && { temperature: null, topP: null, topK: null }),
    turns: normalTurns(request.turns, isDropped),
    tools: normalTools(request, isDropped),
    toolChoice: normalChoice(request.toolChoice, isDropped),
    parallelToolCalls:
      request.parallelToolCalls === false && request.toolChoice?.mode !== "none" ? false : null,
    format: normalFormat(request.format, isDropped),
    maxOutputTokens: isDropped("output_limit_defaulted") ? "defaulted" : request.maxOutputTokens,
    reasoning: normalReasoning(request.reasoning, isDropped),
    hints: {
      serviceTier:
        isDropped("service_tier_changed") || hints.serviceTier === "auto"
          ? null
          : hints.serviceTier,
      promptCacheKey: isDropped("cache_hint_dropped") ? null : hints.promptCacheKey,
      promptCacheRetention: isDropped("cache_hint_dropped") ? null : hints.promptCacheRetention,
    },
  };
}

function normalTools(
  { tools, toolChoice }: GenerateRequest,
  isDropped: IsDropped,
): readonly unknown[] {
  const names =
    isDropped("allowed_tools_filtered") && toolChoice?.mode === "allowed"
      ? new Set(toolChoice.names)
      : null;
  return tools
    .filter(({ name }) => names === null || names.has(name))
    .map((tool: Tool) => ({
      ...tool,
      parameters: isEmptySchema(tool) ? null : normalSchema(tool.parameters, isDropped),
      strict: tool.strict === true && !isDropped("strictness_dropped"),
      cache: normalCache(tool.cache, isDropped),
    }));
}

function isEmptySchema({ parameters }: Tool): boolean {
  if (parameters === null) return true;
  const { type, properties, ...rest } = parameters;
  const isBare =
    properties === undefined || (isJsonObject(properties) && Object.keys(properties).length === 0);
  return (
    type === "object" &&
    isBare &&
    Object.keys(rest).every((name) => name === "additionalProperties" || name === "required")
  );
}

/** Without what is added to schemas, where that was said. */
function normalSchema(schema: unknown, isDropped: IsDropped): unknown {
  if (!isDropped("schema_closed") && !isDropped("schema_filled")) return schema;
  if (Array.isArray(schema)) return schema.map((one) => normalSchema(one, isDropped));
  if (!isJsonObject(schema)) return schema;
  const { additionalProperties: _more, ...rest } = schema;
  return Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, normalSchema(value, isDropped)]),
  );
}

function normalChoice(choice: ToolChoice | null, isDropped: IsDropped): unknown {
  if (choice === null || choice.mode === "auto") return null;
  if (choice.mode !== "allowed") return choice;
  if (!isDropped("allowed_tools_filtered")) return { ...choice, names: choice.names.toSorted() };
  return choice.required ? { mode: "required" } : null;
}

function normalFormat(format: GenerateRequest["format"], isDropped: IsDropped): unknown {
  if (format?.kind !== "json_schema") return format;
  const schema = normalSchema(format.schema, isDropped);
  if (isDropped("schema_name_dropped")) return { kind: format.kind, schema };
  const strict = format.strict === true && !isDropped("strictness_dropped");
  return { ...format, schema, name: isDropped("schema_name_made") ? null : format.name, strict };
}

function normalReasoning(reasoning: GenerateRequest["reasoning"], isDropped: IsDropped): unknown {
  if (reasoning === null) return null;
  if (isDropped("reasoning_turned_off")) return null;
  const { effort, budget } = reasoning;
  const shown =
    reasoning.display === "auto"
      ? "summarized"
      : reasoning.display === "omitted"
        ? null
        : reasoning.display;
  const display = isDropped("reasoning_display_dropped") ? null : shown;
  if (isDropped("effort_as_budget") || isDropped("budget_as_effort")) return { display };
  return effort === "unspecified" && budget === null && display === null
    ? null
    : { effort, budget, display };
}

/** Texts that are sent with files of results that stand apart. */
const MADE_TEXT = /^(The files of this result follow\.|Files of tool result \d+:)$/;

/** Ids of calls by the order in which they first stand, where they were rewritten. */
class CallIds {
  readonly #seen = new Map<string, string>();

  of(id: string, isDropped: IsDropped): string {
    if (!isDropped("call_ids_rewritten")) return id;
    const known = this.#seen.get(id) ?? `call ${this.#seen.size}`;
    this.#seen.set(id, known);
    return known;
  }
}

function normalTurns(turns: readonly Turn[], isDropped: IsDropped): readonly unknown[] {
  const ids = new CallIds();
  const made: Record<string, unknown>[] = [];
  for (const turn of turns) {
    const next = normalTurn(turn, ids, isDropped);
    const last = made.at(-1);
    if (Array.isArray(next.content) && next.content.length === 0) continue;
    if (last !== undefined && mayJoin(last, next, isDropped))
      last.content = [...listOf(last.content), ...listOf(next.content)];
    else made.push(next);
  }
  return made;
}

function mayJoin(
  last: Record<string, unknown>,
  next: Record<string, unknown>,
  isDropped: IsDropped,
): boolean {
  if (last.role !== next.role) return false;
  if (next.role === "tool") return true;
  return next.role === "system" ? isDropped("system_joined") : isDropped("turns_merged");
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function normalTurn(turn: Turn, ids: CallIds, isDropped: IsDropped): Record<string, unknown> {
  if (turn.role === "tool") {
    const content = turn.results.map((result) => ({
      callId: ids.of(result.callId, isDropped),
      content: result.content
        .filter(
          (part) =>
            !isDropped("result_files_apart") ||
            (part.kind === "text" && !MADE_TEXT.test(part.text)),
        )
        .flatMap((part) => normalPart(part, isDropped)),
      isError: isDropped("tool_error_flag_dropped") ? false : result.isError === true,
      cache: normalCache(result.cache, isDropped),
    }));
    return { role: turn.role, content };
  }
  if (turn.role === "system") {
    const authority = isDropped("developer_as_system") ? "system" : turn.authority;
    return {
      role: turn.role,
      authority,
      content: turn.content.flatMap((part) => normalPart(part, isDropped)),
    };
  }
  const name = isDropped("participant_name_dropped") ? null : turn.name;
  if (turn.role === "user") {
    const [begun] = turn.content;
    // The files of results, which stood in the results.
    if (isDropped("result_files_apart") && begun?.kind === "text" && MADE_TEXT.test(begun.text))
      return { role: turn.role, name, content: [] };
    const content = turn.content.flatMap((part) => normalPart(part, isDropped));
    return {
      role: turn.role,
      name,
      content: isDropped("prompt_as_message") ? [joinedText(turn.content)] : content,
    };
  }
  return {
    role: turn.role,
    name,
    content: turn.content.flatMap((part) => normalSaid(part, ids, isDropped)),
  };
}

/** A prompt is one text, whatever parts it was made of. */
function joinedText(parts: readonly Part[]): string {
  return parts.map((part) => (part.kind === "text" ? part.text : part.kind)).join("");
}

type Part = Extract<Turn, { role: "user" }>["content"][number];

function normalPart(part: Part, isDropped: IsDropped): readonly unknown[] {
  switch (part.kind) {
    case "text":
      return part.text === "" && isDropped("empty_text_dropped")
        ? []
        : [{ ...part, cache: normalCache(part.cache, isDropped) }];
    case "image": {
      const detail =
        isDropped("image_detail_dropped") || part.detail === "auto" ? null : part.detail;
      return [{ ...part, detail, cache: normalCache(part.cache, isDropped) }];
    }
    case "file": {
      const name = isDropped("file_name_dropped") || isDropped("file_name_made") ? null : part.name;
      return [{ ...part, name, cache: normalCache(part.cache, isDropped) }];
    }
    case "audio":
      return [part];
  }
}

function normalSaid(part: AssistantPart, ids: CallIds, isDropped: IsDropped): readonly unknown[] {
  switch (part.kind) {
    case "text":
      return normalPart(part, isDropped);
    case "refusal":
      return [isDropped("refusal_as_text") ? { kind: "text", text: part.text, cache: null } : part];
    case "reasoning":
      return part.signature === null && isDropped("unsigned_reasoning_dropped") ? [] : [part];
    case "tool_call": {
      const value: JsonValue = JSON.parse(part.arguments);
      return [
        {
          ...part,
          id: ids.of(part.id, isDropped),
          arguments: canonicalJson(value),
          cache: normalCache(part.cache, isDropped),
        },
      ];
    }
  }
}

function normalCache(mark: CacheMark | null, isDropped: IsDropped): CacheMark | null {
  return isDropped("cache_mark_dropped") ? null : mark;
}
