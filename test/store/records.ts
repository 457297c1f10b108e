import type { EvidenceStore } from "../../src/evidence/evidence-store.ts";
import {
  type DecisionRecord,
  type OutcomeRecord,
  type Terminal,
  asIdentifier,
} from "../../src/evidence/record.ts";
import type { KeyRecord } from "../../src/keys/key-store.ts";

/**
 * Records a decision that an answer waits for at once.
 *
 * @throws {EvidenceUnavailableError} {@link DuplicateDecisionError}
 * @example await recordDecision(store.evidence, decisionRecord("r1"))
 */
export function recordDecision(
  evidence: Pick<EvidenceStore, "begin">,
  record: DecisionRecord,
): Promise<void> {
  return new Promise((resolve, reject) => {
    evidence.begin(record, (error) => (error === null ? resolve() : reject(error))).needed();
  });
}

export function decisionRecord(
  requestId: string,
  members: Partial<DecisionRecord> = {},
): DecisionRecord {
  return {
    requestId: asIdentifier(requestId),
    at: 1_795_000_000_000,
    workspace: asIdentifier("acme-prod"),
    keyId: asIdentifier("k7Hs92kLmQ3x"),
    environment: asIdentifier("production"),
    operation: "chat.completions",
    route: asIdentifier("chat-large"),
    outcome: "route",
    tableRevision: asIdentifier("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
    plan: [asIdentifier("sonnet-bedrock-eu"), asIdentifier("gpt-5-azure-eu")],
    policy: null,
    policyRevision: null,
    constraint: null,
    reason: null,
    wouldDeny: [
      {
        policy: asIdentifier("eu-residency"),
        revision: asIdentifier("3"),
        constraint: asIdentifier("region_approved"),
        reason: asIdentifier("REGION_UNKNOWN"),
        verdict: "fail",
      },
    ],
    needs: ["tools", "json_schema"],
    stream: true,
    context: "to_4k",
    maxOutput: "to_1k",
    reasoningEffort: "unspecified",
    retryCount: 0,
    clientRequestDigest: null,
    ...members,
  };
}

export function outcomeRecord(requestId: string, terminal: Terminal = "completed"): OutcomeRecord {
  return {
    requestId: asIdentifier(requestId),
    at: 1_795_000_000_900,
    status: 200,
    terminal,
    finish: asIdentifier("stop"),
    attempts: [
      {
        endpoint: asIdentifier("sonnet-bedrock-eu"),
        provider: asIdentifier("bedrock-eu"),
        region: asIdentifier("eu-central"),
        failure: null,
        status: 200,
        duration: 812.4,
        simulated: false,
      },
    ],
    stripped: [asIdentifier("user")],
    inputTokens: 1234,
    outputTokens: 321,
    cacheReadTokens: 0,
    reasoningTokens: null,
    firstByte: 210.5,
    total: 830.1,
    router: 1.4,
  };
}

export function keyRecord(id: string, members: Partial<KeyRecord> = {}): KeyRecord {
  return {
    id,
    name: "checkout",
    digest: Buffer.from(id.padEnd(32, ".")).toString("hex").slice(0, 64),
    workspace: "acme-prod",
    scopes: ["inference", "catalogue:read"],
    owner: "group:payments",
    environment: "production",
    workload: "checkout",
    labels: ["batch", "eu"],
    expiresAt: 2_000_000,
    createdAt: 1_000_000,
    createdBy: "cli",
    lastUsedAt: null,
    rotatedFrom: null,
    replacedBy: null,
    lineage: null,
    status: "active",
    revokedAt: null,
    exchange: null,
    limits: null,
    ...members,
  };
}
