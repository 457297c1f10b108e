import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { readVerifiedPolicyLog } from "./policy-log-rows.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const WRITER = fileURLToPath(new URL("./policy-log-writer.ts", import.meta.url));
const LANES = 3;
const ROUNDS = 4;

interface Acknowledged {
  readonly writer: string;
  /** Hashes of the rows of each append, in the order of the acknowledgements. */
  readonly appends: readonly (readonly string[])[];
}

/**
 * Starts a writer, kills it without warning at a random moment after its first append, and gives
 * what it had acknowledged.
 */
async function killedWriter(path: string, writer: string): Promise<Acknowledged> {
  const child = spawn(process.execPath, [WRITER, path, writer], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const printed: string[] = [];
  child.stdout.setEncoding("utf8").on("data", (text: string) => printed.push(text));
  const exited = once(child, "close");
  await Promise.race([once(child.stdout, "data"), exited]);
  await delay(Math.random() * 150);
  child.kill("SIGKILL");
  await exited;
  // The last piece is a line that was cut off, or empty.
  const lines = printed.join("").split("\n").slice(0, -1);
  return { writer, appends: lines.map((line) => line.split(" ")) };
}

it(
  `has every acknowledged append whole and once over ${LANES * ROUNDS} kills among processes that race`,
  {
    timeout: 120_000,
  },
  async () => {
    const path = join(temporaryFolder(), "signalbox.db");
    const acknowledged = (
      await Promise.all(
        Array.from({ length: LANES }, async (_, lane) => {
          const killed: Acknowledged[] = [];
          for (let round = 0; round < ROUNDS; round += 1)
            killed.push(await killedWriter(path, `${lane}-${round}`));
          return killed;
        }),
      )
    ).flat();
    // Each was waited for until its first one, so none was kept out by the others.
    expect(acknowledged.filter(({ appends }) => appends.length === 0)).toEqual([]);

    const database = new DatabaseSync(path);
    expect(database.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    database.close();
    const store = await openSqliteStore({ path });
    const rows = await readVerifiedPolicyLog(store.policyLog);
    const positions = new Map(rows.map(({ hash, position }) => [hash, position]));
    for (const { appends } of acknowledged) {
      for (const [first = "", second = ""] of appends) {
        expect(positions.get(first)).toBeGreaterThan(0);
        expect(positions.get(second)).toBe((positions.get(first) ?? 0) + 1);
      }
    }
    // All or none of each append, of those whose acknowledgement was lost too.
    const ids = rows.map(({ record }) =>
      String((JSON.parse(record) as { readonly policy: unknown }).policy),
    );
    expect(new Set(ids).size).toBe(ids.length);
    for (let index = 0; index < ids.length; index += 2)
      expect(ids[index]?.replace(/a$/, "b")).toBe(ids[index + 1]);
    await store.close();
  },
);
