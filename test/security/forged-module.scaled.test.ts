import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { evidence } from "../../src/cli/evidence/evidence.ts";
import { policy as policyCommand } from "../../src/cli/policy/policy.ts";
import { openStore } from "../../src/server/parts.ts";
import { compilePolicies, decideModule } from "../../src/policy/compile-policies.ts";
import type { CompiledPolicy, PolicyModule } from "../../src/policy/compiled.ts";
import { storedContent } from "../../src/policy/kept-content.ts";
import { buildDigest } from "../../src/policy/toolchain/toolchain.ts";
import type { StoredContent } from "../../src/canon/policy.ts";
import { temporaryFolder } from "../cli/simulate/repository.ts";
import { Replica, RULES, type Rules } from "../cli/policies-served/fixture.ts";
import { runCommand } from "../keys/command.ts";
import { policySource } from "../policy/samples.ts";
import { TEST_CACHE } from "../support/cache.ts";
import { fewOrMany } from "../support/long.ts";

/** `npm test` has one false claim that a server meets, a promotion and a damaged content. */
const LONG = fewOrMany(false, true);

interface Compiled {
  readonly policy: CompiledPolicy;
  readonly module: PolicyModule;
}

async function compiled(rules: Rules): Promise<Compiled> {
  const source = policySource(
    "gate",
    { open: "{effect: gate, reasons: [GATE_CLOSED]}" },
    RULES[rules],
  );
  const { policies, modules } = await compilePolicies([source], { cache: TEST_CACHE });
  const [[policy], [module]] = [policies, modules];
  if (policy === undefined || module === undefined) throw new Error("the policy does not compile");
  return { policy, module };
}

const buildOf = ({ policy }: Compiled): Promise<string> =>
  buildDigest(decideModule([policy]).request);

/** The module of other rules under the digest of honest ones. */
function forged({ policy }: Compiled, { module }: Compiled, build: string): StoredContent {
  const units = module.units.map((unit) => ({ ...unit, policy }));
  return storedContent(policy, { ...module, units }, build);
}

/** A server whose store had the content before it began, and which enforces it; stopped. */
async function poisoned(content: StoredContent, rules: Rules): Promise<Replica> {
  const database = join(temporaryFolder(), "signalbox.db");
  const store = await openStore(database);
  await store.policyLog.keep(content);
  await store.close();
  const replica = await Replica.start(rules, { database });
  await replica.server.close();
  return replica;
}

const run = (command: typeof evidence, argv: readonly string[], { database }: Replica) =>
  runCommand(command, [...argv, "--database", database]);

describe("a module in the store that its sources do not compile to", { timeout: 180_000 }, () => {
  const claims = [
    ["that claims this compiler", (honest: Compiled) => buildOf(honest), "differs", 1],
    ["that claims another compiler", () => Promise.resolve("0".repeat(64)), "other compiler", 0],
  ] as const;

  test.for(fewOrMany<readonly (typeof claims)[number][]>(claims.slice(0, 1), claims))(
    "%s: is not run by a server that needs it",
    async ([, build, result, code]) => {
      const [honest, weak] = [await compiled("nothing"), await compiled("everything")];
      const first = await poisoned(forged(honest, weak, await build(honest)), "nothing");
      // Everything that is hashed agrees: the log names the forged module.
      expect((await run(evidence, ["verify"], first)).code).toBe(0);
      // Files that have moved on: what is enforced can come from the store only.
      first.write("streams");
      const replica = await Replica.over(first.folder, first.database);
      expect((await replica.ask()).status).toBe(403);
      expect((await replica.ask(true)).status).toBe(403);
      const isReported = result === "differs";
      expect(replica.server.built.drifts.map(({ drift }) => drift).includes("module_differs")).toBe(
        isReported,
      );
      expect((await replica.status()).degraded).toEqual(isReported ? ["policy_modules"] : []);
      await replica.server.close();
      const verified = await run(policyCommand, ["verify"], first);
      expect(verified.code).toBe(code);
      expect((await run(policyCommand, ["verify", "--strict"], first)).code).toBe(1);
      expect(verified.stdout).toMatch(new RegExp(`^gate +r1 +\\w{12} +${result}$`, "m"));
      expect(verified.stdout).toMatch(/^other +r1 +\w{12} +matches$/m);
      expect(verified.stdout).toMatch(/^gate +r2 +\w{12} +matches$/m);
    },
  );

  test.runIf(LONG)(
    "a server with the content in its files enforces those, and reports the store's after its start",
    async () => {
      const [honest, weak] = [await compiled("nothing"), await compiled("everything")];
      const first = await poisoned(forged(honest, weak, await buildOf(honest)), "nothing");
      const replica = await Replica.over(first.folder, first.database);
      expect((await replica.ask()).status).toBe(403);
      await expect.poll(async () => (await replica.status()).degraded).toEqual(["policy_modules"]);
    },
  );

  test("a promotion is simulated with the compiled sources, and rolled back to them", async () => {
    const [honest, weak] = [await compiled("nothing"), await compiled("everything")];
    const first = await poisoned(forged(honest, weak, await buildOf(honest)), "nothing");
    first.write("everything");
    const replica = await Replica.over(first.folder, first.database);
    const digest =
      replica.server.policies.lifecycle.states.policies.get("gate")?.candidate?.digest ?? "";
    const simulated = await replica.server.policies.simulate("gate", digest);
    // With the forged module nothing would change.
    expect(JSON.stringify(simulated)).toContain("newly_allowed");
    await replica.promote();
    expect((await replica.ask()).status).toBe(200);
    const again = await replica.restart();
    await again.rollBack();
    expect((await again.ask()).status).toBe(403);
  });

  test.runIf(LONG)("a description that denies a policy's reads changes no answer", async () => {
    const honest = await compiled("streams");
    const lying = { ...honest, policy: { ...honest.policy, reads: [] } };
    const first = await poisoned(forged(lying, honest, await buildOf(honest)), "streams");
    first.write("everything");
    const replica = await Replica.over(first.folder, first.database);
    expect([(await replica.ask(true)).status, (await replica.ask()).status]).toEqual([200, 403]);
  });
});

describe("signalbox policy verify", () => {
  test("names the damaged content and the damage", { timeout: 180_000 }, async () => {
    const honest = await compiled("nothing");
    const first = await poisoned(
      storedContent(honest.policy, honest.module, await buildOf(honest)),
      "nothing",
    );
    const database = new DatabaseSync(first.database);
    for (const { name } of database
      .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'")
      .all()) {
      database.exec(`DROP TRIGGER ${String(name)}`);
    }
    database.prepare("DELETE FROM policy_contents WHERE digest = ?").run(honest.policy.digest);
    database.close();
    const { code, stdout } = await run(policyCommand, ["verify"], first);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^gate +r1 +\w{12} +damaged: nothing is stored under its digest$/m);
    expect(stdout).toContain("2 contents: 1 matches, 1 damaged\n");
  });

  test("prints that no policies are stored", async () => {
    const database = join(temporaryFolder(), "signalbox.db");
    await (await openStore(database)).close();
    const { code, stdout } = await runCommand(policyCommand, ["verify", "--database", database]);
    expect([code, stdout]).toEqual([0, "No policies are stored.\n"]);
    rmSync(database);
    expect((await runCommand(policyCommand, ["verify", "--database", database])).code).toBe(1);
  });
});
