import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadConfiguration } from "../../src/compile/load.ts";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-load-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function write(path: string, content: string | Uint8Array): void {
  mkdirSync(join(folder, path, ".."), { recursive: true });
  writeFileSync(join(folder, path), content);
}

function load() {
  return loadConfiguration(join(folder, "routes.yaml"), "config/routes.yaml");
}

describe("loadConfiguration", () => {
  test("reads routes.yaml, the policies, their tests and their library, sorted", async () => {
    write("routes.yaml", "version: 1\n");
    for (const name of [
      "b.rego",
      "a.rego",
      "a_test.rego",
      "lib/names.rego",
      "notes.md",
      ".hidden.rego",
    ])
      write(`policies/${name}`, `# ${name}`);
    const { routes, policies, unreadable } = await load();
    expect(unreadable).toEqual([]);
    expect(routes).toEqual({ path: "config/routes.yaml", text: "version: 1\n" });
    expect(policies).toEqual(
      ["a.rego", "a_test.rego", "b.rego", "lib/names.rego"].map((name) => ({
        path: `config/policies/${name}`,
        text: `# ${name}`,
      })),
    );
  });

  test("follows policies.dir in a file with other errors", async () => {
    write("routes.yaml", "policies: { dir: rules/eu }\nnonsense: true\n");
    write("rules/eu/a.rego", "x");
    expect((await load()).policies.map(({ path }) => path)).toEqual(["config/rules/eu/a.rego"]);
  });

  test("follows links, as mounted volumes have them", async () => {
    write("routes.yaml", "version: 1\n");
    write("elsewhere/real.rego", "x");
    mkdirSync(join(folder, "policies"));
    symlinkSync(join(folder, "elsewhere/real.rego"), join(folder, "policies/linked.rego"));
    expect((await load()).policies).toEqual([{ path: "config/policies/linked.rego", text: "x" }]);
  });

  test("does not follow a policies.dir that leads out of the folder", async () => {
    write("routes.yaml", "policies: { dir: ../outside }\n");
    write("policies/own.rego", "x");
    expect((await load()).policies.map(({ path }) => path)).toEqual(["config/policies/own.rego"]);
  });

  test("a missing policy folder means no policies, unless the file names one", async () => {
    write("routes.yaml", "version: 1\n");
    expect(await load()).toMatchObject({ policies: [], unreadable: [] });
    write("routes.yaml", "policies: { dir: rules }\n");
    expect((await load()).unreadable).toMatchObject([
      { code: "SOURCE_UNREADABLE", file: "config/routes.yaml", severity: "error" },
    ]);
  });

  test.each([
    ["is not there", () => {}],
    ["is a folder", () => mkdirSync(join(folder, "routes.yaml"))],
    ["is not UTF-8", () => write("routes.yaml", Uint8Array.of(0xff, 0xfe, 0x31))],
  ])("a file that %s is a finding", async (_, prepare) => {
    prepare();
    expect((await load()).unreadable).toMatchObject([
      { code: "SOURCE_UNREADABLE", line: 1, column: 1 },
    ]);
  });

  test("every unreadable policy is a finding", async () => {
    write("routes.yaml", "version: 1\n");
    write("policies/a.rego", Uint8Array.of(0xff));
    mkdirSync(join(folder, "policies/b.rego"));
    expect((await load()).unreadable?.map(({ file }) => file)).toEqual([
      "config/policies/a.rego",
      "config/policies/b.rego",
    ]);
  });
});
