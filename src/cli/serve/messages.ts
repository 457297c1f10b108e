import type { Diagnostic } from "../../canon/diagnostic.ts";
import type { CommandIo } from "../terminal/command-io.ts";
import { printFindings } from "../terminal/report.ts";

/** Messages of `serve` about itself. `stdout` is for information, `stderr` for warnings. */
export interface MessageIo extends CommandIo {
  readonly error: (text: string) => void;
  readonly findings: (diagnostics: readonly Diagnostic[]) => void;
  /** Text of `--demo` to read and paste; never JSON. */
  readonly plain: (text: string) => void;
}

/**
 * @param json of the log: messages are one JSON object a line on standard error. Standard output has
 *   the log alone, whose lines contain no free text.
 */
export function messageIo(io: CommandIo, json: boolean): MessageIo {
  if (!json) {
    const findings: MessageIo["findings"] = (diagnostics) => printFindings(diagnostics, io);
    return { ...io, error: io.stderr, findings, plain: io.stdout };
  }
  const line = (level: "info" | "warn" | "error", members: object): void =>
    io.stderr(`${JSON.stringify({ level, time: new Date().toISOString(), ...members })}\n`);
  const printer = (level: "info" | "warn" | "error") => (text: string) =>
    line(level, { event: "message", message: text.trim() });
  return {
    ...io,
    terminal: io.stderrTerminal === true,
    stdout: printer("info"),
    stderr: printer("warn"),
    error: printer("error"),
    plain: io.stderr,
    findings: (diagnostics) => {
      for (const { severity, hint: fix, ...finding } of diagnostics)
        line(severity === "error" ? "error" : "warn", { event: "finding", ...finding, fix });
    },
  };
}
