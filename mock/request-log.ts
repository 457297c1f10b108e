import { hash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** A request as the simulated provider saw it. Times are milliseconds since the epoch. */
export interface RecordedRequest {
  /** From 1, in the order of arrival. */
  readonly id: number;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Without those that carry credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * First 16 hexadecimal digits of the SHA-256 of the credential, so that a test can check which
   * one was sent; `null` without one.
   */
  readonly credential: string | null;
  /** The parsed JSON body; `null` without one. */
  readonly body: unknown;
  readonly startedAt: number;
  /** `null` while the answer is under way. */
  readonly endedAt: number | null;
  /** The client closed the connection before the answer was complete; `endedAt` says when. */
  readonly closedEarly: boolean;
}

/** Since the start, or since the log was cleared; forgotten requests count. */
export interface RequestCounts {
  readonly total: number;
  readonly closedEarly: number;
  readonly underWay: number;
}

type Writable<Type> = { -readonly [Member in keyof Type]: Type[Member] };

/** Requests kept in memory. */
const KEPT_REQUESTS = 1_000;
/** Bytes of bodies kept in memory. */
const KEPT_BYTES = 32_000_000;

/** Headers whose value is a credential, in the order in which they are looked for. */
const CREDENTIAL_HEADERS: readonly string[] = [
  "authorization",
  "x-api-key",
  "api-key",
  "x-goog-api-key",
  "proxy-authorization",
  "cookie",
];

/**
 * The newest requests, the oldest first; bounded in number and in bytes, so that a long run cannot
 * fill the memory.
 */
export class RequestLog {
  readonly #entries: Writable<RecordedRequest>[] = [];
  readonly #bytes = new WeakMap<RecordedRequest, number>();
  #keptBytes = 0;
  #total = 0;
  #closedEarly = 0;
  #underWay = 0;

  /** Lives on as requests come and go. */
  get entries(): readonly RecordedRequest[] {
    return this.#entries;
  }

  get counts(): RequestCounts {
    return { total: this.#total, closedEarly: this.#closedEarly, underWay: this.#underWay };
  }

  /** @param now milliseconds since the epoch. */
  begin(method: string, path: string, headers: IncomingHttpHeaders, now: number): RecordedRequest {
    this.#total += 1;
    this.#underWay += 1;
    const record = {
      id: this.#total,
      method,
      path,
      ...withoutCredentials(headers),
      body: null,
      startedAt: now,
      endedAt: null,
      closedEarly: false,
    };
    this.#entries.push(record);
    if (this.#entries.length > KEPT_REQUESTS) this.#forgetOldest();
    return record;
  }

  keepBody(record: RecordedRequest, body: unknown, bytes: number): void {
    const entry = this.#find(record);
    if (entry === undefined) return;
    entry.body = body;
    this.#bytes.set(entry, bytes);
    this.#keptBytes += bytes;
    while (this.#keptBytes > KEPT_BYTES && this.#entries.length > 1) this.#forgetOldest();
  }

  /** @param now milliseconds since the epoch. */
  end(record: RecordedRequest, closedEarly: boolean, now: number): void {
    this.#underWay -= 1;
    if (closedEarly) this.#closedEarly += 1;
    const entry = this.#find(record);
    if (entry === undefined) return;
    entry.endedAt = now;
    entry.closedEarly = closedEarly;
  }

  /** Forgets every request; those under way still count as such. */
  clear(): void {
    this.#entries.length = 0;
    this.#keptBytes = 0;
    this.#total = 0;
    this.#closedEarly = 0;
  }

  /** Searched from the end: the request is nearly always one of the newest. */
  #find(record: RecordedRequest): Writable<RecordedRequest> | undefined {
    return this.#entries.findLast((entry) => entry === record);
  }

  #forgetOldest(): void {
    const oldest = this.#entries.shift();
    if (oldest !== undefined) this.#keptBytes -= this.#bytes.get(oldest) ?? 0;
  }
}

function withoutCredentials(
  headers: IncomingHttpHeaders,
): Pick<RecordedRequest, "headers" | "credential"> {
  const kept: Record<string, string> = {};
  let credential: string | null = null;
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    const text = typeof value === "string" ? value : value.join(", ");
    if (!CREDENTIAL_HEADERS.includes(name)) kept[name] = text;
    else credential ??= hash("sha256", text.replace(/^Bearer /i, "")).slice(0, 16);
  }
  return { headers: kept, credential };
}
