/** What a format may know besides the report. */
export interface FormatContext {
  readonly colour: boolean;
  /** Columns of the terminal. */
  readonly width: number;
<<<<<<< HEAD
  /** SHA-256 of the JSON report, in hexadecimal: what an approver signs; `null` where it was not made. */
=======
  /** SHA-256 of the JSON format, in hexadecimal digits: what an approver signs. `null` where nobody made it. */
>>>>>>> refs/h/D
  readonly reportDigest: string | null;
}
