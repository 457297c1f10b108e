/** The client's side of an exchange. One implementation over a node response, one in memory for tests. */
export interface ClientAnswer {
  /** The client has disconnected, or the answer has ended. */
  readonly closed: boolean;
  /** Sends status and headers. Once. Names and values by turns. */
  start(status: number, headers: readonly string[]): void;
  /** Sends bytes; `false`: wait for `onDrain` before sending more. */
  write(bytes: Uint8Array): boolean;
  end(bytes?: Uint8Array): void;
  /** Called when the client disconnects before the answer has ended; at most once. */
  onClose(listener: () => void): void;
  /** Called whenever a full buffer has emptied. */
  onDrain(listener: () => void): void;
}
