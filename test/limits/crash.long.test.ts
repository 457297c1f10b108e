import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { createQuotas, type Reservation } from "../../src/limits/quotas.ts";
import { isPostgresUrl } from "../../src/store/postgres/settings.ts";
import { openStore } from "../../src/server/parts.ts";
import { NO_POSTGRES, startTestServer, type TestServer } from "../store/postgres/server.ts";
import { temporaryFolder } from "../store/temporary-folder.ts";
import { CEILING, CONCURRENCY, LIMITED } from "./crash-limits.ts";

const SPENDER = fileURLToPath(new URL("./crash-spender.ts", import.meta.url));
const LANES = 3;
const ROUNDS = 4;

interface Said {
  readonly settled: number;
  /** The most that was used beyond what was reserved. */
  readonly beyond: number;
  /** When requests ran, milliseconds since the epoch. */
  readonly ran: readonly (readonly [number, number])[];
}

/**
 * Starts a process, kills it without warning at a random moment, and gives what it had said.
 *
 * @param manner `overdraws`: some requests use more than they reserved.
 */
async function killedSpender(database: string, manner: "exact" | "overdraws"): Promise<Said> {
  const child = spawn(process.execPath, [SPENDER, database, manner], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const printed: string[] = [];
  child.stdout.setEncoding("utf8").on("data", (text: string) => printed.push(text));
  const exited = once(child, "close");
  await Promise.race([once(child.stdout, "data"), exited]);
  await delay(100 + Math.random() * 400);
  const killedAt = Date.now();
  child.kill("SIGKILL");
  await exited;
  const lines = printed.join("").split("\n").slice(0, -1);
  const figures = lines
    .map((line) => line.split(" "))
    .map(([label = "", ...rest]) => ({ label, rest: rest.map(Number) }));
  const sum = (name: string): number =>
    figures.reduce((total, { label, rest }) => total + (label === name ? (rest[0] ?? 0) : 0), 0);
  const ended = new Map<number, number>();
  for (const { label, rest } of figures)
    if (label === "ended") ended.set(rest[0] ?? 0, rest[1] ?? 0);
  const ran = figures.flatMap(({ label, rest: [at = 0] }) =>
    label === "began" ? [[at, ended.get(at) ?? Math.max(at, killedAt)] as const] : [],
  );
  return { settled: sum("settled"), beyond: sum("intends"), ran };
}

/** How many ran at the busiest moment. */
function mostAtOnce(ran: readonly (readonly [number, number])[]): number {
  const events = ran.flatMap(([from, to]) => [[from, 1] as const, [to, -1] as const]);
  let [now, most] = [0, 0];
  for (const [, change] of events.toSorted(
    (left, right) => left[0] - right[0] || left[1] - right[1],
  )) {
    now += change;
    most = Math.max(most, now);
  }
  return most;
}

/** What every engine does for processes that are killed. @param database a new, empty one */
function crashLaws(newDatabase: () => Promise<string>): void {
  it.each(["exact", "overdraws"] as const)(
    "limits hold while processes are killed at random: %s",
    { timeout: 120_000 },
    async (manner) => {
      const database = await newDatabase();
      // Migrated once, so that no process dies doing it.
      await (await openStore(database)).close();
      const said: Said[] = [];
      const lane = async (): Promise<void> => {
        for (let round = 0; round < ROUNDS; round += 1) {
          said.push(await killedSpender(database, manner));
          await expireLeases(database);
        }
      };
      await Promise.all(Array.from({ length: LANES }, lane));
      const settled = said.reduce((sum, one) => sum + one.settled, 0);
      const beyond = said.reduce((sum, one) => sum + one.beyond, 0);
      expect(settled).toBeGreaterThan(CEILING / 10);
      if (manner === "exact") expect(beyond).toBe(0);

      const store = await openStore(database);
      const used = async (): Promise<number> =>
        (await store.limits.read(Date.now())).counters.reduce(
          (sum, counter) => sum + counter.used,
          0,
        );
      expect(await used()).toBeGreaterThanOrEqual(settled);
      expect(await used()).toBeLessThanOrEqual(CEILING + beyond);

      // The slots of the dead are free when their leases are over, and no more than there are.
      await expireLeases(database);
      const quotas = createQuotas({ store: store.limits, holder: "last", now: Date.now });
      const running: Reservation[] = [];
      for (;;) {
        const result = await quotas.reserve(
          [{ ...LIMITED, limits: { ...LIMITED.limits, budget: null } }],
          ONE,
          1_000,
        );
        if (result === null || "refused" in result) break;
        running.push(result);
      }
      expect(running).toHaveLength(CONCURRENCY);
      for (const one of running) quotas.releaseReservation(one);

      // What is left is given out to the last unit, and not one more.
      for (;;) {
        const result = await quotas.reserve([LIMITED], ONE, 1_000);
        if (result === null || "refused" in result) break;
        await quotas.settle(result, ONE);
      }
      expect(await used()).toBeGreaterThanOrEqual(CEILING);
      expect(await used()).toBeLessThanOrEqual(CEILING + beyond);
      await quotas.close();
      await store.close();
    },
  );

  it("slots of requests under way stay reserved while their processes live", async () => {
    const database = await newDatabase();
    await (await openStore(database)).close();
    const said = await Promise.all(
      Array.from({ length: 4 }, () => killedSpender(database, "exact")),
    );
    // Their clocks and the order of what they say are exact to a millisecond or so: ends are said
    // before slots are given up.
    expect(mostAtOnce(said.flatMap(({ ran }) => ran))).toBeLessThanOrEqual(CONCURRENCY);
    expect(mostAtOnce(said.flatMap(({ ran }) => ran))).toBeGreaterThan(4);
  });
}

describe("SQLite", () => {
  crashLaws(() => Promise.resolve(join(temporaryFolder(), "signalbox.db")));
});

describe.skipIf(NO_POSTGRES !== null)(`PostgreSQL ${NO_POSTGRES ?? ""}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  }, 60_000);
  afterAll(() => server.close());
  crashLaws(() => server.database());
});

const ONE = { requests: 1, tokens: 1, micro_usd: 0 };

/** As if the time of the leases of the dead had passed; those who live renew theirs. */
async function expireLeases(database: string): Promise<void> {
  if (isPostgresUrl(database)) {
    const sql = postgres(database, { max: 1 });
    await sql`UPDATE signalbox.limit_slots SET until = until - 60000`;
    await sql.end();
    return;
  }
  const opened = new DatabaseSync(database, { timeout: 5_000 });
  opened.exec("UPDATE limit_slots SET until = until - 60000");
  opened.close();
}
