import { invalidRequest, type ServiceError } from "../canon/error.ts";
import type { DroppedField } from "../canon/generate/edit.ts";
import type {
  AssistantPart,
  AssistantTurn,
  CacheMark,
  GenerateRequest,
  InputPart,
  Tool,
  ToolCallPart,
  ToolChoice,
  ToolResult,
  Turn,
  UserTurn,
} from "../canon/generate/generate-request.ts";
import type { JsonObject } from "../canon/json.ts";
import type { RequestRules, Target, Upstream } from "./dialect.ts";
import { NO_PARAMETERS, closedSchema, filledSchema } from "./fit-schema.ts";
import type { EventFilter } from "./translated-stream.ts";
import { callsOf, textPart } from "./request-draft.ts";

/**
 * A protocol's printer of requests behind the fitting to its rules.
 *
 * @param print prints a request that satisfies the rules.
 */
export function fitting(print: Upstream["format"], rules: RequestRules): Upstream["format"] {
  return (request, target) => {
    const fit = new Fit(rules, target);
    const fitted = fit.request(request);
    if (fit.refusal !== null) return fit.refusal;
    const printed = print(fitted, target);
    if ("code" in printed) return printed;
    fit.drop(printed.dropped);
    return {
      ...printed,
      dropped: [...fit.dropped],
      ...(fit.names.size > 0 && { names: fit.names }),
    };
  };
}

/**
 * Gives calls of an answer the names that the caller gave its tools. @param names sent → caller's.
 */
export function callersNames(names: ReadonlyMap<string, string>): EventFilter {
  return (events) =>
    events.map((event) => {
      if (event.type !== "open" || event.block.kind !== "tool_call") return event;
      const { name } = event.block;
      return { ...event, block: { ...event.block, name: names.get(name) ?? name } };
    });
}

/** Stands before a conversation that begins with the assistant. */
const OPENING: UserTurn = {
  role: "user",
  name: null,
  content: [{ kind: "text", text: "(The conversation begins with your message.)", cache: null }],
};

/** Invalid names of media types → the names that providers accept. */
const MEDIA_TYPES: ReadonlyMap<string, string> = new Map([
  ["image/jpg", "image/jpeg"],
  ["image/pjpeg", "image/jpeg"],
  ["image/x-png", "image/png"],
]);

/** White space that base64 must not contain. One search per character is fastest in long texts. */
const WHITE_SPACE = ["\n", "\r", " ", "\t"] as const;

/**
 * Least `top_p` beside reasoning (platform.claude.com, Extended thinking, Feature compatibility).
 */
const LEAST_TOP_P_WITH_REASONING = 0.95;

/** Fits one request to the rules. */
class Fit {
  readonly dropped = new Set<DroppedField>();
  /** Name of a function as it is sent → as the caller gave it. */
  readonly names = new Map<string, string>();
  /** The other direction. */
  readonly #sentNames = new Map<string, string>();
  refusal: ServiceError | null = null;
  readonly #rules: RequestRules;
  readonly #target: Target;

  constructor(rules: RequestRules, target: Target) {
    this.#rules = rules;
    this.#target = target;
  }

  request(request: GenerateRequest): GenerateRequest {
    this.#nameTools(request);
    return {
      ...request,
      ...this.#tools(request),
      ...this.#sampling(request),
      format: this.#format(request.format),
      turns: this.#bounded(this.#ordered(request.turns)),
    };
  }

  drop(fields: Iterable<DroppedField>): void {
    for (const field of fields) this.dropped.add(field);
  }

  /** Makes names that the protocol takes for functions whose own it does not take. */
  #nameTools({ tools, turns }: GenerateRequest) {
    const { toolName } = this.#rules;
    const names = new Set([...tools, ...callsOf(turns)].map(({ name }) => name));
    const used = new Set([...names].filter((name) => toolName.test(name)));
    for (const name of names.difference(used)) {
      const safe = safeName(name, toolName, used, KEPT_OF_NAME);
      used.add(safe);
      this.#sentNames.set(name, safe);
      this.names.set(safe, name);
      this.dropped.add("tool_names_rewritten");
    }
  }

  #sentName(name: string) {
    return this.#sentNames.get(name) ?? name;
  }

  /** Without tools there is nothing to choose, and providers refuse the members. */
  #tools({
    tools,
    toolChoice,
    parallelToolCalls,
  }: GenerateRequest): Pick<GenerateRequest, "tools" | "toolChoice" | "parallelToolCalls"> {
    if (tools.length > 0)
      return {
        tools: tools.map((tool) => this.#tool(tool)),
        toolChoice: this.#choice(toolChoice),
        parallelToolCalls,
      };
    if (toolChoice !== null || parallelToolCalls !== null) this.dropped.add("hint_dropped");
    return { tools, toolChoice: null, parallelToolCalls: null };
  }

  #choice(choice: ToolChoice | null): ToolChoice | null {
    if (choice?.mode === "named") return { ...choice, name: this.#sentName(choice.name) };
    if (choice?.mode !== "allowed") return choice;
    return { ...choice, names: choice.names.map((name) => this.#sentName(name)) };
  }

  #tool(original: Tool): Tool {
    const { schemas } = this.#rules;
    const tool = { ...original, name: this.#sentName(original.name), cache: this.#cache(original) };
    const isStrict = tool.strict === true && schemas !== null;
    if (tool.parameters === null) return isStrict ? { ...tool, parameters: NO_MEMBERS } : tool;
    const parameters = filledSchema(tool.parameters);
    if (parameters !== tool.parameters) this.dropped.add("schema_filled");
    if (!isStrict) return { ...tool, parameters };
    // At the top, an object without members is a function without arguments.
    const { properties } = tool.parameters;
    const closed = closedSchema(
      { ...tool.parameters, type: "object", properties: properties ?? {} },
      schemas,
    );
    if (closed === null) {
      this.dropped.add("strictness_dropped");
      return { ...tool, parameters, strict: null };
    }
    this.drop(closed.dropped);
    return { ...tool, parameters: filledSchema(closed.schema) };
  }

  #format(format: GenerateRequest["format"]): GenerateRequest["format"] {
    const { schemas } = this.#rules;
    if (format?.kind !== "json_schema" || schemas === null) return format;
    if (format.strict !== true && !schemas.closesAnswers) return format;
    const closed = closedSchema(format.schema, schemas);
    if (closed !== null) {
      this.drop(closed.dropped);
      return { ...format, schema: closed.schema };
    }
    if (!schemas.closesAnswers) {
      this.dropped.add("strictness_dropped");
      return { ...format, strict: null };
    }
    this.refusal ??= invalidRequest(
      "unsupported_schema",
      "An endpoint that may get the request takes only schemas whose objects name all their members; list the members of each object, and leave `additionalProperties` out",
    );
    return format;
  }

  #sampling(request: GenerateRequest): Pick<GenerateRequest, "temperature" | "topP" | "topK"> {
    let { temperature, topP, topK } = request;
    const { reasoning } = request;
    const reasons =
      reasoning !== null &&
      reasoning.effort !== "none" &&
      (reasoning.effort !== "unspecified" || reasoning.budget !== null || reasoning.adaptive);
    if (reasons && this.#rules.reasoningFixesSampling(this.#target)) {
      if (temperature !== 1) temperature = null;
      if (topP !== null && topP < LEAST_TOP_P_WITH_REASONING) topP = null;
      topK = null;
    }
    if (this.#rules.temperatureExcludesTopP && temperature !== null) topP = null;
    if (temperature !== request.temperature || topP !== request.topP || topK !== request.topK) {
      this.dropped.add("sampling_dropped");
    }
    return { temperature, topP, topK };
  }

  /** A turn without what the protocol refuses; perhaps nothing is left of it. */
  #turn(turn: Turn): Turn {
    const { role } = turn;
    if (role === "tool")
      return {
        ...turn,
        results: turn.results.map((result) => ({
          ...result,
          cache: this.#cache(result),
          content: this.#input(result.content),
        })),
      };
    if (role === "assistant") {
      const content = turn.content.flatMap((part) => this.#answerPart(part));
      return { ...turn, name: this.#author(turn), content };
    }
    if (turn.content.length === 0) this.dropped.add("empty_text_dropped");
    return role === "system"
      ? { ...turn, content: this.#input(turn.content) }
      : { ...turn, name: this.#author(turn), content: this.#input(turn.content) };
  }

  #author({ name }: UserTurn | AssistantTurn): string | null {
    if (name === null || this.#rules.supportsAuthorNames) return name;
    this.dropped.add("participant_name_dropped");
    return null;
  }

  #cache({ cache }: { readonly cache: CacheMark | null }): CacheMark | null {
    if (cache === null || this.#rules.supportsCacheMarks) return cache;
    this.dropped.add("cache_mark_dropped");
    return null;
  }

  #answerPart(part: AssistantPart): readonly AssistantPart[] {
    switch (part.kind) {
      case "tool_call":
        return [{ ...part, name: this.#sentName(part.name), cache: this.#cache(part) }];
      case "text":
        return this.#input([part]);
      case "refusal":
        if (!this.#acceptsText(part.text)) return [];
        if (this.#rules.supportsRefusals) return [part];
        this.dropped.add("refusal_as_text");
        return [textPart(part.text)];
      case "reasoning":
        if (part.signature !== null) return [part];
        if (part.text.trim() !== "" && this.#rules.supportsUnsignedReasoning(this.#target))
          return [part];
        this.dropped.add("unsigned_reasoning_dropped");
        return [];
    }
  }

  #acceptsText(text: string): boolean {
    const { refusedText } = this.#rules;
    if (refusedText === null || (refusedText === "blank" ? text.trim() : text) !== "") return true;
    this.dropped.add("empty_text_dropped");
    return false;
  }

  #input<Part extends InputPart>(parts: readonly Part[]): readonly Part[] {
    return parts.flatMap((part) => {
      if (part.kind === "audio") return { ...part, data: this.#base64(part.data) };
      if (part.kind === "text" && !this.#acceptsText(part.text)) {
        if (part.cache !== null) this.dropped.add("cache_mark_dropped");
        return [];
      }
      const marked = { ...part, cache: this.#cache(part) };
      if (part.kind === "text" || part.source.kind === "url") return marked;
      const { source } = part;
      const lower = source.mediaType.toLowerCase();
      const mediaType = MEDIA_TYPES.get(lower) ?? lower;
      if (mediaType !== source.mediaType) this.dropped.add("media_rewritten");
      return { ...marked, source: { ...source, mediaType, data: this.#base64(source.data) } };
    });
  }

  #base64(data: string): string {
    if (!WHITE_SPACE.some((space) => data.includes(space))) return data;
    this.dropped.add("media_rewritten");
    return data.replaceAll(/\s+/g, "");
  }

  /**
   * Fits each turn, puts each result directly after the turn of its call, and gives calls ids that
   * are unique and that the protocol takes. If no turn but system text is left, the first user turn
   * is sent as it came, for the provider to judge.
   */
  #ordered(all: readonly Turn[]): readonly Turn[] {
    const turns = all
      .map((turn) => this.#turn(turn))
      .filter((turn) => turn.role === "tool" || turn.content.length > 0);
    if (turns.every(({ role }) => role === "system")) {
      const user = all.find(({ role }) => role === "user");
      return user === undefined ? turns : [...turns, user];
    }
    const { callId: form } = this.#rules;
    // Ids that may not be made: those of the conversation that stay, and those made so far.
    const used = new Set(callsOf(turns).flatMap(({ id }) => (form.test(id) ? [id] : [])));
    /** The caller's id → its calls that have no result yet. */
    const open = new Map<string, SentCall[]>();
    const send = (call: ToolCallPart, results: ToolResult[]): ToolCallPart => {
      const calls = open.get(call.id);
      const isKept = calls === undefined && form.test(call.id);
      const id = isKept ? call.id : safeName(call.id, form, used, KEPT_OF_ID);
      used.add(id);
      if (id !== call.id) this.dropped.add("call_ids_rewritten");
      if (calls === undefined) open.set(call.id, [{ id, results }]);
      else calls.push({ id, results });
      return { ...call, id };
    };
    /** Results that follow the latest turn. */
    let latest: ToolResult[] = [];
    const ordered: (Turn | ToolResult[])[] = [latest];
    for (const turn of turns) {
      if (turn.role !== "tool") {
        const results: ToolResult[] = [];
        latest = results;
        const fitted =
          turn.role === "assistant"
            ? {
                ...turn,
                content: turn.content.map((part) =>
                  part.kind === "tool_call" ? send(part, results) : part,
                ),
              }
            : turn;
        ordered.push(fitted, latest);
        continue;
      }
      for (const result of turn.results) {
        // The first call of this id that has no result.
        const call = open.get(result.callId)?.shift();
        const results = call?.results ?? latest;
        if (results !== latest) this.dropped.add("results_moved");
        results.push({ ...result, callId: call?.id ?? result.callId });
      }
    }
    return ordered.flatMap((one) => (Array.isArray(one) ? this.#toolTurns(one) : [one]));
  }

  /**
   * Results as turns: one of the tools, and one of the user with the files that may not stand in
   * results.
   */
  #toolTurns(results: readonly ToolResult[]): readonly Turn[] {
    if (results.length === 0) return [];
    if (!this.#rules.resultFilesApart) return [{ role: "tool", results }];
    const files: InputPart[] = [];
    const inPlace = results.map((result, index) => {
      const apart = result.content.filter((part) => part.kind !== "text");
      if (apart.length === 0) return result;
      files.push(textPart(`Files of tool result ${index + 1}:`), ...apart);
      const texts = result.content.filter((part) => part.kind === "text");
      return {
        ...result,
        content: texts.length > 0 ? texts : [textPart("The files of this result follow.")],
      };
    });
    const tool: Turn = { role: "tool", results: inPlace };
    if (files.length === 0) return [tool];
    this.dropped.add("result_files_apart");
    return [tool, { role: "user", name: null, content: files }];
  }

  /** Fits the first and the last turn of the conversation. */
  #bounded(turns: readonly Turn[]): readonly Turn[] {
    const trimmed = this.#rules.trimsPrefill ? this.#trimmed(turns) : turns;
    const first = trimmed.findIndex(({ role }) => role !== "system");
    if (!this.#rules.opensWithUser || trimmed[first]?.role !== "assistant") return trimmed;
    this.dropped.add("turn_made");
    return trimmed.toSpliced(first, 0, OPENING);
  }

  #trimmed(turns: readonly Turn[]): readonly Turn[] {
    const last = turns.at(-1);
    if (last?.role !== "assistant") return turns;
    const part = last.content.at(-1);
    if (part?.kind !== "text" || part.text.trimEnd() === part.text) return turns;
    this.dropped.add("prefill_trimmed");
    const content = [...last.content.slice(0, -1), { ...part, text: part.text.trimEnd() }];
    return [...turns.slice(0, -1), { ...last, content }];
  }
}

const NO_MEMBERS: JsonObject = { ...NO_PARAMETERS, additionalProperties: false };

/** Characters that not every form of names takes. */
const FOREIGN = /[^a-zA-Z0-9_]/g;

/** Characters kept of a function's name; with the digest at most 64. */
const KEPT_OF_NAME = 55;

/** The same for a call's id, at most 40. */
const KEPT_OF_ID = 31;

/**
 * A name in the protocol's form. It depends on the original name only, unless two collide, so that
 * the requests of one conversation get equal names and prompt caches keep working. The end of the
 * name is kept: names of MCP tools begin with the server's.
 */
function safeName(
  name: string,
  form: RegExp,
  used: ReadonlySet<string>,
  keptLength: number,
): string {
  const plain = name.replaceAll(FOREIGN, "_").slice(-keptLength);
  for (let salt = 0; ; salt += 1) {
    const candidate = `${plain}_${digest(salt === 0 ? name : `${name} ${salt}`)}`;
    const fitted = form.test(candidate) ? candidate : `_${candidate.slice(1)}`;
    if (!used.has(fitted)) return fitted;
  }
}

/** FNV-1a of a text, 32 bits, in at most 7 letters and digits (draft-eastlake-fnv). */
function digest(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0).toString(36);
}

/** A tool call on its way to a protocol. */
interface SentCall {
  readonly id: string;
  /** Results that follow the turn of the call. */
  readonly results: ToolResult[];
}
