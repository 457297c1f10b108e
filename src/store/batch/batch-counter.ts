import type { Increments } from "../../governance/increments.ts";
import {
  MINUTE,
  decisionFacts,
  rollUpDecision,
  rollUpOutcome,
  type DecisionFacts,
} from "../../governance/roll-up.ts";
import { readDecision, readOutcome } from "../stored-evidence.ts";
import type { ChainRow } from "../../evidence/chain.ts";
import type { DecisionRecord, OutcomeRecord } from "../../evidence/record.ts";
import { readLines, type StoredBatch } from "./batch-lines.ts";

/** Most remembered decisions without a counted outcome; others are read again. */
const REMEMBERED = 50_000;

/** Different decisions, and different facts, that are cached at a time. */
const CACHED = 256;

/** The members in which equal decisions of different requests differ; they come first. */
const OWN_MEMBERS = /^\{"requestId":"([\w-]+)","at":(\d+)(?:\.\d+)?,/;

/** A decision that was read before, but for its own members. */
interface ReadDecision {
  readonly decision: DecisionRecord;
  readonly facts: DecisionFacts;
}

/** The members of a log row that are counted. */
export type CountedRecord = Pick<ChainRow, "kind" | "record">;

/** Counts records of the log. */
export function batchCounter() {
  const cachedFacts = new Map<string, DecisionFacts>();
  const decisions = new Map<string, ReadDecision>();
  const running = new Map<string, DecisionFacts>();

  /** One object for equal facts: increments find their cells by it. */
  function shared(facts: DecisionFacts) {
    const key = Object.values(facts).join("\n");
    const cached = cachedFacts.get(key);
    if (cached === undefined) keep(cachedFacts, key, facts);
    return cached ?? facts;
  }

  function remember(requestId: string, facts: DecisionFacts) {
    running.set(requestId, facts);
    if (running.size <= REMEMBERED) return;
    for (const oldest of running.keys()) {
      running.delete(oldest);
      return;
    }
  }

  return {
    /**
     * Counts records that follow those before in the order of the log. A record that this version
     * does not support is skipped: the others must not wait for it.
     *
     * @returns outcomes of decisions that another process has counted, by request id: for
     * {@link countEarlier}
     */
    count(records: Iterable<CountedRecord>, increments: Increments): Map<string, OutcomeRecord> {
      const earlier = new Map<string, OutcomeRecord>();
      for (const { kind, record } of records) {
        if (kind === "decision") {
          const [prefix, requestId = "", at = ""] = OWN_MEMBERS.exec(record) ?? [];
          const others = prefix === undefined ? record : record.slice(prefix.length);
          let read = decisions.get(others);
          if (read === undefined || read.facts.minute !== Math.floor(Number(at) / MINUTE)) {
            const decision = readDecision(record);
            if (decision === null) continue;
            read = { decision, facts: shared(decisionFacts(decision)) };
            if (prefix !== undefined) keep(decisions, others, read);
          }
          rollUpDecision(increments, read.decision, read.facts);
          remember(prefix === undefined ? read.decision.requestId : requestId, read.facts);
        } else {
          const outcome = readOutcome(record);
          if (outcome === null) continue;
          const facts = running.get(outcome.requestId);
          running.delete(outcome.requestId);
          if (facts === undefined) earlier.set(outcome.requestId, outcome);
          else rollUpOutcome(increments, facts, outcome);
        }
      }
      return earlier;
    },
    /** Counts, and takes out of `outcomes`, those whose decisions are in a batch. */
    countEarlier(
      batch: StoredBatch,
      outcomes: Map<string, OutcomeRecord>,
      increments: Increments,
    ): void {
      for (const { kind, record } of readLines(batch)) {
        const decision = kind === "decision" ? readDecision(record) : null;
        const outcome = decision === null ? undefined : outcomes.get(decision.requestId);
        if (decision === null || outcome === undefined) continue;
        outcomes.delete(decision.requestId);
        rollUpOutcome(increments, decisionFacts(decision), outcome);
      }
    },
  };
}

function keep<Value>(cache: Map<string, Value>, key: string, value: Value) {
  if (cache.size >= CACHED) cache.clear();
  cache.set(key, value);
}
