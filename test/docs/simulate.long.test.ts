import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { simulateHelp } from "../../src/cli/simulate/simulate.ts";
import { CHANGES } from "../../src/simulate/change-kind.ts";
import { GIT_ENVIRONMENT, git, temporaryFolder } from "../cli/simulate/repository.ts";
import { missingPrograms } from "../support/at-hand.ts";
import { COMPILED } from "../support/node-cache.ts";

const MISSING = missingPrograms("bash", "git");
const ROOT = resolve(import.meta.dirname, "../..");
const PATH = join(ROOT, "docs/simulate.md");
const EXAMPLE = join(ROOT, "docs/examples/eu-fallback");
const BLOCK = /^```console\n(\$ .*)\n[^]*?^```\n/gm;

/** So that commits have the ids that the page shows. */
const DATED = {
  GIT_AUTHOR_DATE: "2026-03-02T09:00:00Z",
  GIT_COMMITTER_DATE: "2026-03-02T09:00:00Z",
};

function run(folder: string, command: string): string {
  const path = `${join(folder, "../bin")}:${GIT_ENVIRONMENT.PATH ?? ""}`;
  const env = { ...COMPILED, ...GIT_ENVIRONMENT, ...DATED, PATH: path, LC_ALL: "C" };
  const { stdout, stderr } = spawnSync("bash", ["-c", command], {
    cwd: folder,
    env,
    encoding: "utf8",
  });
  expect(stderr, command).toBe("");
  return stdout;
}

/** The branches of the example, each a change of what the one before says. */
function exampleRepository(): string {
  const above = temporaryFolder();
  const folder = join(above, "routes");
  mkdirSync(join(above, "bin"));
  const cache = join(ROOT, ".signalbox/test-cache");
  const script = `#!/bin/sh\ncommand=$1; shift\nexec "${process.execPath}" "${join(ROOT, "src/main.ts")}" "$command" "$@" --cache "${cache}"\n`;
  writeFileSync(join(above, "bin/signalbox"), script, { mode: 0o755 });
  cpSync(EXAMPLE, folder, { recursive: true });
  const commit = (message: string): void => {
    run(folder, `git add --all && git commit --quiet --message "${message}"`);
  };
  git(folder, "init", "--quiet", "--initial-branch", "main");
  commit("Two routes");
  const changes: readonly (readonly [
    branch: string,
    from: string,
    file: string,
    ...(readonly [string, string])[],
  ])[] = [
    [
      "one-region",
      "main",
      "policies/eu-residency.rego",
      ["candidate.region in data.regions.eu", 'candidate.region == "eu"'],
    ],
    [
      "us-fallback",
      "main",
      "routes.yaml",
      ["fallbacks: [mistral-large-eu]", "fallbacks: [mistral-large-eu, gpt-5-us]"],
    ],
    [
      "us-fallback-fixed",
      "us-fallback",
      "routes.yaml",
      [
        "fallbacks: [mistral-large-eu, gpt-5-us]\n    on_gap: narrow\n",
        "fallbacks: [mistral-large-eu]\n    on_gap: narrow\n" +
          "  chat-eu-first:\n    title: The European Union while an endpoint there answers\n" +
          "    primary: gpt-5-eu\n    fallbacks: [mistral-large-eu, gpt-5-us]\n    on_gap: narrow\n",
      ],
      [
        "routes: [chat-eu]\n      regions: [eu, us]",
        "routes: [chat-eu, chat-eu-first]\n      regions: [eu, us]",
      ],
    ],
  ];
  for (const [branch, from, file, ...replacements] of changes) {
    git(folder, "checkout", "--quiet", "-b", branch, from);
    const path = join(folder, file);
    const before = readFileSync(path, "utf8");
    const after = replacements.reduce((text, [old, now]) => text.replace(old, () => now), before);
    expect(after).not.toBe(before);
    writeFileSync(path, after);
    commit(branch);
  }
  git(folder, "checkout", "--quiet", "us-fallback");
  return folder;
}

/** A page is no report: of long lists of groups the first few. */
const GROUPS_SHOWN = 4;

function shortened(output: string): string {
  let count = 0;
  return output.replaceAll(
    /^ {2}[-+~] \S+: [a-z ]+ {2}[0-9a-f]{12}\n(?: {6}.*\n)+\n/gm,
    (whole) => {
      count += 1;
      if (count <= GROUPS_SHOWN) return whole;
      return count === GROUPS_SHOWN + 1 ? "  […]\n\n" : "";
    },
  );
}

it.skipIf(MISSING !== null)(
  `every example in docs/simulate.md prints what the page says (npm run generate writes it) ${MISSING ?? ""}`,
  { timeout: 300_000 },
  () => {
    const folder = exampleRepository();
    const page = readFileSync(PATH, "utf8");
    let examples = 0;
    const written = page.replaceAll(BLOCK, (_whole, command: string) => {
      examples += 1;
      const output = shortened(run(folder, command.slice(2))).trimEnd();
      return `\`\`\`console\n${command}\n${output}\n\`\`\`\n`;
    });
    expect(examples).toBeGreaterThan(5);
    if (process.env.UPDATE_DOCS === "1") writeFileSync(PATH, written);
    else expect(page).toBe(written);
  },
);

it("docs/simulate.md has the sentence of every change (npm run generate writes it)", () => {
  const rows = Object.entries(CHANGES).map(
    ([kind, { sentence }]) => `| \`${kind}\` | ${sentence} |\n`,
  );
  const page = readFileSync(PATH, "utf8");
  const written = page.replace(
    /(?<=<!-- changes -->\n\n\| \| \|\n\|---\|---\|\n)(?:\|.*\n)+(?=\n<!-- end of changes -->)/,
    rows.join(""),
  );
  expect(written).toContain(rows.join(""));
  if (process.env.UPDATE_DOCS === "1") writeFileSync(PATH, written);
  else expect(page).toBe(written);
});

it("docs/simulate.md has the help of the command (npm run generate writes it)", () => {
  const help = `\`\`\`text\n${simulateHelp().trimEnd()}\n\`\`\``;
  const page = readFileSync(PATH, "utf8");
  const written = page.replace(
    /(?<=<!-- flags -->\n\n)[^]*?(?=\n\n<!-- end of flags -->)/,
    () => help,
  );
  expect(written).toContain(help);
  if (process.env.UPDATE_DOCS === "1") writeFileSync(PATH, written);
  else expect(page).toBe(written);
});
