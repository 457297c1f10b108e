import type { Citation, InferenceEvent } from "../../canon/generate/event.ts";
import { isJsonObject, type JsonValue } from "../../canon/json.ts";
import { codePoints } from "./family.ts";

/** `annotations` of a message or a delta: those that cite a page. Others (a parsed file's text, say) are no part of the answer. */
export function readCitations(annotations: JsonValue | undefined): readonly Citation[] {
  if (!Array.isArray(annotations)) return NONE;
  return annotations.flatMap((annotation) => {
    const cited = isJsonObject(annotation) ? annotation["url_citation"] : null;
    return isJsonObject(cited)
      ? {
          url: textOf(cited["url"]),
          title: textOf(cited["title"]),
          start: positionOf(cited["start_index"]),
          end: positionOf(cited["end_index"]),
        }
      : [];
  });
}

/**
 * Makes the positions of citations count from their block. This protocol counts from the message's beginning, and other blocks may stand between two
 * pieces of its text.
 */
export class CitationPositions {
  /** Code points of text in earlier blocks, and in the latest. */
  #before = 0;
  #length = 0;

  /** The events with shifted citations; call with all events, in their order. */
  shift(events: readonly InferenceEvent[]): readonly InferenceEvent[] {
    let shifted: InferenceEvent[] | null = null;
    for (const [index, event] of events.entries()) {
      if (event.type === "text") this.#length += codePoints(event.text);
      else if (event.type === "open") {
        this.#before += this.#length;
        this.#length = 0;
      } else if (event.type === "citation" && this.#before > 0) {
        shifted ??= [...events];
        shifted[index] = { ...event, citation: this.#shifted(event.citation) };
      }
    }
    return shifted ?? events;
  }

  #shifted(citation: Citation): Citation {
    const shift = (position: number | null): number | null =>
      position === null ? null : Math.max(position - this.#before, 0);
    return { ...citation, start: shift(citation.start), end: shift(citation.end) };
  }
}

const NONE: readonly Citation[] = Object.freeze([]);

function textOf(value: JsonValue | undefined): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function positionOf(value: JsonValue | undefined): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
