import type { EvidenceEntry } from "../../../evidence/evidence-store.ts";
import type { AttemptRecord, DecisionRecord, OutcomeRecord } from "../../../evidence/record.ts";
import { explainArguments } from "../../../simulate/explain/explain-arguments.ts";
import { explainCommand } from "../../../simulate/explain/explain-command.ts";
import { readEvidenceSample } from "../../../simulate/evidence/evidence-sample.ts";
import { isJsonObject, parseJson, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import type { DecisionAnswer, DecisionLine } from "../../contract/decision-schemas.ts";

/** A line of the list. */
export function decisionLine({ decision, outcome }: EvidenceEntry): DecisionLine {
  const last = outcome?.attempts.at(-1);
  return {
    object: "decision",
    id: decision.requestId,
    at: new Date(decision.at).toISOString(),
    workspace: decision.workspace,
    operation: decision.operation,
    route: decision.route,
    key: decision.keyId,
    environment: decision.environment,
    outcome: decision.outcome,
    policy: decision.policy,
    constraint: decision.constraint,
    reason: decision.reason,
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
    total_ms: isKnown(outcome) ? outcome.total : null,
  };
}

/** Everything that the two records of a request say. */
export function decisionAnswer(entry: EvidenceEntry): DecisionAnswer {
  const { decision, outcome } = entry;
  return {
    ...decisionLine(entry),
    ...requestFacts(decision),
    ...outcomeFacts(outcome),
    explain: explainOf(decision),
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
    preferences: decision.preferences === undefined ? null : asObject(decision.preferences),
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
            what: change.what,
            id: change.id,
            grants: change.grants ?? null,
            replaces: change.replaces ?? null,
            subject: change.subject ?? null,
            workspace: change.workspace ?? null,
            content: change.content ?? null,
          },
  };
}

function outcomeFacts(outcome: OutcomeRecord | null) {
  return {
    calls: (outcome?.attempts ?? []).map(attemptAnswer),
    finish: outcome?.finish ?? null,
    stripped: outcome?.stripped ?? [],
    dropped: outcome?.losses ?? [],
    edits: outcome?.edits ?? [],
    joined: outcome?.joined ?? null,
    ended: outcome?.ended ?? null,
    estimated: outcome?.estimated === true,
    cache_read_tokens: outcome?.cacheReadTokens ?? null,
    reasoning_tokens: outcome?.reasoningTokens ?? null,
    first_byte_ms: outcome?.firstByte ?? null,
    router_ms: isKnown(outcome) ? outcome.router : null,
  };
}

function attemptAnswer({ model, translated, plaintext, calls = 1, duration, ...attempt }: AttemptRecord) {
  return {
    ...attempt,
    model: model ?? null,
    translated: translated ?? null,
    plaintext: plaintext === true,
    calls,
    duration_ms: duration,
  };
}

function isKnown(outcome: OutcomeRecord | null): outcome is OutcomeRecord {
  return outcome !== null && outcome.terminal !== "unknown";
}

function explainOf(decision: DecisionRecord): string | null {
  const sample = readEvidenceSample(asJson(decision));
  return sample === null || "unsayable" in sample ? null : explainCommand(explainArguments(sample.sample));
}

function asObject(preferences: NonNullable<DecisionRecord["preferences"]>): JsonObject {
  const value = asJson(preferences);
  return isJsonObject(value) ? value : {};
}

/** A record as its text says it. */
function asJson(decision: object): JsonValue {
  const value: JsonValue = parseJson(JSON.stringify(decision));
  return value;
}
