import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { check } from "../../../src/cli/check.ts";
import { importConfiguration } from "../../../src/cli/import/import.ts";
import { runCommand } from "../../keys/command.ts";
import { TEST_CACHE_FOLDER } from "../../support/cache.ts";
import { duration } from "../../../src/cli/import/routes-file.ts";
import { milliseconds } from "../../../src/compile/normalised/defaults.ts";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-import-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const ONE = "model_list:\n  - model_name: chat\n    litellm_params: { model: openai/gpt-5 }\n";

function run(...argv: readonly string[]) {
  return runCommand(importConfiguration, [...argv, "--cache", TEST_CACHE_FOLDER], { cwd: folder });
}

function source(text: string, name = "config.yaml"): void {
  writeFileSync(join(folder, name), text);
}

describe("signalbox import", () => {
  test("a weight that is a reference is not reported as carried over", async () => {
    const row = (weight: string): string =>
      `  - model_name: chat\n    litellm_params: { model: openai/gpt-5, api_key: os.environ/K${weight.length}, weight: ${weight} }\n`;
    source(`model_list:\n${row("3")}${row("os.environ/W")}`);
    await run("litellm", "config.yaml", "--out", "new");
    const report = readFileSync(join(folder, "new/IMPORT.md"), "utf8");
    expect(report.split("`weights` of the route")).toHaveLength(2);
  });

  test("an environment reference for a number is not reported as carried over", async () => {
    source(ONE.replace("gpt-5 }", "gpt-5, max_parallel_requests: os.environ/MOST }"));
    await run("litellm", "config.yaml", "--out", "new");
    const report = readFileSync(join(folder, "new/IMPORT.md"), "utf8");
    expect(report).not.toContain("`max_concurrency` of the endpoint");
    expect(report).toMatch(/max_parallel_requests.*makes nothing of this value/);
  });

  test("writes routes.yaml, the overlay and the report, and they pass check", async () => {
    source(ONE);
    const { code, stdout, stderr } = await run("litellm", "config.yaml", "--out", "new");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(
      "wrote new/routes.yaml\nwrote new/routes.simulated.yaml\nwrote new/IMPORT.md\n",
    );
    expect(stdout).toContain("check: 0 errors, 0 warnings");
    // The question without whose answer clients are refused comes first.
    expect(stdout).toMatch(/^Decide first: do your contracts forbid .*\n`trains_on_data: false`/);
    const declared = await run("litellm", "config.yaml", "--out", "declared", "--no-training");
    expect(declared.stdout).toMatch(/^wrote /);
    const cache = ["--cache", TEST_CACHE_FOLDER];
    for (const environment of [[], ["--environment", "simulated"]]) {
      const checked = await runCommand(check, ["new", "--strict", ...environment, ...cache], {
        cwd: folder,
      });
      expect([checked.code, checked.stderr]).toEqual([0, ""]);
    }
  });

  // The commands that docs/migration.md begins with.
  test.each([
    ["litellm", "config.yaml", ONE],
    [
      "portkey",
      "config.json",
      `{ "virtual_key": "openai-main", "override_params": { "model": "gpt-5" } }`,
    ],
    ["openrouter", "models.txt", "openai/gpt-5\n"],
  ])("import %s %s --out signalbox writes files that pass check", async (name, file, text) => {
    source(text, file);
    const flags = name === "portkey" ? ["--provider", "openai-main=openai"] : [];
    expect(await run(name, file, "--out", "signalbox", ...flags)).toMatchObject({
      code: 0,
      stderr: "",
    });
    const checked = await runCommand(check, ["signalbox", "--cache", TEST_CACHE_FOLDER], {
      cwd: folder,
    });
    expect(checked).toMatchObject({ code: 0, stderr: "" });
  });

  test("overwrites nothing, and names every existing file", async () => {
    source(ONE);
    source("mine\n", "routes.yaml");
    source("mine\n", "IMPORT.md");
    const { code, stderr } = await run("litellm", "config.yaml");
    expect(code).toBe(1);
    expect(stderr).toContain("exists already and is left as it is; choose another name or folder");
    expect(readdirSync(folder).toSorted()).toEqual(["IMPORT.md", "config.yaml", "routes.yaml"]);
    expect(readFileSync(join(folder, "IMPORT.md"), "utf8")).toBe("mine\n");
  });

  const portkey = (target: object): string =>
    JSON.stringify({ override_params: { model: "m-1" }, ...target });
  const litellm = (model: string, base: string): string =>
    `model_list:\n  - model_name: chat\n    litellm_params: { model: ${model}, api_base: ${base} }\n`;

  test.each([
    ["portkey", portkey({ provider: "openai-internal" }), "`openai-internal`"],
    ["portkey", portkey({ provider: "@openai-prod" }), "`openai-prod`"],
    ["portkey", portkey({ provider: "anyscale" }), "`anyscale`"],
    ["portkey", portkey({ virtual_key: "claude-team" }), "`claude-team`"],
    ["portkey", portkey({ override_params: { model: "@azure-eu/gpt-5" } }), "`azure-eu`"],
    ["portkey", portkey({ provider: "openai", custom_host: "" }), "the address"],
    ["portkey", portkey({ provider: "openai", custom_host: "https://{host}/v1" }), "the address"],
    ["litellm", litellm("openai/gpt-5", '""'), "the address"],
    ["litellm", litellm("anthropic/claude-sonnet-4-6", '"  "'), "the address"],
    ["litellm", litellm("azure/chat", '"https://{resource}.openai.azure.com"'), "the address"],
    ["litellm", litellm("mistral/m-1", '"https://[HOST]/v1"'), "the address"],
    ["litellm", litellm("openai/gpt-5", '"https://YOUR_HOST/v1"'), "the address"],
    ["litellm", litellm("openai/gpt-5", '"$(OPENAI_URL)"'), "the address"],
  ])(
    "%s %s: an address that the file does not have is a placeholder that check reports",
    async (name, text, line) => {
      source(text);
      expect(await run(name, "config.yaml")).toMatchObject({ code: 0, stderr: "" });
      const routes = readFileSync(join(folder, "routes.yaml"), "utf8");
      expect(routes).toMatch(/base_url: https:\/\/RESOURCE\./);
      const checked = await runCommand(check, [".", "--cache", TEST_CACHE_FOLDER], { cwd: folder });
      expect(checked.stdout).toContain("PLACEHOLDER_LEFT");
      expect(readFileSync(join(folder, "IMPORT.md"), "utf8")).toContain(line);
    },
  );

  test.each([
    [
      "portkey",
      portkey({ provider: "openai", custom_host: "https://models.acme.example/v1" }),
      "unstated",
    ],
    [
      "portkey",
      portkey({ virtual_key: "openai-x", custom_host: "https://models.acme.example/v1" }),
      "unstated",
    ],
    [
      "portkey",
      portkey({ provider: "openai", custom_host: "http://models.internal/v1" }),
      "on-premises",
    ],
    ["litellm", litellm("openai/m-1", "http://models.internal/v1"), "on-premises"],
    ["litellm", litellm("openai/responses/m-1", "https://models.acme.example/v1"), "unstated"],
    [
      "litellm",
      litellm("text-completion-openai/m-1", "https://models.acme.example/v1"),
      "unstated",
    ],
    ["litellm", litellm("litellm_proxy/m-1", "http://gateway.internal/v1"), "unstated"],
  ])("%s %s: a server with only an address gets no contract terms", async (name, text, region) => {
    source(text);
    expect((await run(name, "config.yaml")).code).toBe(0);
    const [, provider = ""] = readFileSync(join(folder, "routes.yaml"), "utf8").split(
      /^(?:providers|models):$/m,
    );
    expect(provider).toContain(`region: ${region}\n`);
    expect(provider).toContain("trains_on_data: true\n");
    expect(provider).not.toMatch(/preset: openai|retention|OPENAI_API_KEY/);
    expect(provider).not.toMatch(/max_completion_tokens_field/);
  });

  test("the printed first request of models without chat fits their routes", async () => {
    source(ONE.replace("gpt-5", "text-embedding-3-small"));
    const { stdout } = await run("litellm", "config.yaml", "--format", "json");
    expect(JSON.parse(stdout).firstRequest).toEqual({
      workspace: "demo",
      path: "/v1/embeddings",
      body: JSON.stringify({
        model: "chat",
        input: "Hello",
        provider: { data_collection: "allow" },
      }),
    });
    expect(readFileSync(join(folder, "IMPORT.md"), "utf8")).toContain(":8080/v1/embeddings -H");
  });

  test("--format json prints the report for programs", async () => {
    source(ONE.replace("gpt-5", "gpt-5, rpm: 5"));
    const { code, stdout } = await run("litellm", "config.yaml", "--format", "json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      format: 1,
      source: "litellm",
      file: "config.yaml",
      files: ["routes.yaml", "routes.simulated.yaml"],
      check: { errors: [], warnings: [] },
      secrets: [{ variable: "OPENAI_API_KEY", literals: [] }],
      firstRequest: { workspace: "demo" },
    });
    expect(JSON.parse(stdout).entries).toContainEqual(
      expect.objectContaining({
        outcome: "changed",
        source: "model_list[0].litellm_params.rpm",
        file: "config.yaml",
        line: 3,
      }),
    );
  });

  test("--no-training and --workspace are written", async () => {
    source(ONE);
    expect(
      (await run("litellm", "config.yaml", "--no-training", "--workspace", "product")).code,
    ).toBe(0);
    const routes = readFileSync(join(folder, "routes.yaml"), "utf8");
    expect(routes).toContain("trains_on_data: false");
    expect(routes).toContain("  product:\n");
    expect(readFileSync(join(folder, "IMPORT.md"), "utf8")).not.toContain(
      'data_collection":"allow',
    );
  });

  test("a large configuration is split, and the parts pass check", async () => {
    source(Array.from({ length: 61 }, (_, index) => `maker/model-${index}\n`).join(""), "ids.txt");
    expect((await run("openrouter", "ids.txt", "--out", "large")).code).toBe(0);
    expect(readdirSync(join(folder, "large/parts")).toSorted()).toEqual([
      "endpoints.yaml",
      "models.yaml",
      "providers.yaml",
      "routes.yaml",
    ]);
    const checked = await runCommand(check, ["large", "--cache", TEST_CACHE_FOLDER], {
      cwd: folder,
    });
    expect(checked.stdout).toContain("4 included: 61 routes");
  });
});

describe("a setting that cannot be imported is an error with its line, and nothing is written", () => {
  const BOMB = `a: &a [1,2,3,4,5,6,7,8,9]\n${"bcdefgh"
    .split("")
    .map(
      (name, index) =>
        `${name}: &${name} [${Array.from({ length: 9 }, () => `*${"abcdefg"[index]}`).join(",")}]\n`,
    )
    .join("")}model_list: *h\n`;

  test.each([
    ["no file", null, "config.yaml: cannot be read"],
    ["an empty file", " \n", "config.yaml:1:1"],
    ["a file of comments", "# nothing\n  # more\n", "name the right file"],
    ["no YAML", "model_list: [\n", "config.yaml:2:1"],
    ["a list", "- a\n", "the file must be a mapping of sections"],
    ["no model_list", "litellm_settings: { cache: true }\n", "model_list is missing"],
    ["an empty model_list", "model_list: []\n", "model_list has no row"],
    ["a model_list that is text", "model_list: gpt-4\n", "model_list must be a list"],
    ["a row that is text", "model_list:\n  - gpt-4\n", "model_list[0] must be a mapping"],
    [
      "no name",
      "model_list:\n  - litellm_params: { model: openai/gpt-5 }\n",
      "model_list[0].model_name is missing",
    ],
    [
      "no parameters",
      "model_list:\n  - model_name: a\n",
      "model_list[0].litellm_params is missing",
    ],
    [
      "no model",
      "model_list:\n  - model_name: a\n    litellm_params: { api_key: x }\n",
      "litellm_params.model is missing",
    ],
    ["a number that is none", `${ONE}    model_info: { max_tokens: many }\n`, "config.yaml:4:19"],
    [
      "an address that is none",
      ONE.replace("gpt-5", "gpt-5, api_base: nowhere"),
      "this is not an http(s) URL",
    ],
    [
      "a file that is not there",
      `include: [models.yaml]\n${ONE}`,
      "the included file cannot be read",
    ],
    [
      "a file outside of its folder",
      `include: [../other.yaml]\n${ONE}`,
      "outside of the file's folder",
    ],
    [
      "a file by its absolute path",
      `include: [/etc/hosts]\n${ONE}`,
      "outside of the file's folder",
    ],
    [
      "a file by a way out and back",
      `include: [parts/../../other.yaml]\n${ONE}`,
      "outside of the file's folder",
    ],
    ["two documents", `${ONE}---\n${ONE}`, "config.yaml:4"],
    ["an alias bomb", BOMB, "expand to too many values"],
    ["a huge file", `${ONE}# ${"x".repeat(1_100_000)}\n`, "characters, more than 1048576"],
    ["a reserved name", "constructor: 1\n", "reserved name"],
    [
      "nothing that is served",
      "model_list:\n  - model_name: a\n    litellm_params: { model: openai/dall-e-3 }\n",
      "the file contains nothing that can become a route",
    ],
  ])("%s", async (_, text, expected) => {
    if (text !== null) source(text);
    const { code, stdout, stderr } = await run("litellm", "config.yaml", "--out", "new");
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(expected);
    expect(existsSync(join(folder, "new"))).toBe(false);
  });

  test("a line of a list that is no model id is named", async () => {
    source("openai/gpt-5\n# mine\nnot a model\nx/y\n", "ids.txt");
    const { code, stderr } = await run("openrouter", "ids.txt", "--out", "new");
    expect([code, stderr.split("\n").slice(0, 2)]).toEqual([
      1,
      ["error WRONG_VALUE: this is not a model id", " --> ids.txt:3:1"],
    ]);
  });

  test("an included file that is a link out of the folder is refused", async () => {
    source(`include: [link.yaml]\n${ONE}`);
    symlinkSync("/etc/hosts", join(folder, "link.yaml"));
    expect((await run("litellm", "config.yaml")).stderr).toContain("outside of the file's folder");
  });

  test("an included file has its own name in the message", async () => {
    mkdirSync(join(folder, "parts"));
    source("include: [parts/models.yaml]\n");
    source(
      "model_list:\n  - model_name: [a]\n    litellm_params: { model: openai/gpt-5 }\n",
      "parts/models.yaml",
    );
    expect((await run("litellm", "config.yaml")).stderr).toContain("parts/models.yaml:2:5");
  });

  test.each([
    [[], "command: give one of litellm"],
    [["litelm", "a"], "did you mean litellm?"],
    [["litellm"], "FILE: is missing"],
    [["litellm", "a", "b"], "FILE: give exactly one"],
    [["litellm", "a", "--format", "yaml"], "--format: must be one of terminal, json"],
    [["litellm", "a", "--workspace", "A B"], "--workspace: must be"],
    [["litellm", "a", "--provider", "x"], "--provider: write SLUG=PRESET"],
    [["litellm", "a", "--provider", "x=opnai"], "did you mean `openai`?"],
    [["litellm", "a", "--outt", "x"], "did you mean --out?"],
  ])("%j exits with 2 and names the mistake", async (argv, expected) => {
    const { code, stderr } = await run(...argv);
    expect([code, stderr.split("\n")[0]]).toEqual([2, expect.stringContaining(expected)]);
  });
});

test.each([
  [0, "1ms"],
  [0.0004, "1ms"],
  [5.5, "5500ms"],
  [59.9996, "60s"],
  [9_999.9994, "9999999ms"],
  [9_999.9995, "10000s"],
  [20_000.5, "20001s"],
  [1e12, "86400s"],
])("a timeout of %d seconds is written as a duration that routes.yaml reads", (seconds, text) => {
  expect(duration(seconds)).toBe(text);
  expect(milliseconds(text)).toBeGreaterThan(0);
});
