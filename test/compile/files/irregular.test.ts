import { spawnSync } from "node:child_process";
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { check } from "../../../src/cli/check.ts";
import { explainRequest } from "../../../src/cli/explain/explain.ts";
import { policy } from "../../../src/cli/policy/policy.ts";
import { watchConfiguration } from "../../../src/server/reload.ts";
import { serve } from "../../../src/cli/serve/serve.ts";
import { simulate } from "../../../src/cli/simulate/simulate.ts";
import { LARGEST_FILE } from "../../../src/compile/file-tree.ts";
import { gatePolicy, testsOf } from "../../cli/policy-folder.ts";
import { temporaryFolder, writeTo } from "../../cli/simulate/repository.ts";
import { runCommand, type Ran } from "../../keys/command.ts";
import { TEST_CACHE_FOLDER } from "../../support/cache.ts";
import { CLEAN } from "../base.ts";

const CANARY = "canary of a file elsewhere";
const CACHE = ["--cache", TEST_CACHE_FOLDER];

const SHARED = mkdtempSync(join(tmpdir(), "signalbox-fifo-"));
afterAll(() => rmSync(SHARED, { recursive: true }));
/** One process makes it; the tests link to it. */
const FIFO = join(SHARED, "fifo");
const HAS_FIFO = spawnSync("mkfifo", [FIFO]).status === 0;

/** Puts a FIFO at a path. @returns why it cannot */
function linkFifo(path: string): string | void {
  if (!HAS_FIFO) return "mkfifo is not here";
  linkSync(FIFO, path);
}

/**
 * What can stand where a file should be, and what is said of it; makes it, or says why it cannot be
 * made here.
 */
const KINDS: Readonly<
  Record<string, { readonly say: string; readonly make: (path: string) => string | void }>
> = {
  "a link to an endless device": {
    say: "symbolic link points out",
    make: (path) => symlinkSync("/dev/zero", path),
  },
  "a link to a file outside": {
    say: "symbolic link points out",
    make: (path) => {
      const elsewhere = join(temporaryFolder(), "elsewhere");
      writeFileSync(elsewhere, `${CANARY}: [\n`);
      symlinkSync(elsewhere, path);
    },
  },
  "a FIFO": {
    say: "a folder, a device, a FIFO or a socket",
    make: linkFifo,
  },
  "a link to a FIFO inside": {
    say: "a folder, a device, a FIFO or a socket",
    make: (path) => {
      const missing = linkFifo(`${path}.pipe`);
      if (typeof missing === "string") return missing;
      symlinkSync(`${path}.pipe`, path);
    },
  },
  "a folder": {
    say: "a folder, a device, a FIFO or a socket",
    make: (path) => {
      mkdirSync(path);
    },
  },
  "a file that is too large": {
    say: "larger than 4 MiB",
    make: (path) => {
      writeFileSync(path, `# ${CANARY}\n`);
      truncateSync(path, LARGEST_FILE + 1);
    },
  },
};

const FILES = {
  "routes.yaml": CLEAN,
  "policies/gate.rego": gatePolicy("gate"),
  "policies/gate_test.rego": testsOf(
    "gate",
    'test_it if policy.pass with input as {"workspace": {"tier": "standard"}}',
  ),
  "policies/assertions.yaml":
    "version: 1\nassertions: [{ id: same, title: Same, kind: equivalent }]\n",
};

/** A configuration in which something else replaces one file. */
function configuration(
  name: string,
  kind: string,
): { readonly cwd: string; readonly missing: string | null } {
  const cwd = temporaryFolder();
  writeTo(cwd, FILES);
  const path = join(cwd, name);
  rmSync(path, { force: true });
  mkdirSync(dirname(path), { recursive: true });
  return { cwd, missing: KINDS[kind]?.make(path) ?? null };
}

type Run = (cwd: string) => Promise<Ran>;
const checked: Run = (cwd) => runCommand(check, CACHE, { cwd });
const POINT = ["--point", '{"workspace":"w","model":"r","operation":"chat.completions"}'];

/** Every command that reads configurations, with the files that it reads. */
const READERS: readonly (readonly [string, readonly string[], Run])[] = [
  ["check", Object.keys(FILES), checked],
  [
    "serve",
    ["routes.yaml", "policies/gate.rego"],
    (cwd) => {
      const flags = ["--port", "0", "--no-watch", "--database", join(cwd, "d.db"), ...CACHE];
      return runCommand(serve, flags, { cwd, environment: {} });
    },
  ],
  [
    "explain",
    ["routes.yaml", "policies/gate.rego"],
    (cwd) => runCommand(explainRequest, [...POINT, ...CACHE], { cwd }),
  ],
  [
    "simulate",
    Object.keys(FILES),
    (cwd) => {
      writeTo(join(cwd, "before"), FILES);
      return runCommand(simulate, ["--base", "./before", "--head", ".", ...CACHE], { cwd });
    },
  ],
  ...(["check", "test", "fmt"] as const).map(
    (command) =>
      [
        `policy ${command}`,
        ["policies/gate.rego", "policies/gate_test.rego"],
        (cwd: string) =>
          runCommand(policy, [command, ...(command === "fmt" ? [] : CACHE)], { cwd }),
      ] as const,
  ),
];

describe.for(READERS)("signalbox %s", ([, names, run]) => {
  const cases = Object.keys(KINDS).flatMap((kind) => names.map((name) => [kind, name] as const));

  test.for(cases)("%s instead of %s is a finding that names it", async ([kind, name], context) => {
    const { cwd, missing } = configuration(name, kind);
    if (missing !== null) return context.skip(missing);
    const { code, stdout, stderr } = await run(cwd);
    expect(code).not.toBe(0);
    expect(stdout + stderr).toContain(KINDS[kind]?.say);
    expect(stdout + stderr).toContain(name);
    expect(stdout + stderr).not.toContain("canary");
  });
});

describe("signalbox check", () => {
  test.for(["routes.prod.yaml", "teams/a.yaml"])(
    "a FIFO instead of %s is a finding",
    async (name, context) => {
      const { cwd, missing } = configuration(name, "a FIFO");
      if (missing !== null) return context.skip(missing);
      writeTo(cwd, {
        "routes.yaml": `include: ["teams/*.yaml"]\n${CLEAN}`,
        "teams/b.yaml": "{}\n",
      });
      const { code, stdout } = await runCommand(check, ["--environment", "prod", ...CACHE], {
        cwd,
      });
      expect(code).toBe(1);
      if (name.startsWith("routes")) expect(stdout).toContain("a FIFO or a socket");
      else expect(stdout).toMatch(/teams\/a\.yaml|ENVIRONMENT_UNKNOWN/);
    },
  );

  test("a socket instead of a policy is a finding", async () => {
    const { cwd } = configuration("policies/more.rego", "none");
    const server = createServer();
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen(join(cwd, "policies/more.rego"), resolve));
    const { code, stdout } = await checked(cwd);
    expect([code, stdout]).toEqual([1, expect.stringContaining("a FIFO or a socket")]);
  });

  test.for(["policies", "policies/lib"])(
    "a folder %s that leads out is a finding, without its names",
    async (name) => {
      const [elsewhere, { cwd }] = [temporaryFolder(), configuration("policies/none.rego", "none")];
      writeTo(elsewhere, { "canary.rego": gatePolicy("canary") });
      rmSync(join(cwd, name), { recursive: true, force: true });
      symlinkSync(elsewhere, join(cwd, name));
      const { code, stdout } = await checked(cwd);
      expect(code).toBe(1);
      expect(stdout).toContain("symbolic link points out");
      expect(stdout).toContain(name);
      expect(stdout).not.toContain("canary");
      const { code: tested, stderr } = await runCommand(policy, ["test", ...CACHE], { cwd });
      expect([tested, stderr]).toEqual([1, expect.stringContaining("symbolic link points out")]);
      expect(stderr).not.toContain("canary");
    },
  );

  test("a folder of the head that leads out of it is a finding of simulate", async () => {
    const [elsewhere, cwd] = [temporaryFolder(), temporaryFolder()];
    writeTo(elsewhere, { "routes.yaml": `${CANARY}: [\n` });
    writeTo(join(cwd, "before/infra"), FILES);
    mkdirSync(join(cwd, "after"));
    symlinkSync(elsewhere, join(cwd, "after/infra"));
    const argv = [
      "--base",
      "./before",
      "--head",
      "./after",
      "--config",
      "infra/routes.yaml",
      ...CACHE,
    ];
    const { code, stderr } = await runCommand(simulate, argv, { cwd });
    expect([code, stderr]).toEqual([1, expect.stringContaining("symbolic link points out")]);
    expect(stderr).not.toContain("canary");
  });
});

test("explain refuses a request body that never ends as too long", async () => {
  const cwd = temporaryFolder();
  writeTo(cwd, FILES);
  const request = await runCommand(explainRequest, [...POINT, "--request", "/dev/zero", ...CACHE], {
    cwd,
  });
  expect([request.code, request.stderr]).toEqual([
    2,
    expect.stringContaining("--request: is longer than"),
  ]);
});

describe("a mounted ConfigMap", () => {
  /**
   * As the kubelet lays a volume out: files are links into `..data`, which is a link to the newest
   * folder.
   */
  function mounted(): string {
    const cwd = temporaryFolder();
    writeTo(join(cwd, "..2026_11_23"), FILES);
    symlinkSync("..2026_11_23", join(cwd, "..data"));
    for (const name of ["routes.yaml", "policies"]) symlinkSync(`..data/${name}`, join(cwd, name));
    return cwd;
  }

  test("is read by every command", async () => {
    const cwd = mounted();
    expect(await checked(cwd)).toMatchObject({ code: 0, stderr: "" });
    expect(await runCommand(policy, ["test", ...CACHE], { cwd })).toMatchObject({ code: 0 });
    expect(
      await runCommand(simulate, ["--base", ".", "--head", ".", ...CACHE], { cwd }),
    ).toMatchObject({ code: 0 });
  });

  test("is read where it has only policies", async () => {
    const cwd = temporaryFolder();
    writeTo(cwd, { "routes.yaml": CLEAN, "policies/..1/gate.rego": gatePolicy("gate") });
    symlinkSync("..1", join(cwd, "policies/..data"));
    symlinkSync("..data/gate.rego", join(cwd, "policies/gate.rego"));
    expect(await checked(cwd)).toMatchObject({ code: 0, stderr: "" });
  });

  test("that is pointed to another folder is reloaded; an endless device is not read meanwhile", async () => {
    const cwd = mounted();
    let heard = (): void => {};
    const end = watchConfiguration(join(cwd, "routes.yaml"), null, () => heard());
    onTestFinished(end);
    const point = async (target: string): Promise<void> => {
      const next = new Promise<void>((resolve) => (heard = resolve));
      symlinkSync(target, join(cwd, "..next"));
      renameSync(join(cwd, "..next"), join(cwd, "..data"));
      await next;
    };
    // The first look is what changes are seen against.
    await new Promise((resolve) => setTimeout(resolve, 700));
    writeTo(join(cwd, "..2026_11_24"), { ...FILES, "routes.yaml": `# newer\n${CLEAN}` });
    await point("..2026_11_24");
    mkdirSync(join(cwd, "..zero"));
    symlinkSync("/dev/zero", join(cwd, "..zero/routes.yaml"));
    await point("..zero");
    await point("..2026_11_23");
    expect(readlinkSync(join(cwd, "..data"))).toBe("..2026_11_23");
  });
});
