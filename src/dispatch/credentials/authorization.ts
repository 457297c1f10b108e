/** A call as it will be sent, as far as a signature covers it. */
export interface OutgoingRequest {
  readonly method: string;
  /** With the base URL's path and with the query, as it stands in the request line. */
  readonly path: string;
  /** Names and values by turns. */
  readonly headers: readonly string[];
  readonly body: string;
}

/** Gives the headers that authenticate a call, names and values by turns. Rejects where there are none; the reason must not be shown. */
export type Authorize = (request: OutgoingRequest) => readonly string[] | Promise<readonly string[]>;
