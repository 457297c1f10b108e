import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Decision, RouteDecision } from "../canon/decision.ts";
import type { ServiceError } from "../canon/error.ts";
import type { Identity } from "../canon/identity.ts";
import type { InferenceRequest, ProviderPreferences } from "../canon/request.ts";
import type { RouteRow, RoutingTable, Vocabulary } from "../canon/table.ts";
import type { Question } from "../decide/decide.ts";
import { regionsNamed } from "../decide/narrow.ts";
import type { SetAside } from "../dispatch/arrange.ts";
import type { AttemptReport, RelayOutcome } from "../dispatch/attempt.ts";
import { NO_DECISION } from "../evidence/record.ts";
import {
  UNKNOWN_NAME,
  asIdentifier,
  type AttemptRecord,
  type ChangeRecord,
  type DecisionRecord,
  type Identifier,
  type ObligationRecord,
  type OutcomeRecord,
  type SecondChoiceReason,
  type SkippedRecord,
  type PreferencesRecord,
  type ShadowRecord,
  type ShadowRevision,
} from "../evidence/record.ts";
import { remember } from "../canon/remember.ts";
import type { Snapshot } from "./snapshot.ts";

/**
 * Other inputs of a decision than those that every record has, so that `simulate --evidence` can
 * decide the request again.
 */
type ShapeRecord = Pick<
  DecisionRecord,
  "signatureFamilies" | "dimensions" | "preferences" | "workload" | "owner" | "budget" | "labels"
>;

/**
 * The part of a key that records have; the same for every request of the key under one vocabulary.
 */
const keyParts = new WeakMap<
  Identity,
  { readonly vocabulary: Vocabulary; readonly part: ShapeRecord | null }
>();

/** @returns `null` where a request and its key have none of it, as most do. */
function shapeRecord(
  table: RoutingTable,
  identity: Identity,
  { shape, preferences, budget }: Omit<Question, "model">,
): ShapeRecord | null {
  const key = keyPart(table, identity);
  const { signatureFamilies, dimensions } = shape;
  const isPlain = preferences === null && dimensions === null && signatureFamilies.length === 0;
  if (isPlain && budget === undefined) return key;
  return {
    ...key,
    ...(signatureFamilies.length > 0 && {
      signatureFamilies: familyNames(table, signatureFamilies),
    }),
    ...(budget !== undefined && { budget }),
    ...(dimensions !== null && { dimensions }),
    ...(preferences !== null && { preferences: preferencesRecord(table, preferences) }),
  };
}

function keyPart({ vocabulary }: RoutingTable, identity: Identity): ShapeRecord | null {
  const cached = keyParts.get(identity);
  if (cached?.vocabulary === vocabulary) return cached.part;
  const { workload, labels } = identity;
  const owner = vocabulary.owners?.find((one) => one === identity.owner);
  const part =
    workload === "" && owner === undefined && labels.length === 0
      ? null
      : {
          ...(workload !== "" && { workload: asIdentifier(workload) }),
          ...(owner !== undefined && { owner: asIdentifier(owner) }),
          ...(labels.length > 0 && { labels: labels.map(asIdentifier) }),
        };
  keyParts.set(identity, { vocabulary, part });
  return part;
}

/** A client sends signed reasoning back, and may write any family into it. */
function familyNames(table: RoutingTable, families: readonly string[]): readonly Identifier[] {
  const valid = new Set(Object.values(table.models).map(({ signatureFamily }) => signatureFamily));
  return families.map((family) => (valid.has(family) ? asIdentifier(family) : UNKNOWN_NAME));
}

function preferencesRecord(
  table: RoutingTable,
  preferences: ProviderPreferences,
): PreferencesRecord {
  const { order, only, ignore, region, allow_fallbacks, sort, max_price, data_collection, zdr } =
    preferences;
  const providers = (names: readonly string[]) =>
    once(
      names.map((name) =>
        Object.hasOwn(table.providers, name) ? asIdentifier(name) : UNKNOWN_NAME,
      ),
    );
  return {
    ...(order !== undefined && { order: providers(order) }),
    ...(only !== undefined && { only: providers(only) }),
    ...(ignore !== undefined && { ignore: providers(ignore) }),
    ...(region !== undefined && { region: once(region.map((name) => regionName(table, name))) }),
    ...(allow_fallbacks !== undefined && { allow_fallbacks }),
    ...(sort !== undefined && { sort: { by: sort.by, partition: sort.partition } }),
    ...(max_price !== undefined && { max_price }),
    ...(data_collection !== undefined && { data_collection }),
    ...(zdr !== undefined && { zdr }),
  };
}

/**
 * A name that a list repeats decides nothing more, and 64 of them would make a record six times as
 * long.
 */
function once(names: readonly Identifier[]): readonly Identifier[] {
  return [...new Set(names)];
}

function regionName(table: RoutingTable, name: string) {
  return regionsNamed(table, name) === null ? UNKNOWN_NAME : asIdentifier(name);
}

/** A request and the decision that was made for it. */
export interface DecidedRequest {
  readonly request: InferenceRequest;
  readonly decision: Decision;
}

/** Facts of a request before its body is read. */
export type RecordHead = Pick<
  DecisionRecord,
  "requestId" | "at" | "operation" | "retryCount" | "clientRequestDigest"
>;

/** Of a request that arrives now. */
export function recordHead(
  operation: DecisionRecord["operation"],
  requestId: string,
  clientRequestId: string | null,
  headers: IncomingHttpHeaders,
): RecordHead {
  return {
    requestId: asIdentifier(requestId),
    at: Date.now(),
    operation,
    retryCount: readRetryCount(headers["x-stainless-retry-count"]),
    clientRequestDigest:
      clientRequestId === null ? null : asIdentifier(digestPrefix(clientRequestId)),
  };
}

function readRetryCount(value: string | readonly string[] | undefined) {
  return typeof value === "string" && /^\d{1,3}$/.test(value) ? Math.min(Number(value), 100) : 0;
}

function digestPrefix(text: string) {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** Of a request that never reached a decision: unauthenticated, malformed, too large. */
export function refusalRecord(
  head: RecordHead,
  snapshot: Snapshot,
  identity: Identity | null,
  error: ServiceError,
): DecisionRecord {
  return {
    ...plainRecord(head, snapshot, identity),
    outcome: "refuse",
    reason: asIdentifier(error.code),
  };
}

/** Of a request that the router itself answered: the catalogue, a simulation. */
export function answerRecord(
  head: RecordHead,
  snapshot: Snapshot,
  identity: Identity,
  change?: ChangeRecord,
): DecisionRecord {
  const plain = plainRecord(head, snapshot, identity);
  return { ...plain, outcome: "answer", reason: null, ...(change !== undefined && { change }) };
}

function plainRecord(
  head: RecordHead,
  snapshot: Snapshot,
  identity: Identity | null,
): Omit<DecisionRecord, "outcome" | "reason"> {
  return {
    ...head,
    ...whoOf(identity),
    route: null,
    tableRevision: asIdentifier(snapshot.decider.table.revision),
    policySet: asIdentifier(snapshot.decider.policies.id),
    policy: null,
    policyRevision: null,
    constraint: null,
    ...NO_DECISION,
  };
}

/** @param decider the one that decided it. */
export function decisionRecord(
  { requestId, at, operation, retryCount, clientRequestDigest }: RecordHead,
  identity: Identity,
  request: Omit<Question, "model">,
  decision: Decision,
  { table, policies }: { readonly table: RoutingTable; readonly policies: { readonly id: string } },
): DecisionRecord {
  const denial = decision.outcome === "deny" ? decision.denial : null;
  const { needs, features, stream, context, maxOutput, reasoningEffort } = request.shape;
  const recordLists = remember(lists, decision, () => listsOf(decision));
  const { plan, wouldDeny, shadows, obligations } = recordLists;
  // Member by member: the engine makes such an object at once, and one that is spread together step
  // by step.
  const record = {
    requestId,
    at,
    operation,
    retryCount,
    clientRequestDigest,
    workspace: asIdentifier(identity.workspace),
    keyId: asIdentifier(identity.keyId),
    environment: asIdentifier(identity.environment),
    route: decision.route === "" ? null : asIdentifier(decision.route),
    outcome: decision.outcome,
    tableRevision: asIdentifier(decision.tableRevision),
    policySet: asIdentifier(policies.id),
    plan,
    policy: asIdentifier(denial?.policy ?? null),
    policyRevision: asIdentifier(denial?.revision ?? null),
    constraint: asIdentifier(denial?.constraint ?? null),
    reason: asIdentifier(denial?.reason ?? null),
    wouldDeny,
    shadows,
    obligations,
    needs,
    features,
    stream,
    context,
    maxOutput,
    reasoningEffort,
  };
  const narrowed = identity.narrowed ?? null;
  const shape = shapeRecord(table, identity, request);
  if (narrowed === null && shape === null) return record;
  return {
    ...record,
    ...shape,
    ...(narrowed !== null && { token: asIdentifier(narrowed.tokenId) }),
  };
}

/** A decision never changes, and requests of one class share it. */
const lists = new WeakMap<Decision, ReturnType<typeof listsOf>>();

/** Those members of a record that are made of the decision alone. */
function listsOf(decision: Decision) {
  const candidates = decision.outcome === "route" ? decision.plan : [];
  return {
    plan: candidates.map(({ endpoint }) => asIdentifier(endpoint.id)),
    wouldDeny: shadowRecords(decision),
    shadows: shadowRevisions(decision),
    obligations: obligationRecords(decision),
  };
}

function whoOf(
  identity: Identity | null,
): Pick<DecisionRecord, "workspace" | "keyId" | "environment" | "token"> {
  const narrowed = identity?.narrowed ?? null;
  return {
    workspace: asIdentifier(identity?.workspace ?? null),
    keyId: asIdentifier(identity?.keyId ?? null),
    environment: asIdentifier(identity?.environment ?? null),
    ...(narrowed !== null && { token: asIdentifier(narrowed.tokenId) }),
  };
}

/** Verdicts of shadow slots against a request; most decisions have none. */
function shadowRecords(decision: Decision): readonly ShadowRecord[] {
  return decision.trace.flatMap(({ slot, verdict, effect, policy, revision, constraint, reason }) =>
    slot === "candidate" && verdict !== "pass" && effect !== "none"
      ? [
          {
            policy: asIdentifier(policy),
            revision: asIdentifier(revision),
            constraint: asIdentifier(constraint),
            reason: asIdentifier(reason),
            verdict,
            effect: effect === "would_deny" ? effect : "would_narrow",
          },
        ]
      : [],
  );
}

/** Every constraint of a revision is evaluated, so its first line in the trace stands for all. */
function shadowRevisions(decision: Decision): readonly ShadowRevision[] {
  const revisions = new Map<string, ShadowRevision>();
  for (const { slot, policy, revision } of decision.trace) {
    const key = `${policy} ${revision}`;
    if (slot === "candidate" && !revisions.has(key)) {
      revisions.set(key, { policy: asIdentifier(policy), revision: asIdentifier(revision) });
    }
  }
  return [...revisions.values()];
}

function obligationRecords({ obligations }: Decision): readonly ObligationRecord[] {
  return obligations.flatMap(({ policy, revision, obligation, effect }) =>
    effect === "none"
      ? []
      : [
          {
            policy: asIdentifier(policy),
            revision: asIdentifier(revision),
            obligation: asIdentifier(obligation),
            effect,
          },
        ],
  );
}

/**
 * How each candidate fared that was tried.
 *
 * @param arrivedAt of the request, on the clock of `performance.now()`
 */
export function attemptRecords(
  attempts: readonly AttemptReport[],
  arrivedAt: number,
): readonly AttemptRecord[] {
  return attempts.map(
    ({
      candidate: { endpoint },
      failure,
      status,
      startedAt,
      duration,
      simulated,
      proxied,
      translated,
      calls,
    }) => {
      const record = {
        endpoint: asIdentifier(endpoint.id),
        provider: asIdentifier(endpoint.provider),
        region: asIdentifier(endpoint.region),
        model: asIdentifier(endpoint.model),
        failure: failure?.kind ?? null,
        status,
        start: Math.round(startedAt - arrivedAt),
        duration: rounded(duration),
        simulated,
        translated,
        ...(endpoint.plaintext === true && !simulated && { plaintext: true as const }),
        ...(proxied && { proxied: true as const }),
        ...(failure?.flag !== undefined && { flag: asIdentifier(failure.flag) }),
      };
      return calls === undefined ? record : { ...record, calls };
    },
  );
}

/**
 * A request that goes to providers: its route, its decision, and what health changed of the order.
 */
export interface Dispatched {
  readonly route: RouteRow;
  readonly decision: RouteDecision;
  readonly setAside: readonly SetAside[];
}

/**
 * The record of another candidate answering than the first of the decision, or than the route's
 * primary and its load-balanced group; `null` where neither did, as for most requests.
 */
export function choiceRecord(
  { route, decision, setAside }: Dispatched,
  { terminal, attempts }: Pick<RelayOutcome, "terminal" | "attempts">,
): Pick<OutcomeRecord, "skipped" | "secondChoice"> | null {
  if (terminal !== "completed" && terminal !== "incomplete") return null;
  const answering = attempts.filter(({ failure }) => failure === null);
  const last = answering.at(-1)?.candidate;
  if (last === undefined) return null;
  const firstChoice = route.tiers[0]?.endpoints ?? [];
  const isSecondChoice = answering.some(
    ({ candidate }) => !firstChoice.includes(candidate.endpoint.id),
  );
  if (!isSecondChoice && setAside.length === 0) return null;
  const skipped = skippedRecords(decision, setAside, attempts, last.tier);
  if (!isSecondChoice && skipped.length === 0) return null;
  return {
    ...(skipped.length > 0 && { skipped }),
    ...(isSecondChoice && {
      secondChoice: secondChoiceReason(firstChoice, decision, attempts, skipped),
    }),
  };
}

function skippedRecords(
  { plan }: RouteDecision,
  setAside: readonly SetAside[],
  attempts: readonly AttemptReport[],
  answeringTier: number,
): readonly SkippedRecord[] {
  const calledIds = new Set(attempts.map(({ candidate }) => candidate.endpoint.id));
  return plan.flatMap(({ endpoint: { id }, tier }): readonly SkippedRecord[] => {
    if (calledIds.has(id) || tier > answeringTier) return [];
    const why = setAside.find(({ candidate }) => candidate.endpoint.id === id)?.why;
    // Healthy endpoints of the same group lost a draw; earlier tiers missed the caller's speeds.
    if (why === undefined && tier === answeringTier) return [];
    return [{ endpoint: asIdentifier(id), reason: why ?? "preference" }];
  });
}

/** The reason of the first endpoint of `firstChoice` that has one. */
function secondChoiceReason(
  firstChoice: readonly string[],
  { plan, trace, obligations }: RouteDecision,
  attempts: readonly AttemptReport[],
  skipped: readonly SkippedRecord[],
): SecondChoiceReason {
  const [first] = plan;
  const plansFirstChoice = plan.some(
    ({ endpoint, tier }) => tier === first.tier && firstChoice.includes(endpoint.id),
  );
  if (!plansFirstChoice) {
    const isPolicyChoice =
      obligations.some(({ kind, effect }) => kind === "prefer_region" && effect === "applied") ||
      trace.some(
        ({ policy, effect, failing }) =>
          policy !== "preferences" &&
          effect === "narrowed" &&
          failing.some((id) => firstChoice.includes(id)),
      );
    return isPolicyChoice ? "policy" : "preference";
  }
  for (const id of firstChoice) {
    const failure = attempts.find(({ candidate }) => candidate.endpoint.id === id)?.failure;
    if (failure?.kind === "saturated") return "queue_full";
    // A hedge answered before it.
    if (failure?.kind === "abandoned") return "slow";
    if (failure != null) return "failed";
    const reason = skipped.find(({ endpoint }) => endpoint === id)?.reason;
    if (reason !== undefined) return reason;
  }
  return "preference";
}

/** Milliseconds to the microsecond: more digits mean nothing to readers. */
export function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
