import { bodyOf, readerOf, type Column } from "./columns.ts";
import type { Seen } from "./readers/seen.ts";

/** What a client got of one request. */
export interface Answer {
  /** 0 where there was none. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** What the body says; `null` where it is no success to begin with. */
  readonly seen: Seen | null;
  /** The connection broke, or nothing more came for too long. */
  readonly broken: "hangs" | "broken off" | null;
  /** Milliseconds. */
  readonly took: number;
}

/** Milliseconds after which a request hangs: every provider's own time has passed long before. */
export const BOUND = 15_000;

/** Sends the column's request to a route, and reads the answer to its end, whatever it is. */
export async function ask(
  url: string,
  key: string,
  column: Column,
  route: string,
): Promise<Answer> {
  const startedAt = performance.now();
  let status = 0;
  let headers: Record<string, string> = {};
  let body = "";
  let broken: Answer["broken"] = null;
  const signal = AbortSignal.timeout(BOUND);
  try {
    const response = await fetch(`${url}${column.surface.path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "anthropic-version": "2023-06-01",
      },
      body: bodyOf(column, route),
      signal,
    });
    ({ status } = response);
    headers = Object.fromEntries(response.headers);
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) body += decoder.decode(chunk, { stream: true });
  } catch {
    broken = signal.aborted ? "hangs" : "broken off";
  }
  const seen = status === 200 ? readerOf(column)(body) : null;
  return { status, headers, body, seen, broken, took: performance.now() - startedAt };
}
