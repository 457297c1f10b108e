import { type JsonObject, parseJsonObject } from "../../canon/json.ts";
import { CommandError, UsageError, type CommandIo } from "./command-io.ts";

/** How long a server may take, milliseconds. */
const LONGEST_WAIT = 10_000;

/**
 * The longest answer that is read, bytes: a simulation report names every group of requests that
 * changes.
 */
const LONGEST_ANSWER = 64_000_000;

/** For an answer with status 401. */
export const KEY_NOT_ACCEPTED =
  "SIGNALBOX_KEY: the server does not accept the key: it is another server's, expired or revoked";

interface ServerCall {
  readonly url: URL;
  readonly method: "GET" | "POST";
  readonly key: string;
  readonly body?: JsonObject;
  /** An entity tag with its quotation marks. */
  readonly ifMatch?: string;
  /** Longest time until the answer is there, milliseconds; 10 s unless given. */
  readonly wait?: number;
  /**
   * The hint where it is unknown whether the call was carried out; for calls that change something.
   */
  readonly inDoubt?: string;
}

export interface ServerAnswer {
  readonly status: number;
  /** `null`: no JSON object, or too long, or it broke off. */
  readonly body: JsonObject | null;
}

/**
 * The address of a path below `--server`.
 *
 * @throws {UsageError} for what is no address, or holds a credential.
 */
export function serverUrl(server: string, path: string): URL {
  const base = URL.canParse(server) ? new URL(server) : null;
  if (base === null || !/^https?:$/.test(base.protocol)) {
    throw new UsageError("--server: must be a URL, such as http://127.0.0.1:8080");
  }
  if (base.username !== "" || base.password !== "") {
    throw new UsageError(
      "--server: must not hold a credential; the key is read from SIGNALBOX_KEY",
    );
  }
  // Written behind the origin: a path that begins with `//` would name another host, and the key
  // would go there.
  return new URL(`${base.origin}${base.pathname.replace(/\/+$/, "")}${path}`);
}

/**
 * The key in the environment variable SIGNALBOX_KEY, and nowhere else: a flag would show in the
 * list of processes.
 *
 * @param scopes for the message where there is none.
 * @throws {CommandError}
 */
export function serverKey({ environment }: CommandIo, scopes: string): string {
  const key = environment["SIGNALBOX_KEY"] ?? "";
  if (key === "")
    throw new CommandError(`SIGNALBOX_KEY: is not set; put a key with the scope ${scopes} there`);
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new CommandError("SIGNALBOX_KEY: holds characters that no key has");
  return key;
}

/**
 * Calls a running server and returns any answer; the answer is untrusted.
 *
 * @throws {CommandError} without an answer.
 */
export async function callServer(call: ServerCall): Promise<ServerAnswer> {
  const response = await send(call);
  if (response.status >= 300 && response.status < 400) {
    // A key goes where it was sent, and nowhere else.
    throw new CommandError(
      "--server: sends the call elsewhere, and a key is not sent after it; give the final address",
    );
  }
  return { status: response.status, body: await readAnswer(response) };
}

async function send({
  url,
  method,
  key,
  body,
  ifMatch,
  inDoubt,
  wait = LONGEST_WAIT,
}: ServerCall): Promise<Response> {
  // Loaded when a call is made: most commands make none.
  const { ofetch } = await import("ofetch");
  try {
    return await ofetch.raw(url.href, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(ifMatch !== undefined && { "if-match": ifMatch }),
      },
      ...(body !== undefined && { body }),
      redirect: "manual",
      retry: 0,
      ignoreResponseError: true,
      // The body is read below, up to a bound.
      responseType: "stream",
      // Not ofetch's own timeout, which ends with the headers.
      signal: AbortSignal.timeout(wait),
    });
  } catch (error) {
    const code = codeOf(error);
    const because =
      code === null ? "" : ` ${code === "TIMEOUT" ? `within ${wait / 1_000} s` : `(${code})`}`;
    if (inDoubt !== undefined && (code === null || !NEVER_SENT.has(code))) {
      throw new CommandError(`--server: gave no answer${because}; ${inDoubt}`);
    }
    throw new CommandError(
      `--server: cannot be reached${because}; is it running, and is the address right?`,
    );
  }
}

/** Errors that come before anything was sent. */
const NEVER_SENT: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** The system's code for the failure. The message is dropped: ofetch's quotes the address. */
function codeOf(error: unknown): string | null {
  const reason = causeOf(error);
  if (reason instanceof DOMException && reason.name === "TimeoutError") return "TIMEOUT";
  const cause = causeOf(reason);
  const code: unknown = cause instanceof Error ? Reflect.get(cause, "code") : undefined;
  return typeof code === "string" && /^[A-Z_]{3,40}$/.test(code) ? code : null;
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}

async function readAnswer(response: Response): Promise<JsonObject | null> {
  try {
    const text = await readText(response);
    return text === null ? null : parseJsonObject(text);
  } catch {
    return null;
  }
}

/** Stops reading an answer that is too long: it would fill our memory. */
async function readText({ body }: Response): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.byteLength;
    if (length > LONGEST_ANSWER) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
