import type { FinishReason, InferenceEvent } from "../../canon/generate/event.ts";
import type { EventParser, Translation } from "../dialect.ts";
import { answerFailure } from "./answer-failure.ts";

/** What a surface says of the ends that its answers can have. */
export type EndRules = Pick<Translation, "impossibleEnds" | "unsaid">;

/** Ends that read as the end of a whole answer on every surface. */
const SUCCESSES: ReadonlySet<FinishReason> = new Set(["stop", "stop_sequence", "tool_calls"]);

/** Puts a failure in place of an end that would not be true on the surface. */
class EndJudge {
  readonly #rules: EndRules;
  /** Something was said that the surface prints. */
  #said = false;
  /** Something was said that the surface leaves out. */
  #dropped = false;

  constructor(rules: EndRules) {
    this.#rules = rules;
  }

  judge(events: readonly InferenceEvent[]): readonly InferenceEvent[] {
    for (const event of events) this.#hear(event);
    const last = events.at(-1);
    if (last?.type !== "finish") return events;
    const { impossibleEnds = [] } = this.#rules;
    // An answer of which nothing is left is no success; one that was cut short says so by its end.
    const isNothingLeft = this.#dropped && !this.#said && SUCCESSES.has(last.reason);
    if (!impossibleEnds.includes(last.reason) && !isNothingLeft) return events;
    return [...events.slice(0, -1), { type: "failure", failure: answerFailure("malformed", "unexpected_output_item") }];
  }

  #hear(event: InferenceEvent): void {
    const kind = kindSaid(event);
    if (kind === null) return;
    if (this.#rules.unsaid?.includes(kind) === true) this.#dropped = true;
    else this.#said = true;
  }
}

/** The kind of block in which an event says something; `null` where it says nothing. */
function kindSaid(event: InferenceEvent): "text" | "refusal" | "reasoning" | "tool_call" | null {
  if (event.type === "open") return event.block.kind === "tool_call" ? "tool_call" : null;
  if (event.type !== "text" && event.type !== "refusal" && event.type !== "reasoning") return null;
  return event.text === "" ? null : event.type;
}

/** The events with a failure in place of an end that would not be true on the surface. */
export function refuseEnds(events: readonly InferenceEvent[], rules: EndRules): readonly InferenceEvent[] {
  return new EndJudge(rules).judge(events);
}

/** The same for a stream: an end is the last thing that a parser gives. */
export function refusingEnds(parser: EventParser, rules: EndRules): EventParser {
  const judge = new EndJudge(rules);
  return {
    push: (chunk) => judge.judge(parser.push(chunk)),
    end: () => judge.judge(parser.end()),
  };
}
