import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/canon/json.ts";
import { explainRequest } from "../../src/cli/explain/explain.ts";
import { objectOf, textOf } from "../../src/cli/terminal/call-server.ts";
import { simulate } from "../../src/cli/simulate/simulate.ts";
import type { ChangeGroup, SimulationReport } from "../../src/simulate/report/report.ts";
import { runCommand, type Ran } from "../keys/command.ts";
import { commit, git, GIT_ENVIRONMENT, NO_GIT, temporaryFolder } from "./simulate/repository.ts";
import { point, ROOT } from "./explain-command.ts";

const CACHE = ["--cache", join(ROOT, ".signalbox/test-cache")];
const RULES = "policies/eu-residency.rego";

function edit(folder: string, file: string, change: (text: string) => string): void {
  const path = join(folder, file);
  const text = readFileSync(path, "utf8");
  expect(change(text)).not.toBe(text);
  writeFileSync(path, change(text));
}

/** A route changes too, so that something changes as declared. */
const widened = (folder: string): void =>
  edit(folder, "routes.yaml", (text) =>
    text.replace("fallbacks: [mistral-large-eu]", "fallbacks: [mistral-large-eu, gpt-5-us]"),
  );

/** What a branch does to a policy that acts on main. */
const CHANGES: Readonly<Record<string, (folder: string) => void>> = {
  "other rules": (folder) =>
    edit(folder, RULES, (text) =>
      text.replace("candidate.region in data.regions.eu", 'candidate.region == "eu"'),
    ),
  "no rules any more": (folder) => {
    for (const file of [
      RULES,
      "policies/eu-residency_test.rego",
      "policies/lib",
      "policies/assertions.yaml",
    ]) {
      rmSync(join(folder, file), { recursive: true });
    }
    edit(folder, "routes.yaml", (text) =>
      text.replace("initial_mode: { eu-residency: enforce }", "initial_mode: {}"),
    );
  },
  "another mode, which says nothing any more": (folder) =>
    edit(folder, "routes.yaml", (text) =>
      text.replace("eu-residency: enforce", "eu-residency: shadow"),
    ),
};

function branched(change: (folder: string) => void): string {
  const folder = temporaryFolder();
  cpSync(join(ROOT, "docs/examples/eu-fallback"), folder, { recursive: true });
  git(folder, "init", "--quiet", "--initial-branch", "main");
  commit(folder, "first");
  git(folder, "checkout", "--quiet", "-b", "change");
  widened(folder);
  change(folder);
  commit(folder, "change");
  return folder;
}

async function explained(folder: string, argv: readonly string[]): Promise<JsonObject> {
  const [, ...flags] = argv;
  const ran = await runIn(folder, explainRequest, [...flags, "--format", "json"]);
  expect(ran.stderr).toBe("");
  const value: JsonObject = JSON.parse(ran.stdout);
  return value;
}

function runIn(
  folder: string,
  command: Parameters<typeof runCommand>[0],
  argv: readonly string[],
): Promise<Ran> {
  return runCommand(command, [...argv, ...CACHE], { cwd: folder, environment: GIT_ENVIRONMENT });
}

/** `a b` or `denied eu-residency/processed_in_eu`. */
function resultOf({ plan, denial }: ChangeGroup["head"]): string {
  return denial === null
    ? plan.map(({ endpoint }) => endpoint).join(" ")
    : `denied ${denial.policy}/${denial.constraint}`;
}

function said(explanation: JsonObject[string] | undefined): string {
  if (!isJsonObject(explanation)) return "nothing";
  const { plan, denial } = explanation;
  if (isJsonObject(denial)) {
    // A report folds what a denial of the table is about.
    return `denied ${textOf(objectOf(denial, "policy"), "id")}/${textOf(denial, "failed_constraint").split(":")[0]}`;
  }
  const candidates = Array.isArray(plan) ? plan : [];
  return candidates
    .map((candidate) => (isJsonObject(candidate) ? candidate.endpoint : candidate))
    .join(" ");
}

describe.skipIf(NO_GIT !== null)("the command of an example", { timeout: 120_000 }, () => {
  it.each(Object.entries(CHANGES))(
    "prints the result of the report, where a branch has %s",
    async (_, change) => {
      const folder = branched(change);
      const flags = [
        "--base",
        "main",
        "--head",
        ".",
        "--format",
        "json",
        "--workers",
        "1",
        "--quiet",
      ];
      const report: SimulationReport = JSON.parse((await runIn(folder, simulate, flags)).stdout);
      const { declared, promoted, head } = report;
      expect(declared.groups.length).toBeGreaterThan(2);
      expect(head.policies.map(({ slot }) => slot)).toContain("enforced");
      for (const group of [...declared.groups.slice(0, 4), ...declared.groups.slice(-2)]) {
        expect(group.explain).toContain("--base");
        expect(said(await explained(folder, group.explain))).toBe(resultOf(group.head));
      }
      for (const group of promoted.groups.slice(0, 4)) {
        const explanation = await explained(folder, group.explain);
        // Where promotion changes nothing of a request, nothing is said of it.
        const promotion = explanation.if_promoted;
        expect(said(promotion === null ? explanation : promotion)).toBe(resultOf(group.head));
        expect(said(await explained(folder, [...group.explain, "--promoted"]))).toBe(
          resultOf(group.head),
        );
      }
    },
  );

  it("names base's line where base's rule decides, and head's where head's does", async () => {
    const folder = branched((there) =>
      edit(
        there,
        RULES,
        (text) =>
          `${text.replace("# METADATA", "# METADATA\n# description: moved")}\nlabel := "eu"\n`,
      ),
    );
    const flags = point({ workspace: "hospital", model: "chat-eu" });
    const base = await runIn(folder, explainRequest, [...flags, "--base", "main"]);
    expect(base.stdout).toContain(`eu-residency/processed_in_eu (enforced)  ${RULES}:15:1 in base`);
    expect(base.stdout).toContain(`eu-residency/processed_in_eu (candidate)  ${RULES}:16:1\n`);
    const alone = await runIn(folder, explainRequest, flags);
    expect(alone.stdout).toContain(`eu-residency/processed_in_eu (enforced)  ${RULES}:16:1\n`);
  });

  it.each([
    [["--base", "nowhere"], /^signalbox explain: --base: /],
    [["--base", "./nowhere"], /^signalbox explain: --base: there is no such folder/],
    [["--base", "main", "--config", "/etc/routes.yaml"], /--config: must be a file, relative/],
    [["--base", "main", "--server", "http://127.0.0.1:1"], /--server, --base: /],
    [["--base", "broken"], /--base: its files have errors/],
  ])("refuses %j with the reason", async (flags, message) => {
    const folder = branched(() => {});
    git(folder, "checkout", "--quiet", "-b", "broken");
    writeFileSync(join(folder, "routes.yaml"), "version: 1\nnonsense: true\n");
    commit(folder, "broken");
    git(folder, "checkout", "--quiet", "change");
    const cache = flags.includes("--server") ? [] : CACHE;
    const ran = await runCommand(
      explainRequest,
      [...point({ workspace: "shop", model: "chat-eu" }), ...flags, ...cache],
      {
        cwd: folder,
        environment: GIT_ENVIRONMENT,
      },
    );
    expect(ran.code).toBeGreaterThan(0);
    expect(ran.stderr.split("\n").some((line) => message.test(line))).toBe(true);
  });
});
