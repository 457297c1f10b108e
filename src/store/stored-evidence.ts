import {
  BUDGET_STEPS,
  LIMIT_MEASURES,
  LIMIT_WINDOWS,
  type RefusingLimit,
} from "../canon/limits.ts";
import { FAILURE_KINDS } from "../canon/failure.ts";
import { FEATURE_NAMES, isCapability } from "../canon/capability.ts";
import { DROPPED_FIELDS, EDIT_NAMES } from "../canon/generate/edit.ts";
import { isJsonObject, parseJson } from "../canon/json.ts";
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
  type Identifier,
} from "../evidence/record.ts";
import { StoreUnavailableError } from "../canon/error.ts";
import { EMPTY_OUTCOME } from "../evidence/plain-record.ts";
import type { EvidenceEntry } from "../evidence/evidence-store.ts";

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === "string";
const isTextOrNull: Check = (value) => value === null || typeof value === "string";
const isNumber: Check = (value) => typeof value === "number";
const isNumberOrNull: Check = (value) => value === null || typeof value === "number";
const isFlag: Check = (value) => typeof value === "boolean";
const isOneOf =
  (values: readonly string[]): Check =>
  (value) =>
    typeof value === "string" && values.includes(value);
const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
/** Called once for each shape; what it returns checks each record. */
function hasShape<Shape>(
  members: Readonly<Record<keyof Shape, Check>>,
): (value: unknown) => value is Shape {
  const checks = Object.entries<Check>(members);
  return (value): value is Shape =>
    isJsonObject(value) && checks.every(([name, check]) => check(value[name]));
}

const isOptional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);

const SHADOW = {
  policy: isText,
  revision: isText,
  constraint: isText,
  reason: isTextOrNull,
  verdict: isOneOf(["fail", "indeterminate"]),
  effect: isOptional(isOneOf(["would_narrow", "would_deny"])),
} satisfies Record<keyof ShadowRecord, Check>;

const SHADOW_REVISION = { policy: isText, revision: isText } satisfies Record<
  keyof ShadowRevision,
  Check
>;

const OBLIGATION = {
  policy: isText,
  revision: isText,
  obligation: isText,
  effect: isOneOf(["applied", "would_apply"]),
} satisfies Record<keyof ObligationRecord, Check>;

const LIMIT = {
  subject: isOneOf(["workspace", "key"]),
  measure: isOneOf([...LIMIT_MEASURES, "concurrency"]),
  window: (value) => value === null || isOneOf(LIMIT_WINDOWS)(value),
  size: isNumber,
  used: isNumberOrNull,
  reserved: isNumberOrNull,
  requested: isNumber,
  renewsAt: isNumberOrNull,
} satisfies Record<keyof RefusingLimit, Check>;

const CHANGE = {
  what: isOneOf(CHANGES),
  id: isText,
  name: isOptional(isText),
  grants: isOptional(isListOf(isText)),
  replaces: isOptional(isText),
  workspace: isOptional(isText),
  subject: isOptional(isText),
  content: isOptional(isText),
} satisfies Record<keyof ChangeRecord, Check>;

/** `satisfies` makes a member that is added to the record, and forgotten here, a compile error. */
const DECISION = {
  requestId: isText,
  at: isNumber,
  workspace: isTextOrNull,
  keyId: isTextOrNull,
  environment: isTextOrNull,
  operation: isOneOf([...OPERATIONS, "models", "simulate", "control"]),
  route: isTextOrNull,
  outcome: isOneOf(["route", "deny", "refuse", "answer"]),
  tableRevision: isText,
  policySet: isOptional(isText),
  plan: isListOf(isText),
  policy: isTextOrNull,
  policyRevision: isTextOrNull,
  constraint: isTextOrNull,
  reason: isTextOrNull,
  wouldDeny: isListOf(hasShape(SHADOW)),
  shadows: isOptional(isListOf(hasShape(SHADOW_REVISION))),
  obligations: isOptional(isListOf(hasShape(OBLIGATION))),
  needs: isListOf((value) => typeof value === "string" && isCapability(value)),
  features: isOptional(isListOf(isOneOf(FEATURE_NAMES))),
  stream: isFlag,
  context: isOneOf(TOKEN_BUCKETS),
  maxOutput: isOneOf(TOKEN_BUCKETS),
  reasoningEffort: isOneOf(REASONING_EFFORTS),
  signatureFamilies: isOptional(isListOf(isText)),
  dimensions: isOptional(isNumber),
  preferences: isOptional(isJsonObject),
  workload: isOptional(isText),
  owner: isOptional(isText),
  limit: isOptional(hasShape(LIMIT)),
  budget: isOptional(isOneOf(BUDGET_STEPS)),
  labels: isOptional(isListOf(isText)),
  retryCount: isNumber,
  clientRequestDigest: isTextOrNull,
  token: isOptional(isText),
  change: isOptional(hasShape(CHANGE)),
  repeated: isOptional(isNumber),
} satisfies Record<keyof DecisionRecord, Check>;

const ATTEMPT = {
  endpoint: isText,
  provider: isText,
  region: isText,
  model: isOptional(isText),
  failure: (value) => value === null || isOneOf(FAILURE_KINDS)(value),
  status: isNumberOrNull,
  duration: isNumber,
  simulated: isFlag,
  translated: isOptional(isFlag),
  plaintext: isOptional(isFlag),
  proxied: isOptional(isFlag),
  flag: isOptional(isText),
  calls: isOptional(isNumber),
} satisfies Record<keyof AttemptRecord, Check>;

const SKIPPED = {
  endpoint: isText,
  reason: isOneOf(SECOND_CHOICE_REASONS),
} satisfies Record<keyof SkippedRecord, Check>;

const OUTCOME = {
  requestId: isText,
  at: isNumber,
  status: isNumber,
  terminal: isOneOf(TERMINALS),
  finish: isTextOrNull,
  attempts: isListOf(hasShape(ATTEMPT)),
  skipped: isOptional(isListOf(hasShape(SKIPPED))),
  secondChoice: isOptional(isOneOf(SECOND_CHOICE_REASONS)),
  stripped: isListOf(isText),
  losses: isOptional(isListOf(isOneOf(Object.keys(DROPPED_FIELDS)))),
  edits: isOptional(isListOf(isOneOf(EDIT_NAMES))),
  ended: isOptional(isOneOf(["server_stopping", "key_revoked"])),
  estimated: (value) => value === undefined || value === true,
  inputTokens: isNumberOrNull,
  outputTokens: isNumberOrNull,
  cacheReadTokens: isNumberOrNull,
  cacheWriteTokens: isOptional(isNumber),
  cacheWriteHourTokens: isOptional(isNumber),
  costNanoUsd: isOptional(isNumberOrNull),
  reasoningTokens: isNumberOrNull,
  firstByte: isNumberOrNull,
  total: isNumber,
  router: isNumber,
} satisfies Record<keyof OutcomeRecord, Check>;

/** Reads records from their texts; `null` for one that this version does not support. */
function recordReader<Shape>(
  members: Readonly<Record<keyof Shape, Check>>,
): (text: string) => Shape | null {
  const fits = hasShape<Shape>(members);
  return (text) => {
    try {
      const value: unknown = parseJson(text);
      return fits(value) ? value : null;
    } catch {
      return null;
    }
  };
}

export const readDecision = recordReader<DecisionRecord>(DECISION);
export const readOutcome = recordReader<OutcomeRecord>(OUTCOME);

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

/**
 * The outcome of a request whose process died. Status 0: no status is known.
 *
 * @param at when the process was last known to run, milliseconds since the epoch
 */
export function unknownOutcome(requestId: Identifier, at: number): OutcomeRecord {
  return {
    requestId,
    at,
    status: 0,
    terminal: "unknown",
    ...EMPTY_OUTCOME,
    total: 0,
    router: 0,
  };
}
