import type { Citation, TokenLogprob } from "../../canon/generate/event.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { BlockSequencer } from "../answer-events.ts";
import type { Said } from "./ending.ts";
import { textOf } from "../json.ts";
import { readTokenLogprobs } from "../token-logprobs.ts";

/** What has been reported of one output item. */
interface Reported {
  /**
   * Content indices whose text has been reported; by kind, because providers count reasoning and
   * messages alike.
   */
  readonly texts: Set<number>;
  /** Content index → how many annotations. */
  readonly annotations: Map<number, number>;
  /** Summary or reasoning text: the index that was reported last. */
  lastReasoning: { readonly key: string; readonly index: number } | null;
  opened: boolean;
  arguments: boolean;
  done: boolean;
}

/**
 * Emits output items to a sequencer, once, whether they come in deltas, whole when they are done,
 * or whole in a JSON answer. Keys are output indices: providers change the ids of items on the way.
 */
export class ItemEmitter implements Said {
  readonly #sequencer: BlockSequencer;
  readonly #family: string | null;
  readonly #reported = new Map<number, Reported>();
  readonly #ids = new Set<string>();
  readonly dropped = new Set<DroppedField>();
  calls = false;
  refusal = false;
  /** An item of a kind that no translated request can have requested, or a call without a name. */
  unexpected: "unexpected_output_item" | "unnamed_call" | null = null;

  /**
   * @param family who can read the signatures of this endpoint's model; `null` where none is known.
   */
  constructor(sequencer: BlockSequencer, family: string | null) {
    this.#sequencer = sequencer;
    this.#family = family;
  }

  /** An item begins. A call is opened where its name is known. */
  added(index: number, item: JsonObject): void {
    const { type, id } = item;
    if (typeof id === "string") this.#ids.add(id);
    if (type === "function_call") this.#openCall(index, item);
    else if (type !== "message" && type !== "reasoning")
      this.unexpected ??= "unexpected_output_item";
    this.#of(index);
  }

  text(index: number, content: number, text: string, logprobs: readonly TokenLogprob[]): void {
    this.#of(index).texts.add(content);
    this.#sequencer.text(text, logprobs, `${index} ${content}`);
  }

  refused(index: number, content: number, text: string): void {
    this.refusal = true;
    this.#of(index).texts.add(content);
    this.#sequencer.refusal(text, `${index} ${content}`);
  }

  /** Several texts of one item are paragraphs of one block, so that the item has one signature. */
  reasoning(index: number, part: number, text: string, summary: boolean): void {
    if (text === "") return;
    const reported = this.#of(index);
    const key = `${index} ${summary ? "summary" : "text"}`;
    const last = reported.lastReasoning;
    const isNext = last !== null && last.key === key && last.index !== part;
    reported.lastReasoning = { key, index: part };
    this.#sequencer.reasoning(isNext ? `\n\n${text}` : text, summary, key);
  }

  arguments(index: number, json: string): void {
    this.#of(index).arguments = true;
    this.#sequencer.arguments(String(index), json);
  }

  annotation(index: number, content: number, annotation: JsonValue | undefined): void {
    const { annotations } = this.#of(index);
    annotations.set(content, (annotations.get(content) ?? 0) + 1);
    const citation = readCitation(annotation);
    if (citation === null) this.dropped.add("citations_dropped");
    else this.#sequencer.citation(citation, `${index} ${content}`);
  }

  /** Whether the text of a content index has been reported in deltas. */
  hasText(index: number, content: number): boolean {
    return this.#reported.get(index)?.texts.has(content) ?? false;
  }

  hasArguments(index: number): boolean {
    return this.#reported.get(index)?.arguments ?? false;
  }

  /** Whether anything of an item's reasoning has been reported. */
  hasReasoning(index: number): boolean {
    return (this.#reported.get(index)?.lastReasoning ?? null) !== null;
  }

  /** Whether an event has reported the item at the index, or of an item of the same id. */
  has(index: number, { id }: JsonObject): boolean {
    return this.#reported.has(index) || (typeof id === "string" && this.#ids.has(id));
  }

  /** An item is whole: reports the rest. */
  done(index: number, item: JsonObject): void {
    const reported = this.#of(index);
    if (reported.done) return;
    reported.done = true;
    if (typeof item["id"] === "string") this.#ids.add(item["id"]);
    switch (textOf(item["type"])) {
      case "message":
        return this.#message(index, item, reported);
      case "reasoning":
        return this.#reasoningItem(index, item, reported);
      case "function_call":
        this.#openCall(index, item);
        if (!reported.arguments && typeof item["arguments"] === "string")
          this.arguments(index, item["arguments"]);
        return;
      default:
        this.unexpected ??= "unexpected_output_item";
    }
  }

  /**
   * A content part is whole: its text, where no delta had it, and its annotations, where no event
   * did.
   */
  part(index: number, content: number, part: JsonObject): void {
    const { type, text, refusal } = part;
    if (!this.hasText(index, content)) {
      if (type === "output_text" && typeof text === "string")
        this.text(index, content, text, readTokenLogprobs(part["logprobs"]));
      else if (type === "refusal" && typeof refusal === "string")
        this.refused(index, content, refusal);
    }
    if (type === "reasoning_text" && typeof text === "string" && !this.hasReasoning(index)) {
      this.reasoning(index, content, text, false);
    }
    const { annotations } = part;
    if (!Array.isArray(annotations)) return;
    const reported = this.#of(index).annotations.get(content) ?? 0;
    for (const annotation of annotations.slice(reported))
      this.annotation(index, content, annotation);
  }

  #message(index: number, item: JsonObject, reported: Reported): void {
    const { content } = item;
    if (!Array.isArray(content)) return;
    // Some providers count content from 1 in their deltas: as many texts as parts means that all
    // have been reported.
    if (reported.texts.size >= content.length) return;
    for (const [position, part] of content.entries())
      if (isJsonObject(part)) this.part(index, position, part);
  }

  #reasoningItem(index: number, item: JsonObject, reported: Reported): void {
    const { content, summary, encrypted_content: sealed } = item;
    if (reported.lastReasoning === null) {
      this.#texts(index, summary, true);
      this.#texts(index, content, false);
    }
    if (typeof sealed !== "string" || sealed === "") return;
    if (this.#family === null) this.dropped.add("signature_dropped");
    else
      this.#sequencer.signature(
        sealed,
        this.#family,
        reported.lastReasoning?.key ?? `${index} text`,
      );
  }

  #texts(index: number, parts: JsonValue | undefined, summary: boolean): void {
    if (!Array.isArray(parts)) return;
    for (const [position, part] of parts.entries()) {
      if (isJsonObject(part) && typeof part["text"] === "string")
        this.reasoning(index, position, part["text"], summary);
    }
  }

  #openCall(index: number, item: JsonObject): void {
    const reported = this.#of(index);
    if (reported.opened) return;
    const { name, call_id: callId, id } = item;
    const known = typeof callId === "string" && callId !== "" ? callId : id;
    if (typeof name !== "string" || name === "" || typeof known !== "string") {
      this.unexpected ??= "unnamed_call";
      return;
    }
    reported.opened = true;
    this.calls = true;
    this.#sequencer.openTool(String(index), known, name);
  }

  #of(index: number): Reported {
    const known = this.#reported.get(index);
    if (known !== undefined) return known;
    const reported: Reported = {
      texts: new Set(),
      annotations: new Map(),
      lastReasoning: null,
      opened: false,
      arguments: false,
      done: false,
    };
    this.#reported.set(index, reported);
    return reported;
  }
}

/** Citations of URLs; positions of an empty span say nothing. */
function readCitation(annotation: JsonValue | undefined): Citation | null {
  if (!isJsonObject(annotation) || annotation["type"] !== "url_citation") return null;
  const { url, title, start_index: start, end_index: end } = annotation;
  if (typeof url !== "string") return null;
  const hasPosition = typeof start === "number" && typeof end === "number" && start !== end;
  return {
    url,
    title: typeof title === "string" && title !== "" ? title : null,
    start: hasPosition ? start : null,
    end: hasPosition ? end : null,
  };
}
