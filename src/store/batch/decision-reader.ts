import type { DecisionRecord, OutcomeRecord } from "../../evidence/record.ts";
import { decisionFacts, HOUR, type DecisionFacts } from "../../governance/roll-up.ts";
import { readDecision } from "../stored-evidence.ts";

/** A decision as far as it is counted: its request id and its time within the hour may be those of one like it. */
export interface CountedDecision {
  readonly decision: DecisionRecord;
  readonly facts: DecisionFacts;
}

interface Known {
  /** The text behind the time. */
  readonly bytes: Buffer;
  readonly counted: CountedDecision;
}

/** Texts that are remembered: requests of one key and route mostly differ in their id and time only. */
const REMEMBERED = 256;

/** How every record begins that this version writes. */
const BEFORE_ID = Buffer.from('{"requestId":"');
const BEFORE_TIME = Buffer.from('","at":');
const COMMA = 0x2c;

/** Where a record's text goes on behind its time. */
interface AfterTime {
  /** The time, milliseconds since the epoch. */
  readonly at: number;
  readonly from: number;
}

/** Reads the beginning of the text in `bytes` from `from` to `to`; `null` for one that does not begin with id and time. */
export function afterTime(bytes: Buffer, from: number, to: number, requestId: string): AfterTime | null {
  // Ids of other than ASCII characters are longer, and what follows is then not found.
  const idEnd = from + BEFORE_ID.length + requestId.length;
  const timeStart = idEnd + BEFORE_TIME.length;
  if (!isAt(bytes, from, BEFORE_ID) || !isAt(bytes, idEnd, BEFORE_TIME)) return null;
  let [at, rest] = [0, timeStart];
  for (; rest < to; rest++) {
    const digit = (bytes[rest] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) break;
    at = at * 10 + digit;
  }
  return rest === timeStart || bytes[rest] !== COMMA ? null : { at, from: rest };
}

function isAt(bytes: Buffer, from: number, wanted: Buffer): boolean {
  for (let index = 0; index < wanted.length; index++) if (bytes[from + index] !== wanted[index]) return false;
  return true;
}

/** Reads decisions for counting. One that is like another but for its id and time is not parsed again. */
export class DecisionReader {
  readonly #known = new Map<string, Known>();
  /** Nearly always the next decision is like this one, and comparing bytes is faster than making a text of them. */
  #newest: Known | null = null;

  /**
   * The decision in `bytes` from `from` to `to`; `null` for one that this version does not know.
   *
   * @param requestId of the decision
   * @param written by this process, so that its members need no check
   */
  read(bytes: Buffer, from: number, to: number, requestId: string, written: boolean): CountedDecision | null {
    const rest = afterTime(bytes, from, to, requestId);
    if (rest === null) return parse(bytes, from, to, written);
    const hour = Math.floor(rest.at / HOUR);
    const newest = this.#newest;
    if (newest?.counted.facts.hour === hour && bytes.compare(newest.bytes, 0, undefined, rest.from, to) === 0) {
      return newest.counted;
    }
    const text = bytes.toString("utf8", rest.from, to);
    const known = this.#known.get(text);
    if (known?.counted.facts.hour === hour) return (this.#newest = known).counted;
    const counted = parse(bytes, from, to, written);
    if (counted === null) return null;
    if (this.#known.size >= REMEMBERED) this.#known.clear();
    this.#newest = { bytes: Buffer.from(text), counted };
    this.#known.set(text, this.#newest);
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
