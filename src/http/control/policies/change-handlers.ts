import type { ServiceError } from "../../../canon/error.ts";
import { codedError } from "../../../canon/error-codes.ts";
import { canonicalJson, isJsonObject } from "../../../canon/json.ts";
import { type ChangeRecord, asIdentifier } from "../../../evidence/record.ts";
import * as changes from "../../../lifecycle/changes.ts";
import {
  entityTag,
  isFault,
  type Expectation,
  type LifecycleChange,
  type PolicyLifecycle,
  type PolicyStates,
} from "../../../lifecycle/lifecycle.ts";
import { isJudged, promotionRequirements } from "../../../lifecycle/changes.ts";
import type { Actor, PolicyRecord, ReportReference } from "../../../lifecycle/records.ts";
import {
  bodyOf,
  type ControlAnswer,
  type ControlCall,
  type ControlHandler,
} from "../control-call.ts";
import { actorOf, revokedApprovers } from "./actor.ts";
import type { PolicyAdministration } from "./administration.ts";
import {
  readBodyRevision,
  readExpected,
  readIfMatch,
  withdrawalError,
  type ExpectedRevisions,
} from "./policy-request.ts";
import type { ValueOf } from "../../../canon/json/schema.ts";
import type {
  APPROVE_SCHEMA,
  PROMOTE_SCHEMA,
  RELEASE_SCHEMA,
  ROLL_BACK_SCHEMA,
  WITHDRAW_SCHEMA,
} from "../../contract/policy-bodies.ts";
import {
  candidateFigures,
  managementError,
  missingFor,
  newestStates,
  orUnavailable,
  parts,
  viewOf,
} from "./policy-call.ts";
import {
  faultError,
  noSuchPolicy,
  notApplied,
  storeUnavailable,
  simulationBusy,
} from "./policy-error.ts";

/**
 * Approvals, promotions and the like: each is on record before it is made, and decides here before
 * it is answered.
 */
export const CHANGE_HANDLERS = {
  approvePolicy: change<typeof APPROVE_SCHEMA>(async (call, start) => {
    const { administration, states, lifecycle, policy, by, body } = start;
    const { digest, report: claimed } = body;
    const report =
      claimed === undefined ? null : await verifiedReport(administration, policy, digest, claimed);
    if (report !== null && "code" in report) return report;
    const request = { policy, digest, by, report };
    const verdict = changes.approval(states, request, Date.now());
    return withMissing(
      call,
      start,
      await finish(call, start, verdict, () => lifecycle.approve(request)),
    );
  }),
  promotePolicy: change<typeof PROMOTE_SCHEMA>(async (call, start) => {
    const { states, lifecycle, administration, policy, by, body } = start;
    const expected = expectation(call, start, "candidate", body.expected);
    if ("code" in expected) return expected;
    const found = changes.promotable(states, { policy, expected });
    if (isFault(found)) return faultError(found);
    const { table } = call.snapshot.decider;
    const { status } = found;
    const figures =
      status.candidate !== null && isJudged(status)
        ? await orUnavailable(candidateFigures(administration, status, status.candidate))
        : null;
    if (figures !== null && "code" in figures) return figures;
    const revoked = await revokedApprovers(status, call.runtime.keys);
    if ("code" in revoked) return revoked;
    const request = {
      policy,
      expected,
      by,
      requirements: promotionRequirements(table, policy),
      revoked,
      tableRevision: table.revision,
      // Not counted again: where the candidate is another one by now, its entity tag does not fit
      // any more.
      figures: () => (figures === null ? Promise.reject(uncounted()) : Promise.resolve(figures)),
    };
    const verdict = changes.promotion(found, request, figures, Date.now());
    return finish(call, start, verdict, () => lifecycle.promote(request));
  }),
  rollBackPolicy: change<typeof ROLL_BACK_SCHEMA>(async (call, start) => {
    const { states, lifecycle, policy, by, body } = start;
    const expected = expectation(call, start, "enforced", body.expected);
    if ("code" in expected) return expected;
    const toRevision = readBodyRevision(body.to_revision);
    const request = {
      policy,
      expected,
      by,
      tableRevision: call.snapshot.decider.table.revision,
      reason: body.reason ?? "other",
      ...(toRevision !== undefined && { toRevision }),
    };
    return finish(call, start, changes.rollback(states, request, Date.now()), () =>
      lifecycle.rollBack(request),
    );
  }),
  withdrawPolicy: change<typeof WITHDRAW_SCHEMA>(async (call, start) => {
    const { states, lifecycle, policy, by, body } = start;
    const wrong = withdrawalError(body);
    if (wrong !== null) return wrong;
    if (body.what === "approval") {
      const request = { policy, digest: body.digest ?? "", by };
      const verdict = changes.approvalWithdrawal(states, request, Date.now());
      return finish(call, start, verdict, () => lifecycle.withdrawApproval(request));
    }
    if (call.identity?.scopes.has("operations:manage") !== true) return approvalsOnly();
    const expected = expectation(call, start, "candidate", body.expected);
    if ("code" in expected) return expected;
    const request = { policy, expected, by };
    const verdict = changes.candidateWithdrawal(states, request, Date.now());
    return finish(call, start, verdict, () => lifecycle.withdrawCandidate(request));
  }),
  releasePolicy: change<typeof RELEASE_SCHEMA>(async (call, start) => {
    const { states, lifecycle, policy, by, body } = start;
    const expected = expectation(call, start, null, {});
    if ("code" in expected) return expected;
    const request = { policy, digest: body.digest, expected, by };
    return finish(call, start, changes.release(states, request, Date.now()), () =>
      lifecycle.release(request),
    );
  }),
} as const satisfies Record<string, ControlHandler>;

/** Who may approve may take that back, and nothing else. */
function approvalsOnly(): ServiceError {
  const message =
    "Withdrawing a candidate needs the scope operations:manage; policies:approve is for approvals.";
  return codedError("insufficient_scope", message);
}

interface Start<Body = unknown> {
  readonly administration: PolicyAdministration;
  readonly lifecycle: PolicyLifecycle;
  readonly states: PolicyStates;
  readonly policy: string;
  readonly by: Actor;
  readonly body: Body;
}

/** The caller, its permission, and the policy of the call. */
async function begin(call: ControlCall): Promise<Omit<Start, "body"> | ServiceError> {
  const found = parts(call);
  if ("code" in found) return found;
  const { identity, administration } = found;
  const refused = managementError(call, identity);
  if (refused !== null) return refused;
  const states = await newestStates(administration);
  if ("code" in states) return states;
  const policy = states.policies.get(call.parameter ?? "")?.id;
  if (policy === undefined) return noSuchPolicy();
  if (call.runtime.keys === undefined) return storeUnavailable();
  const by = await actorOf(identity, call.requestId, call.runtime.keys);
  if ("code" in by) return by;
  const { lifecycle } = administration;
  return { administration, lifecycle, states, policy, by };
}

/** A handler that changes the policy which the path names. @typeParam Schema of its row's body. */
function change<Schema>(
  answer: (call: ControlCall, start: Start<ValueOf<Schema>>) => Promise<ControlAnswer>,
): ControlHandler {
  return async (call) => {
    const start = await begin(call);
    return "code" in start ? start : answer(call, { ...start, body: bodyOf<Schema>(call) });
  };
}

/**
 * What the caller has looked at: the header's entity tag and the body's revisions. @param slot
 * which the change is about; `null`: none.
 */
function expectation(
  call: ControlCall,
  { states, policy }: Pick<Start, "states" | "policy">,
  slot: "candidate" | "enforced" | null,
  revisions: ExpectedRevisions | undefined,
): Expectation | ServiceError {
  const status = states.policies.get(policy);
  if (status === undefined) return noSuchPolicy();
  const present = entityTag(status);
  const etag = readIfMatch(call.headers["if-match"], present);
  if (typeof etag !== "string") return etag;
  // Who knows how it is has not missed anything: whatever revision of an empty slot they name,
  // looking again would not help.
  if (etag === present && slot !== null && status[slot] === null) {
    return faultError({ fault: slot === "candidate" ? "no_candidate" : "nothing_to_roll_back_to" });
  }
  return { etag, ...readExpected(revisions) };
}

/**
 * Recorded, then done, then in effect here, then answered. A rejected change changes nothing, and
 * the evidence does not claim otherwise; only where another change is written between the verdict
 * and the log does it name a change whose answer was an error.
 */
async function finish(
  call: ControlCall,
  { administration, policy }: Start,
  verdict: changes.Verdict,
  perform: () => Promise<LifecycleChange | Parameters<typeof faultError>[0]>,
): Promise<ControlAnswer> {
  if (verdict !== null) {
    if (isFault(verdict)) return faultError(verdict);
    const unrecorded = await call.recordChange(changeOf(verdict));
    if (unrecorded !== null) return unrecorded;
    const done = await perform();
    if (isFault(done)) return faultError(done);
    try {
      await administration.apply();
    } catch {
      return notApplied();
    }
  }
  const status = administration.lifecycle.states.policies.get(policy);
  if (status === undefined)
    throw new Error("policies: a policy that was changed is gone from the log");
  const view = await viewOf(call.runtime, administration, status);
  return { json: view, headers: ["etag", entityTag(status)] };
}

/**
 * Adds what a promotion by another person lacks, for whom the approval counts; `null` where the
 * counts cannot be read: the approval stands.
 */
async function withMissing(
  { runtime }: ControlCall,
  { administration, policy }: Start,
  answer: ControlAnswer,
): Promise<ControlAnswer> {
  const status = administration.lifecycle.states.policies.get(policy);
  if (!("json" in answer) || !isJsonObject(answer.json) || status === undefined) return answer;
  const missing = await missingFor(runtime, { origin: "" }, administration, status);
  return {
    ...answer,
    json: { ...answer.json, missing: missing !== null && "code" in missing ? null : missing },
  };
}

/** What the evidence calls a change. */
const CHANGES = {
  approved: "policy_approved",
  approval_withdrawn: "policy_approval_withdrawn",
  candidate_withdrawn: "policy_candidate_withdrawn",
  promoted: "policy_promoted",
  rolled_back: "policy_rolled_back",
  released: "policy_released",
} as const;

function changeOf(record: PolicyRecord): ChangeRecord {
  switch (record.kind) {
    case "approved":
    case "approval_withdrawn":
    case "candidate_withdrawn":
    case "released":
      return {
        what: CHANGES[record.kind],
        id: asIdentifier(record.policy),
        content: asIdentifier(record.digest),
      };
    case "promoted":
      return {
        what: CHANGES.promoted,
        id: asIdentifier(record.policy),
        content: asIdentifier(record.to.digest),
      };
    case "rolled_back":
      return {
        what: CHANGES.rolled_back,
        id: asIdentifier(record.policy),
        content: asIdentifier(record.from.digest),
      };
    case "observed":
    case "returned":
      throw new Error("policies: a change without an endpoint");
  }
}

function uncounted(): Error {
  return new Error("policies: figures of a removal were requested");
}

type ClaimedReport = NonNullable<ValueOf<typeof APPROVE_SCHEMA>["report"]>;

/**
 * An approver's report with the server's own finding about it. Only a report that this server makes
 * itself, byte for byte, is verified: any caller can write one that says that everything passed.
 */
async function verifiedReport(
  { simulate }: Pick<PolicyAdministration, "simulate">,
  policy: string,
  digest: string,
  { sha256, table_revision: tableRevision, complete, assertions }: ClaimedReport,
): Promise<ReportReference | ServiceError> {
  const claimed = { sha256, tableRevision, complete, assertions };
  const made = await simulate(policy, digest);
  if (made === "busy") return simulationBusy();
  if (made === "unavailable") return storeUnavailable();
  if (typeof made === "string") return { ...claimed, verification: { result: "not_computed" } };
  const isSame =
    canonicalJson(claimed) ===
    canonicalJson({
      sha256: made.sha256,
      tableRevision: made.tableRevision,
      complete: made.complete,
      assertions: made.assertions,
    });
  return {
    ...claimed,
    verification: isSame ? { result: "verified", enforced: made.enforced } : { result: "differs" },
  };
}
