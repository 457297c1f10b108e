import type { BudgetStep, RefusingLimit } from "../canon/limits.ts";
import type { FailureKind } from "../canon/failure.ts";
import type { Capability, Feature } from "../canon/capability.ts";
import type { DroppedField, Edit } from "../canon/generate/edit.ts";
import type { Operation } from "../canon/operation.ts";
import type {
  MaximumPrice,
  ReasoningEffort,
  SortPreference,
  TokenBucket,
} from "../canon/request.ts";

declare const identifier: unique symbol;

/**
 * An identifier that our own configuration, table or generator made: never text that a client or a
 * provider sent. Records hold these, enums, numbers and booleans only;
 * `test/evidence/record.test-d.ts` proves it over every member.
 */
export type Identifier = string & { readonly [identifier]: true };

/**
 * Makes an {@link Identifier}: of ids of the table, of keys and of our own generators. `null` stays
 * `null`.
 */
export function asIdentifier<Text extends string | null>(text: Text): Identifier | (Text & null) {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the only function that puts the brand on
  return text as Identifier | (Text & null);
}

/** How a request ended. `unknown`: the process died between decision and outcome. */
export const TERMINALS = [
  "completed",
  "incomplete",
  "failed",
  "denied",
  "refused",
  "client_closed",
  "unknown",
] as const;
export type Terminal = (typeof TERMINALS)[number];

/**
 * Written before the first byte of an answer leaves
 * (docs/evidence.md#when-it-is-written-and-what-a-crash-can-lose).
 */
export interface DecisionRecord {
  readonly requestId: Identifier;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** `null` where no key was accepted. */
  readonly workspace: Identifier | null;
  readonly keyId: Identifier | null;
  readonly environment: Identifier | null;
  readonly operation: Operation | "models" | "simulate" | "control";
  /** Route of the table; `null` where the request named none that the workspace may see. */
  readonly route: Identifier | null;
  /** `answer`: the router answered without a provider. */
  readonly outcome: "route" | "deny" | "refuse" | "answer";
  readonly tableRevision: Identifier;
  /** Names the contents of policies and slots (`policySetId`); absent in older records. */
  readonly policySet?: Identifier;
  /** Endpoint ids in the decided order; `attempts` has the order of calls. */
  readonly plan: readonly Identifier[];
  readonly policy: Identifier | null;
  readonly policyRevision: Identifier | null;
  readonly constraint: Identifier | null;
  /** Reason code of a denial, or error code of a refusal. */
  readonly reason: Identifier | null;
  /** Effects that shadow slots would have had. */
  readonly wouldDeny: readonly ShadowRecord[];
  /** Evaluated shadow revisions, whatever the result; absent in older records. */
  readonly shadows?: readonly ShadowRevision[];
  /** Obligations that acted, or would have in a shadow slot; absent in older records. */
  readonly obligations?: readonly ObligationRecord[];
  readonly needs: readonly Capability[];
  /** Required features of the wire protocol; absent in older records. */
  readonly features?: readonly Feature[];
  readonly stream: boolean;
  readonly context: TokenBucket;
  readonly maxOutput: TokenBucket;
  readonly reasoningEffort: ReasoningEffort;
  /** Families with signed reasoning in the history, sorted; absent: none. */
  readonly signatureFamilies?: readonly Identifier[];
  /** Requested length of vectors; absent where not requested. */
  readonly dimensions?: number;
  /** Absent where the request had none. */
  readonly preferences?: PreferencesRecord;
  /** The workload that the key was made for; absent where it has none. */
  readonly workload?: Identifier;
  /** The key's owner, where `vocabulary.owners` declares it: policies read no other. */
  readonly owner?: Identifier;
  readonly limit?: RefusingLimit; // Absent where no limit refused the request.
  /** Remaining budget of the caller, where a policy read it. */
  readonly budget?: BudgetStep;
  /** The key's labels; absent where it has none. */
  readonly labels?: readonly Identifier[];
  /** Retries by the client's library (`x-stainless-retry-count`); 0 to 100. */
  readonly retryCount: number;
  /** SHA-256 prefix of the client's correlation id: searchable with the id only. */
  readonly clientRequestDigest: Identifier | null;
  /** Id of the exchanged token by which the key was used; absent where the key itself was. */
  readonly token?: Identifier;
  /** Absent where nothing is changed. */
  readonly change?: ChangeRecord;
  /** Refusals that this record sums up, all without a key or all of one; absent: one. */
  readonly repeated?: number;
}

/** The change of keys or policies by a request; on disk before the change is. */
export interface ChangeRecord {
  readonly what: (typeof CHANGES)[number];
  /** Public id of the key, or of the token; id of the policy. */
  readonly id: Identifier;
  readonly name?: Identifier; // Of a key that has one.
  /** Of a key whose grants change: which of them. */
  readonly grants?: readonly Identifier[];
  /** The key that a rotation replaces. */
  readonly replaces?: Identifier;
  readonly workspace?: Identifier; // Of the key; absent: the caller's.
  /** Of a workload's token: SHA-256 of issuer and subject (docs/keys.md#workloads-without-keys). */
  readonly subject?: Identifier;
  /** Digest of the content that is approved, promoted, withdrawn, released, or rolled back. */
  readonly content?: Identifier;
}

export const CHANGES = [
  "key_created",
  "key_rotated",
  "key_changed",
  "key_revoked",
  "token_issued",
  "policy_approved",
  "policy_approval_withdrawn",
  "policy_candidate_withdrawn",
  "policy_promoted",
  "policy_rolled_back",
  "policy_released",
] as const;

export interface ShadowRecord {
  readonly policy: Identifier;
  readonly revision: Identifier;
  readonly constraint: Identifier;
  readonly reason: Identifier | null;
  readonly verdict: "fail" | "indeterminate";
  /** Absent in older records, which do not distinguish the two. */
  readonly effect?: "would_narrow" | "would_deny";
}

export interface ShadowRevision {
  readonly policy: Identifier;
  readonly revision: Identifier;
}

/** Which obligation, and not its value: the policy's revision has that. */
export interface ObligationRecord {
  readonly policy: Identifier;
  readonly revision: Identifier;
  readonly obligation: Identifier;
  readonly effect: "applied" | "would_apply";
}

export interface AttemptRecord {
  readonly endpoint: Identifier;
  readonly provider: Identifier;
  readonly region: Identifier;
  /** The table's name for the model; absent in older records. */
  readonly model?: Identifier;
  readonly failure: FailureKind | null;
  readonly status: number | null;
  /** Whole milliseconds from the request's arrival to the attempt; absent in older records. */
  readonly start?: number;
  /** Milliseconds from the start of the attempt to its end. */
  readonly duration: number;
  readonly simulated: boolean; // The simulated upstream answered.
  /** The endpoint spoke another protocol than the caller; absent in older records. */
  readonly translated?: boolean;
  readonly plaintext?: true; // The call was http without TLS in one's own network.
  readonly proxied?: true; // The call went through a forward proxy.
  /** The provider's flag that keeps the refused member out of requests; absent: none does. */
  readonly flag?: Identifier;
  /** Calls of a batch that ended like this, absent: one; `duration` is of the longest. */
  readonly calls?: number;
}

/** Why a route's first choice did not answer a request (docs/governance.md). */
export const SECOND_CHOICE_REASONS = [
  "failed",
  "slow",
  "queue_full",
  "ejected",
  "rate_limited",
  "unsupported",
  "policy",
  "preference",
] as const;
export type SecondChoiceReason = (typeof SECOND_CHOICE_REASONS)[number];

/** A candidate that came before the one that answered, and was not called. */
export interface SkippedRecord {
  readonly endpoint: Identifier;
  readonly reason: SecondChoiceReason;
}

/** Written after the answer has ended. */
export interface OutcomeRecord {
  readonly requestId: Identifier;
  readonly at: number;
  /** HTTP status that the client got. */
  readonly status: number;
  readonly terminal: Terminal;
  /** The unified finish reason, where the upstream gave one. */
  readonly finish: Identifier | null;
  readonly attempts: readonly AttemptRecord[];
  /**
   * Candidates before the answering one that were not called; absent where there were none, and in
   * older records. Endpoints of its own load-balanced group are listed only where their health kept
   * them out.
   */
  readonly skipped?: readonly SkippedRecord[];
  /** Absent where the first choice answered, where nothing did, and in older records. */
  readonly secondChoice?: SecondChoiceReason;
  /** Request members that were taken out: identity, unknown ones on a route that strips them. */
  readonly stripped: readonly Identifier[];
  /** Members that translation left out or changed; absent in older records. */
  readonly losses?: readonly DroppedField[];
  /** Why the router itself ended the request, or made no further call; absent: it did not. */
  readonly ended?: "server_stopping" | "key_revoked";
  /** Other edits of requests and answer; absent in older records. */
  readonly edits?: readonly Edit[];
  /** Limits were settled by an estimate: the upstream did not count all tokens. */
  readonly estimated?: true;
  /** Tokens; `null` where the upstream did not count. */
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cacheReadTokens: number | null;
  /** Input written to a cache, and its part for an hour; absent: none, or an older record. */
  readonly cacheWriteTokens?: number | undefined;
  readonly cacheWriteHourTokens?: number | undefined;
  readonly reasoningTokens: number | null;
  /**
   * Billionths of a US dollar; `null`: unknown. Absent: no provider carried out a call, or the
   * record is older (docs/limits.md#what-a-request-costs).
   */
  readonly costNanoUsd?: number | null | undefined;
  /** Milliseconds from the request's arrival. */
  readonly firstByte: number | null;
  readonly total: number;
  /** Milliseconds of `total` that were ours, not the upstream's. */
  readonly router: number;
}

/** Preferences that decide (docs/dispatch.md#preferences-of-the-caller). */
export interface PreferencesRecord {
  readonly order?: readonly Identifier[];
  readonly only?: readonly Identifier[];
  readonly ignore?: readonly Identifier[];
  readonly region?: readonly Identifier[];
  readonly allow_fallbacks?: boolean;
  readonly sort?: SortPreference;
  readonly max_price?: MaximumPrice;
  readonly data_collection?: "allow" | "deny";
  readonly zdr?: boolean;
}

/** A name that the table does not have; ids of providers and regions have no spaces. */
export const UNKNOWN_NAME = asIdentifier("unknown name");

/** Endpoints of the answer, each once: several where parts of a batch were sent, or none. */
export function answeredBy({
  terminal,
  attempts,
}: Pick<OutcomeRecord, "terminal" | "attempts">): readonly AttemptRecord[] {
  if (terminal !== "completed" && terminal !== "incomplete") return [];
  // Nearly every answer came from the first endpoint.
  if (attempts.length === 1 && attempts[0]?.failure === null) return attempts;
  const answering = new Map<string, AttemptRecord>();
  for (const attempt of attempts) {
    if (attempt.failure !== null) continue;
    const earlier = answering.get(attempt.endpoint);
    const calls = (earlier?.calls ?? 0) + (attempt.calls ?? 1);
    answering.set(attempt.endpoint, earlier === undefined ? attempt : { ...earlier, calls });
  }
  return [...answering.values()];
}

/** Where a request ended, for people: the endpoints that answered, or the last one tried. */
export function endedAt(
  outcome: Pick<OutcomeRecord, "terminal" | "attempts">,
): readonly AttemptRecord[] {
  const answering = answeredBy(outcome);
  return answering.length > 0 ? answering : outcome.attempts.slice(-1);
}

/** The values of one member, each once, joined by commas; `null` where there are none. */
export function namesOf(
  all: readonly AttemptRecord[],
  key: "endpoint" | "provider" | "region",
): Identifier | null {
  const names = new Set(all.map((attempt) => attempt[key]));
  return names.size === 0 ? null : asIdentifier([...names].join(","));
}

/**
 * Divides what a provider counted among the endpoints that answered, by their calls: parts of a
 * batch are of about one size, and only the sum is recorded. The shares add up to `count`.
 *
 * @param count a whole number.
 */
export function shares(count: number, attempts: readonly AttemptRecord[]): readonly number[] {
  const total = attempts.reduce((sum, { calls = 1 }) => sum + calls, 0);
  let countedCalls = 0;
  return attempts.map(({ calls = 1 }) => {
    const before = Math.floor((count * countedCalls) / total);
    countedCalls += calls;
    return Math.floor((count * countedCalls) / total) - before;
  });
}

/** Members of a record without shape and plan: refused early, answered here, or summed up. */
export const NO_DECISION = {
  plan: [],
  wouldDeny: [],
  shadows: [],
  obligations: [],
  needs: [],
  features: [],
  stream: false,
  context: "unspecified",
  maxOutput: "unspecified",
  reasoningEffort: "unspecified",
} as const satisfies Partial<DecisionRecord>;

/** The outcome of a request that reached no provider, or whose outcome is unknown. */
export const EMPTY_OUTCOME = {
  finish: null,
  attempts: [],
  stripped: [],
  losses: [],
  edits: [],
  inputTokens: null,
  outputTokens: null,
  cacheReadTokens: null,
  reasoningTokens: null,
  firstByte: null,
} as const satisfies Partial<OutcomeRecord>;
