import type { Citation, InferenceEvent } from "../../canon/generate/event.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import type { BlockSequencer } from "../answer-events.ts";
import { markSignature, type SignedPart } from "../gemini/signatures.ts";
import { listOf, memberIn, numberOrNull, readCount, textIn, textOf, textOrNull } from "../json.ts";
import { codePoints } from "./family.ts";
import { THOUGHT_SIGNATURE, readDetail } from "./reasoning.ts";

interface Call {
  readonly key: string;
  /** Of the provider; empty where absent. */
  readonly id: string;
  name: string;
  /** Arguments that came before the call was opened. */
  early: string;
  signature: string;
  opened: boolean;
}

/**
 * Joins the fragments of tool calls by index, as the protocol defines; by id, where a provider
 * omits the index or gives every call the same; or by their order
 * (docs/protocols.md#chat-streams-of-providers). A name may come in pieces: a call opens when its
 * name is a tool's, or something else begins.
 */
export class ToolFragments {
  readonly #sequencer: BlockSequencer;
  readonly #reasoning: ReasoningReader;
  readonly #offered: readonly string[];
  readonly #calls: Call[] = [];
  readonly #byIndex = new Map<number, Call>();
  readonly #byId = new Map<string, Call>();
  #last: Call | null = null;
  /** Id of the answer; makes unique ids for calls without one. */
  #answerId = "";

  /** @param offered names of the request's tools. */
  constructor(sequencer: BlockSequencer, reasoning: ReasoningReader, offered: readonly string[]) {
    this.#sequencer = sequencer;
    this.#reasoning = reasoning;
    this.#offered = offered;
  }

  /** Whether a call has no function name: it cannot be carried out. */
  get isIncomplete(): boolean {
    return this.#calls.some(({ name }) => name === "");
  }

  set answerId(id: string) {
    this.#answerId = id.replaceAll(/[^\w-]/g, "").slice(0, MAXIMUM_ID);
  }

  /**
   * Takes one fragment.
   *
   * @param position index of the call in whole answers, where the order of the list numbers the
   *   calls; `null` in streams.
   * @returns `false` where the fragment is of another kind than a function call.
   */
  add(fragment: JsonValue, position: number | null): boolean {
    if (fragment === null) return true;
    if (!isJsonObject(fragment)) return false;
    const { index, id, type, function: toolFunction = null } = fragment;
    if (
      toolFunction !== null
        ? !isJsonObject(toolFunction)
        : textOf(type) !== "" && type !== "function"
    )
      return false;
    const signature = signatureIn(fragment);
    const name = textOf(memberIn(toolFunction, "name"));
    const json = argumentsOf(toolFunction);
    // Some providers send empty entries beside a text.
    if (textOf(id) === "" && name === "" && json === "" && signature === "") return true;
    const call = this.#callOf(position ?? numberOrNull(index), textOf(id), name);
    call.signature ||= signature;
    this.#extend(call, name, json);
    return true;
  }

  /** Opens the waiting call: its name is whole. */
  settle(): void {
    const call = this.#last;
    if (call === null || call.opened || call.name === "") return;
    call.opened = true;
    this.#reasoning.signPart("call", call.signature, call.key);
    this.#sequencer.openTool(
      call.key,
      call.id === "" ? `call_${this.#answerId}_${call.key}` : call.id,
      call.name,
    );
    this.#sequencer.arguments(call.key, call.early);
  }

  #callOf(index: number | null, id: string, name: string): Call {
    const begun =
      index !== null ? this.#byIndex.get(index) : id === "" ? this.#last : this.#byId.get(id);
    // Some providers give all calls the same index: another name and id begin another call.
    const beginsCall =
      index !== null && id !== "" && name !== "" && begun?.id !== "" && begun?.id !== id;
    const call = begun == null || beginsCall ? this.#begin(id) : begun;
    if (call !== this.#last) this.settle();
    if (index !== null) this.#byIndex.set(index, call);
    if (call.id !== "") this.#byId.set(call.id, call);
    this.#last = call;
    return call;
  }

  #begin(id: string): Call {
    const key = String(this.#calls.length);
    const call = { key, id, name: "", early: "", signature: "", opened: false };
    this.#calls.push(call);
    return call;
  }

  #extend(call: Call, name: string, json: string): void {
    if (call.opened) return this.#sequencer.arguments(call.key, json);
    // Some servers repeat the beginning of the name.
    call.name = name.startsWith(call.name) ? name : call.name + name;
    call.early += json;
    if (call.early !== "" || this.#isWhole(call.name)) this.settle();
  }

  /** Whether nothing can follow a name: it is a tool's, and no other tool's begins with it. */
  #isWhole(name: string): boolean {
    const begun = this.#offered.filter((tool) => tool.startsWith(name));
    return this.#offered.length === 0 || (begun.length === 1 && begun[0] === name);
  }
}

/**
 * Where Gemini's chat completions sign
 * (https://ai.google.dev/gemini-api/docs/thought-signatures#openai): in a call, or in the message
 * of a text.
 */
function signatureIn({ extra_content: extra }: JsonObject): string {
  const signatures = isJsonObject(extra)
    ? Object.values(extra).map((vendor) => textIn(vendor, THOUGHT_SIGNATURE))
    : [];
  return signatures.find((signature) => signature !== null) ?? "";
}

/**
 * Ids of calls have at most 64 characters at the strictest providers; this leaves room for
 * the prefix and the number.
 */
const MAXIMUM_ID = 40;

/** Some providers send the object where the protocol has its text. */
function argumentsOf(toolFunction: JsonValue): string {
  const value = memberIn(toolFunction, "arguments");
  return isJsonObject(value) ? JSON.stringify(value) : textOf(value);
}

/**
 * `annotations` of a message or a delta: those that cite a page. Others, such as a parsed file's
 * text, are no part of the answer.
 */
export function readCitations(annotations: JsonMember): readonly Citation[] {
  const cited = listOf(annotations).map((annotation) => memberIn(annotation, "url_citation"));
  return cited.filter(isJsonObject).map((citation) => ({
    url: textOrNull(citation.url),
    title: textOrNull(citation.title),
    start: readCount(citation.start_index),
    end: readCount(citation.end_index),
  }));
}

/**
 * Counts text for the positions of citations: this protocol counts from the message's beginning,
 * and canon from the block's. Note all events, in their order.
 */
export class TextCounter {
  /** Code points of text in earlier blocks, and in the latest. */
  before = 0;
  length = 0;

  note(event: InferenceEvent): void {
    if (event.type === "text") this.length += codePoints(event.text);
    else if (event.type === "open") {
      this.before += this.length;
      this.length = 0;
    }
  }
}

/**
 * Reads reasoning from the members that providers use: `reasoning_content`, `reasoning`,
 * `reasoning_details`, and parts `thinking` of the content. A signature ends a piece of reasoning;
 * what follows is another.
 */
export class ReasoningReader {
  readonly #sequencer: BlockSequencer;
  /** Family that reads the model's signatures; `null`: unknown, so they are dropped. */
  readonly #family: string | null;
  #piece = 0;
  /**
   * Text of the piece in the plain members so far. A stream may repeat it whole beside its
   * signature.
   */
  #plain = "";
  /** Whether the piece is a summary that encrypted reasoning may still follow. */
  #isSummary = false;
  /** Whether a signature has been left out. */
  hasDroppedSignature = false;

  constructor(sequencer: BlockSequencer, family: string | null) {
    this.#sequencer = sequencer;
    this.#family = family;
  }

  /** Reads the reasoning in a delta or a message. */
  read(delta: JsonObject): void {
    this.signPart(textOf(delta.content) === "" ? "empty" : "text", signatureIn(delta), "message");
    const text = textOf(delta.reasoning_content) || textOf(delta.reasoning);
    if (text !== "") {
      this.text(text, false);
      this.#plain += text;
    }
    for (const detail of listOf(delta.reasoning_details)) this.#readDetail(detail, text !== "");
  }

  text(text: string, summary: boolean): void {
    if (text === "") return;
    this.#isSummary = summary;
    this.#sequencer.reasoning(text, summary, String(this.#piece));
  }

  /**
   * Reads the signature of the part that follows; it becomes reasoning without text
   * (`markSignature`).
   */
  signPart(part: SignedPart, signature: string, key: string): void {
    if (signature === "") return;
    if (this.#family === null) this.hasDroppedSignature = true;
    else this.#sequencer.signature(markSignature(part, signature), this.#family, `${part} ${key}`);
  }

  /**
   * @param isRepeated another member has the text of the details too, so only their signatures are
   *   new.
   */
  #readDetail(item: JsonValue, isRepeated: boolean) {
    const detail = readDetail(item);
    if (detail === null) return;
    const text = textOf(detail.text);
    const isSummary = detail.type === "reasoning.summary";
    if (!isRepeated && !this.#plain.endsWith(text)) this.text(text, isSummary);
    this.#isSummary ||= isSummary;
    const isHidden = detail.type === "reasoning.encrypted" && !this.#isSummary;
    this.#sign(textOf(detail.signature), isHidden);
  }

  /** @param isHidden the signature is a piece of its own: reasoning that is hidden altogether. */
  #sign(signature: string, isHidden: boolean) {
    if (signature === "") return;
    if (this.#family === null) {
      this.hasDroppedSignature = true;
      return;
    }
    if (isHidden) this.#next();
    this.#sequencer.signature(signature, this.#family, String(this.#piece));
    this.#next();
  }

  #next() {
    this.#piece += 1;
    this.#plain = "";
    this.#isSummary = false;
  }
}
