import type { CommandIo } from "../../src/cli/terminal/command-io.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command as a terminal would, and collects what it prints. */
export async function runCommand(
  command: (argv: readonly string[], io: CommandIo) => Promise<number>,
  argv: readonly string[],
  io: Partial<CommandIo> = {},
): Promise<Ran> {
  let stdout = "";
  let stderr = "";
  const code = await command(argv, {
    stdout: (text) => (stdout += text),
    stderr: (text) => (stderr += text),
    environment: {},
    cwd: "/nowhere",
    ...io,
  });
  return { code, stdout, stderr };
}
