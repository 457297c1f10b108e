import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import postgres from "postgres";

import { evidence } from "../../../src/cli/evidence/evidence.ts";
import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import { runCommand } from "../../keys/command.ts";
import { decisionRecord, outcomeRecord, recordDecision } from "../records.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { NO_POSTGRES, startTestServer, type TestServer } from "./server.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const BATCHES = "signalbox.evidence_batches";

/** Exchanges columns between the batches that end at `a` and `b`. */
const swapped = (a: number, b: number, ...columns: readonly string[]): string =>
  `UPDATE ${BATCHES} AS batch SET ${columns.map((column) => `${column} = other.${column}`).join(", ")}
   FROM ${BATCHES} AS other WHERE batch.last IN (${a}, ${b}) AND other.last = ${a + b} - batch.last`;

const EVERYTHING = ["hash", "lowest", "highest", "workspaces", "records"];

describe.skipIf(NO_POSTGRES !== null)(
  `evidence in PostgreSQL that its owner changed ${NO_POSTGRES ?? ""}`,
  () => {
    let server: TestServer;
    beforeAll(async () => {
      server = await startTestServer();
    });
    afterAll(() => server.close());

    /**
     * Three requests, the last still running: the batches d1, o1, d2, o2, d3, unless a server moved
     * two into the log at once.
     */
    async function filled(): Promise<string> {
      const url = await server.database();
      const store = await openPostgresStore({ url });
      for (const id of ["r1", "r2", "r3"]) {
        await recordDecision(store.evidence, decisionRecord(id));
        await store.evidence.head();
        if (id !== "r3") store.evidence.settle(outcomeRecord(id));
        await store.evidence.flush();
        await store.evidence.head();
      }
      await store.close();
      return url;
    }

    /** Runs a statement past all triggers, as a superuser can. */
    async function tamper(url: string, statement: string): Promise<void> {
      const sql = postgres(url, { max: 1 });
      await sql`SET session_replication_role = replica`;
      const { count } = await sql.unsafe(statement);
      await sql.end();
      expect(count, "rows that the statement changed").toBeGreaterThan(0);
    }

    const verify = (url: string) =>
      runCommand(evidence, ["verify"], {
        cwd: temporaryFolder(),
        environment: { SIGNALBOX_DATABASE_URL: url },
      });

    it("verifies as long as it is unchanged", async () => {
      expect(await verify(await filled())).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("verified 5 rows"),
      });
    });

    it.each([
      [
        "a record",
        `UPDATE ${BATCHES} SET records = overlay(records PLACING 'R' FROM 300) WHERE last = 2`,
        "position 2",
        "hash",
      ],
      [
        "the hash of a batch",
        `UPDATE ${BATCHES} SET hash = repeat('0', 64) WHERE last = 3`,
        "position 3",
        "hash",
      ],
      ["a batch that was removed", `DELETE FROM ${BATCHES} WHERE last = 3`, "position 3", "gap"],
      ["the first batch, removed", `DELETE FROM ${BATCHES} WHERE last = 1`, "position 1", "gap"],
      ["the last batch, removed", `DELETE FROM ${BATCHES} WHERE last = 5`, "position 5", "end"],
      ["the records of two batches, swapped", swapped(3, 5, "records"), "position 3", "hash"],
      ["two batches, swapped", swapped(2, 4, ...EVERYTHING), "position 2", "hash"],
      [
        "the position of a batch",
        `UPDATE ${BATCHES} SET last = 9, first = 9 WHERE last = 4`,
        "position 4",
        "gap",
      ],
      [
        "the workspaces of a batch",
        `UPDATE ${BATCHES} SET workspaces = '{beta}' WHERE last = 3`,
        "position 3",
        "column",
      ],
      [
        "the range of a batch",
        `UPDATE ${BATCHES} SET highest = 'r2' WHERE last = 5`,
        "position 5",
        "column",
      ],
      [
        "the list of running requests",
        "DELETE FROM signalbox.evidence_requests",
        "position 5",
        "column",
      ],
    ])("names %s", async (_, statement, position, cause) => {
      const url = await filled();
      await tamper(url, statement);
      const { code, stderr, stdout } = await verify(url);
      // Its other line is about the log of policies.
      expect([code, stdout]).toEqual([1, expect.not.stringContaining("from the first row on")]);
      expect(stderr).toContain(`the log does not verify at ${position}: `);
      expect(stderr).toContain(`(${cause})`);
    });
  },
);
