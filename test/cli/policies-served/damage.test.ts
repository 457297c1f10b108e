import { copyFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { openLifecycle } from "../../../src/lifecycle/open-lifecycle.ts";
import { Replica } from "./fixture.ts";

const LONG = { timeout: 180_000 };

/**
 * What only somebody with the database's file in hands can do: the store's own rules are taken away
 * for it.
 */
function tamper(
  { database: path }: Pick<Replica, "database">,
  statement: string,
  ...values: readonly string[]
): void {
  const database = new DatabaseSync(path, { timeout: 5_000 });
  try {
    const triggers = database
      .prepare(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name LIKE 'policy_%'",
      )
      .all();
    for (const { name } of triggers) database.exec(`DROP TRIGGER ${String(name)}`);
    expect(database.prepare(statement).run(...values).changes).toBe(1);
    for (const { sql } of triggers) database.exec(String(sql));
  } finally {
    database.close();
  }
}

const digestOf = (replica: Replica, slot: "enforced" | "candidate"): string =>
  replica.server.policies.lifecycle.states.policies.get("gate")?.[slot]?.digest ?? "";

const LOSE = "DELETE FROM policy_contents WHERE digest = ?";
const DAMAGE =
  "UPDATE policy_contents SET module = CAST(substr(module, 1, length(module) - 1) || x'00' AS BLOB) WHERE digest = ?";
/** A module ends with its description, which is an object. */
const REPAIR =
  "UPDATE policy_contents SET module = CAST(substr(module, 1, length(module) - 1) || '}' AS BLOB) WHERE digest = ?";
const REWRITE =
  "UPDATE policy_contents SET description = replace(description, 'GATE_CLOSED', 'GATE_OPENED') WHERE digest = ?";

describe("contents that cannot be loaded", LONG, () => {
  test("a server with lost, damaged or rewritten enforced content does not start, and names the content and the fix", async () => {
    const replica = await Replica.start("streams");
    replica.write("everything");
    await replica.server.reload();
    const digest = digestOf(replica, "enforced");
    await replica.server.close();
    for (const [name, sql, why] of [
      ["lost", LOSE, "nothing is stored under its digest"],
      ["damaged", DAMAGE, "its module differs from the module in the policy log"],
      ["rewritten", REWRITE, "its description differs from the description in its module"],
    ] as const) {
      const database = `${replica.database}-${name}`;
      copyFileSync(replica.database, database);
      tamper({ database }, sql, digest);
      replica.write("everything");
      await expect(Replica.over(replica.folder, database), name).rejects.toThrow(
        `policy gate: revision r1 is enforced, and its stored content is damaged: ${why}; ` +
          `restore the database from a backup, or give this server the files of that revision (digest ${digest.slice(0, 12)})`,
      );
      // The files of that revision are as good: the combined module has it.
      replica.write("streams");
      const again = await Replica.over(replica.folder, database);
      expect([name, (await again.ask()).status, (await again.ask(true)).status]).toEqual([
        name,
        403,
        200,
      ]);
    }
  });

  test("a server with a damaged candidate starts without it in shadow, and /status reports it", async () => {
    const first = await Replica.start("everything");
    const second = await Replica.start("streams", { database: first.database });
    const digest = digestOf(second, "candidate");
    await second.server.close();
    await first.server.close();
    tamper(first, LOSE, digest);
    const again = await Replica.over(first.folder, first.database);
    const failures: string[] = [];
    again.server.watchPolicies({
      swapped: () => {},
      failed: (contents) => failures.push(...contents.map(({ message }) => message)),
      recovered: () => {},
      differing: () => {},
      suspended: () => {},
    });
    expect(failures).toEqual([
      expect.stringContaining("policy gate: revision r2 is the candidate, and"),
    ]);
    expect(await again.slots()).toEqual({ enforced: "r1" });
    // A background check of kept modules may have found the damage too by now.
    expect((await again.status()).degraded).toContain("policies");
    expect((await again.ask()).status).toBe(200);
  });

  test("a running server keeps its policies where the next set cannot be loaded, and loads it once it can", async () => {
    const replica = await Replica.start("everything");
    let other = await Replica.start("streams", { database: replica.database });
    await other.promote();
    // It had loaded what was enforced before.
    other = await other.restart();
    await eventually(async () => (await replica.ask()).status === 403);
    const former =
      replica.server.policies.lifecycle.states.policies.get("gate")?.former.at(-1) ?? "";
    const { policyLog } = replica.server.store;
    const kept = await policyLog.content(former);
    tamper(replica, DAMAGE, former);
    // A rollback looks at the bytes first; these are damaged when it has looked.
    const sound = { ...policyLog, content: () => Promise.resolve(kept) };
    const reported: string[] = [];
    other.server.watchPolicies({
      swapped: ({ id }) => reported.push(id),
      failed: () => reported.push("failed"),
      recovered: () => reported.push("recovered"),
      differing: () => {},
      suspended: () => {},
    });
    // `replica` has the content in its files; `other` would need the store's.
    await expect(replica.rollBack()).rejects.toThrow("no_bytes");
    await replica.rollBack("gate", await openLifecycle(sound, Date.now));
    await eventually(() => Promise.resolve(reported.includes("failed")));
    expect((await replica.ask()).status).toBe(200);
    expect((await other.ask()).status).toBe(403);
    expect((await other.status()).degraded).toEqual(["policies"]);
    await expect(other.server.policies.apply()).rejects.toThrow(
      "policy gate: revision r1 is enforced",
    );
    await expect(other.server.policies.content(former)).rejects.toThrow("its module differs");
    tamper(replica, REPAIR, former);
    await eventually(async () => (await other.ask()).status === 200);
    expect(reported).toEqual(["failed", (await replica.status()).policy_set, "recovered"]);
    expect((await other.status()).degraded).toEqual([]);
  });
});

async function eventually(holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 15_000;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error("waited in vain");
    await new Promise((done) => {
      setTimeout(done, 50);
    });
  }
}
