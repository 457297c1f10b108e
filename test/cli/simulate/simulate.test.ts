import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommands } from "../../../src/cli/commands.ts";
import { formatJson } from "../../../src/simulate/report/format-json.ts";
import { simulate } from "../../../src/cli/simulate/simulate.ts";
import type { CommandIo } from "../../../src/cli/terminal/command-io.ts";
import { removalDigest } from "../../../src/lifecycle/lifecycle.ts";
import type { SimulationReport } from "../../../src/simulate/report/report.ts";
import type {
  RunSimulation,
  Side,
  SimulationRequest,
  SimulationWatch,
} from "../../../src/simulate/request.ts";
import { CLEAN } from "../../compile/base.ts";
import { runCommand, type Ran } from "../../keys/command.ts";
import { gatePolicy } from "../policy-folder.ts";
import { ASSERTIONS, reportOf, SAME } from "./report.ts";
import {
  commit,
  git,
  GIT_ENVIRONMENT,
  NO_GIT,
  repository,
  temporaryFolder,
  writeTo,
} from "./repository.ts";

interface Call {
  readonly base: Side;
  readonly head: Side;
  readonly request: SimulationRequest;
  readonly watch: SimulationWatch;
}

/** The same policies stand in many tests; compiling them takes a second each time. */
let cache = "";
beforeAll(() => {
  cache = mkdtempSync(join(tmpdir(), "signalbox-simulate-cache-"));
});
afterAll(() => rmSync(cache, { recursive: true, force: true }));

/** Runs the command over an engine that only records its requests. */
async function run(
  cwd: string,
  argv: readonly string[],
  {
    report = reportOf(),
    io = {},
  }: { readonly report?: SimulationReport; readonly io?: Partial<CommandIo> } = {},
): Promise<Ran & { readonly call: Call | null }> {
  let call: Call | null = null;
  const engine: RunSimulation = async (base, head, request, watch) => {
    call = { base, head, request, watch };
    return report;
  };
  const ran = await runCommand(
    (own, ownIo) => simulate(own, ownIo, engine),
    [...argv, "--cache", cache],
    {
      cwd,
      environment: GIT_ENVIRONMENT,
      ...io,
    },
  );
  return { ...ran, call };
}

/** Two folders, `before` and `after`, which compile. */
function folders(after: Readonly<Record<string, string | Uint8Array>> = {}): string {
  const folder = temporaryFolder();
  writeTo(join(folder, "before"), { "routes.yaml": CLEAN });
  writeTo(join(folder, "after"), { "routes.yaml": CLEAN, ...after });
  return folder;
}

const BOTH = ["--base", "./before", "--head", "./after", "--format", "json"];
const GATE = { "policies/gate.rego": gatePolicy("gate") };
const BROKEN = "version: 1\nnonsense: true\n";
function assertionsOf(id: string): string {
  return `version: 1\nassertions: [{ id: ${id}, title: Same, kind: equivalent }]\n`;
}

/** Changes nothing but bytes. */
const COMMENTED = `# another\n${CLEAN}`;

describe("signalbox simulate over folders", () => {
  test("compiles both sides, runs the engine with the options and prints its report", async () => {
    const cwd = folders({ ...GATE, "routes.yaml": COMMENTED });
    const { code, stdout, stderr, call } = await run(cwd, [
      ...BOTH,
      "--time-limit",
      "7s",
      "--workers",
      "2",
      "--now",
      "2026-11-21",
    ]);
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: formatJson(reportOf()),
      stderr: "",
    });
    expect(call?.base).toMatchObject({ name: "./before", commit: null, warnings: [] });
    expect(call?.head).toMatchObject({ name: "./after", commit: null });
    expect(call?.head.table.revision).toMatch(/^[0-9a-f]{64}$/);
    expect(call?.base.policies.policies).toEqual([]);
    expect(call?.head.policies.policies.map(({ contract }) => contract.id)).toEqual(["gate"]);
    expect(call?.base.files.routes).toEqual({ path: "routes.yaml", text: CLEAN });
    expect(call?.head.files.routes).toEqual({ path: "routes.yaml", text: COMMENTED });
    expect(call?.head.files.policies.map(({ path }) => path)).toEqual(["policies/gate.rego"]);
    expect(call?.request).toEqual({
      promote: null,
      otherOverlays: [],
      fresh: false,
      enforced: null,
      timeLimit: 7_000,
      workers: 2,
      assertions: null,
      evidence: null,
      now: Date.UTC(2026, 10, 21),
    });
  });

  test("the exit code is the report's", async () => {
    const cwd = folders();
    const declared = { ...SAME, access: "less_permissive", changed_classes: 1 } as const;
    expect((await run(cwd, BOTH, { report: reportOf({ declared }) })).code).toBe(0);
    expect(
      (await run(cwd, [...BOTH, "--detailed-exitcode"], { report: reportOf({ declared }) })).code,
    ).toBe(2);
    expect(
      (await run(cwd, [...BOTH, "--fail-on", "any"], { report: reportOf({ declared }) })).code,
    ).toBe(3);
    expect((await run(cwd, BOTH, { report: reportOf({ complete: false }) })).code).toBe(4);
    const assertions = { ...ASSERTIONS, failed: 1 };
    expect((await run(cwd, BOTH, { report: reportOf({ assertions, complete: false }) })).code).toBe(
      3,
    );
  });

  test("warnings are printed in the report, and not on stderr", async () => {
    const cwd = folders({
      ...GATE,
      "policies/lib/names.rego": "package signalbox.lib.names\n\nlisted if input.operation\n",
    });
    const { stderr, call } = await run(cwd, BOTH);
    expect(stderr).toBe("");
    expect(call?.head.warnings.map(({ code, file }) => [code, file])).toEqual([
      ["POLICY_LIBRARY_UNUSED", "policies/lib/names.rego"],
    ]);
  });

  test("a side with errors exits with 1, with its findings and the name of the side", async () => {
    const cwd = folders({ "routes.yaml": BROKEN });
    const { code, stdout, stderr, call } = await run(cwd, [...BOTH, "--detailed-exitcode"]);
    expect({ code, stdout, call }).toEqual({ code: 1, stdout: "", call: null });
    expect(stderr).toContain("--> routes.yaml:2:1");
    expect(stderr).toContain("2 | nonsense: true");
    expect(stderr).toMatch(
      /signalbox simulate: head \(\.\/after\) has errors; nothing was compared\n$/,
    );
    expect(stderr).not.toContain("base");
    expect(stderr).not.toContain("\u001b");
    const other = await run(cwd, ["--base", "./after", "--head", "./before"]);
    expect(other.code).toBe(1);
    expect(other.stderr).toContain("signalbox simulate: base (./after) has errors");
    const both = await run(cwd, ["--base", "./after", "--head", "./after"], {
      io: { stderrTerminal: true },
    });
    expect(both.stderr.match(/has errors; nothing was compared/g)).toHaveLength(2);
    expect(both.stderr).toContain("\u001b[31merror");
  });

  test("an error in a policy is an error of its side", async () => {
    const cwd = folders({ "policies/gate.rego": gatePolicy("gate", "pass[") });
    const { code, stderr } = await run(cwd, BOTH);
    expect(code).toBe(1);
    expect(stderr).toContain("--> policies/gate.rego:");
    expect(stderr).toContain("head (./after) has errors");
  });

  test("a folder without routes.yaml and a missing folder are errors with the fix", async () => {
    const cwd = folders();
    mkdirSync(join(cwd, "empty"));
    const empty = await run(cwd, ["--base", "./empty", "--head", "./after"]);
    expect(empty.code).toBe(1);
    expect(empty.stderr).toContain("error SOURCE_UNREADABLE");
    for (const [flag, argv] of [
      ["--base", ["--base", "./absent", "--head", "./after"]],
      ["--head", ["--base", "./before", "--head", "./absent"]],
      ["--head", ["--base", "./before", "--head", "./after/routes.yaml"]],
    ] as const) {
      const { code, stderr } = await run(cwd, argv);
      expect(code).toBe(1);
      expect(stderr).toBe(
        `signalbox simulate: ${flag}: there is no such folder; give one that is there, or a git ref\n`,
      );
    }
  });

  test("--config names the file in both folders", async () => {
    const cwd = temporaryFolder();
    for (const side of ["before", "after"]) {
      writeTo(join(cwd, side, "infra"), { "other.yaml": CLEAN, ...GATE });
    }
    const { code, call } = await run(cwd, [...BOTH, "--config", "./infra/../infra/other.yaml"]);
    expect(code).toBe(0);
    expect(call?.base.files.routes.path).toBe("infra/other.yaml");
    expect(call?.base.files.policies.map(({ path }) => path)).toEqual(["infra/policies/gate.rego"]);
  });

  test("reads assertions beside the policies, in any folder", async () => {
    const beside = await run(folders({ "policies/assertions.yaml": assertionsOf("one") }), BOTH);
    expect(beside.call?.request.assertions).toMatchObject({
      file: "policies/assertions.yaml",
      assertions: { assertions: [{ id: "one" }] },
    });
    const routes = `${CLEAN}\npolicies: { dir: rules }\n`;
    const moved = await run(
      folders({
        "routes.yaml": routes,
        "rules/assertions.yaml": assertionsOf("two"),
        "policies/assertions.yaml": assertionsOf("one"),
      }),
      BOTH,
    );
    expect(moved.call?.request.assertions).toMatchObject({
      file: "rules/assertions.yaml",
      assertions: { assertions: [{ id: "two" }] },
    });
    const named = await run(folders({ "kept/a.yaml": assertionsOf("three") }), [
      ...BOTH,
      "--assertions",
      "kept/a.yaml",
    ]);
    expect(named.call?.request.assertions).toMatchObject({
      file: "kept/a.yaml",
      assertions: { assertions: [{ id: "three" }] },
    });
  });

  test("assertions are head's, and may be absent unless they are named", async () => {
    const cwd = folders();
    expect((await run(cwd, BOTH)).call?.request.assertions).toBeNull();
    const named = await run(cwd, [...BOTH, "--assertions", "policies/assertions.yaml"]);
    expect(named).toMatchObject({ code: 1, call: null });
    expect(named.stderr).toBe(
      "signalbox simulate: --assertions: head has no such file, or it is not UTF-8 text; check the path\n",
    );
    const bytes = await run(folders({ "policies/assertions.yaml": new Uint8Array([0xff]) }), BOTH);
    expect(bytes.stderr).toContain("--assertions: head has no such file, or it is not UTF-8 text");
  });

  test("checks base's assertions where head removes or changes them, and lists the changes", async () => {
    const cwd = folders();
    const held = async () => (await run(cwd, BOTH)).call?.request.assertions;
    writeTo(join(cwd, "before"), { "policies/assertions.yaml": assertionsNamed("guard") });
    expect(await held()).toMatchObject({
      assertions: { assertions: [{ id: "guard" }] },
      changes: [
        {
          path: "policies/assertions.yaml",
          after: null,
          gate: "assertions",
          location: { side: "base" },
        },
      ],
    });
    writeTo(join(cwd, "after"), { "policies/assertions.yaml": assertionsNamed("other") });
    expect(await held()).toMatchObject({
      assertions: { assertions: [{ id: "other" }] },
      changes: [
        {
          path: "assertions.other.id",
          before: "guard",
          after: "other",
          effect: "renamed",
          gate: null,
        },
      ],
    });
    writeTo(join(cwd, "after"), {
      "policies/assertions.yaml": assertionsNamed("guard").replace("T,", "U,"),
    });
    expect((await held())?.changes).toMatchObject([
      { path: "assertions.guard.title", effect: "description", gate: null },
    ]);
    writeTo(join(cwd, "after"), {
      "policies/assertions.yaml": `# moved\n${assertionsNamed("guard")}`,
    });
    expect((await held())?.changes).toEqual([]);
  });

  test("--promote accepts only candidates of head", async () => {
    const cwd = folders(GATE);
    const digest = (await run(cwd, BOTH)).call?.head.policies.policies[0]?.digest ?? "";
    const plain = await run(cwd, [...BOTH, "--promote", "gate"]);
    expect(plain.call?.request.promote).toEqual([{ id: "gate", digestPrefix: null }]);
    const exact = await run(cwd, [...BOTH, "--promote", `gate@${digest.slice(0, 6)}`]);
    expect(exact.call?.request.promote).toEqual([{ id: "gate", digestPrefix: digest.slice(0, 6) }]);
    const wrong = digest.startsWith("000000") ? "111111" : "000000";
    const other = await run(cwd, [...BOTH, "--promote", `gate@${wrong}`]);
    expect(other.code).toBe(1);
    expect(other.stderr).toBe(
      `signalbox simulate: --promote: head has another revision of gate; its digest begins with ${digest.slice(0, 12)}\n`,
    );
    const unknown = await run(cwd, [...BOTH, "--promote", "constructor"]);
    expect(unknown).toMatchObject({ code: 1, call: null });
    expect(unknown.stderr).toContain("--promote: head has no policy with this id");
  });

  test("--promote accepts the removal of a policy enforced in base, and no policy enforced there already", async () => {
    const cwd = folders();
    const enforcing = `${CLEAN}\npolicies: { initial_mode: { gate: enforce } }\n`;
    writeTo(join(cwd, "before"), { ...GATE, "routes.yaml": enforcing });
    const removal = await run(cwd, [...BOTH, "--promote", "gate"]);
    expect(removal.call?.request.promote).toEqual([{ id: "gate", digestPrefix: null }]);
    const exact = await run(cwd, [
      ...BOTH,
      "--promote",
      `gate@${removalDigest("gate").slice(0, 12)}`,
    ]);
    expect(exact.code).toBe(0);
    const digest = exact.call?.base.policies.policies[0]?.digest ?? "";
    const kept = await run(cwd, [...BOTH, "--promote", `gate@${digest.slice(0, 12)}`]);
    expect(kept.stderr).toContain(`its digest begins with ${removalDigest("gate").slice(0, 12)}`);
    const fresh = await run(cwd, [...BOTH, "--promote", "gate", "--fresh"]);
    expect(fresh.stderr).toContain("--promote: head has no policy with this id");
    // What was only watched is gone without any approval.
    writeTo(join(cwd, "before"), { "routes.yaml": CLEAN });
    expect((await run(cwd, [...BOTH, "--promote", "gate"])).stderr).toContain(
      "head has no policy with this id",
    );
  });

  test("an --evidence file that cannot be read is an error before anything is compiled", async () => {
    const cwd = folders({ "routes.yaml": BROKEN });
    const { code, stderr } = await run(cwd, [...BOTH, "--evidence", "absent.jsonl"]);
    expect(code).toBe(1);
    expect(stderr).toBe(
      "signalbox simulate: --evidence: the file cannot be read; give a file that signalbox evidence export has written\n",
    );
    writeTo(cwd, { "here.jsonl": "" });
    const found = await run(cwd, [
      "--base",
      "./before",
      "--head",
      "./before",
      "--evidence",
      "here.jsonl",
    ]);
    expect(found.call?.request.evidence).toBe(join(cwd, "here.jsonl"));
  });

  test("writes files beside the printed report, over existing ones", async () => {
    const cwd = folders();
    writeTo(cwd, { "out/report.json": "x".repeat(100_000) });
    const { code, stdout } = await run(cwd, [
      ...BOTH,
      "--format",
      "json=out/report.json",
      "--format",
      "json=second.json",
    ]);
    expect(code).toBe(0);
    expect(stdout).toBe(formatJson(reportOf()));
    expect(readFileSync(join(cwd, "out/report.json"), "utf8")).toBe(stdout);
    expect(readFileSync(join(cwd, "second.json"), "utf8")).toBe(stdout);
  });

  test.for([
    [
      "absent/report.json",
      "absent/report.json cannot be written; check the folder and its permissions",
    ],
    ["after", "after is a folder; name a file in it"],
    [
      "before/routes.yaml/report.json",
      "before/routes.yaml/report.json cannot be written; check the folder and its permissions",
    ],
  ])("fails before the simulation where a file cannot be written: %s", async ([file, message]) => {
    const cwd = folders({ "routes.yaml": BROKEN });
    const { code, stderr, call } = await run(cwd, [...BOTH, "--format", `json=${file}`]);
    expect({ code, call }).toEqual({ code: 1, call: null });
    expect(stderr).toBe(`signalbox simulate: --format: ${message}\n`);
  });

  test.skipIf(process.getuid?.() === 0)(
    "a report file without write permission is an error before the simulation (not for root)",
    async () => {
      const cwd = folders();
      writeTo(cwd, { "report.json": "x" });
      chmodSync(join(cwd, "report.json"), 0o444);
      const { code, stderr, call } = await run(cwd, [...BOTH, "--format", "json=report.json"]);
      expect({ code, call }).toEqual({ code: 1, call: null });
      expect(stderr).toContain("--format: report.json cannot be written");
    },
  );

  test("writes no file where nothing was compared", async () => {
    const cwd = folders({ "routes.yaml": BROKEN });
    await run(cwd, [...BOTH, "--format", "json=report.json"]);
    expect(existsSync(join(cwd, "report.json"))).toBe(false);
  });

  test("a wrong flag exits with 2, and with 1 under --detailed-exitcode, where 2 means differences", async () => {
    const detailed = await run("/nowhere", ["--workers", "none", "--detailed-exitcode"]);
    expect(detailed.code).toBe(1);
    const { code, stdout, stderr } = await run("/nowhere", ["--workers", "none"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toBe(
      'signalbox simulate: --workers: must be a whole number from 1 to 256 (given: `none`)\nRun "signalbox simulate --help" for help.\n',
    );
  });
});

describe("a running simulation", () => {
  test("shows a progress line where stderr is a terminal, and clears it before the report", async () => {
    const order: string[] = [];
    const engine: RunSimulation = async (_base, _head, _request, { onProgress }) => {
      onProgress({ done: 1, of: 2 });
      return reportOf();
    };
    const io = {
      stdout: () => void order.push("report"),
      stderr: (text: string) => void order.push(text),
    };
    const cwd = folders();
    await runCommand((argv, own) => simulate(argv, own, engine), BOTH, {
      cwd,
      ...io,
      stderrTerminal: true,
    });
    expect(order).toEqual([
      "\r\u001b[2KDeciding requests: 1 of 2 pairs of workspace and route, by operation",
      "\r\u001b[2K",
      "report",
    ]);
    for (const [argv, stderrTerminal] of [
      [BOTH, false],
      [[...BOTH, "--quiet"], true],
    ] as const) {
      order.length = 0;
      await runCommand((own, ownIo) => simulate(own, ownIo, engine), argv, {
        cwd,
        ...io,
        stderrTerminal,
      });
      expect(order).toEqual(["report"]);
    }
  });

  test("ends on a signal: the engine stops, the line is cleared, exit 1, and no listener stays", async () => {
    const stop = new AbortController();
    const listeners = () => process.listenerCount("SIGINT") + process.listenerCount("SIGTERM");
    const before = listeners();
    const engine: RunSimulation = (_base, _head, _request, { onProgress, signal }) =>
      new Promise((_resolve, reject) => {
        onProgress({ done: 5, of: 9 });
        signal.addEventListener("abort", () => reject(signal.reason));
        stop.abort();
      });
    const ran = await runCommand((argv, io) => simulate(argv, io, engine), BOTH, {
      cwd: folders(),
      signal: stop.signal,
      stderrTerminal: true,
    });
    expect(ran).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "\r\u001b[2KDeciding requests: 5 of 9 pairs of workspace and route, by operation\r\u001b[2Ksignalbox simulate: stopped; nothing was reported\n",
    });
    expect(listeners()).toBe(before);
  });

  test("is stopped by Ctrl-C too, and leaves no listener behind", async () => {
    const before = process.listenerCount("SIGINT");
    const engine: RunSimulation = (_base, _head, _request, { signal }) =>
      new Promise((_resolve, reject) => {
        expect(process.listenerCount("SIGINT")).toBe(before + 1);
        signal.addEventListener("abort", () => reject(signal.reason));
        process.emit("SIGINT");
      });
    const cwd = folders();
    const ran = await runCommand((argv, io) => simulate(argv, io, engine), BOTH, { cwd });
    expect(ran).toMatchObject({
      code: 1,
      stderr: "signalbox simulate: stopped; nothing was reported\n",
    });
    await run(cwd, BOTH);
    expect(process.listenerCount("SIGINT")).toBe(before);
  });

  test("a bug of the engine is not taken for a refusal", async () => {
    const engine: RunSimulation = () => Promise.reject(new TypeError("bug"));
    await expect(
      runCommand((argv, io) => simulate(argv, io, engine), BOTH, { cwd: folders() }),
    ).rejects.toThrow("bug");
  });
});

describe.skipIf(NO_GIT !== null)("signalbox simulate over refs (needs git)", () => {
  test("compares main with the working tree, from a subfolder, with its own path", async () => {
    const folder = repository({
      "infra/routes.yaml": CLEAN,
      "infra/policies/gate.rego": gatePolicy("gate"),
    });
    const first = git(folder, "rev-parse", "HEAD");
    writeTo(folder, { "infra/routes.yaml": COMMENTED });
    const { code, stderr, call } = await run(join(folder, "infra"), ["--base", "main"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(call?.base).toMatchObject({ name: "main", commit: first });
    expect(call?.head).toMatchObject({ name: ".", commit: null });
    // The same paths on both sides, or a report would differ by where it was read from.
    expect(call?.base.files.routes).toEqual({ path: "routes.yaml", text: CLEAN });
    expect(call?.head.files.routes).toEqual({ path: "routes.yaml", text: COMMENTED });
    expect(call?.base.files.policies).toEqual(call?.head.files.policies);
    expect(call?.base.table.revision).toBe(call?.head.table.revision);
  });

  test("a --config above the current folder is read on both sides", async () => {
    const folder = repository({
      "routes.yaml": CLEAN,
      "policies/gate.rego": gatePolicy("gate"),
      "deep/er/x": "",
    });
    const { code, stderr, call } = await run(join(folder, "deep/er"), [
      "--base",
      "main",
      "--config",
      "../../routes.yaml",
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(call?.base.files).toEqual(call?.head.files);
    expect(call?.base.files.policies.map(({ path }) => path)).toEqual(["../../policies/gate.rego"]);
  });

  test("compares with origin/main by default, and names the ref to fetch where it is absent", async () => {
    const folder = repository({ "routes.yaml": CLEAN });
    const missing = await run(folder, []);
    expect(missing).toMatchObject({ code: 1, call: null });
    expect(missing.stderr).toBe(
      "signalbox simulate: --base: this repository has no commit of that name; in CI, fetch it: git fetch origin main; to name a folder, begin with ./\n",
    );
    git(folder, "update-ref", "refs/remotes/origin/main", "HEAD");
    expect((await run(folder, [])).call?.base.name).toBe("origin/main");
    const head = await run(folder, ["--head", "nope"]);
    expect(head.stderr).toContain("--head: this repository has no commit of that name");
  });

  test("--merge-base excludes later commits of main", async () => {
    const folder = repository({ "routes.yaml": CLEAN });
    const fork = git(folder, "rev-parse", "HEAD");
    git(folder, "checkout", "--quiet", "-b", "change");
    writeTo(folder, { "routes.yaml": COMMENTED });
    const change = commit(folder, "change");
    git(folder, "checkout", "--quiet", "main");
    const main = commit(folder, "main goes on");
    const plain = await run(folder, ["--base", "main", "--head", "change"]);
    expect([plain.call?.base.commit, plain.call?.head.commit]).toEqual([main, change]);
    const ref = await run(folder, ["--base", "main", "--head", "change", "--merge-base"]);
    expect(ref.call?.base).toMatchObject({ name: "main (merge base)", commit: fork });
    expect(ref.call?.head).toMatchObject({ name: "change", commit: change });
    git(folder, "checkout", "--quiet", "change");
    const ran = await run(folder, ["--base", "main", "--merge-base"]);
    expect(ran.call?.base.commit).toBe(fork);
    expect(ran.call?.head).toMatchObject({ name: ".", commit: null });
  });

  test("a ref is compared with a folder elsewhere, and two folders need no repository", async () => {
    const folder = repository({ "routes.yaml": CLEAN });
    const elsewhere = temporaryFolder();
    writeTo(elsewhere, { "routes.yaml": COMMENTED });
    const { call } = await run(folder, ["--base", "main", "--head", elsewhere]);
    expect(call?.head.files.routes).toEqual({ path: "routes.yaml", text: COMMENTED });
    const outside = await run(elsewhere, ["--base", "main"]);
    expect(outside.stderr).toContain("--base: this folder is not in a git repository");
    expect((await run(elsewhere, ["--base", ".", "--head", "."])).code).toBe(0);
  });

  test("a commit without routes.yaml, with errors or with a link, and a path outside are refused", async () => {
    const folder = repository({ "notes.md": "x" });
    git(folder, "tag", "before");
    writeTo(folder, { "routes.yaml": BROKEN });
    commit(folder, "broken");
    git(folder, "tag", "broken");
    writeTo(folder, { "routes.yaml": CLEAN, "kept/gate.rego": gatePolicy("gate") });
    symlinkSync("kept", join(folder, "policies"));
    commit(folder, "linked");
    const before = await run(folder, ["--base", "before"]);
    expect(before.code).toBe(1);
    expect(before.stderr).toMatch(/error SOURCE_UNREADABLE[\s\S]*base \(before\) has errors/);
    expect((await run(folder, ["--base", "broken"])).stderr).toContain("base (broken) has errors");
    const linked = await run(folder, ["--base", "main"]);
    expect(linked).toMatchObject({ code: 1, call: null });
    expect(linked.stderr).toContain("--base: policies is a symbolic link in that commit");
    const outside = await run(folder, ["--base", "main", "--config", "../routes.yaml"]);
    expect(outside.stderr).toContain("--config: leads out of the repository");
  });

  test("assertions and promotions are read from head's commit", async () => {
    const folder = repository({ "infra/routes.yaml": CLEAN });
    git(folder, "tag", "before");
    writeTo(folder, {
      "infra/policies/gate.rego": gatePolicy("gate"),
      "infra/policies/assertions.yaml": assertionsNamed("committed"),
    });
    commit(folder, "after");
    writeTo(folder, { "infra/policies/assertions.yaml": assertionsNamed("present") });
    const { call } = await run(join(folder, "infra"), [
      "--base",
      "before",
      "--head",
      "main",
      "--promote",
      "gate",
    ]);
    expect(call?.request.assertions?.file).toBe("policies/assertions.yaml");
    expect(call?.request.assertions?.assertions.assertions[0]?.id).toBe("committed");
    const ran = await run(join(folder, "infra"), ["--base", "before"]);
    expect(ran.call?.request.assertions?.assertions.assertions[0]?.id).toBe("present");
  });
});

/** A file with one assertion. */
function assertionsNamed(id: string): string {
  return `version: 1\nassertions:\n  - { id: ${id}, title: T, kind: no_new_access }\n`;
}

test("the command line lists simulate, and its help names every flag and exit code", async () => {
  const listed = await runCommand(runCommands, ["--help"]);
  expect(listed.stdout).toMatch(/^ {2}simulate +show what a change/m);
  for (const argv of [["--help"], ["-h"], ["--base", "x", "--help"]]) {
    const { code, stdout } = await runCommand(runCommands, ["simulate", ...argv]);
    expect(code).toBe(0);
    const flags = [
      "base",
      "head",
      "merge-base",
      "config",
      "assertions",
      "format",
      "promote",
      "fresh",
      "evidence",
      "time-limit",
      "workers",
    ];
    for (const flag of [
      ...flags,
      "detailed-exitcode",
      "fail-on",
      "quiet",
      "cache",
      "now",
      "help",
    ]) {
      expect(stdout).toContain(`  --${flag}`);
    }
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(120);
    expect(stdout).toMatch(
      /Exit codes: 0 no difference.* 1 an error.* 2 the command line.* 3 .* 4 .* 2 means differences/s,
    );
  }
});
