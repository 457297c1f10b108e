import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

import { CommandError } from "../terminal/command-io.ts";

/** @throws {CommandError} for a file that cannot be read */
export async function* readLines(path: string): AsyncGenerator<string, void> {
  try {
    yield* createInterface({ input: createReadStream(path, "utf8"), crlfDelay: Infinity });
  } catch {
    throw new CommandError("--file: cannot be read; check the path and its access rights");
  }
}
