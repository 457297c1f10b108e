import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { runCommands } from "../../src/cli/commands.ts";
import { runCommand } from "../keys/command.ts";
import { pages, textOf } from "./commands/blocks.ts";

const ROOT = resolve(import.meta.dirname, "../..");

const files = ["src", "console", "test", "bench", "tools", ".github"].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => !name.includes("node_modules"))
    .map((name) => join(folder, name)),
);
/** Everything that can hold a name. */
const sources = [...files, "package.json"].filter(
  (path) =>
    /^(?:(?:src|test|bench|tools|\.github)\/.*\.(?:ts|json|mjs|go|ya?ml|py)|package\.json)$/.test(
      path,
    ) && !path.startsWith("test/docs/"),
);
const program = sources
  .filter((path) => !path.startsWith("test/"))
  .map((path) => readFileSync(join(ROOT, path), "utf8"))
  .join("\n");
const tests = sources
  .filter((path) => path.startsWith("test/"))
  .map((path) => readFileSync(join(ROOT, path), "utf8"))
  .join("\n");

/** Made by a command, and not committed. */
const MADE = ["bench/results"];
/** Of git, npm, servers for open models, Docker, kubectl, Helm. */
const FLAGS_OF_OTHERS =
  "branch git omit served-model-name api-key read-only cap-drop volume publish from-literal from-file set-file kustomize".split(
    " ",
  );
/** A reader's own keys. */
const VARIABLES_OF_READERS = [
  "SIGNALBOX_BACKEND_KEY",
  "SIGNALBOX_AUDIT_KEY",
  "SIGNALBOX_ADMIN_URL",
];

/** Names of a kind that pages write in code, with the pages that write them. */
function written(pattern: RegExp, on: readonly string[] = pages()): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const page of on) {
    const code = [...textOf(page).matchAll(/`[^`\n]+`|^```[^]*?^```/gm)]
      .map(([text]) => text)
      .join("\n");
    for (const [, name = ""] of code.matchAll(pattern)) found.set(name, page);
  }
  return found;
}

function unknown(
  names: ReadonlyMap<string, string>,
  isKnown: (name: string) => boolean,
): readonly string[] {
  return [...names].filter(([name]) => !isKnown(name)).map(([name, page]) => `${page}: ${name}`);
}

describe("names on the pages", () => {
  it("files and folders exist", () => {
    const paths = written(
      /(?<![\w/.@:-])((?:src|test|bench|tools|policy-library|docs|\.github)\/[\w./-]*\w)/g,
    );
    expect(paths.size).toBeGreaterThan(20);
    expect(unknown(paths, (path) => existsSync(join(ROOT, path)) || MADE.includes(path))).toEqual(
      [],
    );
  });

  it("source files exist, also where a page writes only the end of a path", () => {
    const paths = written(/(?<![\w/.@:$-])([a-z][\w.-]*(?:\/[\w.-]+)+\.(?:ts|mjs|go))(?!\w)/g, [
      ...pages(),
      "AGENTS.md",
    ]);
    expect(paths.size).toBeGreaterThan(20);
    expect(
      unknown(paths, (path) => files.some((file) => file === path || file.endsWith(`/${path}`))),
    ).toEqual([]);
  });

  it("flags exist", () => {
    const flags = written(/(?<![\w-])--([a-z][a-z-]*[a-z])(?![\w-])/g);
    expect(flags.size).toBeGreaterThan(50);
    expect(
      unknown(
        flags,
        (flag) =>
          new RegExp(`--${flag}(?![\\w-])|["'\\s]${flag}["']?:`).test(program) ||
          tests.includes(`--${flag}`) ||
          FLAGS_OF_OTHERS.includes(flag),
      ),
    ).toEqual([]);
  });

  it("flags of every command, and variables that the program reads, are documented", async () => {
    const reported = pages().map(textOf).join("\n");
    const policy = [
      "new",
      "check",
      "test",
      "fmt",
      "list",
      "show",
      "diff",
      "approve",
      "promote",
      "rollback",
      "withdraw",
      "release",
      "history",
    ];
    const help = await runCommand(runCommands, ["--help"]);
    const commands = [...help.stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, name = ""]) => [name]);
    expect(commands.length).toBeGreaterThan(9);
    const silent: string[] = [];
    for (const command of [...commands, ...policy.map((name) => ["policy", name])]) {
      const { stdout } = await runCommand(runCommands, [...command, "--help"]);
      for (const [flag] of stdout.matchAll(/(?<=^ {2}(?:-h, )?)--[a-z][a-z-]+/gm)) {
        if (!reported.includes(flag)) silent.push(`${command.join(" ")} ${flag}`);
      }
    }
    expect(silent).toEqual([]);
    const source = sources
      .filter((path) => path.startsWith("src/"))
      .map((path) => readFileSync(join(ROOT, path), "utf8"));
    const read = new Set(source.join("\n").match(/\bSIGNALBOX_[A-Z_]+[A-Z]\b/g));
    expect([...read].filter((name) => !reported.includes(name))).toEqual([]);
  });

  it("variables, metrics and headers exist", () => {
    const variables = written(/\b(SIGNALBOX_[A-Z_]+[A-Z])\b/g);
    expect(
      unknown(variables, (name) =>
        [program, tests, ...VARIABLES_OF_READERS].some((text) => text.includes(name)),
      ),
    ).toEqual([]);
    const metrics = written(/\b(signalbox_[a-z][a-z_]*[a-z])\b/g);
    expect(metrics.size).toBeGreaterThan(30);
    // The exposition appends the suffix of counters.
    expect(
      unknown(metrics, (name) =>
        [program, tests].some((text) => text.includes(name.replace(/_total$/, ""))),
      ),
    ).toEqual([]);
    const headers = written(/\b(x-signalbox-[a-z-]+)\b/g);
    expect(headers.size).toBeGreaterThan(2);
    expect(unknown(headers, (name) => program.includes(name))).toEqual([]);
  });

  it("npm scripts exist", () => {
    const { scripts }: { scripts: object } = JSON.parse(
      readFileSync(join(ROOT, "package.json"), "utf8"),
    );
    expect(
      unknown(written(/npm run (?:-s )?([a-z][\w:-]*)/g), (name) => Object.hasOwn(scripts, name)),
    ).toEqual([]);
  });

  it("endpoints exist", () => {
    const paths = written(
      /\b(?:GET|POST|DELETE|PUT) (\/(?:v1|api\/v1|v2|status|openapi)[\w/.{}-]*)/g,
    );
    expect(paths.size).toBeGreaterThan(10);
    expect(unknown(paths, (path) => program.includes(path))).toEqual([]);
  });
});
