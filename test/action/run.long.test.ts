import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  commit,
  git,
  NO_GIT,
  repository,
  temporaryFolder,
  writeTo,
} from "../cli/simulate/repository.ts";
import {
  callsOf,
  fakeCheckout,
  makeRunner,
  MARKER,
  NUMBER,
  outputsOf,
  reportOf,
  runScript,
  setEvent,
  type Commits,
} from "./run-action.ts";

/** Two endpoints, of which requests may reach one or both. */
function routes(fallback: boolean): string {
  return `version: 1
regions: { eu: [eu], us: [us] }
providers:
  near: { dialect: openai-chat, base_url: https://near.example/v1, region: eu, auth: { bearer: { env: NEAR_KEY } } }
  far: { dialect: openai-chat, base_url: https://far.example/v1, region: us, auth: { bearer: { env: FAR_KEY } } }
models:
  small: { operations: [generate], context_window: 1000, max_output_tokens: 100, default_max_output_tokens: 100 }
endpoints:
  - { id: small-near, model: small, provider: near, upstream_model: small }
  - { id: small-far, model: small, provider: far, upstream_model: small }
routes:
  chat: { primary: small-near${fallback ? ", fallbacks: [small-far]" : ""} }
workspaces:
  acme: { tier: standard, approve: { routes: [chat], regions: [eu, us], providers: [near, far], capabilities: [] } }
`;
}

/** Main has moved on since the branch left it; what main did is not the branch's. */
function branched(
  head: Readonly<Record<string, string>>,
  base: Readonly<Record<string, string>> = {},
): { folder: string; commits: Commits } {
  const folder = repository({ "routes.yaml": routes(false), ...base });
  git(folder, "checkout", "--quiet", "-b", "branch");
  writeTo(folder, head);
  const tip = commit(folder, "branch");
  git(folder, "checkout", "--quiet", "main");
  writeTo(folder, { "routes.yaml": routes(false).replaceAll("acme", "renamed") });
  const mainTip = commit(folder, "main moves on");
  git(folder, "checkout", "--quiet", "branch");
  return { folder, commits: { base: mainTip, head: tip } };
}

const FAILED = `${MARKER}\n## Signalbox simulation: more permissive\n\nbody\n`;

/** A run whose Signalbox follows orders. */
async function reported(
  what: Parameters<typeof fakeCheckout>[0],
  { more = {}, files = {} }: { more?: Record<string, string>; files?: Record<string, string> } = {},
) {
  const { folder, commits } = branched({ "routes.yaml": routes(true), ...files });
  const runner = makeRunner(commits, { root: fakeCheckout(what) });
  const ended = await runScript(runner, "run.mjs", { GITHUB_WORKSPACE: folder, ...more });
  return {
    ...ended,
    runner,
    commits,
    calls: callsOf(runner),
    comment: reportOf(runner, "comment.md") ?? "",
  };
}

describe.skipIf(NO_GIT !== null)(`the run of the action ${NO_GIT ?? ""}`, () => {
  it("compares the branch with where it left main, with the real Signalbox", async () => {
    const { folder, commits } = branched({ "routes.yaml": routes(true) });
    const runner = makeRunner(commits);
    const { code, stdout } = await runScript(runner, "run.mjs", {
      GITHUB_WORKSPACE: folder,
      INPUT_FAIL_ON: "new_destination",
    });
    expect(code).toBe(0);
    const json = reportOf(runner, "simulation.json") ?? "";
    const digest = createHash("sha256").update(json).digest("hex");
    expect(outputsOf(runner)).toEqual({
      "exit-code": "3",
      reports: join(runner.temporary, "signalbox-simulation"),
      digest,
    });
    const report = JSON.parse(json);
    expect(report.head).toMatchObject({
      name: `pull-request/${NUMBER}/head`,
      commit: commits.head,
    });
    // Were it compared with main's tip, the workspace that main renamed would stand there as lost.
    expect(report.declared.new_data_paths).toMatchObject([
      { workspace: "acme", provider: "far", region: "us" },
      {},
      {},
      {},
    ]);
    expect(report.declared.lost_data_paths).toEqual([]);
    const comment = reportOf(runner, "comment.md") ?? "";
    expect(
      comment.startsWith(`${MARKER}\n> [!CAUTION]\n> - The run fails with exit code 3: `),
    ).toBe(true);
    expect(comment).toContain("far in us, kept without limit, trains on data");
    expect(comment).toMatch(/… \d+ more lines are in the reports of the run\./);
    expect(comment).toContain(
      `Commit ${commits.head}. Report, which an approver signs: \`sha256:${digest}\`. All reports are artefacts of [the run](https://github.example/acme/routes/actions/runs/99).`,
    );
    expect(readFileSync(join(runner.temporary, "summary.md"), "utf8")).toBe(comment);
    expect(JSON.parse(reportOf(runner, "simulation.sarif") ?? "").version).toBe("2.1.0");
    expect(reportOf(runner, "simulation.html")).toMatch(/^<!doctype html>/i);
    expect(stdout).toMatch(/^::warning file=routes\.yaml,.*fallbacks widened/m);
    expect(git(folder, "status", "--porcelain")).toBe("");
  });

  it("reports the compile error of a side, with the real Signalbox", async () => {
    const { folder, commits } = branched({
      "routes.yaml": routes(true).replace("[small-far]", "[small-fra]"),
    });
    const runner = makeRunner(commits);
    const { code } = await runScript(runner, "run.mjs", { GITHUB_WORKSPACE: folder });
    expect([code, outputsOf(runner)["exit-code"], outputsOf(runner).digest]).toEqual([0, "1", ""]);
    const comment = reportOf(runner, "comment.md") ?? "";
    expect(comment).toMatch(
      /^<!-- signalbox-simulation -->\n> \[!CAUTION\]\n> - `signalbox check` failed/,
    );
    expect(comment).toContain("## Signalbox simulation: error\n\nNothing was compared");
    expect(comment).toMatch(
      /```text\n[^]*small-fra[^]*head \(pull-request\/7\/head\) has errors; nothing was compared\n```/,
    );
  });

  it("passes every input to Signalbox as one argument, and keeps its cache out of the workspace", async () => {
    const { calls, runner } = await reported(
      { simulate: 0, markdown: FAILED },
      {
        more: {
          INPUT_CONFIG: "conf/routes.yaml; touch owned",
          INPUT_ENVIRONMENT: "production; touch owned",
          INPUT_FAIL_ON: "newly_denied, any",
          INPUT_TIME_LIMIT: "90s",
          INPUT_EVIDENCE: "$(touch owned).jsonl",
          INPUT_WORKERS: "2",
          INPUT_DETAILED_EXITCODE: "true",
        },
        files: { "conf/policies/x.rego": "", "conf/policies/x_test.rego": "" },
      },
    );
    const cache = ["--cache", join(runner.temporary, "signalbox-cache")];
    const reports = join(runner.temporary, "signalbox-simulation");
    expect(calls).toEqual([
      [
        "check",
        "--config=conf/routes.yaml; touch owned",
        "--environment=production; touch owned",
        "--format=github",
        ...cache,
      ],
      ["policy", "test", "--dir=conf/policies", ...cache],
      [
        "simulate",
        "--base",
        `pull-request/${NUMBER}/base`,
        "--merge-base",
        "--head",
        `pull-request/${NUMBER}/head`,
        "--config=conf/routes.yaml; touch owned",
        "--environment=production; touch owned",
        "--format=github",
        `--format=json=${reports}/simulation.json`,
        `--format=html=${reports}/simulation.html`,
        `--format=markdown=${reports}/simulation.md`,
        `--format=sarif=${reports}/simulation.sarif`,
        "--fail-on=newly_denied, any",
        "--time-limit=90s",
        "--evidence=$(touch owned).jsonl",
        "--workers=2",
        "--detailed-exitcode",
        "--quiet",
        ...cache,
      ],
    ]);
  });

  it.each([
    [0, {}, "0", null],
    [2, {}, "2", "something differs"],
    [3, {}, "3", "an assertion, a coverage gate or `fail-on` failed"],
    [4, {}, "4", "not every class was decided"],
    [0, { check: 1 }, "1", "`signalbox check` failed"],
    [0, { test: 1 }, "1", "`signalbox policy test` failed"],
    [3, { test: 1 }, "3", "`signalbox policy test` failed"],
  ] as const)(
    "combines exit code %i of simulate with %o to exit code %s",
    async (simulate, others, expected, said) => {
      const files = { "policies/x.rego": "", "policies/x_test.rego": "" };
      const { code, runner, comment } = await reported(
        { simulate, markdown: FAILED, ...others },
        { files },
      );
      expect([code, outputsOf(runner)["exit-code"]]).toEqual([0, expected]);
      expect(comment.includes("body")).toBe(true);
      if (said === null) expect(comment).not.toContain("[!CAUTION]");
      else expect(comment).toContain(said);
    },
  );

  it("names failed assertions and coverage gates in the comment, with hostile names escaped", async () => {
    const json = JSON.stringify({
      complete: true,
      assertions: {
        results: [
          { id: "eu-stays", title: "x` **y**\n> - z", status: "FAIL" },
          { id: "held", title: "", status: "PASS" },
        ],
        coverage: [{ what: "routes", status: "FAIL" }],
      },
    });
    const { comment } = await reported({ simulate: 3, markdown: FAILED, json });
    expect(comment).toContain(
      "> - Assertion `eu-stays` failed: `x� **y**�> - z`\n> - Coverage of `routes` is below its gate\n",
    );
    expect(comment).not.toContain("held");
  });

  it("begins the comment of each configuration and environment in its own way", async () => {
    const first = async (more: Record<string, string>) => {
      const { comment } = await reported({ simulate: 0, markdown: FAILED }, { more });
      expect(comment).toContain("body");
      return comment.split("\n")[0];
    };
    const infra = { INPUT_CONFIG: "infra/routes.yaml" };
    const production = { INPUT_ENVIRONMENT: "production" };
    expect(await first({ INPUT_CONFIG: "routes.yaml" })).toBe(MARKER);
    const markers = [
      await first({}),
      await first(infra),
      await first(production),
      await first({ ...infra, ...production }),
    ];
    expect(markers[0]).toBe(MARKER);
    expect(new Set(markers).size).toBe(4);
    for (const marker of markers)
      expect(marker).toMatch(/^<!-- signalbox-simulation (?:[0-9a-f]{12} )?-->$/);
  });

  it("keeps compiled policies at the configured path, but never in the workspace", async () => {
    const kept = temporaryFolder();
    const { calls } = await reported(
      { simulate: 0, markdown: FAILED },
      { more: { INPUT_CACHE_FOLDER: kept } },
    );
    expect(calls.map((call) => call.slice(-2))).toContainEqual([
      "--cache",
      join(kept, "signalbox-cache"),
    ]);
    const { folder, commits } = branched({ "routes.yaml": routes(true) });
    for (const inside of [folder, join(folder, "cache"), "cache"]) {
      const runner = makeRunner(commits, { root: fakeCheckout({ simulate: 0 }) });
      await runScript(runner, "run.mjs", { GITHUB_WORKSPACE: folder, INPUT_CACHE_FOLDER: inside });
      expect(reportOf(runner, "comment.md")).toContain(
        "must be an absolute path outside of the workspace",
      );
      expect(callsOf(runner)).toEqual([]);
    }
  });

  it("reports nothing where simulate had an error, and no error ends its log group", async () => {
    const { runner, comment } = await reported({
      simulate: 1,
      stderr: "bad\n```\n# owned\n````x\n\u001b[31mred\u0007\n",
    });
    expect(outputsOf(runner)).toMatchObject({ "exit-code": "1", digest: "" });
    expect(comment).toContain("`````text\nbad\n```\n# owned\n````x\nred�\n`````\n");
  });

  it("ignores files of the branch with the name of a report", async () => {
    const { runner, comment } = await reported(
      { simulate: 1, stderr: "no" },
      { files: { "signalbox-simulation/simulation.md": FAILED, "simulation.md": FAILED } },
    );
    expect([outputsOf(runner).digest, comment.includes("more permissive")]).toEqual(["", false]);
  });

  it.each([
    ["adds", {}, { "policies/assertions.yaml": "new" }, true],
    ["leaves alone", { "policies/assertions.yaml": "old" }, {}, false],
    ["weakens", { "policies/assertions.yaml": "old" }, { "policies/assertions.yaml": "new" }, true],
    [
      "takes away",
      { "policies/assertions.yaml": "old" },
      { "policies/assertions.yaml": null },
      true,
    ],
    ["has elsewhere", {}, { "conf/policies/assertions.yaml": "new" }, false],
  ] as const)(
    "the assertions that a branch %s are named with a warning only if they changed",
    async (_what, base, head, isSaid) => {
      const { folder, commits } = branched({ "routes.yaml": routes(true) }, base);
      for (const [name, text] of Object.entries(head)) {
        if (text === null) git(folder, "rm", "--quiet", name);
        else writeTo(folder, { [name]: text });
      }
      const tip = commit(folder, "assertions");
      const root = fakeCheckout({ simulate: 0, markdown: FAILED });
      const runner = makeRunner({ ...commits, head: tip }, { root });
      const { stdout } = await runScript(runner, "run.mjs", { GITHUB_WORKSPACE: folder });
      const comment = reportOf(runner, "comment.md") ?? "";
      expect(
        comment.includes(
          "> [!WARNING]\n> - This change is held against assertions that it changes itself",
        ),
      ).toBe(isSaid);
      expect(stdout.includes("::warning ")).toBe(isSaid);
      expect(outputsOf(runner)["exit-code"]).toBe("0");
    },
  );

  it("obeys no workflow command that a message repeats, and passes annotations on", async () => {
    const { stdout } = await reported({
      simulate: 1,
      stdout: "::notice::from us\n",
      stderr: "::error::owned\n",
    });
    const [, token] = /::stop-commands::([0-9a-f-]{36})\n::error::owned\n/.exec(stdout) ?? [];
    expect(token).toBeDefined();
    expect(stdout).toContain(`::error::owned\n::${token}::\n`);
    expect(stdout.indexOf("::notice::from us")).toBeLessThan(stdout.indexOf("::stop-commands::"));
  });

  it.each(["yes", "1", "True"])("refuses %s for an input that is true or false", async (value) => {
    const { code, comment, runner } = await reported(
      { simulate: 0 },
      { more: { INPUT_DETAILED_EXITCODE: value } },
    );
    expect([code, outputsOf(runner)["exit-code"]]).toEqual([0, "1"]);
    expect(comment).toContain("The input detailed-exitcode must be true or false");
  });

  it("fetches the commits that a shallow checkout omits", async () => {
    const { folder, commits } = branched({ "routes.yaml": routes(true) });
    for (let count = 0; count < 80; count += 1)
      git(folder, "commit", "--quiet", "--allow-empty", "--message", "more");
    const head = git(folder, "rev-parse", "HEAD");
    const shallow = join(temporaryFolder(), "checkout");
    git(folder, "config", "uploadpack.allowAnySHA1InWant", "true");
    git(folder, "clone", "--quiet", "--depth=1", "--branch=branch", `file://${folder}`, shallow);
    const runner = makeRunner(
      { base: commits.base, head },
      { root: fakeCheckout({ simulate: 0, markdown: FAILED }) },
    );
    const { code } = await runScript(runner, "run.mjs", { GITHUB_WORKSPACE: shallow });
    expect([code, outputsOf(runner)["exit-code"]]).toEqual([0, "0"]);
    expect(
      git(shallow, "merge-base", `pull-request/${NUMBER}/base`, `pull-request/${NUMBER}/head`),
    ).toBe(git(folder, "merge-base", commits.base, head));
  });

  it("names fetch-depth where git cannot fetch the commits", async () => {
    const { folder, commits } = branched({ "routes.yaml": routes(true) });
    const runner = makeRunner(
      { ...commits, base: "9".repeat(40) },
      { root: fakeCheckout({ simulate: 0 }) },
    );
    const { stdout } = await runScript(runner, "run.mjs", { GITHUB_WORKSPACE: folder });
    expect(outputsOf(runner)["exit-code"]).toBe("1");
    expect(stdout).toMatch(/::group::git\n::stop-commands::.*\nfatal: /);
    expect(reportOf(runner, "comment.md")).toContain("fetch-depth: 0");
    expect(callsOf(runner)).toEqual([]);
  });

  it("refuses names that are no commit", async () => {
    const { folder, commits } = branched({ "routes.yaml": routes(true) });
    const runner = makeRunner(
      { ...commits, head: "--upload-pack=touch owned" },
      { root: fakeCheckout({ simulate: 0 }) },
    );
    await runScript(runner, "run.mjs", { GITHUB_WORKSPACE: folder });
    expect(reportOf(runner, "comment.md")).toContain("The event names no commits");
  });

  it("requires the input base outside of a pull request, and compares with it", async () => {
    const { folder, commits } = branched({ "routes.yaml": routes(true) });
    for (const base of ["", "main"]) {
      const runner = makeRunner(commits, { root: fakeCheckout({ simulate: 0, markdown: FAILED }) });
      setEvent(runner, { ref: "refs/heads/branch" });
      await runScript(runner, "run.mjs", { GITHUB_WORKSPACE: folder, INPUT_BASE: base });
      expect(outputsOf(runner)["exit-code"]).toBe(base === "" ? "1" : "0");
      if (base === "") expect(reportOf(runner, "comment.md")).toContain("give the input base");
      else
        expect(callsOf(runner).at(-1)).toEqual(
          expect.arrayContaining(["--base", "main", "--merge-base"]),
        );
    }
  });

  it("compares the commits of a merge queue, where there is no pull request", async () => {
    const { folder, commits } = branched({ "routes.yaml": routes(true) });
    const runner = makeRunner(commits, { root: fakeCheckout({ simulate: 0, markdown: FAILED }) });
    setEvent(runner, { merge_group: { base_sha: commits.base, head_sha: commits.head } });
    await runScript(runner, "run.mjs", { GITHUB_WORKSPACE: folder });
    expect(outputsOf(runner)["exit-code"]).toBe("0");
    expect(callsOf(runner).at(-1)).toEqual(
      expect.arrayContaining(["--base", commits.base, "--head", commits.head]),
    );
  });

  it("runs no policy tests where there are none, and those of policies.dir where it is set", async () => {
    const files = {
      "routes.yaml": `${routes(true)}policies: { dir: rules }\n`,
      "rules/a.rego": "package a\n",
    };
    for (const more of [{}, { "rules/a_test.rego": "package a_test\n" }]) {
      const { folder, commits } = branched({ ...files, ...more });
      const runner = makeRunner(commits, { root: fakeCheckout({ simulate: 0, markdown: FAILED }) });
      await runScript(runner, "run.mjs", { GITHUB_WORKSPACE: folder });
      const tested = callsOf(runner).filter((call) => call[0] === "policy");
      expect(tested.map((call) => call[2])).toEqual(
        "rules/a_test.rego" in more ? ["--dir=rules"] : [],
      );
    }
  });
});
