import type { Diagnostic } from "../../../canon/diagnostic.ts";
import type { ReportEntry, SecretEntry } from "./import-report.ts";

/** Everything that an import has to say. */
export interface ImportResult {
  readonly source: string;
  /** The source's file as messages print it. */
  readonly file: string;
  /** Files written, besides the report. */
  readonly files: readonly string[];
  readonly entries: readonly ReportEntry[];
  readonly secrets: readonly SecretEntry[];
  readonly check: {
    readonly errors: readonly Diagnostic[];
    readonly warnings: readonly Diagnostic[];
    /** SHA-256 of the table; `null` where it has an error. */
    readonly revision: string | null;
  };
  /** Commands to make keys of the source again. */
  readonly keys: readonly string[];
  /** A request that the simulated provider answers; `null` where no route generates. */
  readonly firstRequest: { readonly workspace: string; readonly body: string } | null;
}
