import { canonicalJson, type JsonObject } from "../../../canon/json.ts";
import { type ChangeRecord, asIdentifier } from "../../../evidence/record.ts";
import {
  entityTag,
  isFault,
  type Expectation,
  type Judge,
  type PolicyStatus,
} from "../../../lifecycle/lifecycle.ts";
import type {
  Actor,
  PolicyRecord,
  ReportReference,
  ShadowFigures,
} from "../../../lifecycle/records.ts";
import {
  bodyOf,
  type ControlAnswer,
  type ControlCall,
  type ControlHandler,
} from "../control-call.ts";
import {
  actorOf,
  revokedApprovers,
  candidateFigures,
  checkManagement,
  missingFor,
  namedStatus,
  orUnavailable,
  parts,
  viewOf,
} from "./policy-call.ts";
import type { PolicyAdministration } from "./administration.ts";
import { RefusalError, badRequest, refusal } from "../../refusal.ts";
import type { ValueOf } from "../../../canon/json/schema.ts";
import { parseRevision } from "../../../canon/policy.ts";
import type {
  APPROVE_SCHEMA,
  PROMOTE_SCHEMA,
  RELEASE_SCHEMA,
  ROLL_BACK_SCHEMA,
  WITHDRAW_SCHEMA,
} from "../../contract/policy-answers.ts";
import { faultError, plainError, simulationError } from "./policy-error.ts";
import * as changes from "../../../lifecycle/changes.ts";

/** Query parameters, for /openapi.json. */
export const LIST_QUERY = {
  ended: {
    enum: ["true", "false"],
    default: "false",
    description: "Whether policies that have ended are listed too.",
  },
} as const;

export const CONTENT_QUERY = {
  digest: {
    type: "string",
    pattern: "^(?:enforced|candidate|[0-9a-f]{6,64})$",
    description:
      "At least the first 6 digits of the content's digest, or its slot. Default: the candidate, or the enforced content if there is no candidate.",
  },
  revision: {
    type: "string",
    pattern: "^r[1-9][0-9]{0,8}$",
    description: "The content's revision instead, such as `r7`, as decisions name it.",
  },
} as const;

export const SIMULATION_QUERY = {
  digest: {
    ...CONTENT_QUERY.digest,
    description:
      "At least the first 6 digits of the content's digest, or the slot that it is in; the candidate unless given.",
  },
} as const;

export const TRANSITIONS_QUERY = {
  after: {
    type: "integer",
    minimum: 0,
    default: 0,
    description: "Positions in the log after this one.",
  },
  limit: {
    type: "integer",
    minimum: 1,
    maximum: 1_000,
    default: 100,
    description: "Maximum number of rows.",
  },
} as const;

/** The revision whose content is requested; `null`: the content is named otherwise. */
export function readRevision(query: URLSearchParams): number | null {
  const text = query.get("revision");
  if (text === null) return null;
  if (query.has("digest"))
    throw badRequest("invalid_value", "Give digest or revision, not both", "revision");
  return Number(text.slice(1));
}

/** Revisions that a body expects in the slots, such as `r4`; `null`: an empty slot. */
interface ExpectedRevisions {
  readonly candidate_revision?: string | null;
  readonly enforced_revision?: string | null;
}

/** Left out, `null`, or the number of a revision such as `r4`. */
function readBodyRevision(value: string | null | undefined) {
  return typeof value === "string" ? (parseRevision(value) ?? undefined) : value;
}

/** Withdrawals of approvals and of candidates have different members. @throws {RefusalError} */
function checkWithdrawal(body: ValueOf<typeof WITHDRAW_SCHEMA>) {
  const isApproval = body.what === "approval";
  const [needed, other] = isApproval
    ? (["digest", "expected"] as const)
    : (["expected", "digest"] as const);
  if (body[other] !== undefined) {
    const message = `${other} has no meaning for the withdrawal of ${isApproval ? "an approval" : "a candidate"}; leave it out`;
    throw badRequest("invalid_value", message, other);
  }
  if (body[needed] === undefined)
    throw badRequest("missing_field", `${needed} is required`, needed);
}

/** One entity tag of RFC 9110 §8.8.3, with `W/` where it is weak. */
const TAG = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/;

/** More than any page shows. */
const MOST_TAGS = 16;

/**
 * The strong entity tag of `If-Match` to act on: the present one where the header names it,
 * otherwise one that does not fit.
 *
 * @param present the policy's tag now. @param header node joins several headers of the name with
 * commas, as RFC 9110 §5.3 has it. @throws {RefusalError}
 */
export function readIfMatch(header: string | undefined, present: string): string {
  if (header === undefined || header.trim() === "" || header.trim() === "*") {
    throw refusal(
      "precondition_required",
      "Send If-Match with the ETag of GET /v1/policies/{id}; * is not accepted, because it does not identify a state.",
      { param: "If-Match" },
    );
  }
  const tags = readTags(header);
  if (tags === null) {
    const message = 'If-Match must be an entity tag with its quotation marks, such as "0123abcd"';
    throw badRequest("invalid_value", message, "If-Match");
  }
  // Strong comparison: a weak tag fits nothing.
  return tags.find((tag) => tag === present) ?? tags[0] ?? "";
}

/** `null` where the text is no list of entity tags. */
function readTags(header: string): readonly string[] | null {
  const tags: string[] = [];
  let rest = header.trim();
  while (tags.length < MOST_TAGS) {
    const [tag] = TAG.exec(rest) ?? [];
    if (tag === undefined) return null;
    tags.push(tag);
    rest = rest.slice(tag.length).trimStart();
    if (rest === "") return tags;
    if (!rest.startsWith(",")) return null;
    rest = rest.slice(1).trimStart();
  }
  return null;
}

/**
 * Approvals, promotions and the like: each is on record before it is made, and decides here before
 * it is answered.
 */
export const CHANGE_HANDLERS = {
  approvePolicy: change<typeof APPROVE_SCHEMA>(async (call, start) => {
    const { administration, status, by, body } = start;
    const { digest, report: claimed } = body;
    const report =
      claimed === undefined
        ? null
        : await verifiedReport(administration, status.id, digest, claimed);
    const judge = changes.approval({ policy: status.id, digest, by, report });
    return withMissing(call, start, await finish(call, start, judge));
  }),
  promotePolicy: change<typeof PROMOTE_SCHEMA>(async (call, start) => {
    const { administration, status, by, body } = start;
    const expected = expectation(call, status, "candidate", body.expected);
    const { table } = call.snapshot.decider;
    let figures: Promise<ShadowFigures> | null = null;
    const judge = changes.promotion({
      policy: status.id,
      expected,
      by,
      requirements: changes.promotionRequirements(table, status.id),
      revoked: await revokedApprovers(status, call.runtime.keys),
      tableRevision: table.revision,
      // Not counted again: another candidate would have another entity tag.
      figures: () => (figures ??= orUnavailable(candidateFigures(administration, status))),
    });
    return finish(call, start, judge);
  }),
  rollBackPolicy: change<typeof ROLL_BACK_SCHEMA>((call, start) => {
    const { status, by, body } = start;
    const judge = changes.rollback({
      policy: status.id,
      expected: expectation(call, status, "enforced", body.expected),
      by,
      tableRevision: call.snapshot.decider.table.revision,
      reason: body.reason ?? "other",
      toRevision: readBodyRevision(body.to_revision),
    });
    return finish(call, start, judge);
  }),
  withdrawPolicy: change<typeof WITHDRAW_SCHEMA>((call, start) => {
    const { status, by, body } = start;
    const policy = status.id;
    checkWithdrawal(body);
    if (body.what === "approval") {
      const digest = body.digest ?? "";
      return finish(call, start, changes.approvalWithdrawal({ policy, digest, by }));
    }
    // Who may approve may take that back, and nothing else.
    if (call.identity?.scopes.has("operations:manage") !== true) {
      throw refusal(
        "insufficient_scope",
        "Withdrawing a candidate needs the scope operations:manage; policies:approve is for approvals.",
      );
    }
    const expected = expectation(call, status, "candidate", body.expected);
    return finish(call, start, changes.candidateWithdrawal({ policy, expected, by }));
  }),
  releasePolicy: change<typeof RELEASE_SCHEMA>((call, start) => {
    const { status, by, body } = start;
    const expected = expectation(call, status, null, {});
    const release = { policy: status.id, digest: body.digest, expected, by };
    return finish(call, start, changes.contentRelease(release));
  }),
} as const satisfies Record<string, ControlHandler>;

interface Start<Body = unknown> {
  readonly administration: PolicyAdministration;
  readonly status: PolicyStatus;
  readonly by: Actor;
  readonly body: Body;
}

/** A handler that changes the policy which the path names. @typeParam Schema of its row's body. */
function change<Schema>(
  answer: (call: ControlCall, start: Start<ValueOf<Schema>>) => Promise<ControlAnswer>,
): ControlHandler {
  return async (call) => {
    const { identity, administration } = parts(call);
    checkManagement(call, identity);
    const status = await namedStatus(administration, call.parameter);
    const by = await actorOf(identity, call.requestId, call.runtime.keys);
    return answer(call, { administration, status, by, body: bodyOf<Schema>(call) });
  };
}

/**
 * The state that the caller has read: the header's entity tag and the body's revisions. @param slot
 * which the change is about; `null`: none. @throws {RefusalError}
 */
function expectation(
  { headers }: ControlCall,
  status: PolicyStatus,
  slot: "candidate" | "enforced" | null,
  { candidate_revision, enforced_revision }: ExpectedRevisions = {},
): Expectation {
  const present = entityTag(status);
  const etag = readIfMatch(headers["if-match"], present);
  // Who knows how it is has not missed anything: whatever revision of an empty slot they name,
  // looking again would not help.
  if (etag === present && slot !== null && status[slot] === null) {
    throw faultError({ fault: slot === "candidate" ? "no_candidate" : "nothing_to_roll_back_to" });
  }
  // A slot that the body does not name is not looked at.
  return {
    etag,
    candidateRevision: readBodyRevision(candidate_revision),
    enforcedRevision: readBodyRevision(enforced_revision),
  };
}

/**
 * Recorded, then done, then in effect here, then answered. A rejected change changes nothing, and
 * the evidence does not claim otherwise; only where another change is written between the verdict
 * and the log does it name a change whose answer was an error.
 */
async function finish(
  call: ControlCall,
  { administration, status: { id } }: Start,
  judge: Judge,
): Promise<{ readonly json: JsonObject; readonly headers: readonly string[] }> {
  const { lifecycle } = administration;
  const verdict = await judge(lifecycle.states, Date.now());
  if (verdict !== null) {
    if (isFault(verdict)) throw faultError(verdict);
    await call.recordChange(changeOf(verdict));
    const result = await lifecycle.change(judge);
    if (result !== null && isFault(result)) throw faultError(result);
    try {
      await administration.apply();
    } catch {
      throw plainError("policies_not_applied");
    }
  }
  const status = lifecycle.states.policies.get(id);
  if (status === undefined)
    throw new Error("policies: a policy that was changed is gone from the log");
  const view = await viewOf(call.runtime, administration, status);
  return { json: view, headers: ["etag", entityTag(status)] };
}

/**
 * Adds the requirements that a promotion by another person does not meet: for them the approval
 * counts; `null` where the counts cannot be read: the approval stands.
 */
async function withMissing(
  { runtime }: ControlCall,
  { administration, status: { id } }: Start,
  answer: { readonly json: JsonObject },
): Promise<ControlAnswer> {
  const status = administration.lifecycle.states.policies.get(id);
  if (status === undefined) return answer;
  const missing = await missingFor(runtime, { origin: "" }, administration, status).catch(
    (error: unknown) => {
      if (error instanceof RefusalError) return null;
      throw error;
    },
  );
  return { ...answer, json: { ...answer.json, missing } };
}

/** A change as the evidence has it. */
function changeOf(record: PolicyRecord): ChangeRecord {
  if (record.kind === "observed" || record.kind === "returned")
    throw new Error("policies: a change without an endpoint");
  const { digest } =
    record.kind === "promoted" ? record.to : record.kind === "rolled_back" ? record.from : record;
  return {
    what: `policy_${record.kind}`,
    id: asIdentifier(record.policy),
    content: asIdentifier(digest),
  };
}

type ClaimedReport = NonNullable<ValueOf<typeof APPROVE_SCHEMA>["report"]>;

/**
 * An approver's report with the server's own finding about it. Only a report that this server makes
 * itself, byte for byte, is verified: any caller can write one in which everything passed.
 */
async function verifiedReport(
  { simulate }: Pick<PolicyAdministration, "simulate">,
  policy: string,
  digest: string,
  { sha256, table_revision: tableRevision, complete, assertions }: ClaimedReport,
): Promise<ReportReference> {
  const claimed = { sha256, tableRevision, complete, assertions };
  const simulation = await simulate(policy, digest);
  if (simulation === "busy" || simulation === "unavailable") throw simulationError(simulation);
  if (typeof simulation === "string")
    return { ...claimed, verification: { result: "not_computed" } };
  const matchesClaim =
    canonicalJson(claimed) ===
    canonicalJson({
      sha256: simulation.sha256,
      tableRevision: simulation.tableRevision,
      complete: simulation.complete,
      assertions: simulation.assertions,
    });
  return {
    ...claimed,
    verification: matchesClaim
      ? { result: "verified", enforced: simulation.enforced }
      : { result: "differs" },
  };
}
