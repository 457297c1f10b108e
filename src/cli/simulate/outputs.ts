import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { access, stat, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import type { SimulationReport } from "../../simulate/report/report.ts";
import { CommandError, type CommandIo } from "../terminal/command-io.ts";
import { printable, wantsColour } from "../terminal/printing.ts";
import { FORMATS, type FormatReport } from "./formats/formats.ts";
import type { FormatContext } from "./formats/model.ts";
import { formatJson } from "../../simulate/report/format-json.ts";
import type { OutputOption } from "./options.ts";

/** Columns where the output is no terminal. */
const USUAL_WIDTH = 100;

/**
 * Checks that the files can be written, before the work begins. @throws {CommandError} where one
 * cannot.
 */
export async function checkOutputs(outputs: readonly OutputOption[], io: CommandIo): Promise<void> {
  for (const { file } of outputs) {
    if (file === null) continue;
    const path = resolve(io.cwd, file);
    const found = await stat(path).catch(() => null);
    if (found?.isDirectory() === true) throw notWritten(file, "is a folder; name a file in it");
    const folder = await stat(dirname(path)).catch(() => null);
    const writable = await access(found === null ? dirname(path) : path, constants.W_OK).then(
      () => true,
      () => false,
    );
    if (folder?.isDirectory() !== true || !writable) {
      throw notWritten(file, "cannot be written; check the folder and its permissions");
    }
  }
}

/**
 * Writes the report in every requested format. @throws {CommandError} where a file cannot be
 * written.
 */
export async function writeOutputs(
  report: SimulationReport,
  outputs: readonly OutputOption[],
  io: CommandIo,
  { verdict = null, all = false }: Pick<FormatContext, "verdict" | "all"> = {},
): Promise<void> {
  const reportDigest = createHash("sha256").update(formatJson(report)).digest("hex");
  const context = { reportDigest, verdict, all };
  for (const { format, file } of outputs) {
    const render: FormatReport = FORMATS[format];
    const isTerminal = file === null && io.terminal === true;
    const text = render(report, {
      ...context,
      colour: isTerminal && wantsColour(io),
      width: isTerminal ? (io.columns ?? USUAL_WIDTH) : USUAL_WIDTH,
    });
    if (file === null) {
      io.stdout(text);
      continue;
    }
    await writeFile(resolve(io.cwd, file), text).catch(({ code }: NodeJS.ErrnoException) => {
      throw notWritten(file, `cannot be written (${code}); check the folder and its permissions`);
    });
  }
}

function notWritten(file: string, why: string) {
  return new CommandError(`--format: ${printable(file)} ${why}`);
}
