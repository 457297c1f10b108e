import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";

import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import { fault } from "../conformance-log.ts";
import { decisionRecord, outcomeRecord } from "../records.ts";
import { NO_POSTGRES, startTestServer, type TestServer } from "./server.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const PATIENT = { bounds: { statementTimeout: 20_000, connectTimeout: 20_000 }, evidence: { maxWait: 30_000 } };

describe.skipIf(NO_POSTGRES !== null)(`batches in PostgreSQL ${NO_POSTGRES ?? ""}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server.close());

  async function decide(url: string, from: number): Promise<void> {
    const store = await openPostgresStore({ url, ...PATIENT });
    const ids = Array.from({ length: 50 }, (_, index) => `r${from + index}`);
    await Promise.all(ids.map((id) => store.evidence.decide(decisionRecord(id))));
    for (const id of ids) store.evidence.settle(outcomeRecord(id));
    await store.evidence.flush();
    expect(await fault(store)).toBeNull();
    const [found] = await store.evidence.read({ after: 0, limit: 1, requestId: `r${from + 7}` });
    expect(found?.outcome?.terminal).toBe("completed");
    await store.close();
  }

  it("are compressed where the server has LZ4; others stay as they are, and verify", async () => {
    const url = await server.database();
    const sql = postgres(url, { max: 1, onnotice: () => undefined });
    await decide(url, 100);
    const { last } = (await sql`SELECT max(last) AS last FROM signalbox.evidence_batches`)[0] ?? {};
    // As a server without LZ4 stores them.
    await sql`ALTER TABLE signalbox.evidence_batches ALTER records SET STORAGE EXTERNAL, ALTER records SET COMPRESSION pglz`;
    await decide(url, 200);
    const rows = await sql`
      SELECT last <= ${last} AS is_compressible, octet_length(records) AS length, pg_column_size(records) AS stored
      FROM signalbox.evidence_batches WHERE octet_length(records) > 8000`;
    const [lz4] = await sql`
      SELECT 'lz4' = ANY (enumvals) AS has FROM pg_settings WHERE name = 'default_toast_compression'`;
    const isCompressed = rows.map(({ length, stored }) => Number(stored) < Number(length) / 5);
    expect(isCompressed).toEqual(rows.map((row) => row["is_compressible"] === true && lz4?.["has"] === true));
    expect(rows.map((row) => row["is_compressible"])).toEqual(expect.arrayContaining([true, false]));
    await sql.end();
  });
});
