/**
 * What happened to the database under a running process. `file_…`: to one of its files. `log_behind`: what is stored
 * ends before what this process knows as durable. `log_differs`: it is another log. `log_unreadable`: a separate
 * connection cannot read it.
 */
export const EVIDENCE_FAULT_CAUSES = [
  "file_removed",
  "file_replaced",
  "file_truncated",
  "log_behind",
  "log_differs",
  "log_unreadable",
] as const;
export type EvidenceFaultCause = (typeof EVIDENCE_FAULT_CAUSES)[number];

export interface EvidenceFault {
  readonly cause: EvidenceFaultCause;
  /** The file's name without its folder; `null` for a database without files of its own, such as PostgreSQL. */
  readonly file: string | null;
}
