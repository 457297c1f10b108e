import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import type {
  AssistantPart,
  AssistantTurn,
  CacheMark,
  DataSource,
  ImagePart,
  InputPart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResult,
  ToolTurn,
  Turn,
} from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { parseExactJsonText } from "../json.ts";
import { splitSystem } from "../reasoning-effort.ts";

/**
 * Writes `systemInstruction` and `contents`. The error is for a tool result that answers no call.
 */
export function formatTurns(
  turns: readonly Turn[],
  style: CallStyle,
  draft: Draft,
): ServiceError | null {
  const { system, rest } = splitSystem(turns, draft.dropped);
  const instruction = system.flatMap(({ content }) =>
    content.map((part) => formatText(part, draft)),
  );
  if (instruction.length > 0) draft.body.systemInstruction = { parts: instruction };
  const contents = formatContents(rest, style, draft);
  if (!isParts(contents)) return contents;
  if (turns.at(-1)?.role === "assistant") draft.dropped.add("prefill_as_turn");
  draft.body.contents = contents;
  return null;
}

/**
 * Results must follow the calls that they answer in one turn, so that turns of tools that follow
 * each other are one, and turns of the model are, too. Turns of the user stay apart: the provider
 * takes several in a row.
 */
function formatContents(
  turns: readonly Turn[],
  style: CallStyle,
  draft: Draft,
): readonly JsonObject[] | ServiceError {
  const contents: JsonObject[] = [];
  const calls = new OpenCalls();
  for (const group of groupTurns(turns)) {
    for (const turn of group) calls.note(turn);
    const parts = formatGroup(group, calls, style, draft);
    if (!isParts(parts)) return parts;
    contents.push({ role: group[0]?.role === "assistant" ? "model" : "user", parts });
  }
  return contents;
}

function isParts(parts: readonly JsonObject[] | ServiceError): parts is readonly JsonObject[] {
  return Array.isArray(parts);
}

function groupTurns(turns: readonly Turn[]): readonly (readonly Turn[])[] {
  const groups: Turn[][] = [];
  for (const turn of turns) {
    const last = groups.at(-1);
    const role = last?.[0]?.role;
    if (last !== undefined && role === turn.role && role !== "user") last.push(turn);
    else groups.push([turn]);
  }
  return groups;
}

function formatGroup(
  group: readonly Turn[],
  calls: OpenCalls,
  style: CallStyle,
  draft: Draft,
): readonly JsonObject[] | ServiceError {
  const [first] = group;
  switch (first?.role) {
    case "user":
      if (first.name !== null) draft.dropped.add("participant_name_dropped");
      return formatInput(first.content, draft);
    case "assistant":
      return formatAssistantPart(
        group.filter((turn): turn is AssistantTurn => turn.role === "assistant"),
        style,
        draft,
      );
    case "tool": {
      const results = group
        .filter((turn): turn is ToolTurn => turn.role === "tool")
        .flatMap((turn): readonly ToolResult[] => turn.results);
      return formatResults(results, calls, style.withIds, draft);
    }
    case "system":
    case undefined:
      throw new Error(
        "formatTurns: system text after the first turn, which the dialect has no feature for",
      );
  }
}

function formatAssistantPart(
  turns: readonly AssistantTurn[],
  style: CallStyle,
  draft: Draft,
): readonly JsonObject[] {
  if (turns.length > 1) draft.dropped.add("turns_merged");
  const said = new AssistantParts(draft, style);
  for (const { name, content } of turns) {
    if (name !== null) draft.dropped.add("participant_name_dropped");
    for (const part of content) said.add(part);
  }
  return said.end();
}

type Made = Record<string, JsonValue | undefined>;

/** How this provider wants calls to be written. */
interface CallStyle {
  readonly withIds: boolean;
  /** The model signs, and refuses calls that are not signed. */
  readonly signs: boolean;
}

/**
 * Makes the parts of one model turn, and puts signatures back on the parts that they were taken
 * from (`markSignature`).
 */
class AssistantParts {
  readonly #parts: Made[] = [];
  readonly #draft: Draft;
  readonly #style: CallStyle;
  /** Signatures that wait for the part that they belong to. */
  readonly #forCalls: string[] = [];
  readonly #forTexts: string[] = [];
  /** A signature without the kind of its part: it belongs to the next part. */
  #forNext: string | null = null;
  #hasCall = false;

  constructor(draft: Draft, style: CallStyle) {
    this.#draft = draft;
    this.#style = style;
  }

  add(part: AssistantPart): void {
    switch (part.kind) {
      case "reasoning":
        return this.#addReasoning(part);
      case "tool_call":
        return this.#addCall(part);
      case "refusal":
        this.#draft.dropped.add("refusal_as_text");
        return this.#addText(formatText({ text: part.text, cache: null }, this.#draft));
      case "text":
        return this.#addText(formatText(part, this.#draft));
    }
  }

  /**
   * All parts; a signature whose part is gone stands on an empty text, as the provider itself
   * writes them at the end of a stream.
   */
  end(): readonly JsonObject[] {
    this.#flushNext();
    for (const signature of [...this.#forCalls, ...this.#forTexts]) this.#addEmpty(signature);
    return this.#parts;
  }

  #addReasoning({ text, signature }: ReasoningPart): void {
    this.#flushNext();
    const placed = signature === null ? null : readMarked(signature);
    const isOnThought = placed?.part === "thought" || (placed?.part === null && text !== "");
    if (text !== "" || isOnThought) {
      this.#parts.push({
        text,
        thought: true,
        thoughtSignature: isOnThought ? placed.signature : undefined,
      });
    }
    if (placed === null || isOnThought) return;
    if (placed.part === "call") this.#forCalls.push(placed.signature);
    else if (placed.part === "text") this.#forTexts.push(placed.signature);
    else if (placed.part === "empty") this.#addEmpty(placed.signature);
    else this.#forNext = placed.signature;
  }

  #addCall({ id, name, arguments: text, cache }: ToolCallPart): void {
    dropMark(cache, this.#draft);
    const args = parseExactJsonText(text);
    if (!isJsonObject(args))
      throw new Error("AssistantParts: arguments that no parser at the door let in");
    const functionCall = { id: this.#style.withIds ? id : undefined, name, args };
    const signature = this.#take(this.#forCalls) ?? this.#placeholder();
    this.#hasCall = true;
    this.#parts.push({
      functionCall,
      thoughtSignature: signature ?? undefined,
    });
  }

  #addText(part: JsonObject): void {
    const signature = this.#take(this.#forTexts);
    this.#parts.push({ ...part, thoughtSignature: signature ?? undefined });
  }

  #take(waiting: string[]): string | null {
    const next = this.#forNext;
    this.#forNext = null;
    return next ?? waiting.shift() ?? null;
  }

  /** Only the first of several calls at once is signed. */
  #placeholder(): string | null {
    if (this.#hasCall || !this.#style.signs) return null;
    this.#draft.dropped.add("signature_placeholder");
    return UNSIGNED_CALL;
  }

  #flushNext(): void {
    if (this.#forNext !== null) this.#addEmpty(this.#forNext);
    this.#forNext = null;
  }

  #addEmpty(signature: string): void {
    this.#parts.push({ text: "", thoughtSignature: signature });
  }
}

/** A request while it is made, and what could not be said in it. */
export interface Draft {
  readonly body: Record<string, JsonValue | undefined>;
  /** Members of `generationConfig`. */
  readonly config: Record<string, JsonValue | undefined>;
  readonly dropped: Set<DroppedField>;
  /** The detail of every image of the request: the protocol has one for all of them. */
  readonly details: Set<ImagePart["detail"]>;
}

/** The protocol has no cache marks. */
export function dropMark(cache: CacheMark | null, { dropped }: Draft): void {
  if (cache !== null) dropped.add("cache_mark_dropped");
}

function formatText({ text, cache }: Pick<TextPart, "text" | "cache">, draft: Draft): JsonObject {
  dropMark(cache, draft);
  return { text };
}

/** The parts of a user's turn. */
function formatInput(parts: readonly InputPart[], draft: Draft): readonly JsonObject[] {
  return parts.map((part) =>
    part.kind === "text" ? formatText(part, draft) : formatData(part, draft),
  );
}

/** Bytes by value, whatever they are: the protocol distinguishes them by their media type. */
function formatData(part: Exclude<InputPart, TextPart>, draft: Draft): JsonObject {
  if (part.kind === "audio")
    return { inlineData: { mimeType: `audio/${part.format}`, data: part.data } };
  dropMark(part.cache, draft);
  if (part.kind === "image") draft.details.add(part.detail);
  else if (part.name !== null) draft.dropped.add("file_name_dropped");
  return { inlineData: inline(part.source) };
}

function inline(source: DataSource): JsonObject {
  if (source.kind === "url")
    throw new Error("formatData: a URL, which the dialect has no feature for");
  return { mimeType: source.mediaType, data: source.data };
}

/**
 * The calls that results may answer, by id: the protocol wants their names, and clients do not send
 * them along.
 */
class OpenCalls {
  /** Id → name and position. Later answers may repeat an id; it then means the later call. */
  readonly #calls = new Map<string, { readonly name: string; readonly position: number }>();

  note(turn: Turn): void {
    if (turn.role !== "assistant") return;
    for (const part of turn.content) {
      if (part.kind === "tool_call")
        this.#calls.set(part.id, { name: part.name, position: this.#calls.size });
    }
  }

  name(id: string): string | null {
    return this.#calls.get(id)?.name ?? null;
  }

  /** Order of the calls: without ids, results are distinguished by it alone. */
  position(id: string): number {
    return this.#calls.get(id)?.position ?? 0;
  }
}

/**
 * The results of tools as parts of one user turn; the error is for a result that answers no call.
 */
function formatResults(
  results: readonly ToolResult[],
  calls: OpenCalls,
  withIds: boolean,
  draft: Draft,
): readonly JsonObject[] | ServiceError {
  const ordered = withIds
    ? results
    : results.toSorted((left, right) => calls.position(left.callId) - calls.position(right.callId));
  const parts: JsonObject[] = [];
  for (const result of ordered) {
    const name = calls.name(result.callId);
    if (name === null) {
      return invalidRequest(
        "unknown_tool_call",
        "A tool result answers no tool call of the conversation; an endpoint that may get the request needs the name of the function, which is in the call",
      );
    }
    parts.push({
      functionResponse: {
        id: withIds ? result.callId : undefined,
        name,
        ...formatResult(result, draft),
      },
    });
  }
  return parts;
}

/** `output` and `error` are the members that models get; files stand beside them. */
function formatResult({ content, isError, cache }: ToolResult, draft: Draft): JsonObject {
  dropMark(cache, draft);
  const texts: string[] = [];
  const files: JsonObject[] = [];
  for (const part of content) {
    if (part.kind !== "text") {
      files.push(formatData(part, draft));
      continue;
    }
    dropMark(part.cache, draft);
    texts.push(part.text);
  }
  if (files.length > 0 && texts.length > 0) draft.dropped.add("result_files_apart");
  const said = texts.length === 1 ? texts[0] : texts;
  const member = isError === true ? "error" : "output";
  return {
    response: texts.length === 0 && isError !== true ? {} : { [member]: said },
    parts: files.length === 0 ? undefined : files,
  };
}

/**
 * The protocol signs parts of every kind: a function call (the first of several at once), a text,
 * an empty text at the end of a stream, a thought. Canon has signatures on reasoning only, so one
 * that stands on something else becomes reasoning without text directly before it. Surfaces may put
 * reasoning before everything else that was said, and the provider refuses a call whose signature
 * stands elsewhere: the canonical signature therefore begins with the kind of its part. Base64 has
 * no full stop, so no provider's signature is taken for a marked one.
 */
export type SignedPart = "call" | "text" | "empty" | "thought";

const MARKED = /^(call|text|empty|thought)\.(.*)$/s;

export function markSignature(part: SignedPart, signature: string): string {
  return `${part}.${signature}`;
}

/**
 * The kind of the signed part and the bare signature; a signature without a kind belongs to the
 * part that follows it.
 */
export function readMarked(text: string): {
  readonly part: SignedPart | null;
  readonly signature: string;
} {
  const match = MARKED.exec(text);
  const part = SIGNED_PARTS.find((known) => known === match?.[1]);
  return part === undefined
    ? { part: null, signature: text }
    : { part, signature: match?.[2] ?? "" };
}

const SIGNED_PARTS: readonly SignedPart[] = ["call", "text", "empty", "thought"];

/**
 * What the provider documents for calls of the history that no model of its own has made: base64 of
 * `skip_thought_signature_validator`. Without it a conversation that another model began, or whose
 * client drops signatures, is refused at its first tool call.
 */
export const UNSIGNED_CALL = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=";
