import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";

import { evidence } from "../../src/cli/evidence/evidence.ts";
import { openStore } from "../../src/server/parts.ts";
import { createKey } from "../../src/keys/key-record.ts";
import type { PolicyRecord } from "../../src/lifecycle/records.ts";
import { runCommand } from "../keys/command.ts";
import { policySource } from "../policy/samples.ts";
import { NO_POSTGRES, startTestServer, type TestServer } from "../store/postgres/server.ts";
import { temporaryFolder } from "../store/temporary-folder.ts";
import { ask, chat } from "./clients.ts";
import { fixture } from "./fixture.ts";
import { startProvider } from "./provider.ts";
import { Replica } from "./replica.ts";

/** Promotions, and as many rollbacks, requested of each replica at once. */
const REQUESTED = 10;

interface View {
  readonly etag: string;
  readonly policy_set: string;
  readonly enforced: { readonly revision: string } | null;
  readonly candidate: { readonly revision: string } | null;
}

/** @param denied a workspace; `null`: everybody passes. */
function writePolicy(folder: string, denied: string | null): void {
  const rules =
    denied === null
      ? "pass.open if input.workspace.id"
      : `pass.open if input.workspace.id != "${denied}"`;
  const { text } = policySource("gate", { open: "{effect: gate, reasons: [CLOSED]}" }, rules);
  mkdirSync(join(folder, "policies"), { recursive: true });
  writeFileSync(join(folder, "policies", "gate.rego"), text);
}

/**
 * Two replicas over one database, one of which is killed while both get requests for the policy's
 * next state.
 */
class Pair {
  readonly #replicas: readonly [Replica, Replica];
  readonly #key: string;

  constructor(replicas: readonly [Replica, Replica], key: string) {
    this.#replicas = replicas;
    this.#key = key;
  }

  async view(replica: Replica): Promise<View> {
    const headers = { authorization: `Bearer ${this.#key}` };
    const response = await fetch(`${replica.url}/v1/policies/gate`, { headers });
    if (response.status !== 200) throw new Error(`the policy cannot be seen: ${response.status}`);
    const list = await fetch(`${replica.url}/v1/policies`, { headers });
    const { policy_set } = (await list.json()) as { policy_set: string };
    return { ...((await response.json()) as View), policy_set };
  }

  /**
   * Requests promotions and rollbacks of what `view` shows from both replicas, and kills one of
   * them. Gives the statuses that its survivor, and it, answered.
   */
  async race(
    view: View,
    victim: Replica,
    kinds: readonly ("promotions" | "rollbacks")[],
  ): Promise<readonly number[]> {
    const requested = this.#replicas.flatMap((replica) =>
      Array.from({ length: REQUESTED }, () => kinds.map((kind) => ({ replica, kind }))).flat(),
    );
    const answers = requested.map(({ replica, kind }) => this.#change(replica, kind, view));
    await delay(Math.random() * 100);
    await victim.kill();
    return (await Promise.all(answers)).map(({ status }) => status);
  }

  async #change(
    replica: Replica,
    kind: "promotions" | "rollbacks",
    view: View,
  ): Promise<{ readonly status: number }> {
    const candidate = kind === "promotions" ? { candidate_revision: view.candidate?.revision } : {};
    const body = { expected: { ...candidate, enforced_revision: view.enforced?.revision ?? null } };
    try {
      const response = await fetch(`${replica.url}/v1/policies/gate/${kind}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${this.#key}`,
          "content-type": "application/json",
          "if-match": view.etag,
        },
        body: JSON.stringify(body),
      });
      await response.arrayBuffer();
      return response;
    } catch {
      // The replica is gone.
      return { status: 0 };
    }
  }
}

/** What promotions and rollbacks the log has. */
async function transitions(database: string): Promise<readonly PolicyRecord[]> {
  const store = await openStore(database);
  try {
    const rows = await store.policyLog.read({ after: 0, limit: 10_000 });
    const records = rows.map(({ record }) => JSON.parse(record) as PolicyRecord);
    return records.filter(({ kind }) => kind === "promoted" || kind === "rolled_back");
  } finally {
    await store.close();
  }
}

const wins = (statuses: readonly number[]): number =>
  statuses.filter((status) => status === 200).length;

async function makeKeys(
  database: string,
): Promise<{ readonly manager: string; readonly client: string }> {
  const store = await openStore(database);
  const expiresAt = Date.now() + 600_000;
  const options = {
    workspace: "large",
    owner: "test",
    environment: "production",
    expiresAt,
    createdBy: "test",
  };
  const manager = createKey({ ...options, scopes: ["operations:manage"] }, Date.now, randomBytes);
  const client = createKey({ ...options, scopes: ["inference"] }, Date.now, randomBytes);
  await Promise.all([manager, client].map(({ record }) => store.keys.create(record)));
  await store.close();
  return { manager: manager.text, client: client.text };
}

/** Gives what the command line says of the logs after it all. */
async function raceOverHttp(
  database: string,
): Promise<{ readonly code: number; readonly stderr: string }> {
  const provider = await startProvider();
  const folder = temporaryFolder();
  writeFileSync(
    join(folder, "routes.yaml"),
    JSON.stringify({ ...fixture(provider.url), policies: { managed_by: ["large"] } }),
  );
  writePolicy(folder, null);
  const { manager, client } = await makeKeys(database);
  const first = await Replica.start(folder, database);
  onTestFinished(() => first.kill());
  const second = await Replica.start(folder, database);
  onTestFinished(() => second.kill());
  const pair = new Pair([first, second], manager);

  // The first promotion of all, with nothing enforced.
  const seen = await pair.view(first);
  expect(await pair.view(second)).toEqual(seen);
  expect([seen.enforced, seen.candidate]).toMatchObject([null, { revision: "r1" }]);
  const promoted = await pair.race(seen, second, ["promotions"]);
  expect(wins(promoted)).toBeLessThanOrEqual(1);
  expect(promoted.filter((status) => ![0, 200, 412].includes(status))).toEqual([]);
  expect((await transitions(database)).map(({ kind }) => kind)).toEqual(["promoted"]);

  // The process that replaces it has newer files: they wait, and the old content acts.
  writePolicy(folder, "large");
  await second.start();
  const next = await pair.view(second);
  expect([next.enforced, next.candidate]).toMatchObject([{ revision: "r1" }, { revision: "r2" }]);
  await expect
    .poll(() => pair.view(first), { timeout: 20_000 })
    .toMatchObject({ policy_set: next.policy_set });
  const raced = await pair.race(next, first, ["promotions", "rollbacks"]);
  expect(wins(raced)).toBeLessThanOrEqual(1);
  expect(raced.filter((status) => ![0, 200, 412].includes(status))).toEqual([]);
  const [, winner, ...more] = await transitions(database);
  expect([winner === undefined, more]).toEqual([false, []]);

  // A process that comes back serves what won, as does the survivor.
  await first.start();
  const after = await pair.view(first);
  expect(await pair.view(second)).toEqual(after);
  expect([after.enforced, after.candidate]).toMatchObject(
    winner?.kind === "promoted" ? [{ revision: "r2" }, null] : [null, { revision: "r2" }],
  );
  const status = winner?.kind === "promoted" ? 403 : 200;
  for (const replica of [first, second]) {
    expect((await ask(replica.url, client, chat("large"))).status).toBe(status);
  }
  await Promise.all([first.stop(), second.stop()]);
  return runCommand(evidence, ["verify", "--database", database]);
}

describe("promotions and rollbacks over HTTP with one precondition, and a replica killed: one wins, everybody serves it", () => {
  it("over one SQLite file", { timeout: 240_000 }, async () => {
    const database = join(temporaryFolder(), "signalbox.db");
    expect(await raceOverHttp(database)).toMatchObject({ code: 0, stderr: "" });
  });

  describe.skipIf(NO_POSTGRES !== null)(`over one PostgreSQL ${NO_POSTGRES ?? ""}`, () => {
    let server: TestServer;
    beforeAll(async () => {
      server = await startTestServer();
    }, 60_000);
    afterAll(() => server.close());

    it("database", { timeout: 240_000 }, async () => {
      expect(await raceOverHttp(await server.database())).toMatchObject({ code: 0, stderr: "" });
    });
  });
});
