import type { OutcomeRecord } from "../../evidence/record.ts";
import type { Increments } from "../../governance/increments.ts";
import { QuantileSketch } from "../../governance/quantile-sketch.ts";
import { rollUpAlike, type DecisionFacts } from "../../governance/roll-up.ts";
import { afterTime, writtenOutcomes } from "./decision-reader.ts";

/** Members whose numbers differ among outcomes that are alike. */
const VARYING = [
  "inputTokens",
  "outputTokens",
  "cacheReadTokens",
  "reasoningTokens",
  "costNanoUsd",
  "total",
  "router",
  "firstByte",
  "duration",
] as const;
/** How many of them are added up; of the next three the distribution is kept. */
const SUMMED = 5;
/** A whole number or a decimal fraction; one with an exponent is left in the text. In a text within, the quote behind the name would be escaped. */
const NUMBER = new RegExp(`"(${VARYING.join("|")})":[0-9.]+(?=[,}])`, "g");
/** Stands for a number; no JSON text has this character. */
const GAP = "\u0000";
/** Digits of a number that is read exactly. */
const MOST_DIGITS = 15;
const [ZERO, POINT] = [0x30, 0x2e];

/** Outcomes of the same text but for {@link VARYING} numbers. */
class Alike {
  /** The text from behind its time on, parted where the numbers are. */
  readonly #parts: readonly DataView[];
  /** Which member is behind each part but the last, as an index of {@link VARYING}. */
  readonly #members: readonly number[];
  readonly #outcome: OutcomeRecord;
  readonly #read = new Float64Array(VARYING.length);
  #sums = new Float64Array(VARYING.length);
  #latencies = noLatencies();
  #times = 0;

  constructor(text: string, outcome: OutcomeRecord) {
    const members: number[] = [];
    const gaps = text.replaceAll(NUMBER, (_, name: string) => {
      members.push(VARYING.findIndex((varying) => varying === name));
      return `"${name}":${GAP}`;
    });
    this.#parts = gaps.split(GAP).map((part) => new DataView(Uint8Array.from(Buffer.from(part)).buffer));
    this.#members = members;
    this.#outcome = outcome;
  }

  /** Counts the outcome whose text goes on in `bytes` from `from` to `to`; false for one that is not like these. */
  take(bytes: DataView, from: number, to: number): boolean {
    if (!this.#matches(bytes, from, to)) return false;
    const read = this.#read;
    this.#times += 1;
    for (let member = 0; member < SUMMED; member++) {
      // As `Addition.count` does with each.
      this.#sums[member] = (this.#sums[member] ?? 0) + Math.trunc(read[member] ?? 0);
    }
    this.#latencies.total.add(read[SUMMED] ?? 0);
    this.#latencies.router.add(read[SUMMED + 1] ?? 0);
    if (this.#outcome.firstByte !== null) this.#latencies.first_byte.add(read[SUMMED + 2] ?? 0);
    return true;
  }

  /** Adds what has been counted since the last time. */
  moveTo(increments: Increments, facts: DecisionFacts): void {
    if (this.#times === 0) return;
    const outcome = this.#outcome;
    const [input = 0, output = 0, cacheRead = 0, reasoning = 0, cost = 0] = this.#sums;
    const sums = {
      ...outcome,
      inputTokens: outcome.inputTokens === null ? null : input,
      outputTokens: outcome.outputTokens === null ? null : output,
      cacheReadTokens: outcome.cacheReadTokens === null ? null : cacheRead,
      reasoningTokens: outcome.reasoningTokens === null ? null : reasoning,
      costNanoUsd: outcome.costNanoUsd == null ? outcome.costNanoUsd : cost,
    };
    rollUpAlike(increments, facts, sums, this.#times, this.#latencies);
    this.forget();
  }

  forget(): void {
    this.#times = 0;
    this.#sums = new Float64Array(VARYING.length);
    this.#latencies = noLatencies();
  }

  #matches(bytes: DataView, from: number, to: number): boolean {
    let at = from;
    for (let index = 0; index < this.#parts.length; index++) {
      const part = this.#parts[index];
      if (part === undefined || at + part.byteLength > to || !isAt(bytes, at, part)) return false;
      at += part.byteLength;
      const member = this.#members[index];
      if (member === undefined) break;
      at = this.#readNumber(bytes, at, to, member);
      if (at === 0) return false;
    }
    return at === to;
  }

  /** Where the number ends; 0 for none that is read exactly. */
  #readNumber(bytes: DataView, from: number, to: number, member: number): number {
    let [at, digits, scale] = [from, 0, 0];
    for (; at < to; at++) {
      const byte = bytes.getUint8(at);
      if (byte === POINT && scale === 0) scale = 1;
      else if (byte >= ZERO && byte < ZERO + 10) {
        digits = digits * 10 + byte - ZERO;
        scale *= 10;
      } else break;
    }
    this.#read[member] = digits / (scale || 1);
    return at === from || at - from > MOST_DIGITS ? 0 : at;
  }
}

/** Compares four bytes at a time, in a quarter of the time. */
function isAt(bytes: DataView, from: number, part: DataView): boolean {
  const length = part.byteLength;
  let index = 0;
  for (; index + 4 <= length; index += 4) {
    if (bytes.getInt32(from + index) !== part.getInt32(index)) return false;
  }
  for (; index < length; index++) if (bytes.getUint8(from + index) !== part.getUint8(index)) return false;
  return true;
}

function noLatencies(): Record<"total" | "router" | "first_byte", QuantileSketch> {
  return { total: new QuantileSketch(), router: new QuantileSketch(), first_byte: new QuantileSketch() };
}

/** Kinds of outcomes that are remembered for decisions that are alike; with more, the text of each outcome is parsed. */
const MOST_KINDS = 4;

/** Decisions for whose outcomes kinds are remembered. */
const REMEMBERED = 256;

/** Counts outcomes without parsing them, where they are like others: most requests of one key and route are. */
export class AlikeOutcomes {
  readonly #known = new Map<DecisionFacts, Alike[]>();
  /** Of the newest batch. */
  #view = new DataView<ArrayBufferLike>(new ArrayBuffer(0));

  /**
   * Counts an outcome that this process wrote; false for one that is to be counted by itself.
   *
   * @param facts of its decision; the same object for decisions that are alike
   */
  take(facts: DecisionFacts, requestId: string, bytes: Buffer, from: number, to: number): boolean {
    const rest = afterTime(bytes, from, to, requestId);
    if (rest === null) return false;
    const kinds = this.#known.get(facts);
    if (kinds !== undefined) {
      if (this.#view.buffer !== bytes.buffer) this.#view = new DataView(bytes.buffer);
      const start = bytes.byteOffset;
      for (const kind of kinds) if (kind.take(this.#view, start + rest.from, start + to)) return true;
      if (kinds.length < MOST_KINDS) this.#learn(kinds, bytes, from, rest.from, to);
    } else if (this.#known.size < REMEMBERED) this.#known.set(facts, []);
    return false;
  }

  /** Adds what has been counted. */
  moveTo(increments: Increments): void {
    for (const [facts, kinds] of this.#known) for (const kind of kinds) kind.moveTo(increments, facts);
    if (this.#known.size >= REMEMBERED) this.#known.clear();
  }

  /** Forgets what has been counted. */
  forget(): void {
    this.#known.clear();
  }

  /** Kinds that others are like; the tokens of several answering endpoints are divided for each outcome. */
  #learn(kinds: Alike[], bytes: Buffer, from: number, rest: number, to: number): void {
    const [outcome] = writtenOutcomes([bytes.toString("utf8", from, to)]);
    if (outcome === undefined || outcome.attempts.length > 1) return;
    kinds.push(new Alike(bytes.toString("utf8", rest, to), outcome));
  }
}
