import type { Fixture } from "../fixture.ts";

/** Which of our surfaces a client speaks to. */
export type SurfaceName = "chat" | "completions" | "responses" | "messages";

/** What a client reports to the program that uses it, as the client names it. */
export interface Reported {
  readonly text: string;
  /** The reason that the answer ended; `null` where the client gives none. */
  readonly finish: string | null;
  /** Input and output tokens; `null` where the client reports none. */
  readonly usage: readonly [input: number, output: number] | null;
}

/** One way in which one client library requests an answer. */
export interface Caller {
  readonly name: string;
  readonly surface: SurfaceName;
  /** The client's names of finish reasons. */
  readonly finishReasons: {
    readonly stop: string;
    readonly length: string;
    readonly filtered: string;
  };
  /**
   * Whether the client counts the tokens of streams; one library adds the counts of two events
   * together.
   */
  readonly countsStreams: boolean;
  /**
   * The client passes the event of a failed stream over (`response.failed`): all that is left of it
   * is that no reason to end is given.
   */
  readonly deafToFailures?: true;
  /** Rejects with what the client throws. */
  readonly whole: (session: Session, model: string) => Promise<Reported>;
  /** Rejects with what the client throws, or with the error that it hands over in another way. */
  readonly stream: (session: Session, model: string) => Promise<Reported>;
}

/** Where a client connects, and what it really sends. */
export interface Session {
  readonly url: string;
  readonly key: string;
  /** Retries of the client; `undefined` leaves the library's default. */
  readonly retries: number | undefined;
  /** Path of every request, in order. */
  readonly sent: string[];
  /** Headers of every request, in order. */
  readonly headers: Headers[];
  /** Body of every request, in order. */
  readonly bodies: unknown[];
  readonly fetch: typeof globalThis.fetch;
}

/** @param more `key`: the workspace's everything is used otherwise. */
export function openSession(
  fixture: Fixture,
  more: { readonly key?: string; readonly retries?: number } = {},
): Session {
  const sent: string[] = [];
  const headers: Headers[] = [];
  const bodies: unknown[] = [];
  return {
    url: fixture.url,
    key: more.key ?? fixture.key,
    retries: more.retries,
    sent,
    headers,
    bodies,
    fetch: (input, init) => {
      const request = new Request(input, init);
      sent.push(new URL(request.url).pathname);
      headers.push(request.headers);
      bodies.push(typeof init?.body === "string" ? JSON.parse(init.body) : null);
      return fetch(input, init);
    },
  };
}

/** A failure that a client hands over as a value and not by throwing. */
export class ReportedFailure extends Error {
  readonly reported: unknown;

  constructor(message: string, reported: unknown) {
    super(message);
    this.reported = reported;
  }
}

/** What a client throws; the test fails where it throws nothing. */
export async function thrownBy(call: Promise<unknown>): Promise<Error> {
  let value: unknown;
  try {
    value = await call;
  } catch (error) {
    if (error instanceof Error) return error;
    throw new Error("something was thrown that is no Error", { cause: error });
  }
  throw new Error(`nothing was thrown; the client gave ${JSON.stringify(value)}`);
}

/** The status that an error of a client has; the libraries name it differently. */
export function statusOf(error: Error): unknown {
  return Reflect.get(error, "status") ?? Reflect.get(error, "statusCode");
}

/** Everything that an error of a client says, with its causes and its data. */
export function everythingSaid(error: unknown): string {
  const seen = new Set<unknown>();
  const said: string[] = [];
  const read = (value: unknown): void => {
    if (typeof value === "string") said.push(value);
    if (typeof value !== "object" || value === null || seen.has(value)) return;
    seen.add(value);
    if (value instanceof Headers) return read(Object.fromEntries(value));
    // The message and the stack of an error are not enumerable.
    for (const name of Object.getOwnPropertyNames(value)) read(Reflect.get(value, name));
  };
  read(error);
  return said.join("\n");
}

export const QUESTION = "Hello";

/** Enough for every simulated answer. */
export const LIMIT = 1_000;
