import { describe, expect, it } from "vitest";
import { COMMANDS, runCommands } from "../../src/cli/commands.ts";
import { runCommand } from "../keys/command.ts";

const ABOVE = ["keys", "policy", "evidence"];

describe("help", () => {
  it.each(Object.keys(COMMANDS))(
    "%s prints the same with -h, --help and help before it, and ends with 0",
    async (name) => {
      const [short, long, before] = await Promise.all(
        [
          [name, "-h"],
          [name, "--help"],
          ["help", name],
        ].map((argv) => runCommand(runCommands, argv)),
      );
      expect([short?.code, short?.stderr]).toEqual([0, ""]);
      expect(short?.stdout).toMatch(/^Usage: signalbox /);
      expect([long, before]).toEqual([short, short]);
    },
  );

  it("-h without a command lists all of them", async () => {
    const { code, stdout } = await runCommand(runCommands, ["-h"]);
    expect(code).toBe(0);
    for (const name of Object.keys(COMMANDS)) expect(stdout).toContain(`  ${name} `);
  });
});

describe("a misspelt command line", () => {
  it("a misspelt command is answered with the nearest one", async () => {
    const { code, stderr } = await runCommand(runCommands, ["sere"]);
    expect([code, stderr.split("\n")[0]]).toEqual([
      2,
      "signalbox: there is no command of that name; did you mean serve? (given: `sere`)",
    ]);
  });

  it("a misspelt command that could be a key is not repeated", async () => {
    const { stderr } = await runCommand(runCommands, ["sbx_production_7Gk2"]);
    expect(stderr.split("\n")[0]).toBe("signalbox: there is no command of that name");
  });

  it.each([
    ["serve", "--prt", "--port"],
    ["check", "--formt", "--format"],
    ["simulate", "--bsae", "--base"],
    ["explain", "--reqest", "--request"],
  ])("a misspelt flag of %s is answered with the nearest one", async (name, slip, flag) => {
    const { code, stderr } = await runCommand(runCommands, [name, slip, "x"]);
    expect(code).toBeGreaterThan(0);
    expect(stderr).toContain(`${slip}: there is no such flag; did you mean ${flag}?`);
  });

  it.each(
    ABOVE.map((name) => [name, { keys: "lst", policy: "lst", evidence: "verfy" }[name] ?? ""]),
  )("a misspelt subcommand of %s is answered with the nearest one", async (name, slip) => {
    const { code, stderr } = await runCommand(runCommands, [name, slip]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/command: give one of .*; did you mean (list|verify)\?/);
  });
});
