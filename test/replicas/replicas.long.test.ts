import { OPERATIONS } from "../../src/canon/operation.ts";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";

import type { Scope } from "../../src/canon/identity.ts";
import { chainVerifier, GENESIS } from "../../src/evidence/chain.ts";
import { summarise } from "../../src/governance/summarise.ts";
import { createKey } from "../../src/keys/key-record.ts";
import { LIMIT_CODES } from "../../src/limits/accounts.ts";
import type { Store } from "../../src/store/port.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { groupingOf } from "../governance/agreement.ts";
import { NO_POSTGRES, startTestServer, type TestServer } from "../store/postgres/server.ts";
import { temporaryFolder } from "../store/temporary-folder.ts";
import { startBalancer } from "./balancer.ts";
import { ask, chat, Clients, type Seen } from "./clients.ts";
import { fixture, REQUESTS_PER_MINUTE, TOKENS_PER_MONTH, USAGE } from "./fixture.ts";
import { startProvider, PIECES } from "./provider.ts";
import { Replica } from "./replica.ts";

async function makeKey(
  store: Store,
  workspace: string,
  scopes: readonly Scope[],
): Promise<{ id: string; text: string }> {
  const expiresAt = Date.now() + 600_000;
  const options = {
    workspace,
    scopes,
    owner: "test",
    environment: "production",
    expiresAt,
    createdBy: "test",
  };
  const made = createKey(options, Date.now, randomBytes);
  await store.keys.create(made.record);
  return { id: made.record.id, text: made.text };
}

interface Recorded {
  readonly reason: string | null;
  readonly operation: string;
  /** How many requests the record stands for. */
  readonly repeated: number;
}

/** All decisions by request id, once the chain of all rows has been verified. */
async function verifiedDecisions(store: Store): Promise<ReadonlyMap<string, Recorded>> {
  const verifier = chainVerifier({ from: GENESIS, remembered: [await store.evidence.head()] });
  const decisions = new Map<string, Recorded>();
  for (;;) {
    const rows = await store.evidence.log({ after: verifier.head.position, limit: 5_000 });
    for (const row of rows) {
      expect(verifier.add(row)).toBeNull();
      if (row.kind === "outcome") continue;
      const {
        requestId,
        reason,
        operation = "",
        repeated = 1,
      } = JSON.parse(row.record) as Partial<Recorded> & { requestId: string };
      decisions.set(requestId, { reason: reason ?? null, operation, repeated });
    }
    if (rows.length === 0) break;
  }
  expect(verifier.end()).toBeNull();
  return decisions;
}

const isWholeStream = ({ text }: Seen): boolean =>
  PIECES.every((piece) => text.includes(JSON.stringify(piece).slice(1, -1))) &&
  text.trimEnd().endsWith("data: [DONE]");

const answered = (seen: readonly Seen[]): readonly Seen[] =>
  seen.filter(({ status }) => status === 200);

/** Those that began and ended in one minute, by minute. */
function byMinute(seen: readonly Seen[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const { from, to } of seen) {
    const minute = Math.floor(from / 60_000);
    if (Math.floor(to / 60_000) === minute) counts.set(minute, (counts.get(minute) ?? 0) + 1);
  }
  return counts;
}

describe.skipIf(NO_POSTGRES !== null)(`two replicas on one PostgreSQL ${NO_POSTGRES ?? ""}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  }, 60_000);
  afterAll(() => server.close());

  it(
    "lose no evidence, pass no limit and forget no revocation when one of them is killed",
    { timeout: 120_000 },
    async () => {
      const provider = await startProvider();
      const folder = temporaryFolder();
      writeFileSync(join(folder, "routes.yaml"), JSON.stringify(fixture(provider.url)));
      const url = await server.database();
      const store = await openPostgresStore({ url, bounds: { statementTimeout: 20_000 } });
      onTestFinished(() => store.close());
      const [large, small, metered, doomed] = await Promise.all(
        ["large", "small", "metered", "large"].map((workspace) =>
          makeKey(store, workspace, ["inference"]),
        ),
      );
      const manager = await makeKey(store, "large", ["operations:manage"]);
      if (
        large === undefined ||
        small === undefined ||
        metered === undefined ||
        doomed === undefined
      )
        throw new Error();

      const survivor = await Replica.start(folder, url);
      onTestFinished(() => survivor.kill());
      const mortal = await Replica.start(folder, url);
      onTestFinished(() => mortal.kill());
      const balancer = await startBalancer([survivor.port, mortal.port]);
      onTestFinished(() => balancer.close());

      const clients = new Clients();
      clients.add(4, 5, () => ask(balancer.url, large.text, chat("large")));
      clients.add(2, 5, () => ask(balancer.url, large.text, chat("large", true)));
      const ofSmall = clients.add(4, 20, () => ask(balancer.url, small.text, chat("small")));
      const ofMetered = clients.add(3, 20, () => ask(balancer.url, metered.text, chat("metered")));
      const survivingStreams = clients.add(3, 5, () =>
        ask(survivor.url, large.text, chat("large", true)),
      );
      const ofDoomed = clients.add(2, 10, () => ask(balancer.url, doomed.text, chat("large")));

      await delay(3_000);
      await mortal.kill();
      await delay(500);
      await mortal.start();
      await delay(2_000);

      // Revoked through the one: the other refuses within a second.
      expect((await ask(survivor.url, doomed.text, chat("large"))).status).toBe(200);
      const revoked = await fetch(`${mortal.url}/v1/keys/${doomed.id}/revoke`, {
        method: "POST",
        headers: { authorization: `Bearer ${manager.text}` },
      });
      expect(revoked.status).toBe(200);
      const revokedAt = Date.now();
      await expect
        .poll(async () => (await ask(survivor.url, doomed.text, chat("large"))).status, {
          timeout: 1_000,
          interval: 20,
        })
        .toBe(401);
      expect(Date.now() - revokedAt).toBeLessThan(1_000);

      await mortal.kill();
      await delay(500);
      await mortal.start();
      expect((await ask(mortal.url, doomed.text, chat("large"))).status).toBe(401);
      await delay(3_000);
      await clients.stop();
      await Promise.all([survivor.stop(), mortal.stop()]);

      // The load was one, and met the kills.
      expect(answered(clients.seen).length).toBeGreaterThan(500);
      expect(
        clients.seen.filter(({ status, whole }) => status === 0 || !whole).length,
      ).toBeGreaterThan(0);
      expect(new Set(clients.seen.map(({ status }) => status))).toEqual(
        new Set([0, 200, 401, 402, 429]),
      );

      const decisions = await verifiedDecisions(store);
      const unrecorded = clients.seen.filter(
        ({ requestId }) => requestId !== null && !decisions.has(requestId),
      );
      // Refusals without a good key and by limits are added up beyond some, and have ids of their
      // own then (docs/evidence.md).
      expect(unrecorded.filter(({ status }) => ![401, 402, 429].includes(status))).toEqual([]);
      const limited = clients.seen.filter(({ status }) => status === 402 || status === 429).length;
      let limitedRecorded = 0;
      for (const { reason, repeated } of decisions.values())
        if (LIMIT_CODES.some((code) => code === reason)) limitedRecorded += repeated;
      expect(limitedRecorded).toBeLessThanOrEqual(limited);
      // A kill takes the newest of one of the two.
      expect(limitedRecorded).toBeGreaterThan(limited / 2);
      expect(
        clients.seen.filter(({ status, requestId }) => status !== 0 && requestId === null),
      ).toEqual([]);

      for (const count of byMinute(answered(ofSmall)).values())
        expect(count).toBeLessThanOrEqual(REQUESTS_PER_MINUTE);
      expect(ofSmall.some(({ status }) => status === 429)).toBe(true);
      expect(
        (provider.answered.get("upstream-metered") ?? 0) * USAGE.total_tokens,
      ).toBeLessThanOrEqual(TOKENS_PER_MONTH);
      expect(answered(ofMetered).length).toBeGreaterThan(20);
      // A spent budget of a month is no rate limit (docs/limits.md).
      expect(ofMetered.some(({ status }) => status === 402)).toBe(true);

      expect(
        ofDoomed.filter(({ status, from }) => status === 200 && from > revokedAt + 1_000),
      ).toEqual([]);
      expect(answered(ofDoomed).length).toBeGreaterThan(20);

      expect(
        survivingStreams.filter((seen) => seen.status !== 200 || !isWholeStream(seen)),
      ).toEqual([]);
      expect(survivingStreams.length).toBeGreaterThan(20);

      let counted = 0;
      for (const workspace of await store.summary.workspaces()) {
        const query = { workspace, from: 0, until: 1_000_000 };
        const { totals } = await summarise(
          (facet) => store.summary.read({ facet, ...query }),
          groupingOf([]),
        );
        counted += totals.requests;
      }
      // What the router answers itself, such as the revocation, is no traffic.
      const traffic = [...decisions.values()].filter(({ operation }) =>
        OPERATIONS.some((known) => known === operation),
      );
      expect(counted).toBe(traffic.reduce((sum, { repeated }) => sum + repeated, 0));
    },
  );
});
