import { execFile } from "node:child_process";
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { POLICY_INPUT_SCHEMA } from "../../src/policy/input-schema.ts";
import { ARTEFACT_DIRECTORY } from "../../src/policy/toolchain/artefact.ts";
import { createToolchain } from "../../src/policy/toolchain/toolchain.ts";
import { cacheIn } from "../support/cache.ts";
import { uncached as toolchain } from "./samples.ts";

const folders: string[] = [];

async function scratchFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "signalbox-toolchain-"));
  folders.push(folder);
  return folder;
}

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

describe("toolchain", () => {
  test("builds a module that WebAssembly accepts", async () => {
    const text = "package signalbox.decide\n\nu0 := data.signalbox.unit.u0.policy.a.pass\n";
    const unit = {
      name: "u0",
      modules: [{ path: "a", text: "package signalbox.policy.a\n\npass.x if input.y\n" }],
    };
    const { errors, wasm } = await toolchain.build({
      units: [unit],
      modules: [{ path: "decide", text }],
      entrypoints: ["signalbox/decide/u0"],
    });
    expect(errors).toEqual([]);
    await expect(WebAssembly.compile(Buffer.from(wasm ?? "", "base64"))).resolves.toBeInstanceOf(
      Object,
    );
  });

  test("refuses to build modules that fail the check", async () => {
    const text = "package signalbox.decide\n\nu0 := time.now_ns()\n";
    const { errors, wasm } = await toolchain.build({
      units: [],
      modules: [{ path: "decide", text }],
      entrypoints: ["signalbox/decide/u0"],
    });
    expect(wasm).toBeNull();
    expect(errors).toMatchObject([{ code: "rego_type_error", file: "decide", row: 3, col: 7 }]);
  });

  test("locates a syntax error and a type error", async () => {
    const modules = [
      { path: "syntax.rego", text: "package a\n\np if {\n\tx :=\n}\n" },
      { path: "type.rego", text: "package b\n\np if input.operation == 7\n" },
    ];
    const units = [["syntax.rego"], ["type.rego"]];
    const { errors } = await toolchain.check({ modules, units, input_schema: POLICY_INPUT_SCHEMA });
    expect(errors).toMatchObject([
      { code: "rego_parse_error", file: "syntax.rego", row: 5, col: 1 },
      { code: "rego_type_error", file: "type.rego", row: 3, col: 6 },
    ]);
  });

  test("keeps a check for the same policies in another folder, and names the files where they are", async () => {
    const cache = cacheIn(await scratchFolder());
    const caching = createToolchain({ cache });
    const checkIn = async (folder: string) => {
      const modules = [
        { path: `${folder}/a.rego`, text: "package a\n\np if input.operation == 7\n" },
        { path: `${folder}/lib/b.rego`, text: "package b\n" },
      ];
      const units = [[`${folder}/a.rego`, `${folder}/lib/b.rego`]];
      const { errors, modules: facts } = await caching.check({
        modules,
        units,
        input_schema: POLICY_INPUT_SCHEMA,
      });
      return [...errors.map(({ file }) => file), ...facts.map(({ path }) => path)];
    };
    expect(await checkIn("/first")).toEqual([
      "/first/a.rego",
      "/first/a.rego",
      "/first/lib/b.rego",
    ]);
    const kept = await readdir(cache.directory);
    expect(await checkIn("other/second")).toEqual(
      ["a.rego", "a.rego", "lib/b.rego"].map((path) => `other/second/${path}`),
    );
    expect(await readdir(cache.directory)).toEqual(kept);
    expect(kept).toHaveLength(1);
  });

  test("resolves references of a module through imports", async () => {
    const text =
      "package a\n\nimport data.approved\nimport input.workspace as space\n\np if space.id in approved.regions[input.operation]\n";
    const { modules } = await toolchain.check({
      modules: [{ path: "a", text }],
      units: [],
      input_schema: null,
    });
    expect(modules[0]?.references.map(({ root, path }) => [root, ...path])).toEqual([
      ["input", "workspace", "id"],
      ["data", "approved", "regions", null],
      ["input", "operation"],
    ]);
  });

  test("runs tests, one outcome each, and reports which lines none has reached", async () => {
    const modules = [
      { path: "a.rego", text: "package a\n\np if input.x\n\nq if input.y\n" },
      {
        path: "a_test.rego",
        text: [
          "package a_test",
          "",
          'test_passes if data.a.p with input as {"x": true}',
          "",
          'test_fails if { print("seen", 1); data.a.p with input as {} }',
          "",
          "todo_test_later if data.a.q",
          "",
        ].join("\n"),
      },
    ];
    const { errors, results, coverage } = await toolchain.test({ modules });
    expect(errors).toEqual([]);
    expect(
      results.map(({ name, outcome, row, output }) => ({ name, outcome, row, output })),
    ).toEqual([
      { name: "test_passes", outcome: "pass", row: 3, output: "" },
      { name: "test_fails", outcome: "fail", row: 5, output: "seen 1\n" },
      { name: "todo_test_later", outcome: "skip", row: 7, output: "" },
    ]);
    expect(coverage).toEqual([{ path: "a.rego", covered_lines: 1, missed_lines: 1, missed: [5] }]);
  });

  test("formats valid modules, and leaves invalid ones alone", async () => {
    const modules = [
      { path: "a.rego", text: "package a\np   if   input.x==1\n" },
      { path: "b.rego", text: "package" },
    ];
    const formatted = await toolchain.format({ modules });
    expect(formatted.modules).toEqual([
      { path: "a.rego", text: "package a\n\np if input.x == 1\n" },
    ]);
    expect(formatted.errors).toMatchObject([{ code: "rego_parse_error", file: "b.rego" }]);
  });

  test("returns text unchanged in every script", async () => {
    const text = 'package a\n\np := "Grüße, 世界 🚦"\n';
    expect((await toolchain.format({ modules: [{ path: "ä.rego", text }] })).modules).toEqual([
      { path: "ä.rego", text },
    ]);
  });

  test("ends an endless run after the time limit", async () => {
    const impatient = createToolchain({ cache: null, timeLimit: 1500 });
    const digits = "{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}";
    const endless = `package a_test\n\nn := ${digits}\n\ntest_endless if { some a in n; some b in n; some c in n; some d in n; some e in n; some f in n; some g in n; some h in n; a + b + c + d + e + f + g + h > 72 }\n`;
    const started = performance.now();
    await expect(
      impatient.test({ modules: [{ path: "a_test.rego", text: endless }] }),
    ).rejects.toMatchObject({
      code: "TOOLCHAIN_TIMEOUT",
    });
    expect(performance.now() - started).toBeLessThan(4000);
  });

  test("silences the warning of node:wasi, and no other", async () => {
    const script = join(await scratchFolder(), "run.mjs");
    const module = new URL("../../src/policy/toolchain/wasi.ts", import.meta.url).href;
    await writeFile(
      script,
      `const { loadWasi } = await import(${JSON.stringify(module)});
       process.stdout.write((await loadWasi()).name);
       process.emitWarning("still experimental", "ExperimentalWarning");
       process.emitWarning("still heard");`,
    );
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [script]);
    expect(stdout).toBe("WASI");
    expect(stderr).not.toContain("WASI");
    expect(stderr).toMatch(/ExperimentalWarning: still experimental.*Warning: still heard/s);
  });
});

describe("artefact", () => {
  async function copyOfArtefact(): Promise<string> {
    const folder = await scratchFolder();
    for (const name of ["manifest.json", "rego.wasm.br"]) {
      await copyFile(new URL(name, ARTEFACT_DIRECTORY), join(folder, name));
    }
    return folder;
  }

  const formatIn = (folder: string) =>
    createToolchain({ cache: null, artefactDirectory: pathToFileURL(`${folder}/`) }).format({
      modules: [{ path: "a", text: "package a" }],
    });

  test("runs from any folder", async () => {
    expect((await formatIn(await copyOfArtefact())).modules).toHaveLength(1);
  });

  test("does not run when a byte of it has changed", async () => {
    const folder = await copyOfArtefact();
    const path = join(folder, "rego.wasm.br");
    const bytes = await readFile(path);
    bytes[1000] = (bytes[1000] ?? 0) ^ 1;
    await writeFile(path, bytes);
    await expect(formatIn(folder)).rejects.toMatchObject({ code: "ARTEFACT_DAMAGED" });
  });

  test.for(["wasm_sha256", "compressed_sha256"])(
    "does not run when its manifest names another %s",
    async (member) => {
      const folder = await copyOfArtefact();
      const path = join(folder, "manifest.json");
      const manifest: unknown = JSON.parse(await readFile(path, "utf8"));
      await writeFile(path, JSON.stringify({ ...Object(manifest), [member]: "0".repeat(64) }));
      await expect(formatIn(folder)).rejects.toMatchObject({ code: "ARTEFACT_DAMAGED" });
    },
  );

  test.for(["", "{}", "[1]", "not json"])("does not run with the manifest %o", async (text) => {
    const folder = await copyOfArtefact();
    await writeFile(join(folder, "manifest.json"), text);
    await expect(formatIn(folder)).rejects.toMatchObject({ code: "ARTEFACT_DAMAGED" });
  });

  test("names the command that builds it when it is missing", async () => {
    const folder = await copyOfArtefact();
    await rm(join(folder, "rego.wasm.br"));
    await expect(formatIn(folder)).rejects.toThrow(/rego\.wasm\.br cannot be read.*rebuild\.mjs/);
  });
});
