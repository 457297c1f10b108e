import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";

import { summarise } from "../../src/governance/summarise.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { groupingOf } from "../governance/agreement.ts";
import { fault } from "./conformance-log.ts";
import { decisionRecord, outcomeRecord, recordDecision } from "./records.ts";
import { temporaryFolder } from "./temporary-folder.ts";

it("any process that writes evidence ends the requests of a dead process in the chain", async () => {
  const path = join(temporaryFolder(), "signalbox.db");
  const [gone, running, reader] = [
    await openSqliteStore({ path }),
    await openSqliteStore({ path }),
    await openSqliteStore({ path }),
  ];
  await Promise.all(
    Array.from({ length: 3 }, (_, index) =>
      recordDecision(gone.evidence, decisionRecord(`gone-${index}`)),
    ),
  );
  await recordDecision(running.evidence, decisionRecord("running"));
  const before = await running.evidence.log({ after: 0, limit: 10 });
  expect((await reader.evidence.processes()).map(({ state }) => state)).toEqual([
    "running",
    "running",
  ]);
  await gone.close();
  expect(await reader.evidence.processes()).toHaveLength(1);
  expect(await reader.evidence.log({ after: 0, limit: 10 })).toEqual(before);
  await expect
    .poll(async () => (await reader.evidence.head()).position, { timeout: 12_000 })
    .toBe(7);

  const reaped = (await reader.evidence.log({ after: 4, limit: 10 })).map(({ kind, record }) => {
    const { requestId, terminal, status }: { requestId: string; terminal: string; status: number } =
      JSON.parse(record);
    return [kind, requestId, terminal, status];
  });
  expect(reaped).toEqual([0, 1, 2].map((index) => ["outcome", `gone-${index}`, "unknown", 0]));
  const entries = await reader.evidence.read({ after: 0, limit: 10 });
  expect(entries.map(({ outcome }) => outcome?.terminal ?? null)).toEqual([
    "unknown",
    "unknown",
    "unknown",
    null,
  ]);
  expect(await fault(reader)).toBeNull();

  // What was reaped has ended in the summary too: or its requests would run for ever.
  const { workspace } = decisionRecord("any");
  const query = { workspace, from: 0, until: 1_000_000 };
  const { totals } = await summarise(
    (facet) => reader.summary.read({ facet, ...query }),
    groupingOf([]),
  );
  expect(totals).toMatchObject({ requests: 4, running: 1 });

  // A process that was only believed dead comes too late; its outcome is counted as lost.
  const database = new DatabaseSync(path);
  database.exec(`UPDATE processes SET seen_at = ${Date.now() - 60_000} WHERE ended_at IS NULL`);
  expect((await reader.evidence.processes()).map(({ state }) => state)).toContain("lost");
  database.exec("UPDATE processes SET seen_at = 1 WHERE ended_at IS NULL");
  database.close();
  expect(await reader.evidence.prune(0, 5)).toEqual({ anchor: null, rows: 0 });
  running.evidence.settle(outcomeRecord("running"));
  await running.evidence.flush();
  expect(running.evidence.health().lost).toBe(1);
  expect(await fault(reader)).toBeNull();
  await Promise.all([running.close(), reader.close()]);
});
