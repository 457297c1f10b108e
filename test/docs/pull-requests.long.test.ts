import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/canon/json.ts";
import { explainRequest } from "../../src/cli/explain/explain.ts";
import { simulate } from "../../src/cli/simulate/simulate.ts";
import { explainCommand } from "../../src/simulate/explain/explain-arguments.ts";
import type { ChangeGroup, SimulationReport } from "../../src/simulate/report/report.ts";
import type { SampleRequest } from "../../src/simulate/sample-request.ts";
import { resultOf, said } from "../cli/simulate/explained.ts";
import { GIT_ENVIRONMENT, git, temporaryFolder } from "../cli/simulate/repository.ts";
import { runCommand } from "../keys/command.ts";
import { missingPrograms } from "../support/at-hand.ts";

const MISSING = missingPrograms("git");
const FOLDER = resolve(import.meta.dirname, "../../docs/examples/simulate");
const PATCHES = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".patch"))
  .map((name) => name.replace(/\.patch$/, ""));
/** No terminal is assumed to be narrower. */
const WIDTH = 100;

/**
 * The fixture on `main` and the patch on a branch, with commits of the same ids on every machine.
 */
function pullRequest(name: string): string {
  const folder = temporaryFolder();
  cpSync(join(FOLDER, "estate"), folder, { recursive: true });
  const date = "2026-03-02T09:00:00Z";
  const commit = (message: string): void => {
    git(folder, "add", "--all");
    git(folder, "commit", "--quiet", "--date", date, "--message", message);
  };
  git(folder, "init", "--quiet", "--initial-branch", "main");
  commit("An estate");
  git(folder, "checkout", "--quiet", "-b", name.replace(/^\d+-/, ""));
  git(folder, "apply", join(FOLDER, `${name}.patch`));
  commit(name);
  return folder;
}

/** Commits have the time of the machine in them. */
function withoutIds(text: string): string {
  return text
    .replaceAll(/(?<=\b(?:main|[a-z]+(?:-[a-z]+)*) )[0-9a-f]{7}\b/g, "0000000")
    .replaceAll(/(?<=--(?:base|head) )[0-9a-f]{12}\b/g, "COMMIT");
}

it("there are sixteen pull requests", () => {
  expect(PATCHES).toHaveLength(16);
});

it.skipIf(MISSING !== null).for(PATCHES)(
  `the first screen of %s is the one in docs/examples (npm run generate writes it) ${MISSING ?? ""}`,
  { timeout: 300_000 },
  async (name) => {
    const folder = pullRequest(name);
    const head = name.replace(/^\d+-/, "");
    const environment = { ...GIT_ENVIRONMENT, NO_COLOR: "1" };
    const formats = ["--format", "terminal", "--format", "json=report.json"];
    const { stdout, stderr } = await runCommand(
      simulate,
      ["--base", "main", "--head", head, "--quiet", ...formats],
      {
        cwd: folder,
        environment,
      },
    );
    expect(stderr).toBe("");
    const [screen = ""] = stdout.split("\n\nDetails\n");
    const lines = screen.split("\n");
    expect(lines.length).toBeLessThanOrEqual(23);
    const path = join(FOLDER, `${name}.txt`);
    const written = `${withoutIds(screen)}\n`;
    // A command is for pasting, and is never broken.
    expect(lines.filter((line) => line.length > WIDTH && !line.startsWith("explain: "))).toEqual(
      [],
    );
    if (process.env.UPDATE_DOCS === "1") writeFileSync(path, written);
    else expect(existsSync(path) ? readFileSync(path, "utf8") : "").toBe(written);
    const command = /^explain: (.*)$/m.exec(screen)?.[1] ?? null;
    if (command === null) return;
    // What the screen says of the request is what `explain` says of it.
    const { declared, promoted }: SimulationReport = JSON.parse(
      readFileSync(join(folder, "report.json"), "utf8"),
    );
    const [, point = "{}", files = ""] = /--point '([^']*)'(.*)/.exec(command) ?? [];
    const { workspace, model }: SampleRequest = JSON.parse(point);
    const isPrinted = ({ explain, plain_members: plain = [] }: ChangeGroup): boolean =>
      explainCommand(explain) === command ||
      plain.some((member) => member.workspace === workspace && member.routes.includes(model));
    const now = declared.groups.find(isPrinted);
    const later = promoted.groups.find(isPrinted);
    const argv = ["--point", point, ...files.trim().split(" ")];
    const explained = await runCommand(explainRequest, [...argv, "--format", "json"], {
      cwd: folder,
      environment,
    });
    const answer: JsonObject = JSON.parse(explained.stdout);
    if (now !== undefined) expect(said(answer)).toBe(resultOf(now.head));
    const { if_promoted: promotion } = answer;
    if (later !== undefined)
      expect(said(isJsonObject(promotion) ? promotion : answer)).toBe(resultOf(later.head));
    expect(now ?? later).toBeDefined();
  },
);
