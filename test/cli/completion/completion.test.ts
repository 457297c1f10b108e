import { execFileSync, spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { COMMANDS, completion, runCommands } from "../../../src/cli/commands.ts";
import { runCommand } from "../../keys/command.ts";
import { missingPrograms } from "../../support/at-hand.ts";

async function script(shell: string): Promise<string> {
  const { code, stdout, stderr } = await runCommand(completion, [shell], {
    cwd: ".",
    environment: {},
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

describe("signalbox completion", { timeout: 30_000 }, () => {
  test.skipIf(missingPrograms("bash") !== null)(
    "bash offers commands, subcommands and flags (needs bash)",
    async () => {
      const text = await script("bash");
      const offered = (...words: readonly string[]): readonly string[] => {
        const list = words.map((word) => `'${word}'`).join(" ");
        const requested = `${text}\nCOMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _signalbox; printf '%s\\n' "\${COMPREPLY[@]}"`;
        return execFileSync("bash", ["-c", requested], { encoding: "utf8" }).trim().split("\n");
      };
      expect(offered("signalbox", "")).toEqual(expect.arrayContaining(Object.keys(COMMANDS)));
      expect(offered("signalbox", "che")).toEqual(["check"]);
      expect(offered("signalbox", "check", "--e")).toEqual(["--environment", "--explain"]);
      expect(offered("signalbox", "policy", "pro")).toEqual(["promote"]);
      expect(offered("signalbox", "policy", "test", "--str")).toEqual(["--strict"]);
      expect(offered("signalbox", "simulate", "--merge")).toEqual(["--merge-base"]);
    },
  );

  test("fish gets a line for each command, and zsh its #compdef header", async () => {
    const fish = await script("fish");
    for (const [name, { summary }] of Object.entries(COMMANDS))
      expect(fish).toContain(`-a ${name} -d '${summary}'`);
    expect(fish).toContain("'__fish_seen_subcommand_from keys' -f -a rotate");
    expect(await script("zsh")).toMatch(/^#compdef signalbox\n/);
  });

  test.skipIf(missingPrograms("zsh") !== null)("zsh parses the script (needs zsh)", async () => {
    const { status, stderr } = spawnSync("zsh", ["-n"], {
      input: await script("zsh"),
      encoding: "utf8",
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  test("an unknown shell exits with 2, and the help lists the command", async () => {
    const { code, stderr } = await runCommand(completion, ["tcsh"], {
      cwd: ".",
      environment: {},
    });
    expect(code).toBe(2);
    expect(stderr).toContain("must be one of bash, zsh, fish");
    expect(
      (await runCommand(runCommands, ["help"], { cwd: ".", environment: {} })).stdout,
    ).toContain("completion");
  });
});
