import type { SimulationReport } from "../../../simulate/report/report.ts";
import type { FormatContext } from "./context.ts";
import { formatGithub } from "./github.ts";
import { formatHtml } from "./html/format-html.ts";
import { formatJson } from "../../../simulate/report/format-json.ts";
import { formatJunit } from "./junit.ts";
import { formatMarkdown } from "./markdown.ts";
import { formatSarif } from "./sarif.ts";
import { formatTerminal } from "./terminal.ts";

/** Writes a report whole, with a line feed at its end. */
export type FormatReport = (report: SimulationReport, context: FormatContext) => string;

/** How a report can be printed; help and messages list them in this order. */
export const FORMATS = {
  terminal: formatTerminal,
  json: formatJson,
  markdown: formatMarkdown,
  sarif: formatSarif,
  junit: formatJunit,
  html: formatHtml,
  github: formatGithub,
} as const satisfies Readonly<Record<string, FormatReport>>;

export type Format = keyof typeof FORMATS;

/** What stdout gets where no format is named for it. */
export const DEFAULT_FORMAT: Format = "terminal";

export function isFormat(word: string): word is Format {
  return Object.hasOwn(FORMATS, word);
}
