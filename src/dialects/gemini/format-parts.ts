import type {
  CacheMark,
  DataSource,
  ImagePart,
  InputPart,
  TextPart,
  ToolResult,
  Turn,
} from "../../canon/generate/generate-request.ts";
import type { JsonObject, JsonValue } from "../../canon/json.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import { invalidRequest, type ServiceError } from "../../canon/error.ts";

/** A request while it is made, and what could not be said in it. */
export interface Draft {
  readonly body: Record<string, JsonValue | undefined>;
  /** Members of `generationConfig`. */
  readonly config: Record<string, JsonValue | undefined>;
  readonly dropped: Set<DroppedField>;
  /** The detail of every image of the request: the protocol has one for all of them. */
  readonly details: Set<ImagePart["detail"]>;
}

/** What a provider may keep is named in the protocol, not marked. */
export function dropMark(cache: CacheMark | null, { dropped }: Draft): void {
  if (cache !== null) dropped.add("cache_mark_dropped");
}

export function formatText(
  { text, cache }: Pick<TextPart, "text" | "cache">,
  draft: Draft,
): JsonObject {
  dropMark(cache, draft);
  return { text };
}

/** The parts of a user's turn. */
export function formatInput(parts: readonly InputPart[], draft: Draft): readonly JsonObject[] {
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
export class OpenCalls {
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
export function formatResults(
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
        ...(withIds ? { id: result.callId } : {}),
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
    ...(files.length === 0 ? {} : { parts: files }),
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
