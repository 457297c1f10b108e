import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { check } from "../../src/cli/check.ts";
import { ASSERTION_CODES } from "../../src/simulate/assertions/codes.ts";
import { CLEAN } from "../compile/base.ts";
import { TEST_CACHE_FOLDER } from "../support/cache.ts";
import { gatePolicy } from "./policy-folder.ts";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-check-"));
  mkdirSync(join(folder, "policies"));
  writeFileSync(join(folder, "policies/eu-residency.rego"), gatePolicy("eu-residency"));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function run(text: string, ...argv: readonly string[]) {
  writeFileSync(join(folder, "routes.yaml"), text);
  let stdout = "";
  let stderr = "";
  const cache = argv.includes("--cache") ? [] : ["--cache", TEST_CACHE_FOLDER];
  const code = await check([...argv, ...cache], {
    stdout: (written) => void (stdout += written),
    stderr: (written) => void (stderr += written),
    environment: {},
    cwd: folder,
  });
  return { code, stdout, stderr };
}

const BROKEN = CLEAN.replace("region: us-east", "region: us-est");
const WORKSPACE = "acme";
const DOUBTFUL = CLEAN.replace("      routes: [chat]", "      routes: []");

describe("signalbox check", () => {
  test("a file without findings exits with 0 and prints the size of the table", async () => {
    expect(await run(CLEAN)).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /^routes\.yaml: 1 routes, 2 endpoints, 1 workspaces, table [0-9a-f]{12}\n$/,
      ) as string,
      stderr: "",
    });
  });

  test("a comment with a reason accepts a warning; one without effect is a warning", async () => {
    const code = "APPROVAL_EMPTY";
    const doubtful = DOUBTFUL.replace(
      /^ {2}chat: \{.*$/m,
      "$& # signalbox: accept UNREACHABLE_ROUTE because it is for later",
    );
    const line = "      routes: []";
    const accept = (comment: string): string =>
      doubtful.replace(line, `      # signalbox: accept ${comment}\n${line}`);
    const deliberate = await run(accept(`${code} because it has no callers yet`), "--strict");
    expect(deliberate.stdout).toContain(`accepted ${code} routes.yaml:`);
    expect(deliberate.stdout).toContain("it has no callers yet");
    expect(deliberate.code).toBe(0);
    const behind = doubtful.replace(line, `${line} # signalbox: accept ${code} because later`);
    expect((await run(behind, "--strict")).code).toBe(0);
    for (const comment of [code, `${code} because`, "MODEL_UNUSED because it is elsewhere"]) {
      const { code: exit, stdout } = await run(accept(comment), "--strict");
      expect([exit, stdout], comment).toEqual([
        1,
        expect.stringContaining("warning ACCEPTANCE_UNUSED") as string,
      ]);
    }
    const json: Record<string, unknown> = JSON.parse(
      (await run(accept(`${code} because of tests`), "--format", "json")).stdout,
    );
    expect(json).toMatchObject({
      warnings: 0,
      accepted: [{ code: "UNREACHABLE_ROUTE" }, { code, reason: "of tests" }],
    });
    const sarif = await run(accept(`${code} because of tests`), "--format", "sarif");
    expect(sarif.stdout).toContain('"justification": "of tests"');
  });

  test("a comment at the head of a policy accepts a warning about the file", async () => {
    const policy = `# signalbox: accept POLICY_REGION_UNKNOWN because it comes later\n${gatePolicy("eu-residency")}`;
    writeFileSync(join(folder, "policies/eu-residency.rego"), policy);
    expect((await run(CLEAN, "--strict")).stdout).toContain("eu-residency.rego:1:1");
    expect((await run(CLEAN, "--strict")).stdout).not.toContain("POLICY_WAIVER");
  });

  test("a file with an error exits with 1 and shows the line with a caret", async () => {
    const { code, stdout } = await run(BROKEN);
    expect(code).toBe(1);
    expect(stdout).toContain("error UNKNOWN_REGION: there is no region `us-est`");
    expect(stdout).toContain("did you mean `us-east`?");
    expect(stdout).toMatch(/ {4}region: us-est\n +\| {13}\^/);
    expect(stdout).not.toContain("table");
  });

  test("a file with a warning exits with 0, and with 1 under --strict", async () => {
    expect((await run(DOUBTFUL)).code).toBe(0);
    const strict = await run(DOUBTFUL, "--strict");
    expect(strict.code).toBe(1);
    expect(strict.stdout).toContain("warning APPROVAL_EMPTY");
  });

  test("policies in the folder beside the file are compiled too", async () => {
    writeFileSync(join(folder, "policies/eu-residency.rego"), "package x\n\np if {\n");
    const { code, stdout } = await run(CLEAN, "--cache", "kept");
    expect(code).toBe(1);
    expect(stdout).toContain("error POLICY_SYNTAX: ");
    expect(stdout).toMatch(/--> policies\/eu-residency\.rego:\d/);
    expect(readdirSync(join(folder, "kept"))).toHaveLength(1);
  });

  test("initial modes are checked against the policies beside the file", async () => {
    const { stdout } = await run(
      `${CLEAN}\npolicies: { initial_mode: { eu-residancy: enforce } }\n`,
    );
    expect(stdout).toContain("UNKNOWN_POLICY");
    expect(stdout).toContain("did you mean `eu-residency`?");
  });

  test("a test or a library is not counted as a policy", async () => {
    mkdirSync(join(folder, "rules/lib/lib"), { recursive: true });
    for (const name of ["own.rego", "own_test.rego", "lib/names.rego"])
      writeFileSync(join(folder, "rules/lib", name), "x");
    const { stdout } = await run(
      `${CLEAN}\npolicies: { dir: rules/lib/, initial_mode: { own: enforce, names: enforce } }\n`,
    );
    expect(stdout.match(/error UNKNOWN_POLICY/g)).toHaveLength(1);
    expect(stdout).toContain("there is no policy `names` in `rules/lib`");
    expect(stdout).toContain("known here: `own`\n");
  });

  test("machine formats write their document alone, also for a clean file", async () => {
    expect(JSON.parse((await run(CLEAN, "--format", "json")).stdout)).toMatchObject({
      errors: 0,
      revision: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    expect(JSON.parse((await run(BROKEN, "--format", "json")).stdout)).toMatchObject({
      errors: 1,
      revision: null,
    });
    expect(JSON.parse((await run(BROKEN, "--format", "sarif")).stdout)).toMatchObject({
      version: "2.1.0",
    });
    expect((await run(BROKEN, "--format", "github")).stdout).toMatch(
      /^::error file=routes\.yaml,line=14,col=13,title=UNKNOWN_REGION::/,
    );
    expect((await run(CLEAN, "--format", "github")).stdout).toBe("");
  });

  test("paths are those of the checkout", async () => {
    mkdirSync(join(folder, "deploy"));
    writeFileSync(join(folder, "deploy/eu.yaml"), BROKEN);
    expect((await run(CLEAN, "--config", "deploy/eu.yaml", "--format", "github")).stdout).toContain(
      "file=deploy/eu.yaml",
    );
  });

  test("a missing file is an error, not a crash", async () => {
    const { code, stdout } = await run(CLEAN, "--config", "elsewhere.yaml");
    expect([code, stdout.split(":")[0]]).toEqual([1, "error SOURCE_UNREADABLE"]);
  });

  test.each([
    [["--format", "xml"], "--format: must be one of terminal, json, github, sarif"],
    [["--colour"], "--colour: there is no such flag"],
    [["routes.yaml"], "DIRECTORY: must be a folder; name a file with --config"],
    [["--config"], "--config: needs a value"],
  ])("%j exits with 2 and names the mistake", async (argv, message) => {
    const { code, stdout, stderr } = await run(CLEAN, ...argv);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
  });

  describe("assertions beside the policies", () => {
    const row = (workspace: string) =>
      `version: 1\nassertions:\n  - { kind: always_routable, id: a, title: T, for: { workspaces: [${workspace}] } }\n`;
    const write = (text: string | Uint8Array) =>
      writeFileSync(join(folder, "policies/assertions.yaml"), text);

    test("are no finding where they are valid", async () => {
      write(row(WORKSPACE));
      expect((await run(CLEAN)).code).toBe(0);
    });

    test("are reported with their line", async () => {
      write(row(`${WORKSPACE}x`));
      const { code, stdout } = await run(CLEAN);
      expect(code).toBe(1);
      expect(stdout).toContain(
        `error ASSERTION_UNKNOWN_WORD: there is no workspace \`${WORKSPACE}x\``,
      );
      expect(stdout).toContain("--> policies/assertions.yaml:3:");
      expect(stdout).toContain(`did you mean \`${WORKSPACE}\`?`);
      expect(stdout).toMatch(/\n3 \| {3}- \{ kind: always_routable/);
    });

    test("that name an unknown policy are an error", async () => {
      const denied = "if: { outcome: deny }, then: { denied_by: { policy: nobody } }";
      write(`version: 1\nassertions: [{ kind: implies, id: a, title: T, ${denied} }]\n`);
      expect((await run(CLEAN)).stdout).toContain("there is no policy `nobody`");
    });

    test("are read from the folder in routes.yaml", async () => {
      mkdirSync(join(folder, "rules"));
      writeFileSync(join(folder, "rules/assertions.yaml"), row("nobody"));
      expect((await run(CLEAN)).code).toBe(0);
      const { stdout } = await run(`${CLEAN}\npolicies: { dir: rules }\n`);
      expect(stdout).toContain("--> rules/assertions.yaml:3:");
    });

    test("are not judged against a table with an error", async () => {
      write(row("nobody"));
      const { stdout } = await run(BROKEN);
      expect(stdout).toContain("UNKNOWN_REGION");
      expect(stdout).not.toContain("ASSERTION");
    });

    test("that cannot be read are reported", async () => {
      write(Uint8Array.of(0xff, 0xfe, 0xff));
      const { code, stdout } = await run(CLEAN);
      expect(code).toBe(1);
      expect(stdout).toContain("error SOURCE_UNREADABLE");
      expect(stdout).toContain("--> policies/assertions.yaml:1:1");
    });

    test("have their own rules in SARIF", async () => {
      write(row("nobody"));
      const { stdout } = await run(CLEAN, "--format", "sarif");
      expect(JSON.parse(stdout).runs[0].tool.driver.rules[0]).toMatchObject({
        id: "ASSERTION_UNKNOWN_WORD",
        shortDescription: { text: ASSERTION_CODES.ASSERTION_UNKNOWN_WORD.meaning },
        help: { text: ASSERTION_CODES.ASSERTION_UNKNOWN_WORD.fix },
      });
    });
  });

  test("--help explains the flags and the exit codes", async () => {
    const { code, stdout } = await run(CLEAN, "--help");
    expect(code).toBe(0);
    for (const part of ["--config", "--format", "--strict", "Exit codes"])
      expect(stdout).toContain(part);
  });

  test("colours need a terminal and no NO_COLOR", async () => {
    writeFileSync(join(folder, "routes.yaml"), BROKEN);
    const colour = async (terminal: boolean, environment: Record<string, string>) => {
      let stdout = "";
      await check([], {
        stdout: (written) => void (stdout += written),
        stderr: () => {},
        environment,
        cwd: folder,
        terminal,
      });
      return stdout.includes("\u001b[");
    };
    expect([
      await colour(true, {}),
      await colour(false, {}),
      await colour(true, { NO_COLOR: "1" }),
      await colour(true, { NO_COLOR: "" }),
    ]).toEqual([true, false, false, true]);
  });
});
