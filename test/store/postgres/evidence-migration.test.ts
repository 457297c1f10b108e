import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";

import { asIdentifier } from "../../../src/evidence/record.ts";
import { summarise } from "../../../src/governance/summarise.ts";
import { MIGRATIONS } from "../../../src/store/postgres/migrate.ts";
import { openPostgresStore, type PostgresStore } from "../../../src/store/postgres/open.ts";
import { groupingOf } from "../../governance/agreement.ts";
import { fault } from "../conformance-log.ts";
import { decisionRecord, outcomeRecord } from "../records.ts";
import { NO_POSTGRES, startTestServer, type TestServer } from "./server.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const PATIENT = { bounds: { statementTimeout: 20_000, connectTimeout: 20_000 }, evidence: { maxWait: 30_000 } };

/** The last version with a row for each record. */
const FORMER = 10;

describe.skipIf(NO_POSTGRES !== null)(`evidence of the version before batches ${NO_POSTGRES ?? ""}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server.close());

  const operator = (url: string): postgres.Sql => {
    const sql = postgres(url, { max: 1, onnotice: () => undefined });
    onTestFinished(() => sql.end({ timeout: 0 }));
    return sql;
  };
  const open = async (url: string): Promise<PostgresStore> => {
    const store = await openPostgresStore({ url, ...PATIENT });
    onTestFinished(() => store.close());
    return store;
  };

  /** As two processes of that version wrote it: 600 requests, of which some run and the first was pruned. */
  async function former(): Promise<string> {
    const url = await server.database();
    const sql = operator(url);
    await sql`CREATE SCHEMA signalbox`;
    await sql`CREATE TABLE signalbox.migrations (version integer PRIMARY KEY, name text, applied_at timestamptz DEFAULT now())`;
    for (const { version, name, sql: step } of MIGRATIONS.filter((one) => one.version <= FORMER)) {
      if (typeof step !== "string") throw new Error("the former versions are statements only");
      await sql.unsafe(step);
      await sql`INSERT INTO signalbox.migrations (version, name) VALUES (${version}, ${name})`;
    }
    await sql`INSERT INTO signalbox.evidence_processes (started_at, seen_at) VALUES (1, signalbox.now_ms()), (1, signalbox.now_ms())`;
    const append = (process: number, items: readonly object[]) =>
      sql`SELECT signalbox.append_evidence(${process}, ${JSON.stringify(items)}::text::json)`;
    const requests = Array.from({ length: 600 }, (_, index) => `req_${String(index).padStart(6, "0")}`);
    const decisions = requests.map((id, index) => {
      const workspace = index % 2 === 0 ? asIdentifier("grüße") : asIdentifier("acme");
      return { k: "decision", r: id, a: 1, w: workspace, t: JSON.stringify(decisionRecord(id, { workspace, at: 1 })) };
    });
    const outcomes = requests.map((id) => ({
      k: "outcome",
      r: id,
      a: 2,
      t: JSON.stringify({ ...outcomeRecord(id), at: 2 }),
    }));
    await append(1, [...decisions.slice(0, 1), ...outcomes.slice(0, 1)]);
    await sql`SELECT signalbox.fold_roll_ups(0, 2, '[]')`;
    await sql`SELECT signalbox.prune_evidence(2, 5)`;
    await append(2, decisions.slice(1, 300));
    await append(1, [...decisions.slice(300), ...outcomes.slice(300, 598)]);
    await append(2, outcomes.slice(1, 299));
    return url;
  }
  const stopServers = (url: string) =>
    operator(url)`UPDATE signalbox.evidence_processes SET ended_at = seen_at WHERE id < 3`;

  it("is taken over row by row, verifies from its anchor, and holds many records in a row", async () => {
    const url = await former();
    await stopServers(url);
    const sql = operator(url);
    const old = await sql`SELECT * FROM signalbox.evidence_log ORDER BY position`;
    const running = await sql`SELECT position FROM signalbox.evidence_open ORDER BY position`;
    const store = await open(url);
    const rows = await store.evidence.log({ after: 0, limit: 10_000 });
    expect(
      rows.map(({ position, kind, record, hash, columns }) => ({ position, kind, record, hash, ...columns })),
    ).toEqual(
      old.map(({ position, kind, record, hash, request_id: requestId, at, workspace }) => ({
        position: Number(position),
        kind: String(kind),
        record: String(record),
        hash: String(hash),
        requestId: String(requestId),
        at: Number(at),
        workspace: String(workspace),
        isFound: true,
      })),
    );
    expect(rows).toHaveLength(1_195);
    expect(await fault(store)).toBeNull();
    expect(await store.evidence.openDecisions()).toEqual(running.map(({ position }) => Number(position)));
    expect(running).toHaveLength(3);
    const [batches] = await sql`SELECT count(*)::int AS count FROM signalbox.evidence_batches`;
    expect(batches?.["count"]).toBeLessThan(12);
    for (const requestId of ["req_000001", "req_000450"]) {
      const entries = await store.evidence.read({ after: 0, limit: 1, requestId });
      expect(entries).toMatchObject([{ decision: { requestId }, outcome: { terminal: "completed" } }]);
    }
  });

  it("is counted, goes on, ends what its servers left, and can be pruned", async () => {
    const url = await former();
    await stopServers(url);
    const store = await open(url);
    const counts = async () => {
      const sums = { requests: 0, running: 0 };
      for (const workspace of await store.summary.workspaces()) {
        const { totals } = await summarise(
          (facet) => store.summary.read({ workspace, facet, from: 0, until: 1_000_000 }),
          groupingOf([]),
        );
        sums.requests += totals.requests;
        sums.running += totals.running ?? 0;
      }
      return sums;
    };
    expect(await counts()).toEqual({ requests: 599, running: 3 });
    await store.evidence.decide(decisionRecord("req_next", { workspace: asIdentifier("acme"), at: 9 }));
    await expect(store.evidence.decide(decisionRecord("req_000299"))).rejects.toThrow("recorded already");
    store.evidence.settle({ ...outcomeRecord("req_next"), at: 9 });
    await store.evidence.flush();
    await store.tend();
    expect(await counts()).toEqual({ requests: 600, running: 0 });
    expect(await fault(store)).toBeNull();
    const [reaped] = await store.evidence.read({ after: 0, limit: 1, requestId: "req_000299" });
    expect(reaped?.outcome?.terminal).toBe("unknown");
    const ended = await store.evidence.log({ after: 1_199, limit: 1 });
    expect(ended[0]?.columns.workspace).toBe("acme");
    expect(await store.evidence.prune(Number.MAX_SAFE_INTEGER, 20)).toMatchObject({ rows: 1_200 });
    expect(await counts()).toEqual({ requests: 600, running: 0 });
  });

  it("stays as it is while a server of that version runs on it, whatever command is run", async () => {
    const url = await former();
    await expect(openPostgresStore({ url, create: false, ...PATIENT })).rejects.toThrow(
      "in use by a server of an older version",
    );
    const sql = operator(url);
    const [row] = await sql`SELECT max(version) AS version FROM signalbox.migrations`;
    expect(row?.["version"]).toBe(FORMER);
    expect(await sql`SELECT count(*)::int AS count FROM signalbox.evidence_log`).toEqual([{ count: 1_195 }]);
    await stopServers(url);
    expect((await (await open(url)).evidence.head()).position).toBe(1_197);
  });
});
