import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { policy } from "../../src/cli/policy/policy.ts";
import type { CommandIo } from "../../src/cli/terminal/command-io.ts";
import { runCommand, type Ran } from "../keys/command.ts";

export interface Workplace {
  readonly path: string;
  readonly write: (name: string, text: string | Uint8Array) => void;
  /** Runs `signalbox policy` there. */
  readonly run: (argv: readonly string[], io?: Partial<CommandIo>) => Promise<Ran>;
}

/** A folder of its own, gone when the test ends. */
export function workplace(files: Readonly<Record<string, string>> = {}): Workplace {
  const path = mkdtempSync(join(tmpdir(), "signalbox-policy-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  const write = (name: string, text: string | Uint8Array): void => {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text);
  };
  for (const [name, text] of Object.entries(files)) write(name, text);
  return { path, write, run: (argv, io = {}) => runCommand(policy, argv, { cwd: path, ...io }) };
}

/** A policy that is formatted and complete, with one gate; its rules may be others. */
export function gatePolicy(
  id: string,
  rules = 'pass["tier_approved"] if input.workspace.tier == "standard"',
): string {
  return `# METADATA
# scope: package
# title: Workspaces of the standard tier only
# custom:
#   signalbox:
#     contract: 1
#     id: ${id}
#     owners: [group:tests]
#     constraints:
#       tier_approved: {effect: gate, reasons: [TIER_NOT_APPROVED]}
package signalbox.policy.${id.replaceAll("-", "_")}

${rules}
`;
}

/** A test file of the policy, imported as `policy`. */
export function testsOf(id: string, rules: string): string {
  const name = id.replaceAll("-", "_");
  return `package signalbox.policy.${name}_test

import data.signalbox.policy.${name} as policy

${rules}
`;
}
