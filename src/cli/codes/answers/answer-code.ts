/** What an error code of an HTTP answer means, for callers and operators. */
export interface AnswerCode {
  /** The statuses that it comes with. */
  readonly status: readonly number[];
  readonly meaning: string;
  /** A request or a situation that it is answered to. */
  readonly example: string;
  readonly fix: string;
}

/** @param status one or several. */
export function answer(status: number | readonly number[], meaning: string, example: string, fix: string): AnswerCode {
  return { status: typeof status === "number" ? [status] : status, meaning, example, fix };
}
