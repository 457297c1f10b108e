import type { SimulationReport } from "../../../simulate/report/report.ts";
import { formatBitbucket, formatGithub, formatGitlab } from "./platforms.ts";
import { formatHtml } from "./html/format-html.ts";
import { formatJson } from "../../../simulate/report/format-json.ts";
import { formatJunit } from "./junit.ts";
import { formatMarkdown } from "./markdown.ts";
import { modelOf, type FormatContext, type ReportModel } from "./model.ts";
import { formatSarif } from "./sarif.ts";
import { formatTerminal } from "./terminal.ts";

/** Writes a report whole, with a line feed at its end. */
export type FormatReport = (report: SimulationReport, context: FormatContext) => string;

/** Formats of a report; help and messages list them in this order. */
export const FORMATS = {
  terminal: ofModel(formatTerminal),
  json: formatJson,
  markdown: ofModel(formatMarkdown),
  sarif: ofModel(formatSarif),
  junit: ofModel(formatJunit),
  html: ofModel(formatHtml),
  github: ofModel(formatGithub),
  gitlab: ofModel(formatGitlab),
  bitbucket: ofModel(formatBitbucket),
} as const satisfies Readonly<Record<string, FormatReport>>;

/** JSON is the report itself; the other formats print the model. */
function ofModel(format: (model: ReportModel, context: FormatContext) => string): FormatReport {
  return (report, context) => format(modelOf(report), context);
}

export type Format = keyof typeof FORMATS;

/** Format of stdout if none is named for it. */
export const DEFAULT_FORMAT: Format = "terminal";

export function isFormat(value: string): value is Format {
  return Object.hasOwn(FORMATS, value);
}
