import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { check } from "../../src/cli/check.ts";
import { runCommand } from "../keys/command.ts";
import { policySource } from "../policy/samples.ts";
import { temporaryFolder } from "../store/temporary-folder.ts";

const ROOT = join(import.meta.dirname, "../..");

/**
 * The shipped table with other rules in a policy that it names. @param depth of the nested loops
 * over ten numbers.
 */
async function findingsOf(
  depth: number,
): Promise<{ readonly code: number; readonly stdout: string }> {
  const folder = temporaryFolder();
  const names = ["a", "b", "c", "d", "e"].slice(0, depth);
  const rules = [
    "digits := [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]",
    "",
    "pass.gate if {",
    ...names.map((name) => `\tsome ${name} in digits`),
    `\t${names.at(-1)} == 0`,
    "}",
    "",
    "pass.gate if input.operation",
  ].join("\n");
  for (const id of ["eu-residency", "data-retention"]) {
    const { text } = policySource(
      id,
      { gate: "{effect: gate, reasons: [NO]}" },
      id === "eu-residency" ? rules : "pass.gate if input.operation",
    );
    const path = join(folder, "policies", `${id}.rego`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  writeFileSync(join(folder, "routes.yaml"), readFileSync(join(ROOT, "routes.yaml")));
  const cache = ["--cache", join(ROOT, ".signalbox/test-cache")];
  return runCommand(check, [folder, "--format", "json", ...cache], { cwd: folder });
}

describe("signalbox check", () => {
  test.for([
    [2, null],
    [
      4,
      /an evaluation takes \d{6} of the 1000000 units of work that are allowed \(workspace \S+, route \S+\)/,
    ],
    [5, /an evaluation takes more than the limit of 1000000 units of work/],
  ] as const)(
    "reports a policy with %i nested loops only where its evaluation is expensive",
    async ([depth, message]) => {
      const { code, stdout } = await findingsOf(depth);
      expect(code).toBe(0);
      const report: {
        readonly diagnostics: readonly {
          readonly code: string;
          readonly file: string;
          readonly message: string;
        }[];
      } = JSON.parse(stdout);
      const slow = report.diagnostics.filter((diagnostic) => diagnostic.code === "POLICY_SLOW");
      expect(slow.map(({ file }) => file.replace(/^.*policies\//, ""))).toEqual(
        message === null ? [] : ["eu-residency.rego"],
      );
      if (message !== null) expect(slow[0]?.message).toMatch(message);
    },
  );
});
