#!/usr/bin/env node
import { runCommands } from "./cli/commands.ts";
import { listenToOutput } from "./cli/terminal/standard-streams.ts";

const argv = process.argv.slice(2);
listenToOutput(argv[0]);
process.exitCode = await runCommands(argv, {
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
  environment: process.env,
  cwd: process.cwd(),
  terminal: process.stdout.isTTY,
  columns: process.stdout.columns,
  stderrTerminal: process.stderr.isTTY,
});
