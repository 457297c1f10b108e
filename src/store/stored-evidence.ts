import {
  BUDGET_STEPS,
  LIMIT_MEASURES,
  LIMIT_WINDOWS,
  type RefusingLimit,
} from "../canon/limits.ts";
import { FAILURE_KINDS } from "../canon/failure.ts";
import { FEATURE_NAMES, isCapability } from "../canon/capability.ts";
import { DROPPED_FIELDS, EDIT_NAMES } from "../canon/generate/edit.ts";
import { isJsonObject, parseJsonObject } from "../canon/json.ts";
import { OPERATIONS } from "../canon/operation.ts";
import { REASONING_EFFORTS, TOKEN_BUCKETS } from "../canon/request.ts";
import {
  CHANGES,
  SECOND_CHOICE_REASONS,
  TERMINALS,
  type AttemptRecord,
  type ChangeRecord,
  type DecisionRecord,
  type ObligationRecord,
  type OutcomeRecord,
  type ShadowRecord,
  type ShadowRevision,
  type SkippedRecord,
  asIdentifier,
  EMPTY_OUTCOME,
} from "../evidence/record.ts";
import { StoreUnavailableError } from "../canon/error.ts";
import {
  hasShape,
  isFlag,
  isListOf,
  isNumber,
  isOneOf,
  isText,
  orAbsent,
  orNull,
  type Check,
} from "../evidence/record-shape.ts";
import type { EvidenceEntry } from "../evidence/evidence-store.ts";
import type { NewRecord } from "./batch/batch-lines.ts";

const isShadow = hasShape<ShadowRecord>({
  policy: isText,
  revision: isText,
  constraint: isText,
  reason: orNull(isText),
  verdict: isOneOf(["fail", "indeterminate"]),
  effect: orAbsent(isOneOf(["would_narrow", "would_deny"])),
});

const isShadowRevision = hasShape<ShadowRevision>({ policy: isText, revision: isText });

const isObligation = hasShape<ObligationRecord>({
  policy: isText,
  revision: isText,
  obligation: isText,
  effect: isOneOf(["applied", "would_apply"]),
});

const isLimit = hasShape<RefusingLimit>({
  subject: isOneOf(["workspace", "key"]),
  measure: isOneOf([...LIMIT_MEASURES, "concurrency"]),
  window: orNull(isOneOf(LIMIT_WINDOWS)),
  size: isNumber,
  used: orNull(isNumber),
  reserved: orNull(isNumber),
  requested: isNumber,
  renewsAt: orNull(isNumber),
});

const isChange = hasShape<ChangeRecord>({
  what: isOneOf(CHANGES),
  id: isText,
  name: orAbsent(isText),
  grants: orAbsent(isListOf(isText)),
  replaces: orAbsent(isText),
  workspace: orAbsent(isText),
  subject: orAbsent(isText),
  content: orAbsent(isText),
});

export const readDecision = recordReader<DecisionRecord>({
  requestId: isText,
  at: isNumber,
  workspace: orNull(isText),
  keyId: orNull(isText),
  environment: orNull(isText),
  operation: isOneOf([...OPERATIONS, "models", "simulate", "control"]),
  route: orNull(isText),
  outcome: isOneOf(["route", "deny", "refuse", "answer"]),
  tableRevision: isText,
  policySet: orAbsent(isText),
  plan: isListOf(isText),
  policy: orNull(isText),
  policyRevision: orNull(isText),
  constraint: orNull(isText),
  reason: orNull(isText),
  wouldDeny: isListOf(isShadow),
  shadows: orAbsent(isListOf(isShadowRevision)),
  obligations: orAbsent(isListOf(isObligation)),
  needs: isListOf((value) => typeof value === "string" && isCapability(value)),
  features: orAbsent(isListOf(isOneOf(FEATURE_NAMES))),
  stream: isFlag,
  context: isOneOf(TOKEN_BUCKETS),
  maxOutput: isOneOf(TOKEN_BUCKETS),
  reasoningEffort: isOneOf(REASONING_EFFORTS),
  signatureFamilies: orAbsent(isListOf(isText)),
  dimensions: orAbsent(isNumber),
  preferences: orAbsent(isJsonObject),
  workload: orAbsent(isText),
  owner: orAbsent(isText),
  limit: orAbsent(isLimit),
  budget: orAbsent(isOneOf(BUDGET_STEPS)),
  labels: orAbsent(isListOf(isText)),
  retryCount: isNumber,
  clientRequestDigest: orNull(isText),
  token: orAbsent(isText),
  change: orAbsent(isChange),
  repeated: orAbsent(isNumber),
});

const isAttempt = hasShape<AttemptRecord>({
  endpoint: isText,
  provider: isText,
  region: isText,
  model: orAbsent(isText),
  failure: orNull(isOneOf(FAILURE_KINDS)),
  status: orNull(isNumber),
  start: orAbsent(isNumber),
  duration: isNumber,
  simulated: isFlag,
  translated: orAbsent(isFlag),
  plaintext: orAbsent(isFlag),
  proxied: orAbsent(isFlag),
  flag: orAbsent(isText),
  calls: orAbsent(isNumber),
});

const isSkipped = hasShape<SkippedRecord>({
  endpoint: isText,
  reason: isOneOf(SECOND_CHOICE_REASONS),
});

export const readOutcome = recordReader<OutcomeRecord>({
  requestId: isText,
  at: isNumber,
  status: isNumber,
  terminal: isOneOf(TERMINALS),
  finish: orNull(isText),
  attempts: isListOf(isAttempt),
  skipped: orAbsent(isListOf(isSkipped)),
  secondChoice: orAbsent(isOneOf(SECOND_CHOICE_REASONS)),
  stripped: isListOf(isText),
  losses: orAbsent(isListOf(isOneOf(Object.keys(DROPPED_FIELDS)))),
  edits: orAbsent(isListOf(isOneOf(EDIT_NAMES))),
  ended: orAbsent(isOneOf(["server_stopping", "key_revoked"])),
  estimated: (value) => value === undefined || value === true,
  inputTokens: orNull(isNumber),
  outputTokens: orNull(isNumber),
  cacheReadTokens: orNull(isNumber),
  cacheWriteTokens: orAbsent(isNumber),
  cacheWriteHourTokens: orAbsent(isNumber),
  costNanoUsd: orAbsent(orNull(isNumber)),
  reasoningTokens: orNull(isNumber),
  firstByte: orNull(isNumber),
  total: isNumber,
  router: isNumber,
});

/** Reads records from their texts; `null` for one that this version does not support. */
function recordReader<Shape>(
  members: Readonly<Record<keyof Shape, Check>>,
): (text: string) => Shape | null {
  const fits = hasShape<Shape>(members);
  return (text) => {
    const value: unknown = parseJsonObject(text);
    return fits(value) ? value : null;
  };
}

/**
 * An entry from the texts of its records.
 *
 * @param diedAt when the process that decided was last known to run; `null` while it runs
 * @throws {StoreUnavailableError} for a text that does not hold such a record; names the sequence,
 * quotes nothing
 */
export function readEntry(
  sequence: number,
  decisionText: string,
  outcomeText: string | null,
  diedAt: number | null,
): EvidenceEntry {
  const decision = readDecision(decisionText);
  const stored = outcomeText === null ? null : readOutcome(outcomeText);
  if (decision === null || (outcomeText !== null && stored === null)) {
    throw new StoreUnavailableError(
      `evidence entry ${sequence} is not a record that this version supports; read it with the version that wrote it`,
    );
  }
  const died = diedAt === null ? null : unknownOutcome(decision.requestId, diedAt);
  return { sequence, decision, outcome: stored ?? died };
}

/** Ends a request whose process died. @param at when it last ran, epoch milliseconds */
export function unknownRecord([requestId, at]: readonly [string, number]): NewRecord {
  return outcomeOf(unknownOutcome(requestId, at));
}

function unknownOutcome(requestId: string, at: number): OutcomeRecord {
  return {
    requestId: asIdentifier(requestId),
    at,
    status: 0,
    terminal: "unknown",
    ...EMPTY_OUTCOME,
    total: 0,
    router: 0,
  };
}

export function decisionOf(record: DecisionRecord): NewRecord {
  const { requestId, workspace } = record;
  return {
    kind: "decision",
    requestId,
    workspace: workspace ?? "",
    record: JSON.stringify(record),
  };
}

export function outcomeOf(record: OutcomeRecord): NewRecord {
  const { requestId } = record;
  return { kind: "outcome", requestId, workspace: "", record: JSON.stringify(record) };
}
