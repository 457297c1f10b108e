import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { windowBounds } from "../../../src/limits/windows.ts";
import { COMMON_SQL } from "../../../src/store/common-tables.ts";
import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import { NO_POSTGRES, startTestServer, type TestServer } from "./server.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOW = Date.UTC(2026, 10, 28, 12, 30);

/** Kept counters of two thousand keys: kind, newest start, milliseconds between starts, starts. */
const KEPT = [
  ["minute", "requests", NOW, MINUTE, 10],
  ["hour", "tokens", NOW - 30 * MINUTE, HOUR, 48],
  ["day", "micro_usd", NOW - 12 * HOUR - 30 * MINUTE, DAY, 2],
] as const;

interface Plan {
  readonly "Node Type": string;
  readonly "Index Name"?: string;
  readonly "Actual Rows": number;
  readonly Plans?: readonly Plan[];
}

interface Explained {
  readonly "QUERY PLAN": readonly { readonly Plan: Plan }[];
}

const nodesOf = (plan: Plan): readonly Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

describe.skipIf(NO_POSTGRES !== null)(`the counters of limits ${NO_POSTGRES ?? ""}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  }, 60_000);
  afterAll(() => server.close());

  it("of the present windows are found by the index on their start among 120,000", async () => {
    const url = await server.database();
    const store = await openPostgresStore({ url });
    onTestFinished(() => store.close());
    const sql = postgres(url, { max: 1, connection: { search_path: "signalbox" } });
    onTestFinished(() => sql.end());
    for (const [period, measure, start, step, count] of KEPT) {
      await sql`
        INSERT INTO signalbox.limit_counters (subject, measure, period, start, used)
        SELECT 'key ' || key, ${measure}, ${period}, ${start}::bigint - at * ${step}::bigint, 1
        FROM generate_series(1, 2000) AS key, generate_series(0, ${count - 1}::int) AS at`;
    }
    await sql`ANALYZE signalbox.limit_counters`;
    const [row] = await sql.unsafe<Explained[]>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${COMMON_SQL["limits.readCounters"].replaceAll("?", "$")}`,
      [...windowBounds(NOW), NOW],
    );
    const plan = row?.["QUERY PLAN"][0]?.Plan;
    const nodes = plan === undefined ? [] : nodesOf(plan);
    expect(nodes.map((node) => node["Node Type"])).not.toContain("Seq Scan");
    expect(nodes.flatMap((node) => node["Index Name"] ?? [])).toContain("limit_counters_by_start");
    expect(plan?.["Actual Rows"]).toBe(6_000);
    expect((await store.limits.read(NOW)).counters).toHaveLength(6_000);
  }, 60_000);
});
