import type { CommandIo } from "./command-io.ts";

/** Text from an untrusted source, safe for a terminal: it cannot move the cursor or colour what follows. */
export function printable(text: string): string {
  return text.replaceAll("\t", " ").replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\uFFFD");
}

/** Whether a report may be coloured. */
export function wantsColour(io: CommandIo): boolean {
  return io.terminal === true && (io.environment["NO_COLOR"] ?? "") === "";
}
