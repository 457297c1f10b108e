import { isAbsolute, relative, sep } from "node:path";
import type { CommandIo } from "./command-io.ts";

/** Text that somebody else chose, safe for a terminal: it cannot move the cursor or colour what follows. */
export function printable(text: string): string {
  return text.replaceAll("\t", " ").replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\uFFFD");
}

/** Relative and with `/`, so that annotations find the file in a checkout; absolute where it lies outside; `.` for the folder itself. */
export function shownPath(cwd: string, path: string): string {
  const below = relative(cwd, path);
  if (below === "") return ".";
  return below.startsWith("..") || isAbsolute(below) ? path : below.split(sep).join("/");
}

/** Whether a report may be coloured. */
export function wantsColour(io: CommandIo): boolean {
  return io.terminal === true && (io.environment["NO_COLOR"] ?? "") === "";
}
