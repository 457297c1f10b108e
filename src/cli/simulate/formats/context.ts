/** What a format may know besides the report. */
export interface FormatContext {
  readonly colour: boolean;
  /** Columns of the terminal. */
  readonly width: number;
  /** SHA-256 of the JSON report, in hexadecimal: what an approver signs; `null` where it was not made. */
  readonly reportDigest: string | null;
}
