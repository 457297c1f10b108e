import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { GIT_ENVIRONMENT, git, temporaryFolder } from "../cli/simulate/repository.ts";
import { missingPrograms } from "../support/at-hand.ts";
import { COMPILED } from "../support/node-cache.ts";

const MISSING = missingPrograms("bash", "git");
const ROOT = resolve(import.meta.dirname, "../..");

/** Steps of the page's recipes by their name: what a runner does before it uploads anything. */
function scripts(): ReadonlyMap<string, readonly string[]> {
  const page = readFileSync(join(ROOT, "docs/simulate.md"), "utf8");
  const section = /\n### GitLab and Bitbucket\n([^]*?)\n## /.exec(page)?.[1] ?? "";
  const blocks = [...section.matchAll(/```yaml\n([^]*?)```/g)].map(([, text = ""]): unknown =>
    parse(text),
  );
  const [gitlab, , bitbucket] = blocks;
  return new Map([
    ["gitlab", linesOf(gitlab, "simulate")],
    ["bitbucket", linesOf(Array.isArray(bitbucket) ? bitbucket[0] : null, "step")],
  ]);
}

function linesOf(block: unknown, job: string): readonly string[] {
  const step: unknown =
    typeof block === "object" && block !== null ? Reflect.get(block, job) : null;
  const lines: unknown =
    typeof step === "object" && step !== null ? Reflect.get(step, "script") : null;
  return Array.isArray(lines) ? lines.map(String) : [];
}

/** A clone of a repository whose `main` has the fixture; its branch adds a fallback. */
function pullRequest(): string {
  const above = temporaryFolder();
  const [origin, folder] = [join(above, "origin"), join(above, "clone")];
  const examples = join(ROOT, "docs/examples/simulate");
  cpSync(join(examples, "estate"), origin, { recursive: true });
  git(origin, "init", "--quiet", "--initial-branch", "main");
  git(origin, "add", "--all");
  git(origin, "commit", "--quiet", "--message", "An estate");
  git(above, "clone", "--quiet", origin, folder);
  git(folder, "apply", join(examples, "03-add-fallback.patch"));
  git(folder, "commit", "--quiet", "--all", "--message", "A fallback");
  mkdirSync(join(above, "bin"));
  const script = `#!/bin/sh\nexec "${process.execPath}" "${join(ROOT, "src/main.ts")}" "$@"\n`;
  writeFileSync(join(above, "bin/signalbox"), script, { mode: 0o755 });
  return folder;
}

it.skipIf(MISSING !== null)(
  `the steps of the recipes for GitLab and Bitbucket write reports with the changed line ${MISSING ?? ""}`,
  { timeout: 300_000 },
  () => {
    const folder = pullRequest();
    const env = {
      ...COMPILED,
      ...GIT_ENVIRONMENT,
      PATH: `${join(folder, "../bin")}:${GIT_ENVIRONMENT.PATH ?? ""}`,
      CI_MERGE_REQUEST_TARGET_BRANCH_NAME: "main",
      BITBUCKET_PR_DESTINATION_BRANCH: "main",
    };
    for (const [name, lines] of scripts()) {
      expect(lines, name).toHaveLength(2);
      const { status, stderr } = spawnSync("bash", ["-ec", lines.join("\n")], {
        cwd: folder,
        env,
        encoding: "utf8",
      });
      expect(stderr, name).toBe("");
      expect(status, name).toBe(0);
    }
    const read = (file: string): unknown => JSON.parse(readFileSync(join(folder, file), "utf8"));
    const line =
      readFileSync(join(folder, "routes.yaml"), "utf8")
        .split("\n")
        .indexOf("    fallbacks: [mistral-large-eu, gpt-5-us]") + 1;
    expect(line).toBeGreaterThan(0);
    expect(read("codequality.json")).toContainEqual(
      expect.objectContaining({ location: { path: "routes.yaml", lines: { begin: line } } }),
    );
    expect(read("report.json")).toMatchObject({
      report: { result: "PASSED" },
      annotations: expect.arrayContaining([expect.objectContaining({ path: "routes.yaml", line })]),
    });
    expect(readFileSync(join(folder, "note.md"), "utf8")).toContain("**BREAKS**");
  },
);
