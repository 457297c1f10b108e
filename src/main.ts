#!/usr/bin/env node
import { text } from "node:stream/consumers";
import {
  endWhereHeld,
  keepCompiledCode,
  listenToOutput,
  unfitNode,
} from "./cli/terminal/process.ts";
import { startSmall } from "./server/tier-up.ts";

const argv = process.argv.slice(2);
// Nothing has been read yet, so there is nothing to read anew; without a listener a signal in the
// first moments would end the server.
if (argv[0] === "serve") process.on("SIGHUP", () => {});
keepCompiledCode(process.env);
const { runCommands } = await import("./cli/commands.ts");
if (argv[0] === "serve") startSmall();
listenToOutput(argv[0]);
const unfit = unfitNode(process.versions.node);
if (unfit === null) {
  process.exitCode = await runCommands(argv, {
    stdout: (printed) => void process.stdout.write(printed),
    stderr: (printed) => void process.stderr.write(printed),
    stdin: () => text(process.stdin),
    environment: process.env,
    cwd: process.cwd(),
    terminal: process.stdout.isTTY,
    columns: process.stdout.columns,
    stderrTerminal: process.stderr.isTTY,
  });
  if (argv[0] === "serve") endWhereHeld();
} else {
  process.stderr.write(`${unfit}\n`);
  process.exitCode = 1;
}
