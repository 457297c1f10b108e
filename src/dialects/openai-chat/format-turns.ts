import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import type {
  AssistantPart,
  AssistantTurn,
  FilePart,
  ImagePart,
  InputPart,
  ReasoningPart,
  RefusalPart,
  TextPart,
  ToolCallPart,
  ToolResult,
  Turn,
} from "../../canon/generate/generate-request.ts";
import type { JsonObject, JsonValue } from "../../canon/json.ts";
import type { Target } from "../dialect.ts";
import { printDataUrl } from "../data-url.ts";
import { readMarked } from "../gemini/format-parts.ts";
import { reasoningDetails } from "./reasoning.ts";

/**
 * What to call a file that came without a name; the provider recognises its kind by the extension.
 */
const FILE_NAMES: ReadonlyMap<string, string> = new Map([
  ["application/pdf", "file.pdf"],
  ["text/plain", "file.txt"],
]);

/** A turn's messages, and what they could not say. */
class TurnFormatter {
  readonly messages: JsonObject[] = [];
  refusal: ServiceError | null = null;
  readonly #dropped: Set<DroppedField>;
  readonly #family: string | null;

  constructor({ model }: Target, dropped: Set<DroppedField>) {
    this.#dropped = dropped;
    this.#family = model.signatureFamily;
  }

  add(turn: Turn): void {
    switch (turn.role) {
      case "system":
        this.messages.push({ role: turn.authority, content: this.#inputs(turn.content) });
        break;
      case "user":
        this.messages.push({
          role: "user",
          ...named(turn.name),
          content: this.#inputs(turn.content),
        });
        break;
      case "assistant":
        this.messages.push(this.#assistant(turn));
        break;
      case "tool":
        for (const result of turn.results) this.messages.push(this.#result(result));
    }
  }

  #inputs(parts: readonly InputPart[]): JsonValue {
    const [first] = parts;
    if (first === undefined) return "";
    if (parts.length === 1 && first.kind === "text") return this.#text(first);
    return parts.map((part) => this.#input(part));
  }

  #text({ text, cache }: TextPart): string {
    this.#dropMark(cache);
    return text;
  }

  #input(part: InputPart): JsonObject {
    switch (part.kind) {
      case "text":
        return { type: "text", text: this.#text(part) };
      case "image":
        return { type: "image_url", image_url: this.#image(part) };
      case "file":
        return { type: "file", file: this.#file(part) };
      case "audio":
        return { type: "input_audio", input_audio: { data: part.data, format: part.format } };
    }
  }

  #image({ source, detail, cache }: ImagePart): JsonObject {
    this.#dropMark(cache);
    const url = source.kind === "url" ? source.url : printDataUrl(source.mediaType, source.data);
    return { url, ...(detail === null ? {} : { detail }) };
  }

  #file({ source, name, cache }: FilePart): JsonObject {
    this.#dropMark(cache);
    if (source.kind === "url") {
      this.#refuse("files by URL");
      return {};
    }
    if (name === null) this.#dropped.add("file_name_made");
    const filename = name ?? FILE_NAMES.get(source.mediaType) ?? "file";
    return { filename, file_data: printDataUrl(source.mediaType, source.data) };
  }

  #assistant({ name, content }: AssistantTurn): JsonObject {
    const reasoning: ReasoningPart[] = [];
    let unsigned = "";
    const said: (TextPart | RefusalPart)[] = [];
    const calls: JsonObject[] = [];
    const callSignatures: string[] = [];
    let extra: JsonObject = {};
    let rank = 0;
    for (const part of content) {
      if (part.kind === "reasoning" && !this.#isReadable(part)) {
        if (part.signature === null) unsigned += part.text;
        else this.#dropped.add("unsigned_reasoning_dropped");
        continue;
      }
      const marked = part.kind === "reasoning" ? readMarked(part.signature ?? "") : NOT_MARKED;
      if (marked.part === "call") callSignatures.push(marked.signature);
      else if (marked.part === "text" || marked.part === "empty")
        extra = signedExtra(marked.signature);
      if (marked.part !== null && marked.part !== "thought") continue;
      // A message has one member for each kind, in this order.
      if (RANKS[part.kind] < rank) this.#dropped.add("parts_reordered");
      rank = Math.max(rank, RANKS[part.kind]);
      if (part.kind === "reasoning") reasoning.push(part);
      else if (part.kind === "tool_call")
        calls.push({ ...this.#call(part), ...signedExtra(callSignatures.shift()) });
      else said.push(part);
    }
    const details = reasoning.flatMap((part) => reasoningDetails(part, part.signature, null));
    return {
      role: "assistant",
      ...named(name),
      ...this.#said(said, calls.length > 0),
      ...(unsigned === "" ? {} : { reasoning_content: unsigned }),
      ...(details.length === 0 ? {} : { reasoning_details: details }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
      ...extra,
    };
  }

  /** Reasoning that the model can check; few providers take other reasoning back. */
  #isReadable({ signature, family }: ReasoningPart): boolean {
    return signature !== null && family === this.#family;
  }

  #said(parts: readonly (TextPart | RefusalPart)[], calls: boolean): JsonObject {
    const [first] = parts;
    if (first === undefined) return { content: calls ? null : "" };
    if (parts.length === 1) {
      return first.kind === "text"
        ? { content: this.#text(first) }
        : { content: null, refusal: first.text };
    }
    const content = parts.map((part) =>
      part.kind === "text"
        ? { type: "text", text: this.#text(part) }
        : { type: "refusal", refusal: part.text },
    );
    return { content };
  }

  #call(call: ToolCallPart): JsonObject {
    this.#dropMark(call.cache);
    return {
      id: call.id,
      type: "function",
      function: { name: call.name, arguments: call.arguments },
    };
  }

  #result({ callId, content, isError, cache }: ToolResult): JsonObject {
    this.#dropMark(cache);
    if (isError === true) this.#dropped.add("tool_error_flag_dropped");
    return { role: "tool", tool_call_id: callId, content: this.#inputs(content) };
  }

  #dropMark(cache: TextPart["cache"]): void {
    if (cache !== null) this.#dropped.add("cache_mark_dropped");
  }

  /**
   * The decision keeps such requests away; one that gets here all the same must not lose what it
   * says.
   */
  #refuse(what: string): void {
    this.refusal ??= invalidRequest(
      "feature_not_supported",
      `The chat completions protocol has no ${what}`,
    );
  }
}

const NOT_MARKED = readMarked("");

/**
 * A signature where the provider has it
 * (https://ai.google.dev/gemini-api/docs/thought-signatures#openai): in the call, or in the message
 * of a text.
 */
function signedExtra(signature: string | undefined): JsonObject {
  return signature === undefined
    ? {}
    : { extra_content: { google: { thought_signature: signature } } };
}

const RANKS: Readonly<Record<AssistantPart["kind"], number>> = {
  reasoning: 0,
  text: 1,
  refusal: 1,
  tool_call: 2,
};

function named(name: string | null): JsonObject {
  return name === null ? {} : { name };
}

/** The turns as messages; the error is a 400 for what this protocol cannot say. */
export function formatTurns(
  turns: readonly Turn[],
  target: Target,
  dropped: Set<DroppedField>,
): { readonly list: readonly JsonObject[] } | ServiceError {
  const formatter = new TurnFormatter(target, dropped);
  for (const turn of turns) formatter.add(turn);
  return formatter.refusal ?? { list: formatter.messages };
}
