/**
 * Run as a process by `promotion-races.test.ts`: opens the database, says what it finds, and then,
 * for each line on stdin, requests at once as many changes as the line says, with one and the same
 * precondition, through several lifecycles that know nothing of each other.
 */
import { writeSync } from "node:fs";
import { approval, promotion, rollback } from "../../src/lifecycle/changes.ts";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

import { openStore } from "../../src/server/parts.ts";
import { openLifecycle } from "../../src/lifecycle/open-lifecycle.ts";
import type { PolicyLifecycle } from "../../src/lifecycle/lifecycle.ts";
import { actor, NOTHING_REQUIRED, TABLE } from "../lifecycle/lifecycle-context.ts";
import { POLICY } from "../lifecycle/policy-rows.ts";

/** The orders of a process. */
export interface Race {
  readonly round: number;
  /** The precondition of every promotion and rollback. */
  readonly etag: string;
  /** Digest that is approved. */
  readonly candidate: string;
  readonly promotions: number;
  readonly rollbacks: number;
  /** Each by another person. */
  readonly approvals: number;
}

/** What a process says, a line each. */
export type Said =
  | {
      readonly said: "open";
      readonly head: number;
      readonly enforced: string | null;
      readonly candidate: string | null;
    }
  | {
      readonly said: "result";
      readonly round: number;
      readonly requested: "promote" | "rollBack" | "approve";
      readonly result: string;
    }
  | { readonly said: "done"; readonly round: number };

const LANES = 5;

/** Synchronous: what is printed later than it was known could die with the process. */
const say = (line: Said): void => void writeSync(1, `${JSON.stringify(line)}\n`);

const [, , database = "", name = ""] = process.argv;
const store = await openStore(database);
const lanes = await Promise.all(
  Array.from({ length: LANES }, () => openLifecycle(store.policyLog, Date.now)),
);
const [first] = lanes;
const line = first?.states.policies.get(POLICY);
say({
  said: "open",
  head: first?.states.head.position ?? 0,
  enforced: line?.enforced?.digest ?? null,
  candidate: line?.candidate?.digest ?? null,
});

async function change(
  lane: PolicyLifecycle,
  race: Race,
  requested: Extract<Said, { said: "result" }>["requested"],
  who: string,
): Promise<void> {
  const by = actor(who);
  const common = { policy: POLICY, expected: { etag: race.etag }, by, tableRevision: TABLE };
  const figures = async () => {
    // As long as counting may take: others get in between.
    await delay(Math.random() * 10);
    return { since: 0, judged: 1, wouldDeny: 0, newlyDenied: 0, wouldNarrow: 0, indeterminate: 0 };
  };
  const answer =
    requested === "promote"
      ? await lane.change(
          promotion({ ...common, requirements: NOTHING_REQUIRED, revoked: new Set(), figures }),
        )
      : requested === "rollBack"
        ? await lane.change(rollback({ ...common, reason: "other" }))
        : await lane.change(approval({ policy: POLICY, digest: race.candidate, by, report: null }));
  const result = answer === null ? "nothing" : "fault" in answer ? answer.fault : answer.kind;
  say({ said: "result", round: race.round, requested, result });
}

for await (const text of createInterface({ input: process.stdin })) {
  const race = JSON.parse(text) as Race;
  const { round, promotions, rollbacks, approvals } = race;
  const requested = [
    ...Array.from({ length: promotions }, () => "promote" as const),
    ...Array.from({ length: rollbacks }, () => "rollBack" as const),
    ...Array.from({ length: approvals }, () => "approve" as const),
  ].toSorted(() => Math.random() - 0.5);
  await Promise.all(
    requested.map(async (what, index) => {
      const lane = lanes[index % LANES];
      if (lane !== undefined) await change(lane, race, what, `${name}-${round}-${index}`);
    }),
  );
  say({ said: "done", round });
}
await store.close();
