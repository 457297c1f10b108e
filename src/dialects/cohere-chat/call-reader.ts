import type { UpstreamFailure } from "../../canon/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { BlockSequencer } from "../answer-events.ts";
import { answerFailure } from "../answer-failure.ts";
import type { Citation } from "../../canon/generate/event.ts";

interface Call {
  readonly key: string;
  /** Arguments that may still turn out to be the literal `null`. */
  held: string;
  reported: boolean;
}

/** Puts tool calls together, which the protocol numbers. */
export class CallReader {
  readonly #blocks: BlockSequencer;
  readonly #calls = new Map<number, Call>();
  readonly #open = new Set<number>();

  constructor(blocks: BlockSequencer) {
    this.#blocks = blocks;
  }

  /** @returns what is wrong with the call, which cannot be carried out; `null` for a sound one. */
  open(index: number, value: JsonValue | undefined): UpstreamFailure | null {
    const called = isJsonObject(value) ? value["function"] : null;
    if (!isJsonObject(value) || !isJsonObject(called))
      return answerFailure("malformed", "unexpected_output_item");
    const { id } = value;
    const { name, arguments: json } = called;
    if (
      typeof id !== "string" ||
      id === "" ||
      typeof name !== "string" ||
      name === "" ||
      this.#calls.has(index)
    ) {
      return answerFailure("malformed");
    }
    this.#calls.set(index, { key: String(index), held: "", reported: false });
    this.#open.add(index);
    this.#blocks.openTool(String(index), id, name);
    if (typeof json === "string") this.add(index, json);
    return null;
  }

  /** @returns `false` where there is no such call. */
  add(index: number, json: string): boolean {
    const call = this.#calls.get(index);
    if (call === undefined) return false;
    if (call.reported) {
      this.#blocks.arguments(call.key, json);
      return true;
    }
    call.held += json;
    // Models that have nothing to say to a tool may say `null` (recorded); a call without arguments
    // is what they mean.
    if ("null".startsWith(call.held.trim())) return true;
    call.reported = true;
    this.#blocks.arguments(call.key, call.held);
    return true;
  }

  /** Calls come one after the other; where they do not, the sequencer knows when each is whole. */
  close(index: number): void {
    if (this.#open.has(index) && this.#open.size === 1) this.#blocks.close();
    this.#open.delete(index);
  }
}

/** Where one piece of text comes from, and what of that no other protocol can say. */
interface ReadCitation {
  /** Index of the part of the content; `null` where the provider does not say. */
  readonly content: number | null;
  /** One for each source that has an address. */
  readonly citations: readonly Citation[];
  /**
   * Some source is the request's own: a tool's result or a document without an address. Or it is
   * not the answer's text that is cited.
   */
  readonly incomplete: boolean;
}

/**
 * Positions count code points of one part's text, as canon's do (checked against recorded answers).
 */
export function readCitation(value: JsonValue | undefined): ReadCitation {
  const cited = isJsonObject(value) ? value : {};
  const { start, end, sources, type, content_index: content } = cited;
  const isText = type === undefined || type === "TEXT_CONTENT";
  const listed: readonly JsonValue[] = isText && Array.isArray(sources) ? sources : [];
  const addressed = listed.flatMap((source) => addressOf(source) ?? []);
  return {
    content: positionOf(content),
    citations: addressed.map(({ url, title }) => ({
      url,
      title,
      start: positionOf(start),
      end: positionOf(end),
    })),
    incomplete: addressed.length === 0 || addressed.length < listed.length,
  };
}

/**
 * Address and title of what is cited: they stand in the document, or in what the tool gave back.
 */
function addressOf(
  source: JsonValue,
): { readonly url: string; readonly title: string | null } | null {
  if (!isJsonObject(source)) return null;
  const cited: JsonObject | null =
    [source["document"], source["tool_output"]].find(isJsonObject) ?? null;
  const url = cited?.["url"];
  const title = cited?.["title"];
  if (typeof url !== "string" || url === "") return null;
  return { url, title: typeof title === "string" && title !== "" ? title : null };
}

function positionOf(value: JsonValue | undefined): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
