import type { DroppedField } from "../../canon/generate/edit.ts";
import type {
  AssistantPart,
  DataSource,
  FilePart,
  ImagePart,
  InputPart,
  TextPart,
  ToolResult,
  Turn,
} from "../../canon/generate/generate-request.ts";
import type { JsonObject } from "../../canon/json.ts";
import { printDataUrl } from "../data-url.ts";

/** The conversation as the protocol takes it. */
interface FormattedInput {
  readonly instructions: string | null;
  readonly input: readonly JsonObject[];
  /** Whether the history holds signed reasoning. */
  readonly signed: boolean;
}

/**
 * Prints turns as items. One leading system text becomes `instructions`; several keep their
 * position and text as items, because joined they would be another text.
 */
export function formatInput(turns: readonly Turn[], dropped: Set<DroppedField>): FormattedInput {
  const instructions = leadingInstructions(turns);
  const rest = instructions === null ? turns : turns.slice(1);
  const printer = new ItemPrinter(dropped);
  const input = rest.flatMap((turn) => printer.turn(turn));
  return { instructions: instructions?.text ?? null, input, signed: printer.signed };
}

function leadingInstructions([first, second]: readonly Turn[]): TextPart | null {
  if (first?.role !== "system" || first.authority !== "system" || first.content.length !== 1)
    return null;
  // Without anything else there would be no input, which the protocol demands.
  if (second === undefined || second.role === "system") return null;
  const [part] = first.content;
  return part === undefined || part.cache !== null ? null : part;
}

class ItemPrinter {
  readonly #dropped: Set<DroppedField>;
  signed = false;

  constructor(dropped: Set<DroppedField>) {
    this.#dropped = dropped;
  }

  turn(turn: Turn): readonly JsonObject[] {
    switch (turn.role) {
      case "system":
        return [
          {
            type: "message",
            role: turn.authority,
            content: turn.content.map((part) => this.#input(part)),
          },
        ];
      case "user":
        if (turn.name !== null) this.#dropped.add("participant_name_dropped");
        return [
          { type: "message", role: "user", content: turn.content.map((part) => this.#input(part)) },
        ];
      case "assistant":
        if (turn.name !== null) this.#dropped.add("participant_name_dropped");
        return this.#assistant(turn.content);
      case "tool":
        return turn.results.map((result) => this.#result(result));
    }
  }

  /**
   * Texts and refusals that follow one another are one message; calls and reasoning are items of
   * their own.
   */
  #assistant(parts: readonly AssistantPart[]): readonly JsonObject[] {
    const items: JsonObject[] = [];
    let content: JsonObject[] | null = null;
    for (const part of parts) {
      if (part.kind === "text" || part.kind === "refusal") {
        if (content === null)
          items.push({ type: "message", role: "assistant", content: (content = []) });
        content.push(this.#output(part));
        continue;
      }
      content = null;
      if (part.kind === "tool_call") {
        this.#mark(part.cache !== null);
        const { id, name, arguments: json } = part;
        items.push({ type: "function_call", call_id: id, name, arguments: json });
      } else {
        this.signed = true;
        items.push(reasoningItem(part.text, part.summary, part.signature));
      }
    }
    return items;
  }

  #output(part: Extract<AssistantPart, { kind: "text" | "refusal" }>): JsonObject {
    if (part.kind === "refusal") return { type: "refusal", refusal: part.text };
    this.#mark(part.cache !== null);
    return { type: "output_text", text: part.text };
  }

  #result({ callId, content, isError, cache }: ToolResult): JsonObject {
    this.#mark(cache !== null);
    if (isError === true) this.#dropped.add("tool_error_flag_dropped");
    const item = { type: "function_call_output", call_id: callId };
    const [only] = content;
    if (only === undefined) return { ...item, output: "" };
    if (content.length > 1 || only.kind !== "text")
      return { ...item, output: content.map((part) => this.#input(part)) };
    this.#mark(only.cache !== null);
    return { ...item, output: only.text };
  }

  #input(part: InputPart): JsonObject {
    if (part.kind === "audio") {
      return { type: "input_audio", input_audio: { data: part.data, format: part.format } };
    }
    this.#mark(part.cache !== null);
    switch (part.kind) {
      case "text":
        return { type: "input_text", text: part.text };
      case "image":
        return image(part);
      case "file":
        return this.#file(part);
    }
  }

  #file({ source, name }: FilePart): JsonObject {
    if (source.kind === "url") {
      // The protocol takes the name from the URL.
      if (name !== null) this.#dropped.add("file_name_dropped");
      return { type: "input_file", file_url: source.url };
    }
    if (name === null) this.#dropped.add("file_name_made");
    return {
      type: "input_file",
      filename: name ?? madeName(source),
      file_data: printDataUrl(source.mediaType, source.data),
    };
  }

  #mark(isMarked: boolean): void {
    if (isMarked) this.#dropped.add("cache_mark_dropped");
  }
}

function reasoningItem(text: string, summary: boolean, signature: string | null): JsonObject {
  return {
    type: "reasoning",
    summary: summary && text !== "" ? [{ type: "summary_text", text }] : [],
    ...(summary || text === "" ? {} : { content: [{ type: "reasoning_text", text }] }),
    encrypted_content: signature,
  };
}

function image({ source, detail }: ImagePart): JsonObject {
  const url = source.kind === "url" ? source.url : printDataUrl(source.mediaType, source.data);
  return { type: "input_image", image_url: url, ...(detail === null ? {} : { detail }) };
}

/** Providers refuse file data without a name, and read the kind of the file off its end. */
function madeName({ mediaType }: Extract<DataSource, { kind: "base64" }>): string {
  if (mediaType === "application/pdf") return "file.pdf";
  return mediaType === "text/plain" ? "file.txt" : "file";
}
