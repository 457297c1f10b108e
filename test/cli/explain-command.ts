import { resolve } from "node:path";
import { expect } from "vitest";
import type { JsonObject } from "../../src/canon/json.ts";
import { explainRequest } from "../../src/cli/explain/explain.ts";
import type { CommandIo } from "../../src/cli/terminal/command-io.ts";
import { runCommand, type Ran } from "../keys/command.ts";

export const ROOT = resolve(import.meta.dirname, "../..");

/** `--point` of a chat at a time that does not pass, with these members besides. */
export function point(members: object): readonly string[] {
  const time = { day: "weekday", hour: "night" };
  return ["--point", JSON.stringify({ operation: "chat.completions", time, ...members })];
}

/**
 * `signalbox explain` in the repository's own folder; policies that were compiled once are kept for
 * all tests.
 */
export function explain(argv: readonly string[], io: Partial<CommandIo> = {}): Promise<Ran> {
  const cache = argv.includes("--server")
    ? []
    : ["--cache", resolve(ROOT, ".signalbox/test-cache")];
  return runCommand(explainRequest, [...argv, ...cache], { cwd: ROOT, ...io });
}

/** What it prints as JSON. */
export async function explained(
  argv: readonly string[],
  io: Partial<CommandIo> = {},
): Promise<JsonObject> {
  const { code, stdout, stderr } = await explain([...argv, "--format", "json"], io);
  expect([code, stderr]).toEqual([0, ""]);
  const value: JsonObject = JSON.parse(stdout);
  return value;
}
