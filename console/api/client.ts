import { signedIn, signedOut, workspaceFor } from "./session-state.ts";

/** Why a call gave no answer. */
export interface Failure {
  /** HTTP status; 0 where the server was not reached. */
  readonly status: number;
  readonly code: string;
  /** The server's sentence, without its request id. */
  readonly message: string;
  readonly requestId: string | null;
  /** Seconds to wait before a retry. */
  readonly retryAfter: number | null;
  /** More members of the server's error, such as `current` and `missing`. */
  readonly facts: Readonly<Record<string, unknown>>;
}

export type Result<Value> =
  | { readonly ok: true; readonly value: Value; readonly etag: string | null }
  | { readonly ok: false; readonly failure: Failure };

/**
 * Readings that are answered 429 are tried again: so often, and where the server requires no longer
 * wait, seconds.
 */
const MOST_TRIES = 4;
const LONGEST_WAIT = 5;

interface Options {
  readonly method?: "GET" | "POST";
  readonly body?: object;
  readonly ifMatch?: string;
  readonly accept?: string;
  readonly signal?: AbortSignal;
  /** Another than the one that is shown. */
  readonly workspace?: string;
}

/**
 * Calls the API of this page's origin with the session's cookie. A 401 of a session that has ended
 * shows the sign-in again.
 */
export async function call<Value>(path: string, options: Options = {}): Promise<Result<Value>> {
  const result = await callText(path, options);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server's contract says what the path answers
  return result.ok ? { ...result, value: parsed(result.value) as Value } : result;
}

/** The same for an answer that is text, such as CSV. */
export async function callText(path: string, options: Options): Promise<Result<string>> {
  const response = await send(path, options);
  if ("failure" in response) return { ok: false, failure: response.failure };
  const text = await response.text().catch(() => "");
  return response.ok
    ? { ok: true, value: text, etag: response.headers.get("etag") }
    : { ok: false, failure: failureOf(path, response, parsed(text)) };
}

async function send(
  path: string,
  options: Options,
): Promise<Response | { readonly failure: Failure }> {
  const { method = "GET", body, ifMatch, accept, signal } = options;
  const current = signedIn();
  const headers = new Headers({ accept: accept ?? "application/json" });
  if (body !== undefined) headers.set("content-type", "application/json");
  if (ifMatch !== undefined) headers.set("if-match", ifMatch);
  if (current !== null) {
    const workspace = options.workspace ?? workspaceFor(path) ?? current.workspace;
    // A browser throws for other names; no workspace has one.
    if (/^[\x20-\x7E]+$/.test(workspace)) headers.set("x-signalbox-workspace", workspace);
    if (method === "POST") headers.set("x-signalbox-csrf", current.csrf);
  }
  const init: RequestInit = {
    method,
    headers,
    credentials: "same-origin",
    cache: "no-store",
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  };
  try {
    for (let tries = 1; ; tries += 1) {
      const response = await fetch(path, init);
      const wait = Number(response.headers.get("retry-after") ?? 1);
      // A workspace has so many summaries at once, and two people may look at one page.
      const isBusy = method === "GET" && response.status === 429 && wait <= LONGEST_WAIT;
      if (!isBusy || tries === MOST_TRIES) return response;
      await new Promise((resolve) => setTimeout(resolve, wait * 1_000));
    }
  } catch {
    const message =
      "The server was not reached. Check that it runs and that this machine reaches it, then try again.";
    return {
      failure: {
        status: 0,
        code: "unreachable",
        message,
        requestId: null,
        retryAfter: null,
        facts: {},
      },
    };
  }
}

function failureOf(path: string, response: Response, answer: unknown): Failure {
  const error = member(answer, "error") ?? {};
  const code = member(error, "code");
  const message = member(error, "message");
  const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
  const failure: Failure = {
    status: response.status,
    code: typeof code === "string" ? code : `http_${response.status}`,
    message:
      typeof message === "string" ? withoutId(message) : `The server answered ${response.status}.`,
    requestId: response.headers.get("x-request-id"),
    retryAfter: Number.isFinite(retryAfter) ? retryAfter : null,
    facts: isObject(error) ? error : {},
  };
  if (failure.status === 401 && !path.startsWith("/console/")) signedOut(failure.message);
  return failure;
}

/** The id is shown apart from the sentence. */
const withoutId = (message: string): string => message.replace(/\s*\(request id [\w-]+\)\s*$/, "");

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A member of a value from outside; `undefined` where there is none. */
export function member(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A path with its query; members without a value are omitted. */
export function withQuery(
  path: string,
  query: Readonly<Record<string, string | number | null | undefined>>,
): string {
  const entries = Object.entries(query).flatMap(([name, value]) =>
    value === null || value === undefined || value === "" ? [] : [[name, String(value)]],
  );
  return entries.length === 0 ? path : `${path}?${new URLSearchParams(entries).toString()}`;
}
