/** The jobs of the load generator, one at a time, over the channel between the processes. */
export interface LoadJob {
  /** Origin of the subject, such as `http://127.0.0.1:8080`. */
  readonly origin: string;
  /** Names and values of headers besides the content type. */
  readonly headers: Readonly<Record<string, string>>;
  readonly path: string;
  readonly body: string;
  /** Text with which a complete answer ends. */
  readonly ending: string;
  readonly loop: ClosedLoop | OpenLoop;
}

/** A new request as soon as one is answered. */
export interface ClosedLoop {
  readonly kind: "closed";
  readonly requests: number;
  readonly concurrency: number;
}

/** A new request when it is due, whether or not the earlier ones are answered. */
export interface OpenLoop {
  readonly kind: "open";
  readonly requests: number;
  /** Requests a second. */
  readonly rate: number;
}

/**
 * All times are milliseconds; latencies count from the moment at which the request was handed to
 * the HTTP client.
 */
export interface LoadResult {
  readonly duration: number;
  readonly p50: number;
  readonly p99: number;
  readonly firstByteP50: number;
  readonly firstByteP99: number;
  /** Answers that were not complete with status 200. */
  readonly failures: number;
  /** What was wrong with the first of them; empty without failures. */
  readonly failure: string;
}

/**
 * Whether a message from the load generator is a result; anything else would be another process's.
 */
export function isLoadResult(value: unknown): value is LoadResult {
  if (typeof value !== "object" || value === null) return false;
  const numbers = ["duration", "p50", "p99", "firstByteP50", "firstByteP99", "failures"];
  return (
    numbers.every((name) => typeof Reflect.get(value, name) === "number") &&
    typeof Reflect.get(value, "failure") === "string"
  );
}

/** Whether a message is a job; only `bench/main.ts` sends any, so its kind is proof enough. */
export function isLoadJob(value: unknown): value is LoadJob {
  return (
    typeof value === "object" &&
    value !== null &&
    "loop" in value &&
    "origin" in value &&
    "body" in value
  );
}
