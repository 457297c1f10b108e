import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import type {
  AssistantPart,
  AudioPart,
  CacheMark,
  FilePart,
  GenerateRequest,
  ImagePart,
  InputPart,
  TextPart,
  Tool,
  ToolResult,
  Turn,
} from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { redactedData } from "../anthropic-messages/reasoning.ts";
import { parseExactJsonText } from "../json.ts";
import { alternatingMessages, splitSystem } from "../reasoning-effort.ts";

/**
 * Writes `system` and `messages`. Leading system text is the one; the protocol has none in the
 * middle.
 */
export function formatTurns(turns: readonly Turn[], draft: Draft): void {
  const parts = new PartFormatter(draft, new DocumentNames(draft.dropped));
  const { system, rest } = splitSystem(turns, draft.dropped);
  const instructions = system.flatMap(({ content }) => parts.input(content));
  if (instructions.length > 0) draft.body.system = instructions;
  const printer = new TurnPrinter(draft, parts);
  draft.body.messages = alternatingMessages(rest, draft.dropped, (turn) => printer.turn(turn));
}

/**
 * Whether the history has calls of tools or their results, which the protocol takes only together
 * with `toolConfig`.
 */
export function hasToolHistory(turns: readonly Turn[]): boolean {
  return turns.some(
    (turn) =>
      turn.role === "tool" ||
      (turn.role === "assistant" && turn.content.some(({ kind }) => kind === "tool_call")),
  );
}

/** Prints the content of turns. */
class TurnPrinter {
  readonly #draft: Draft;
  readonly #parts: PartFormatter;

  constructor(draft: Draft, parts: PartFormatter) {
    this.#draft = draft;
    this.#parts = parts;
  }

  turn(turn: Turn): readonly JsonObject[] {
    switch (turn.role) {
      case "system":
        // The decision keeps such requests away; hoisting the text would change what it is about.
        this.#draft.refuse(
          "feature_not_supported",
          "The converse protocol has no system text after the first turn of the conversation",
        );
        return [];
      case "user":
        if (turn.name !== null) this.#draft.dropped.add("participant_name_dropped");
        return this.#parts.input(turn.content);
      case "assistant":
        if (turn.name !== null) this.#draft.dropped.add("participant_name_dropped");
        return turn.content.flatMap((part) => this.#said(part));
      case "tool":
        return turn.results.flatMap((result) => this.#result(result));
    }
  }

  #result({ callId, content, isError, cache }: ToolResult): readonly JsonObject[] {
    const toolResult = {
      toolUseId: callId,
      content: this.#parts.result(content),
      status: isError === null ? undefined : isError ? "error" : "success",
    };
    return [{ toolResult }, ...cachePoint(cache)];
  }

  #said(part: AssistantPart): readonly JsonObject[] {
    switch (part.kind) {
      case "text":
        return this.#parts.input([part]);
      case "refusal":
        this.#draft.dropped.add("refusal_as_text");
        return this.#parts.input([{ kind: "text", text: part.text, cache: null }]);
      case "tool_call": {
        const { id, name, cache } = part;
        const input = parseExactJsonText(part.arguments);
        if (!isJsonObject(input))
          throw new Error("formatTurns: arguments that no parser at the door let in");
        return [{ toolUse: { toolUseId: id, name, input } }, ...cachePoint(cache)];
      }
      case "reasoning": {
        const { text, signature } = part;
        const data = redactedData(signature ?? "");
        const reasoningText = { text, signature };
        return [
          { reasoningContent: data === null ? { reasoningText } : { redactedContent: data } },
        ];
      }
    }
  }
}

/**
 * The body of a request while it is made, what could not be said in it, and why it cannot be sent
 * at all.
 */
export class Draft {
  readonly body: Record<string, JsonValue> = {};
  /** Members of `additionalModelRequestFields`: what only some models have. */
  readonly additional: Record<string, JsonValue> = {};
  readonly dropped = new Set<DroppedField>();
  #refusal: ServiceError | null = null;

  /** The first 400; what is written after it is never sent. */
  get refusal(): ServiceError | null {
    return this.#refusal;
  }

  refuse(code: string, message: string): void {
    this.#refusal ??= invalidRequest(code, message);
  }
}

const IMAGE_FORMATS: ReadonlyMap<string, string> = new Map([
  ["image/png", "png"],
  ["image/jpeg", "jpeg"],
  ["image/gif", "gif"],
  ["image/webp", "webp"],
]);

const DOCUMENT_FORMATS: ReadonlyMap<string, string> = new Map([
  ["application/pdf", "pdf"],
  ["text/plain", "txt"],
  ["text/markdown", "md"],
  ["text/csv", "csv"],
  ["text/html", "html"],
  ["application/msword", "doc"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
  ["application/vnd.ms-excel", "xls"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"],
]);

const AUDIO_FORMATS: ReadonlySet<string> = new Set(
  "aac flac m4a mka mkv mp3 mp4 mpeg mpga ogg opus pcm wav webm x-aac".split(" "),
);

/**
 * Prints what users and tools say. One for each request: names of documents are unique within it.
 */
class PartFormatter {
  readonly #draft: Draft;
  readonly #names: DocumentNames;

  constructor(draft: Draft, names: DocumentNames) {
    this.#draft = draft;
    this.#names = names;
  }

  /** Blocks of a message. */
  input(parts: readonly InputPart[]): readonly JsonObject[] {
    return parts.flatMap((part) => {
      const block = this.#block(part);
      return block === null ? [] : [block, ...cachePoint(markOf(part))];
    });
  }

  /** Blocks of a tool's result, which cannot carry cache marks of their own. */
  result(parts: readonly (TextPart | ImagePart | FilePart)[]): readonly JsonObject[] {
    return parts.flatMap((part) => {
      if (part.cache !== null) this.#draft.dropped.add("cache_mark_dropped");
      const block = this.#block(part);
      return block === null ? [] : [block];
    });
  }

  #block(part: InputPart): JsonObject | null {
    switch (part.kind) {
      case "text":
        return { text: part.text };
      case "image":
        return this.#image(part);
      case "file":
        return this.#file(part);
      case "audio":
        return this.#audio(part);
    }
  }

  #image({ source, detail }: ImagePart): JsonObject | null {
    if (source.kind === "url") return this.#refuseUrl("images");
    if (detail !== null) this.#draft.dropped.add("image_detail_dropped");
    const format = IMAGE_FORMATS.get(essenceOf(source.mediaType));
    if (format === undefined) return this.#refuseType("image", [...IMAGE_FORMATS.keys()]);
    return { image: { format, source: { bytes: source.data } } };
  }

  #file({ source, name }: FilePart): JsonObject | null {
    if (source.kind === "url") return this.#refuseUrl("files");
    const format = DOCUMENT_FORMATS.get(essenceOf(source.mediaType));
    if (format === undefined) return this.#refuseType("file", [...DOCUMENT_FORMATS.keys()]);
    return { document: { format, name: this.#names.of(name), source: { bytes: source.data } } };
  }

  #audio({ format, data }: AudioPart): JsonObject | null {
    const name = format.toLowerCase();
    if (!AUDIO_FORMATS.has(name)) return this.#refuseType("audio", [...AUDIO_FORMATS]);
    return { audio: { format: name, source: { bytes: data } } };
  }

  /**
   * The decision keeps such requests away; one that gets here all the same must not lose what it
   * says.
   */
  #refuseUrl(what: string): null {
    this.#draft.refuse("feature_not_supported", `The converse protocol has no ${what} by URL`);
    return null;
  }

  #refuseType(what: string, known: readonly string[]): null {
    this.#draft.refuse(
      `unsupported_${what}_type`,
      `An endpoint that may get the request takes ${what} content of these types only: ${known.join(", ")}`,
    );
    return null;
  }
}

function markOf(part: InputPart): CacheMark | null {
  return part.kind === "audio" ? null : part.cache;
}

/** The block that marks the end of what a provider may keep. */
export function cachePoint(cache: CacheMark | null): readonly JsonObject[] {
  if (cache === null) return [];
  return [{ cachePoint: { type: "default", ttl: cache.ttl ?? undefined } }];
}

/** A media type without its parameters. */
function essenceOf(mediaType: string): string {
  return (mediaType.split(";", 1)[0] ?? "").trim().toLowerCase();
}

/**
 * What to call a document that came without a name, or whose name has no character that the
 * protocol takes.
 */
const UNNAMED = "document";

/** Characters; the protocol's limit. */
const MAXIMUM_LENGTH = 200;

/**
 * Names of the documents of one request. The protocol takes letters, digits, single spaces,
 * hyphens, parentheses and square brackets, and models refuse two documents of one name.
 */
class DocumentNames {
  readonly #used = new Set<string>();
  readonly #dropped: Set<DroppedField>;

  constructor(dropped: Set<DroppedField>) {
    this.#dropped = dropped;
  }

  of(name: string | null): string {
    const sent = this.#free(name === null ? UNNAMED : plain(name));
    this.#used.add(sent);
    if (name === null) this.#dropped.add("file_name_made");
    else if (sent !== name) this.#dropped.add("file_name_changed");
    return sent;
  }

  #free(wanted: string): string {
    for (let number = 1; ; number += 1) {
      const ending = number === 1 ? "" : ` ${number}`;
      const name = wanted.slice(0, MAXIMUM_LENGTH - ending.length).trimEnd() + ending;
      if (!this.#used.has(name)) return name;
    }
  }
}

/** `Report (v2).pdf` becomes `Report (v2)-pdf`. */
function plain(name: string): string {
  const taken = name
    .replaceAll(/\s+/g, " ")
    .replaceAll(/[^a-zA-Z0-9 ()[\]-]+/g, "-")
    .replaceAll(/^[\s-]+|[\s-]+$/g, "");
  return taken === "" ? UNNAMED : taken;
}

/**
 * The tools that the model may call. The protocol has no choice `none`: it is said by offering
 * nothing, and only the allowed ones are offered where only some are.
 */
export function offeredTools({ tools, toolChoice }: GenerateRequest): readonly Tool[] {
  if (toolChoice?.mode === "none") return [];
  return toolChoice?.mode === "allowed"
    ? tools.filter(({ name }) => toolChoice.names.includes(name))
    : tools;
}
