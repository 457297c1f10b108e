import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { check } from "../../../src/cli/check.ts";
import { INIT_POLICIES, init } from "../../../src/cli/init.ts";
import { policy } from "../../../src/cli/policy/policy.ts";
import { serve } from "../../../src/cli/serve/serve.ts";
import { startServer } from "../../../src/server/start.ts";
import { compileTable } from "../../../src/compile/compile-table.ts";
import { PRESET_NAMES } from "../../../src/compile/presets.ts";
import { TEST_CACHE } from "../../support/cache.ts";

const PAGES = resolve(import.meta.dirname, "../../../docs");
const CACHE = resolve(import.meta.dirname, "../../../.signalbox/test-cache");
let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-init-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

type Command = typeof check;

async function run(command: Command, argv: readonly string[], terminal = false) {
  let stdout = "";
  let stderr = "";
  const code = await command(argv, {
    stdout: (written) => void (stdout += written),
    stderr: (written) => void (stderr += written),
    environment: {},
    cwd: folder,
    terminal,
  });
  return { code, stdout, stderr };
}

function routes(): string {
  return readFileSync(join(folder, "routes.yaml"), "utf8");
}

describe("signalbox init", () => {
  test.each(PRESET_NAMES)("%s: the generated file compiles without a finding", async (preset) => {
    expect(await run(init, ["--providers", preset, "--yes"])).toMatchObject({
      code: 0,
      stderr: "",
    });
    const { table, diagnostics } = compileTable(
      { path: "routes.yaml", text: routes() },
      { policies: [...INIT_POLICIES] },
    );
    // What only the reader can know is left in capitals, and `check` says of each that it is.
    const left = routes().match(/^[^#\n]*(?:base_url|upstream_model): \S*[A-Z]{4}/gm) ?? [];
    expect(diagnostics.map(({ code }) => code)).toEqual(left.map(() => "PLACEHOLDER_LEFT"));
    expect(Object.keys(table?.workspaces ?? {})).toEqual(["demo"]);
    expect(routes()).toContain(`preset: ${preset}\n`);
  });

  test(
    "the files with every preset pass check and policy test --strict, and serve starts",
    { timeout: 120_000 },
    async () => {
      const made = await run(init, [
        "--providers",
        PRESET_NAMES.join(","),
        "--workspace",
        "acme",
        "--yes",
      ]);
      expect(made).toMatchObject({ code: 0, stderr: "" });
      expect((await run(check, ["--strict", "--cache", CACHE])).stdout).toContain(
        "PLACEHOLDER_LEFT",
      );
      const finished = routes().replaceAll(
        /RESOURCE|PROJECT|ACCOUNT|WORKSPACE|DEPLOYMENT/g,
        "mine",
      );
      writeFileSync(join(folder, "routes.yaml"), finished);
      const checked = await run(check, ["--strict", "--cache", CACHE]);
      expect(checked.stdout).toMatch(
        /^anthropic: preset anthropic, anthropic-messages at https:\/\/api\.anthropic\.com\n/,
      );
      expect(checked).toMatchObject({ code: 0, stderr: "" });
      const tested = await run(policy, ["test", "--strict", "--cache", CACHE]);
      expect(tested.stdout).toContain("PASS  data-retention");
      expect(tested).toMatchObject({ code: 0, stderr: "" });
      const started = await startServer(
        {
          config: join(folder, "routes.yaml"),
          database: join(folder, "signalbox.db"),
          host: "127.0.0.1",
          port: 0,
          adminHost: "127.0.0.1",
          adminPort: 0,
          demo: false,
          drain: 1_000,
          watch: false,
          cache: TEST_CACHE,
        },
        {},
        "0.0.0-test",
      );
      expect(started).toMatchObject({ ok: true });
      if (started.ok) await started.server.close();
    },
  );

  test("regions narrow the generated rows, and a provider without one of them is an error", async () => {
    expect(
      (await run(init, ["--providers", "openai,bedrock,vertex", "--regions", "eu,us", "--yes"]))
        .stderr,
    ).toBe("");
    const { table, diagnostics } = compileTable({ path: "routes.yaml", text: routes() });
    expect(diagnostics.filter(({ code }) => code !== "PLACEHOLDER_LEFT")).toEqual([]);
    const regions = Object.values(table?.providers ?? {}).map(({ region }) => region);
    expect(regions.toSorted()).toEqual(["eu", "eu-central-1", "europe-west4", "us", "us-east-1"]);
    rmSync(join(folder, "routes.yaml"));
    const { code, stderr } = await run(init, ["--providers", "groq", "--regions", "eu", "--yes"]);
    expect(code).toBe(2);
    expect(stderr).toContain("--regions: groq has no address there, but in global");
    expect(existsSync(join(folder, "routes.yaml"))).toBe(false);
  });

  test("overwrites nothing: with one existing file no file is written", async () => {
    writeFileSync(join(folder, "routes.yaml"), "mine\n");
    const { code, stderr } = await run(init, ["--providers", "openai", "--yes"]);
    expect(code).toBe(1);
    expect(stderr).toContain("routes.yaml");
    expect(routes()).toBe("mine\n");
    expect(existsSync(join(folder, "policies/eu-residency.rego"))).toBe(false);
  });

  test("an existing .gitignore stays, and the missing line is printed", async () => {
    writeFileSync(join(folder, ".gitignore"), "dist/\n");
    expect((await run(init, ["--providers", "openai", "--yes"])).stdout).toContain(
      "add .signalbox/ to .gitignore",
    );
    expect(readFileSync(join(folder, ".gitignore"), "utf8")).toBe("dist/\n");
  });

  test("prompts on a terminal for missing flags, and nowhere else", async () => {
    const requested: string[] = [];
    const ask = async (question: string) => {
      requested.push(question);
      return ["anthropic", "", ""][requested.length - 1] ?? "";
    };
    expect((await run((argv, io) => init(argv, { ...io, ask }), ["new"], true)).code).toBe(0);
    expect(requested).toHaveLength(4);
    expect(readFileSync(join(folder, "new/routes.yaml"), "utf8")).toContain("  demo:\n");
    expect(
      (
        await run(
          (argv, io) => init(argv, { ...io, ask }),
          ["--providers", "openai", "--yes"],
          true,
        )
      ).code,
    ).toBe(0);
    expect((await run((argv, io) => init(argv, { ...io, ask }), ["other"])).stderr).toContain(
      "--providers: is missing",
    );
    expect(requested).toHaveLength(4);
  });

  test("writes the answer about training, and prints its effect on requests", async () => {
    const refused = await run(init, ["--providers", "openai", "--yes"]);
    expect(refused.stdout).toContain('"provider": {"data_collection": "allow"}');
    expect(routes()).toContain("    trains_on_data: true\n");
    const named = await run(init, ["named", "--providers", "openai", "--no-training", "--yes"]);
    expect(named.stdout).not.toContain("data_collection");
    expect(readFileSync(join(folder, "named/routes.yaml"), "utf8")).toContain(
      "    trains_on_data: false\n",
    );
    const unclear = async (question: string) => (question.includes("train") ? "perhaps" : "");
    const requested = await run(
      (argv, io) => init(argv, { ...io, ask: unclear }),
      ["x", "--providers", "openai"],
      true,
    );
    expect(requested).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--no-training: answer yes or no"),
    });
  });

  test("writes the schemas that an editor of its files needs, and their paths are those of the documents", async () => {
    expect((await run(init, ["--providers", "openai", "--yes"])).code).toBe(0);
    const pages = ["editor.md", "assertions.md"]
      .map((page) => readFileSync(join(PAGES, page), "utf8"))
      .join("\n");
    const named = [...pages.matchAll(/\$schema=(?:\.\.?\/)(\S+\.schema\.json)/g)].map(
      ([, name = ""]) => name,
    );
    expect(new Set(named).size).toBe(4);
    for (const name of named) expect([name, existsSync(join(folder, name))]).toEqual([name, true]);
  });

  test.each([
    [["--providers", "openai,anthropic"]],
    [["--providers", "openai,anthropic", "--no-training"]],
    [["--providers", "openai", "--workspace", "product"]],
    [["--providers", "voyage", "--workspace", "search"]],
  ])("serve --demo prints a request that is answered (%j)", async (flags) => {
    expect((await run(init, [...flags, "--yes"])).code).toBe(0);
    const stop = new AbortController();
    let said = "";
    const ended = serve(["--demo", "--port", "0", "--no-watch", "--cache", CACHE], {
      stdout: (written) => void (said += written),
      stderr: () => {},
      environment: {},
      cwd: folder,
      signal: stop.signal,
    });
    await expect.poll(() => said, { timeout: 30_000 }).toContain("try it:");
    const [, url = "", key = "", body = ""] =
      /curl -s (\S+) -H 'Authorization: Bearer (\S+)'[\s\S]*?-d '(.*)'/.exec(said) ?? [];
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    expect((await fetch(url, { method: "POST", headers, body })).status).toBe(200);
    stop.abort();
    expect(await ended).toBe(0);
  });

  test.each([
    [["--providers", "opnai"], "did you mean `openai`?"],
    [["--providers", "openai", "--workspace", "Two Parts"], "--workspace: must be"],
    [["--providers", "openai", "--regions", "E U"], "--regions: must be"],
    [["a", "b"], "DIRECTORY: give one folder at most (given: `a`, `b`)"],
  ])("%j exits with 2 and names the mistake", async (argv, message) => {
    const { code, stderr } = await run(init, [...argv, "--yes"]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

test.each([
  ["openai,azure-openai", "us,eu", ["gpt-5-openai-us", "gpt-5-openai-eu", "gpt-5-azure-openai-eu"]],
  ["mistral", "us", ["mistral-medium-us"]],
  ["openai", "apac", ["gpt-5-openai-au"]],
])(
  "init --providers %s names each endpoint once, without repetition",
  async (providers, regions, ids) => {
    const argv = ["--providers", providers, "--regions", regions, "--yes"];
    expect(await run(init, argv)).toMatchObject({ code: 0 });
    expect([...routes().matchAll(/^ {2}- \{ id: ([\w.-]+)/gm)].map(([, id]) => id)).toEqual(ids);
  },
);
