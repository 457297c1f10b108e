import type { DecisionRecord, OutcomeRecord } from "../../evidence/record.ts";
import { decisionFacts, HOUR, type DecisionFacts } from "../../governance/roll-up.ts";
import { readDecision } from "../stored-evidence.ts";

/** A decision as far as it is counted: its request id and its time within the hour may be those of one like it. */
export interface CountedDecision {
  readonly decision: DecisionRecord;
  readonly facts: DecisionFacts;
}

/** Texts that are remembered: requests of one key and route mostly differ in their id and time only. */
const REMEMBERED = 256;

/** How every record begins that this version writes. */
const BEFORE_ID = '{"requestId":"';
const BEFORE_TIME = '","at":';
const COMMA = 0x2c;

/** Reads decisions for counting. One that is like another but for its id and time is not parsed again. */
export class DecisionReader {
  readonly #known = new Map<string, CountedDecision>();

  /**
   * The decision in `bytes` from `from` to `to`; `null` for one that this version does not know.
   *
   * @param requestId of the decision
   * @param written by this process, so that its members need no check
   */
  read(bytes: Buffer, from: number, to: number, requestId: string, written: boolean): CountedDecision | null {
    const idEnd = from + BEFORE_ID.length + Buffer.byteLength(requestId);
    const timeStart = idEnd + BEFORE_TIME.length;
    const rest = bytes.indexOf(COMMA, timeStart);
    const isUsual =
      bytes.toString("latin1", from, from + BEFORE_ID.length) === BEFORE_ID &&
      bytes.toString("latin1", idEnd, timeStart) === BEFORE_TIME;
    if (!isUsual || rest === -1 || rest >= to) return parse(bytes, from, to, written);
    const at = Number(bytes.toString("latin1", timeStart, rest));
    const text = bytes.toString("utf8", rest, to);
    const known = this.#known.get(text);
    if (known !== undefined && known.facts.hour === Math.floor(at / HOUR)) return known;
    const counted = parse(bytes, from, to, written);
    if (counted === null) return null;
    if (this.#known.size >= REMEMBERED) this.#known.clear();
    this.#known.set(text, counted);
    return counted;
  }
}

function parse(bytes: Buffer, from: number, to: number, written: boolean): CountedDecision | null {
  const text = bytes.toString("utf8", from, to);
  const decision = written ? writtenDecision(text) : readDecision(text);
  return decision === null ? null : { decision, facts: decisionFacts(decision) };
}

/** A decision from a text that this process made of one a moment ago. */
function writtenDecision(text: string): DecisionRecord {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- checking each member again costs more than counting
  return JSON.parse(text) as DecisionRecord;
}

/** The same of outcomes: parsing many at once takes a third less time. */
export function writtenOutcomes(texts: readonly string[]): readonly OutcomeRecord[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
  return JSON.parse(`[${texts.join(",")}]`) as OutcomeRecord[];
}
