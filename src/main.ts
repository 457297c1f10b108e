#!/usr/bin/env node
import { runCommands } from "./cli/commands.ts";

process.exitCode = await runCommands(process.argv.slice(2), {
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
  environment: process.env,
  cwd: process.cwd(),
  terminal: process.stdout.isTTY,
});
