import type { SimulationReport } from "../../../simulate/report/report.ts";
import type { FormatContext } from "./context.ts";
import { formatJson } from "./json.ts";

/** Writes a report whole, with a line feed at its end. */
export type FormatReport = (report: SimulationReport, context: FormatContext) => string;

/** How a report can be printed; help and messages list them in this order. */
export const FORMATS = {
  json: formatJson,
} as const satisfies Readonly<Record<string, FormatReport>>;

export type Format = keyof typeof FORMATS;

/** What stdout gets where no format is named for it. */
export const DEFAULT_FORMAT: Format = "json";

export function isFormat(word: string): word is Format {
  return Object.hasOwn(FORMATS, word);
}
