import { afterEach, describe, expect, it, vi } from "vitest";
import { ContentUnusableError } from "../../src/server/policies/slots.ts";
import { serverLog } from "../../src/server/server-telemetry.ts";
import { KeyRing } from "../../src/keys/key-ring.ts";
import { createKey, revokedRecord } from "./made-key.ts";
import type { EvidenceHealth } from "../../src/evidence/evidence-store.ts";
import { asIdentifier } from "../../src/evidence/record.ts";
import { requestLog, type JsonLog } from "../../src/telemetry/log-record.ts";
import { decisionRecord, outcomeRecord } from "../store/records.ts";

afterEach(() => {
  vi.useRealTimers();
});

function recordingLog(): {
  readonly log: JsonLog;
  readonly lines: (readonly [level: string, record: object])[];
} {
  const lines: (readonly [level: string, record: object])[] = [];
  const log: JsonLog = {
    write: (level, record) => void lines.push([level, record]),
    takes: () => true,
    dropped: () => 0,
    close: () => Promise.resolve(),
  };
  return { log, lines };
}

describe("a server's log", () => {
  it("reports once that the store fails, and once that it has recovered", () => {
    vi.useFakeTimers();
    const { log, lines } = recordingLog();
    let health: EvidenceHealth = {
      state: "ok",
      waiting: 0,
      refused: 0,
      lost: 0,
      head: null,
      owing: 0,
    };
    const stop = serverLog(log).watchStore(() => health);
    vi.advanceTimersByTime(3_000);
    expect(lines).toEqual([]);
    const fault = { cause: "file_removed", file: "a.db-wal" } as const;
    health = {
      state: "unavailable",
      waiting: 7,
      refused: 2,
      lost: 1,
      head: null,
      owing: 2_000,
      fault,
    };
    vi.advanceTimersByTime(3_000);
    health = { ...health, state: "ok", waiting: 0 };
    vi.advanceTimersByTime(3_000);
    stop();
    health = { ...health, state: "unavailable" };
    vi.advanceTimersByTime(3_000);
    expect(lines).toEqual([
      ["error", { event: "store_degraded", waiting: 7, refused: 2, lost: 1, ...fault }],
      ["info", { event: "store_recovered", waiting: 0, refused: 2, lost: 1 }],
    ]);
  });

  it("reports added and removed keys, once each", () => {
    const { log, lines } = recordingLog();
    const { keyChanged } = serverLog(log);
    const ring = new KeyRing();
    const record = createKey();
    for (const records of [
      [record],
      [record],
      [revokedRecord(record)],
      [revokedRecord(record)],
      [record],
    ]) {
      ring.apply(records).forEach(keyChanged);
    }
    const line = { event: "key_changed", key_id: record.id, workspace: "w" };
    expect(lines).toEqual([
      ["info", { ...line, change: "added" }],
      ["info", { ...line, change: "revoked" }],
    ]);
  });

  it("logs policy sets and contents that cannot be loaded, and files that differ", () => {
    const { log, lines } = recordingLog();
    const { policies } = serverLog(log);
    const identity = {
      id: "gate",
      revision: 2,
      digest: "d".repeat(64),
      slot: "candidate",
    } as const;
    policies.failed([new ContentUnusableError(identity, "it is not there")]);
    policies.recovered();
    policies.swapped({
      id: "0123456789abcdef",
      policies: [],
      readsTime: false,
      readsBudget: false,
      zones: [],
      evaluate: () => ({ verdicts: [], obligations: [] }),
    });
    expect(lines).toEqual([
      ["error", { event: "policy_unusable", policy: "gate", revision: "r2", slot: "candidate" }],
      ["error", { event: "policies_degraded" }],
      ["info", { event: "policies_recovered" }],
      ["info", { event: "policies_swapped", policy_set: "0123456789abcdef" }],
    ]);
  });
});

describe("the log of requests", () => {
  it("names the missing flag of each attempt where a provider refused a member of the router", () => {
    const { log, lines } = recordingLog();
    const outcome = outcomeRecord("r1");
    const attempts = outcome.attempts.flatMap((attempt) => [
      {
        ...attempt,
        failure: "rejected" as const,
        status: 400,
        flag: asIdentifier("no_store_field"),
      },
      attempt,
    ]);
    const decision = decisionRecord("r1");
    requestLog(log).ended(decision.operation, {
      decision,
      outcome: { ...outcome, attempts },
      traceId: null,
    });
    expect(lines.filter(([level]) => level === "warn")).toEqual([
      [
        "warn",
        {
          event: "flag_missing",
          request_id: "r1",
          endpoint: "sonnet-bedrock-eu",
          provider: "bedrock-eu",
          flag: "no_store_field",
        },
      ],
    ]);
  });
});
