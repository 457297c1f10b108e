/** Bounds of one server; all have defaults in `server/make-runtime.ts`. */
export interface ServerLimits {
  /** Inference requests under way in this process, and beside them as many whose bodies are not whole. No bound where absent. */
  readonly inFlight?: number;
  /** Largest request body, bytes. */
  readonly bodyBytes: number;
  /** Largest answer that is collected before it is sent, bytes. */
  readonly answerBytes: number;
  /** Longest time a request may take, whatever the caller asks; milliseconds. */
  readonly requestTime: number;
  /** Bytes of bodies that this process holds at once, of those being read and of requests under way. No bound where absent. */
  readonly bodyMemory?: number;
  /** Longest time a client may take to send a body, milliseconds. */
  readonly bodyTime: number;
  /** How often it is looked at whether a body arrives fast enough, milliseconds; 10 s where absent. */
  readonly bodyProgressTime?: number;
  /** Longest time a client may take to read the rest of an answer that has been handed over whole, milliseconds. */
  readonly writeTime: number;
}
