/** What a format may know besides the report. */
export interface FormatContext {
  readonly colour: boolean;
  /** Columns of the terminal. */
  readonly width: number;
  /** SHA-256 of the JSON format, in hexadecimal digits: what an approver signs. `null` where nobody made it. */
  readonly reportDigest: string | null;
}
