import { described, INSTANT, TEXT } from "../../canon/json/schema.ts";
import type { Decision } from "../../canon/decision.ts";
import type { RefusingLimit } from "../../canon/limits.ts";
import { formatTime } from "../../canon/rfc3339.ts";
import { parseJson, parseJsonObject, type JsonObject } from "../../canon/json.ts";
import { OPERATIONS, isOperation } from "../../canon/operation.ts";
import { decide } from "../../decide/decide.ts";
import type { Decider } from "../../decide/decider.ts";
import type {
  EvidenceEntry,
  EvidenceFound,
  EvidenceSearch,
} from "../../evidence/evidence-store.ts";
import {
  TERMINALS,
  type AttemptRecord,
  type DecisionRecord,
  type OutcomeRecord,
} from "../../evidence/record.ts";
import { readInstant } from "../../governance/roll-up.ts";
import {
  OUTCOMES,
  type DecisionAnswer,
  type DecisionLine,
  type DecisionListAnswer,
} from "../contract/decision-schemas.ts";
import { badRequest, refusal } from "../refusal.ts";
import { WORKSPACES_QUERY, callerWorkspace, readCount, readWorkspaces } from "./query.ts";
import { type ControlCall, type ControlHandler } from "./control-call.ts";
import { takeSimulation } from "./simulate.ts";
import { sampleQuestionOf } from "../../simulate/decide-sample.ts";
import {
  readEvidenceSample,
  type EvidenceSample,
} from "../../simulate/evidence/evidence-sample.ts";
import { explainArguments, explainCommand } from "../../simulate/explain/explain-arguments.ts";
import { explain } from "../../simulate/explain/explanation.ts";

const name = (description: string) =>
  ({ type: "string", minLength: 1, maxLength: 200, description }) as const;

/** Query parameters of the list, for /openapi.json. */
export const DECISION_QUERY = {
  workspaces: WORKSPACES_QUERY,
  kind: {
    enum: ["inference", "router"],
    description:
      "`inference`: requests of models. `router`: those that the router answers itself, such as simulations, changes of keys, and readings of this list. Both if absent.",
  },
  start: described(INSTANT, "Requests that arrived then or later."),
  end: described(INSTANT, "Requests that arrived then or earlier. Default: now."),
  operation: { enum: OPERATIONS, description: "Requests of this operation." },
  route: name("Requests that named this route."),
  key: name("Public id of the key."),
  outcome: { enum: OUTCOMES, description: "What was decided." },
  policy: name("Policy that denied the request, or `approvals` or `preferences`."),
  constraint: name("Its constraint."),
  reason: name("Reason code of the denial, or error code of the refusal."),
  terminal: {
    enum: [...TERMINALS, "running"],
    description: "How the request ended; `running`: it has not ended.",
  },
  provider: name("Provider of an attempt."),
  endpoint: name("Endpoint of an attempt."),
  limit: {
    type: "integer",
    minimum: 1,
    maximum: 100,
    default: 50,
    description: "Maximum number of decisions.",
  },
  cursor: described(TEXT, "The page after another one: its `next_cursor`."),
} as const;

/** Members of a decision's record by query parameter. */
const MEMBERS = {
  operation: "operation",
  route: "route",
  key: "keyId",
  outcome: "outcome",
  policy: "policy",
  constraint: "constraint",
  reason: "reason",
} as const satisfies Partial<Record<keyof typeof DECISION_QUERY, keyof EvidenceEntry["decision"]>>;

/**
 * The search of a caller among the decisions of workspaces. @param query as `checkQuery` has
 * checked it.
 */
function readDecisionQuery(query: URLSearchParams, workspaces: readonly string[]): EvidenceSearch {
  const instant = (parameter: "start" | "end") => readInstant(query.get(parameter) ?? "");
  const filters = Object.entries(MEMBERS).flatMap(([parameter, member]) => {
    const value = query.get(parameter);
    return value === null ? [] : [{ member, value }];
  });
  const kind = query.get("kind");
  const terminal = query.get("terminal");
  const provider = query.get("provider");
  const endpoint = query.get("endpoint");
  return {
    workspaces,
    from: instant("start"),
    to: instant("end"),
    limit: readCount(query, "limit", DECISION_QUERY),
    cursor: query.get("cursor"),
    // As the record's text has it: JSON without spaces.
    contains: filters.map(({ member, value }) => `"${member}":${JSON.stringify(value)}`),
    accepts: ({ decision, outcome }) =>
      filters.every(({ member, value }) => decision[member] === value) &&
      (kind === null || isOperation(decision.operation) === (kind === "inference")) &&
      (terminal === null || (outcome?.terminal ?? "running") === terminal) &&
      (provider === null ||
        outcome?.attempts.some((attempt) => attempt.provider === provider) === true) &&
      (endpoint === null ||
        outcome?.attempts.some((attempt) => attempt.endpoint === endpoint) === true),
  };
}

const ID = /^(?:req|dec)_([0-9a-f]{32})$/;

/**
 * Decisions about requests of the caller's workspace, and how they ended: names and counts, never
 * content.
 */
export const DECISION_HANDLERS = {
  listDecisions: async (call) => {
    const { runtime, url } = call;
    const search = readDecisionQuery(url.searchParams, readWorkspaces(call));
    let found: EvidenceFound;
    try {
      found = await runtime.decisions.search(search);
    } catch (error) {
      if (!(error instanceof RangeError)) throw unavailable();
      throw badRequest(
        "invalid_cursor",
        "cursor must be the next_cursor of a page of the same search",
        "cursor",
      );
    }
    const answer: DecisionListAnswer = {
      object: "list",
      data: found.entries.map(decisionLine),
      next_cursor: found.next,
      searched_to: formatTime(found.searchedTo),
    };
    return { json: answer };
  },
  retrieveDecision: async (call) => {
    const entry = await foundEntry(call);
    return { json: decisionAnswer(entry, call.snapshot.decider.policies.zones) };
  },
  explainDecision: async (call) => {
    const { decision } = await foundEntry(call);
    const { runtime, snapshot } = call;
    takeSimulation(runtime.simulationRate, snapshot.decider.table, callerWorkspace(call));
    return { json: explanationAnswer(snapshot.decider, decision) };
  },
} as const satisfies Record<string, ControlHandler>;

/** The decision that the path names, of the workspaces that the caller reads. */
async function foundEntry(call: ControlCall): Promise<EvidenceEntry> {
  const { runtime, parameter } = call;
  const digits = ID.exec(parameter)?.[1];
  const [entry] =
    digits === undefined
      ? []
      : await runtime.decisions
          .read({ after: 0, limit: 1, requestId: `req_${digits}` })
          .catch(() => {
            throw unavailable();
          });
  const { workspace = null } = entry?.decision ?? {};
  if (entry === undefined || workspace === null || !readWorkspaces(call).includes(workspace)) {
    throw refusal(
      "decision_not_found",
      "The workspace has no decision of this id. It is `req_` or `dec_` and 32 hexadecimal digits, as x-request-id has it; pruned decisions are not available.",
    );
  }
  return entry;
}

function unavailable() {
  return refusal(
    "decisions_unavailable",
    "The server cannot read the decisions from the store now. Try again later.",
  );
}

/**
 * Decides a recorded request again. The record has the plan only: to keep why each candidate was
 * passed over would make every request dearer, and the same every later evaluation of table and
 * policies gives the same.
 */
function explanationAnswer({ table, policies }: Decider, record: DecisionRecord): JsonObject {
  const facts = {
    object: "decision.explanation",
    id: record.requestId,
    same_table: record.tableRevision === table.revision,
    same_policies: record.policySet === undefined ? null : record.policySet === policies.id,
  };
  const recorded = sampleOf(record);
  if (recorded === null) return { ...facts, same_result: null, explanation: null };
  const { identity, question } = sampleQuestionOf(recorded.sample);
  const { at: time } = recorded;
  const decision = decide(table, policies, identity, question, time);
  const explained = { table, policies, identity, question, paths: null, time, promoted: false };
  // Health is not recorded: an order by the health of now would not be that of then.
  return {
    ...facts,
    same_result: isSameOutcome(recorded, decision),
    explanation: explain(explained, decision, null),
  };
}

/** `null` where the record has nothing to decide, or something that this version does not know. */
function sampleOf(record: DecisionRecord, zones: readonly string[] = []): EvidenceSample | null {
  const read = readEvidenceSample(parseJson(JSON.stringify(record)), zones);
  return read === null || "unsupportedSetting" in read ? null : read;
}

function isSameOutcome({ outcome, reason, plan }: EvidenceSample, decision: Decision): boolean {
  if (decision.outcome === "deny") return outcome === "deny" && reason === decision.denial.reason;
  return (
    outcome === "route" && decision.plan.map(({ endpoint }) => endpoint.id).join() === plan.join()
  );
}

/** A line of the list. */
function decisionLine({ decision, outcome }: EvidenceEntry): DecisionLine {
  const last = outcome?.attempts.at(-1);
  return {
    object: "decision",
    id: decision.requestId,
    at: formatTime(decision.at),
    workspace: decision.workspace,
    operation: decision.operation,
    route: decision.route,
    key: decision.keyId,
    environment: decision.environment,
    outcome: decision.outcome,
    policy: decision.policy,
    constraint: decision.constraint,
    reason: decision.reason,
    limit: decision.limit === undefined ? null : limitAnswer(decision.limit),
    repeated: decision.repeated ?? 1,
    terminal: outcome?.terminal ?? null,
    // A request whose process died has no known status.
    status: outcome === null || outcome.status === 0 ? null : outcome.status,
    endpoint: last?.endpoint ?? null,
    provider: last?.provider ?? null,
    region: last?.region ?? null,
    attempts: (outcome?.attempts ?? []).reduce((sum, { calls = 1 }) => sum + calls, 0),
    input_tokens: outcome?.inputTokens ?? null,
    output_tokens: outcome?.outputTokens ?? null,
    cost_usd: typeof outcome?.costNanoUsd === "number" ? outcome.costNanoUsd / 1e9 : null,
    total_ms: hasEnding(outcome) ? outcome.total : null,
  };
}

/** All members of the two records of a request. */
export function decisionAnswer(
  entry: EvidenceEntry,
  zones: readonly string[] = [],
): DecisionAnswer {
  const { decision, outcome } = entry;
  return {
    ...decisionLine(entry),
    ...requestFacts(decision),
    ...outcomeFacts(outcome),
    explain: explainOf(decision, zones),
  };
}

function requestFacts(decision: DecisionRecord) {
  const { change } = decision;
  return {
    table_revision: decision.tableRevision,
    policy_set: decision.policySet ?? null,
    policy_revision: decision.policyRevision,
    plan: decision.plan,
    needs: decision.needs,
    features: decision.features ?? [],
    stream: decision.stream,
    context: decision.context,
    max_output: decision.maxOutput,
    reasoning_effort: decision.reasoningEffort,
    dimensions: decision.dimensions ?? null,
    preferences:
      decision.preferences === undefined
        ? null
        : parseJsonObject(JSON.stringify(decision.preferences)),
    workload: decision.workload ?? null,
    owner: decision.owner ?? null,
    budget: decision.budget ?? null,
    labels: decision.labels ?? [],
    token: decision.token ?? null,
    retries: decision.retryCount,
    shadow: decision.wouldDeny.map(({ effect = null, ...shadow }) => ({ ...shadow, effect })),
    obligations: decision.obligations ?? [],
    change:
      change === undefined
        ? null
        : {
            name: null,
            grants: null,
            replaces: null,
            subject: null,
            workspace: null,
            content: null,
            ...change,
          },
  };
}

function limitAnswer({
  subject,
  measure,
  window,
  size,
  used,
  reserved,
  requested,
  renewsAt,
}: RefusingLimit): DecisionAnswer["limit"] {
  const isMoney = measure === "micro_usd";
  const inUnit = (amount: number) => (isMoney ? amount / 1e6 : amount);
  return {
    subject,
    measure: isMoney ? "usd" : measure,
    per: window,
    size: inUnit(size),
    used: used === null ? null : inUnit(used),
    reserved: reserved === null ? null : inUnit(reserved),
    requested: inUnit(requested),
    renews_at: formatTime(renewsAt),
  };
}

function outcomeFacts(outcome: OutcomeRecord | null) {
  return {
    calls: (outcome?.attempts ?? []).map(attemptAnswer),
    skipped: outcome?.skipped ?? [],
    second_choice: outcome?.secondChoice ?? null,
    finish: outcome?.finish ?? null,
    stripped: outcome?.stripped ?? [],
    dropped: outcome?.losses ?? [],
    edits: outcome?.edits ?? [],
    ended: outcome?.ended ?? null,
    estimated: outcome?.estimated === true,
    cache_read_tokens: outcome?.cacheReadTokens ?? null,
    reasoning_tokens: outcome?.reasoningTokens ?? null,
    first_byte_ms: outcome?.firstByte ?? null,
    router_ms: hasEnding(outcome) ? outcome.router : null,
  };
}

function attemptAnswer({ start, duration, ...attempt }: AttemptRecord) {
  const absent = {
    model: null,
    translated: null,
    plaintext: false,
    proxied: false,
    flag: null,
    calls: 1,
  };
  return { ...absent, ...attempt, start_ms: start ?? null, duration_ms: duration };
}

function hasEnding(outcome: OutcomeRecord | null): outcome is OutcomeRecord {
  return outcome !== null && outcome.terminal !== "unknown";
}

function explainOf(decision: DecisionRecord, zones: readonly string[]): string | null {
  const recorded = sampleOf(decision, zones);
  return recorded && explainCommand(explainArguments(recorded.sample));
}
