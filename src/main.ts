#!/usr/bin/env node
import { run } from "./cli/run.ts";

process.exitCode = await run(process.argv.slice(2), {
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
  environment: process.env,
  cwd: process.cwd(),
});
