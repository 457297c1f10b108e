import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/canon/json.ts";
import { explainRequest } from "../../../src/cli/explain/explain.ts";
import { textOf } from "../../../src/cli/terminal/call-server.ts";
import { simulate } from "../../../src/cli/simulate/simulate.ts";
import { explainCommand } from "../../../src/simulate/explain/explain-arguments.ts";
import type { SimulationReport } from "../../../src/simulate/report/report.ts";
import { runCommand, type Ran } from "../../keys/command.ts";
import { fewOrMany } from "../../support/long.ts";
import { ROOT } from "../explain-command.ts";
import { planOf, resultOf, said } from "./explained.ts";
import { commit, git, GIT_ENVIRONMENT, NO_GIT, temporaryFolder } from "./repository.ts";

const CACHE = ["--cache", join(ROOT, ".signalbox/test-cache")];
const EXAMPLE = join(ROOT, "docs/examples/eu-fallback");
/** Without it `chat-eu` goes to Europe only. */
const OVERLAY = "routes: { chat-eu: { fallbacks: [mistral-large-eu, gpt-5-us] } }\n";

function widen(folder: string, file: string): void {
  const path = join(folder, file);
  const text = readFileSync(path, "utf8");
  writeFileSync(
    path,
    text.replace("fallbacks: [mistral-large-eu]", "fallbacks: [mistral-large-eu, gpt-5-us]"),
  );
}

function repositoryOf(under: string): string {
  const folder = temporaryFolder();
  cpSync(EXAMPLE, join(folder, under), { recursive: true });
  git(folder, "init", "--quiet", "--initial-branch", "main");
  commit(folder, "first");
  return folder;
}

interface Printed {
  /** Where the commands are printed and run. */
  readonly cwd: string;
  readonly flags: readonly string[];
}

const SETUPS: Readonly<Record<string, () => Printed>> = {
  "files as they are": () => {
    const cwd = repositoryOf(".");
    widen(cwd, "routes.yaml");
    return { cwd, flags: ["--base", "main", "--head", "."] };
  },
  "a branch that is not checked out": () => {
    const cwd = repositoryOf(".");
    git(cwd, "checkout", "--quiet", "-b", "change");
    widen(cwd, "routes.yaml");
    commit(cwd, "change");
    git(cwd, "checkout", "--quiet", "main");
    return { cwd, flags: ["--base", "main", "--head", "change"] };
  },
  "two folders": () => {
    const cwd = temporaryFolder();
    for (const name of ["before", "after"]) cpSync(EXAMPLE, join(cwd, name), { recursive: true });
    widen(cwd, "after/routes.yaml");
    return { cwd, flags: ["--base", "./before", "--head", "./after"] };
  },
  "another file": () => {
    const cwd = repositoryOf("infra");
    widen(cwd, "infra/routes.yaml");
    return { cwd, flags: ["--base", "main", "--head", ".", "--config", "infra/routes.yaml"] };
  },
  "a folder below the repository's": () => {
    const cwd = repositoryOf("infra");
    git(cwd, "checkout", "--quiet", "-b", "change");
    widen(cwd, "infra/routes.yaml");
    commit(cwd, "change");
    git(cwd, "checkout", "--quiet", "main");
    mkdirSync(join(cwd, "elsewhere"));
    return { cwd: join(cwd, "infra"), flags: ["--base", "main", "--head", "change"] };
  },
  "an overlay that base does not have": () => {
    const cwd = repositoryOf(".");
    writeFileSync(join(cwd, "routes.production.yaml"), OVERLAY);
    return { cwd, flags: ["--base", "main", "--head", ".", "--environment", "production"] };
  },
  "an overlay of another file in a commit": () => {
    const cwd = repositoryOf("infra");
    git(cwd, "checkout", "--quiet", "-b", "change");
    writeFileSync(join(cwd, "infra/routes.production.yaml"), OVERLAY);
    commit(cwd, "change");
    git(cwd, "checkout", "--quiet", "main");
    const flags = ["--base", "main", "--head", "change", "--config", "infra/routes.yaml"];
    return { cwd, flags: [...flags, "--environment", "production"] };
  },
};

/** What `npm test` tries: the rest takes half a minute. */
const QUICK: ReadonlySet<string> = new Set(["two folders", "an overlay that base does not have"]);

function runIn(
  cwd: string,
  command: Parameters<typeof runCommand>[0],
  argv: readonly string[],
): Promise<Ran> {
  return runCommand(command, [...argv, ...CACHE], { cwd, environment: GIT_ENVIRONMENT });
}

async function explained(cwd: string, [, ...flags]: readonly string[]): Promise<JsonObject> {
  const ran = await runIn(cwd, explainRequest, [...flags, "--format", "json"]);
  expect(ran.stderr).toBe("");
  const value: JsonObject = JSON.parse(ran.stdout);
  return value;
}

/** Each command compiles both trees; `npm run test:long` runs all of them. */
const some = <Row>(rows: readonly Row[]): readonly Row[] =>
  rows.slice(0, fewOrMany(3, rows.length));

describe.skipIf(NO_GIT !== null)("every printed command", { timeout: 120_000 }, () => {
  it.each(Object.entries(SETUPS).filter(([name]) => fewOrMany(QUICK.has(name), true)))(
    "reproduces the result in the report of %s",
    async (_, setup) => {
      const { cwd, flags } = setup();
      const run = (format: string) =>
        runIn(cwd, simulate, [...flags, "--format", format, "--workers", "1", "--quiet"]);
      const report: SimulationReport = JSON.parse((await run("json")).stdout);
      const { declared, assertions } = report;
      expect(declared.groups.length).toBeGreaterThan(2);
      for (const group of some(declared.groups))
        expect(said(await explained(cwd, group.explain))).toBe(resultOf(group.head));
      const paths = [...declared.new_route_paths, ...declared.new_data_paths];
      expect(paths.length).toBeGreaterThan(2);
      for (const { provider, explain } of some(paths)) {
        const reached = planOf(await explained(cwd, explain)).map((candidate) =>
          textOf(candidate, "provider"),
        );
        expect(reached).toContain(provider);
      }
      const failed = assertions?.results.filter(({ status }) => status === "FAIL") ?? [];
      expect(failed.length).toBeGreaterThan(0);
      for (const { explain } of some(failed))
        expect(said(await explained(cwd, explain ?? []))).toContain("gpt-5-us");
      // What people see is one of these.
      const known = [...declared.groups, ...paths, ...failed].map(({ explain }) =>
        explainCommand(explain ?? []),
      );
      for (const format of ["terminal", "markdown"]) {
        const printed = [...(await run(format)).stdout.matchAll(/signalbox explain .*$/gm)].map(
          ([line]) => line,
        );
        expect(printed.length).toBeGreaterThan(1);
        expect(printed.filter((line) => !known.includes(line))).toEqual([]);
      }
    },
  );
});
