import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runCommands } from "../../../src/cli/commands.ts";
import { runCommand, type Ran } from "../../keys/command.ts";
import { startTestServer } from "../../support/server.ts";
import { temporaryFolder, GIT_ENVIRONMENT, writeTo } from "./repository.ts";

const EXAMPLES = join(import.meta.dirname, "../../../docs/examples");
const POLICY = readFileSync(join(EXAMPLES, "eu-fallback/policies/eu-residency.rego"), "utf8");

/**
 * The example of docs/simulate.md with its policy in shadow, and a hospital that may go anywhere.
 */
function routes(example: string): string {
  return readFileSync(join(EXAMPLES, example, "routes.yaml"), "utf8")
    .replace("eu-residency: enforce", "eu-residency: shadow")
    .replace("regions: [eu]\n", "regions: [eu, us]\n")
    .replace("providers: [openai-eu, mistral-eu]", "providers: [openai-eu, openai-us, mistral-eu]");
}

const LIBRARY = readFileSync(join(EXAMPLES, "eu-fallback/policies/lib/workspace.rego"), "utf8");

function folders(policy: string = POLICY): string {
  const cwd = temporaryFolder();
  writeTo(join(cwd, "base"), {
    "routes.yaml": routes("eu-fallback"),
    "policies/eu-residency.rego": POLICY,
    "policies/lib/workspace.rego": LIBRARY,
  });
  writeTo(join(cwd, "head"), {
    "routes.yaml": routes("us-fallback"),
    "policies/eu-residency.rego": policy,
    "policies/lib/workspace.rego": LIBRARY,
  });
  return cwd;
}

function simulate(cwd: string, ...argv: readonly string[]): Promise<Ran> {
  const sides = ["--base", "./base", "--head", "./head", "--fail-on", "less_permissive"];
  return runCommand(runCommands, ["simulate", ...sides, ...argv], {
    cwd,
    environment: GIT_ENVIRONMENT,
  });
}

async function digestIn(cwd: string, side: "base" | "head"): Promise<string> {
  const { stdout } = await simulate(cwd, "--format", "json");
  const report: Record<string, { policies: { digest: string; from?: string }[] }> =
    JSON.parse(stdout);
  const own = report[side]?.policies.find(({ from }) => from === undefined || from === side);
  return own?.digest ?? "";
}

/** The output of `signalbox policy list --format json`, as far as it is read. */
function listOf(enforced: object | null): string {
  return JSON.stringify({ object: "list", data: [{ id: "eu-residency", enforced }] });
}

describe("signalbox simulate --policies", () => {
  test("judges a policy that a server has promoted as enforced: the change breaks at once", async () => {
    const cwd = folders();
    expect((await simulate(cwd)).code).toBe(0);
    const digest = await digestIn(cwd, "base");
    writeTo(cwd, { "served.json": listOf({ content: "rules", digest, revision: "r1" }) });
    const { code, stderr } = await simulate(cwd, "--policies", "served.json");
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: "signalbox simulate: policies as the server enforces them: eu-residency\n",
    });
  });

  test("keeps a policy that the server does not enforce in shadow, despite initial_mode: enforce", async () => {
    const cwd = folders();
    for (const side of ["base", "head"]) {
      const text = readFileSync(join(cwd, side, "routes.yaml"), "utf8");
      writeTo(cwd, { [`${side}/routes.yaml`]: text.replace(": shadow", ": enforce") });
    }
    expect((await simulate(cwd)).code).toBe(3);
    writeTo(cwd, { "served.json": listOf(null) });
    expect((await simulate(cwd, "--policies", "served.json")).code).toBe(0);
  });

  test("content that only head has is enforced on both sides if the server enforces it", async () => {
    const cwd = folders(POLICY.replace("title: ", "title: Always "));
    const digest = await digestIn(cwd, "head");
    writeTo(cwd, { "served.json": listOf({ content: "rules", digest, revision: "r2" }) });
    expect((await simulate(cwd, "--policies", "served.json")).code).toBe(3);
  });

  test("content that neither side has is an error that names the policy and its revision", async () => {
    const cwd = folders();
    const unknown = { content: "rules", digest: "0".repeat(64), revision: "r7" };
    writeTo(cwd, { "served.json": listOf(unknown), "other.json": "[]" });
    expect(await simulate(cwd, "--policies", "served.json")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("eu-residency r7") as string,
    });
    expect((await simulate(cwd, "--policies", "other.json")).stderr).toContain(
      "--policies: is not the output of signalbox policy list --format json",
    );
    expect(await simulate(cwd, "--policies", "served.json", "--fresh")).toMatchObject({ code: 2 });
    expect(await simulate(cwd, "--server", "http://127.0.0.1:9")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("SIGNALBOX_KEY") as string,
    });
  });
});

describe("signalbox simulate --server", () => {
  test("judges base by the policies that the running server enforces, despite initial_mode: shadow", async () => {
    const example = readFileSync(join(EXAMPLES, "eu-fallback/routes.yaml"), "utf8");
    const started = await startTestServer(() =>
      example.replaceAll("_API_KEY }", "_API_KEY }, on_missing_secret: simulate"),
    );
    const { server, folder } = started;
    const cwd = temporaryFolder();
    for (const side of ["base", "head"]) {
      cpSync(join(folder, "policies"), join(cwd, side, "policies"), {
        recursive: true,
        // Without the assertions, which are about other workspaces.
        filter: (path) => !path.endsWith(".yaml"),
      });
      const routesText = example.replace("eu-residency: enforce", "eu-residency: shadow");
      writeTo(cwd, { [`${side}/routes.yaml`]: routesText });
    }
    const slots = async (environment: Record<string, string>, ...argv: readonly string[]) => {
      const { code, stdout, stderr } = await runCommand(
        runCommands,
        ["simulate", "--base", "./base", "--head", "./head", "--format", "json", ...argv],
        { cwd, environment: { ...GIT_ENVIRONMENT, ...environment } },
      );
      const policies: { id: string; slot: string }[] =
        code === 0 ? JSON.parse(stdout).base.policies : [];
      return { code, stderr, slots: policies.map(({ id, slot }) => `${id} ${slot}`) };
    };
    const flags = ["--server", server.url];
    const reading = { SIGNALBOX_KEY: await started.key("website", ["governance:read"]) };
    const alone = await slots({});
    expect(alone.slots).toContain("eu-residency candidate");
    const served = await slots(reading, ...flags);
    expect(served.code, served.stderr).toBe(0);
    expect(served.stderr).toMatch(/policies as the server enforces them: .*\beu-residency\b/);
    expect(served.slots).toContain("eu-residency enforced");

    const other = { SIGNALBOX_KEY: await started.key("website", ["inference"]) };
    expect(await slots(other, ...flags)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("SIGNALBOX_KEY: The service key lacks") as string,
    });
    expect(await slots({ SIGNALBOX_KEY: "sbx_wrong" }, ...flags)).toMatchObject({ code: 1 });
  });
});
