import { describe, expect, it } from "vitest";
import { COMMANDS, runCommands, readCompletions } from "../../src/cli/commands.ts";
import { runCommand } from "../keys/command.ts";

/** Every command and every command below one, as they are typed, with its help. */
const LINES: { readonly line: readonly string[]; readonly help: string }[] = [];
for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
  const { subcommands } = await readCompletions(summary, await load());
  for (const line of [[name], ...[...subcommands.keys()].map((below) => [name, below])]) {
    LINES.push({ line, help: (await run(...line, "--help")).stdout });
  }
}

function run(...argv: readonly string[]) {
  return runCommand(runCommands, argv);
}

/** Commands that have others below them do nothing by themselves. */
const ABOVE: ReadonlySet<string> = new Set(["keys", "policy", "evidence"]);
const ENDS = LINES.filter(({ line }) => line.length > 1 || !ABOVE.has(line[0] ?? "")).map(
  ({ line, help }) => [line.join(" "), help] as const,
);

/** What a command needs before its flags are looked at. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  completion: ["bash"],
  "keys revoke": ["id"],
  "keys rotate": ["id"],
  "policy new": ["some-policy"],
  ...Object.fromEntries(
    [
      "show",
      "diff",
      "simulate",
      "approve",
      "promote",
      "rollback",
      "withdraw",
      "release",
      "history",
    ].map((name) => [`policy ${name}`, ["some-policy"]]),
  ),
};

const argvOf = (line: string, ...more: readonly string[]): readonly string[] => [
  ...line.split(" "),
  ...(ARGUMENTS[line] ?? []),
  ...more,
];

/** Flags of a help text that take a value. */
function flagsWithValue(help: string): readonly string[] {
  return [...help.matchAll(/^ +(--[a-z][a-z-]+)(?:,? -\w)?[ =]([A-Z][A-Z|=]*)/gm)].map(
    ([, flag = ""]) => flag,
  );
}

it("the table of command lines covers more than 30 commands, subcommands included", () => {
  expect(LINES.map(({ line }) => line.join(" "))).toEqual(
    expect.arrayContaining([
      "serve",
      "keys create",
      "evidence verify",
      "policy promote",
      "policy verify",
    ]),
  );
  expect(LINES.length).toBeGreaterThan(30);
});

describe("help", () => {
  it.each(LINES.map(({ line, help }) => [line.join(" "), help] as const))(
    "the usage of %s is printed by -h, by help and beside an unknown flag",
    async (line, help) => {
      expect(help).toMatch(/^Usage: signalbox /);
      const path = line.split(" ");
      for (const argv of [
        [...path, "-h"],
        ["help", ...path],
        ["-h", ...path],
        [...path, "--nonsense", "-h"],
      ]) {
        expect([argv, await run(...argv)]).toEqual([argv, { code: 0, stdout: help, stderr: "" }]);
      }
    },
  );
});

describe.each(ENDS)("signalbox %s", (line, help) => {
  it("ends with 2 for a flag that does not exist, and names it", async () => {
    const { code, stdout, stderr } = await run(...argvOf(line, "--nonsense"));
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(
      `signalbox ${line.startsWith("policy") ? line : line.split(" ")[0]}: --nonsense: `,
    );
    expect(stderr).toContain("--help");
  });

  it("ends with 2 for a flag without its value", async () => {
    for (const flag of flagsWithValue(help)) {
      const { code, stderr } = await run(...argvOf(line, flag));
      expect([flag, code, stderr]).toEqual([flag, 2, expect.stringContaining(`${flag}: `)]);
    }
  });

  it("ends with 2 for an argument too many, and shows it", async () => {
    const surplus = line === "init" || line === "check" ? ["one", "two"] : ["surplus"];
    const { code, stderr } = await run(...argvOf(line, ...surplus));
    expect([code, stderr]).toEqual([2, expect.stringMatching(/given: .*`(surplus|two)`/)]);
  });
});

describe("a value that a flag does not have", () => {
  const rows: readonly (readonly [string, readonly string[], string])[] = [
    [
      "check",
      ["--format", "jsn"],
      "--format: must be one of terminal, json, github, sarif; did you mean json? (given: `jsn`)",
    ],
    ["explain", [...point(), "--format", "jsn"], "did you mean json? (given: `jsn`)"],
    ["simulate", ["--format", "markdwn"], "did you mean markdown? (given: `markdwn`)"],
    [
      "simulate",
      ["--fail-on", "new_destnation"],
      "did you mean new_destination? (given: `new_destnation`)",
    ],
    [
      "serve",
      ["--console", "publc"],
      "--console: must be one of admin, public, off; did you mean public? (given: `publc`)",
    ],
    ["serve", ["--log-format", "jsn"], "did you mean json? (given: `jsn`)"],
    ["serve", ["--log-level", "wrn"], "did you mean warn? (given: `wrn`)"],
    ["serve", ["--port", "many"], "--port: must be a whole number from 0 to 65535 (given: `many`)"],
    ["mock", ["--port=many"], "--port: must be a whole number from 0 to 65535 (given: `many`)"],
    ["limits", ["--format", "jsn"], "did you mean json?"],
    ["summary", ["--format", "jsn"], "did you mean json?"],
    ["summary", ["--group-by", "rout"], "did you mean route? (given: `rout`)"],
    ["spend", ["--format", "cvs"], "--format: must be one of terminal, json, csv"],
    ["spend", ["--group-by", "provder"], "did you mean provider? (given: `provder`)"],
    ["keys list", ["--format", "jsn"], "did you mean json?"],
    [
      "keys create",
      [...key(), "--scopes", "infrence"],
      "did you mean inference? (given: `infrence`)",
    ],
    [
      "keys create",
      [...key(), "--scopes", "inference", "--budget-usd", "5", "--budget-per", "dy"],
      "did you mean day? (given: `dy`)",
    ],
    ["evidence tail", ["--format", "jsn"], "did you mean json?"],
    ["evidence verify", ["--format", "jsn"], "did you mean json?"],
    ["policy check", ["--format", "sarf"], "did you mean sarif?"],
    ["policy test", ["--format", "junti"], "did you mean junit?"],
    ["policy new", ["--effect", "gat"], "did you mean gate?"],
    ["policy list", ["--format", "jsn"], "did you mean json?"],
    ["policy show", ["--format", "jsn"], "did you mean json?"],
    ["policy verify", ["--format", "jsn"], "did you mean json?"],
    ["policy simulate", ["--format", "jsn"], "did you mean json?"],
    ["policy rollback", ["--reason", "wrong_denial"], "did you mean wrong_denials?"],
    ["completion", ["bahs"], "SHELL: must be one of bash, zsh, fish"],
    ["init", ["--providers", "opnai", "--yes"], "did you mean `openai`?"],
  ];

  it.each(rows)("%s %j exits with 2 and names the mistake", async (line, more, message) => {
    const argv = line === "completion" ? [line, ...more] : argvOf(line, ...more);
    const { code, stdout, stderr } = await run(...argv);
    expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining(message)]);
  });
});

function point(): readonly string[] {
  return ["--point", '{"workspace":"a","model":"b","operation":"embeddings"}'];
}

function key(): readonly string[] {
  return ["--workspace", "demo", "--owner", "me", "--expires", "1d"];
}

describe("a value in a message", () => {
  it.each([
    [["serve", "--port", "sk-abcdefghijklmnopqrstuvwxyz012345"]],
    [["serve", "--database", "postgres://u:hunter2@h/d", "--port", "many"]],
    [["summary", "--start", "sbx_production_AbCdEfGh1jKl_0123456789abcdefghijABCDEFGHIJ"]],
    [["policy", "list", "sk-abcdefghijklmnopqrstuvwxyz012345"]],
    [["keys", "sbx_production_AbCdEfGh1jKl_0123456789abcdefghijABCDEFGHIJ"]],
    [["sk-abcdefghijklmnopqrstuvwxyz012345"]],
  ])("is never a secret: %j", async (argv) => {
    const { code, stdout, stderr } = await run(...argv);
    expect(code).toBe(2);
    expect(stdout + stderr).not.toMatch(/sk-abc|hunter2|0123456789abc/);
  });
});

it("an unusable line of simulate ends with 1 under --detailed-exitcode, where 2 means differences", async () => {
  expect((await run("simulate", "--detailed-exitcode", "--nonsense")).code).toBe(1);
});
