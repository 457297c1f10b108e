import type {
  Answer,
  AnswerBlock,
  Citation,
  FinishReason,
} from "../../../../src/canon/generate/event.ts";
import type { DroppedField } from "../../../../src/canon/generate/edit.ts";
import { readSignature } from "../../../../src/canon/generate/signature.ts";
import { canonicalJson, type JsonValue } from "../../../../src/canon/json.ts";

/**
 * What a protocol can report of an answer; all else of it is not compared. Each `false` has its
 * reason.
 */
export interface Telling {
  /**
   * `false`: each kind of content has a member of its own, so that only the order within a kind is
   * reported.
   */
  readonly order: boolean;
  /** `false`: there is no member for reasoning. */
  readonly reasoning: boolean;
  /** `false`: there is no mark that reasoning is a summary. */
  readonly summaries: boolean;
  /** `false`: a refusal is text, and the finish reason says that it is one. */
  readonly refusals: boolean;
  /** `false`: there are no tool calls. */
  readonly calls: boolean;
  /** `false`: counts are numbers always; an unknown one is reported as 0. */
  readonly unknownCounts: boolean;
}

/**
 * How an answer ended, as far as all protocols distinguish it (docs/protocols.md#finish-reasons).
 */
const ENDS: Readonly<Record<FinishReason, "whole" | "cut" | "withheld" | "open">> = {
  stop: "whole",
  stop_sequence: "whole",
  tool_calls: "whole",
  length: "cut",
  context_window: "cut",
  refusal: "withheld",
  content_filter: "withheld",
  pause: "open",
  other: "open",
};

interface Run {
  readonly kind: string;
  text: string;
  readonly signatures: string[];
  readonly citations: Citation[];
  readonly call: unknown;
}

/**
 * What two answers have in common when one was written in a protocol and read again. Blocks of one
 * kind that follow each other are one: where a block ends is not part of what is said. Positions
 * count from the first of them; a citation without positions covers its block's text. Tagged
 * signatures are compared bare; the tag is how they travel.
 */
export function normalAnswer(
  answer: Answer,
  telling: Telling,
  dropped: ReadonlySet<DroppedField>,
): unknown {
  const runs: Run[] = [];
  for (const block of answer.blocks) addRun(runs, block, telling, dropped);
  const said = runs.filter(
    ({ text, signatures, call }) => text !== "" || signatures.length > 0 || call !== null,
  );
  return {
    model: answer.model,
    runs: telling.order
      ? said
      : said
          .toSorted((left, right) => (left.kind < right.kind ? -1 : left.kind > right.kind ? 1 : 0))
          .reduce<Run[]>(join, []),
    end: answer.finish === null ? null : ENDS[answer.finish.reason],
    failure: answer.failure,
    tokens:
      answer.usage === null && telling.unknownCounts
        ? null
        : [count(answer.usage?.input), count(answer.usage?.output)],
  };
}

const count = (tokens: number | null | undefined): number => tokens ?? 0;

function addRun(
  runs: Run[],
  block: AnswerBlock,
  telling: Telling,
  dropped: ReadonlySet<DroppedField>,
): void {
  if (block.kind === "tool_call") {
    if (!telling.calls) return;
    const value: JsonValue = JSON.parse(block.arguments);
    runs.push({
      kind: "tool_call",
      text: "",
      signatures: [],
      citations: [],
      call: { id: block.id, name: block.name, arguments: canonicalJson(value) },
    });
    return;
  }
  if (block.kind === "reasoning") {
    if (!telling.reasoning) return;
    const kind = telling.summaries && block.summary ? "summary" : "reasoning";
    const signatures = block.signature === null ? [] : [bare(block.signature)];
    join(runs, { kind, text: block.text, signatures, citations: [], call: null });
    return;
  }
  const kind = telling.refusals ? block.kind : "text";
  const citations =
    block.kind === "text" && !dropped.has("citations_dropped")
      ? block.citations.map((citation) => placed(citation, block.text))
      : [];
  join(runs, { kind, text: block.text, signatures: [], citations, call: null });
}

function join(runs: Run[], run: Run): Run[] {
  const last = runs.at(-1);
  if (last?.kind === run.kind && run.call === null) {
    const before = codePoints(last.text);
    last.text += run.text;
    last.signatures.push(...run.signatures);
    last.citations.push(...run.citations.map((citation) => moved(citation, before)));
  } else {
    runs.push(run);
  }
  return runs;
}

function placed({ url, title, start, end }: Citation, text: string): Citation {
  return { url, title: title ?? "", start: start ?? 0, end: end ?? codePoints(text) };
}

function moved({ start, end, ...named }: Citation, by: number): Citation {
  return { ...named, start: count(start) + by, end: count(end) + by };
}

function codePoints(text: string): number {
  return Array.from(text).length;
}

/**
 * A signature without its tags and marks: each surface that it crossed has put its own before it.
 */
function bare(signature: string): string {
  const { family, signature: inner } = readSignature(signature, "");
  return family === "" ? inner : bare(inner.replace(/^summary:/, "").replace(/^text:[^.]*\./, ""));
}
