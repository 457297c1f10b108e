import {
  isJsonObject,
  parseJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import type { ValueOf } from "../../canon/json/schema.ts";
import { CommandError, NotNowError, UsageError, errorCode, type CommandIo } from "./command-io.ts";
import { printable } from "./printing.ts";

/** Default timeout of a call, milliseconds. */
const LONGEST_WAIT = 10_000;

/**
 * The longest answer that is read, bytes: a simulation report names every group of requests that
 * changes.
 */
const LONGEST_ANSWER = 64_000_000;

interface ServerCall {
  readonly url: URL;
  /** Scopes, one of which the key needs, for the message where none is set. */
  readonly scopes: string;
  /** Sent with POST; a call without a body is a GET. */
  readonly body?: JsonObject;
  /** An entity tag with its quotation marks. */
  readonly ifMatch?: string;
  /** Timeout, milliseconds. Default: 10 s. */
  readonly wait?: number | undefined;
  /**
   * Hint of the error if the call may have been carried out; for calls that change something.
   */
  readonly inDoubt?: string;
}

export interface ServerAnswer {
  readonly status: number;
  /** `null`: not a JSON object, too long, or cut off. */
  readonly body: JsonObject | null;
}

/**
 * The address of a path below `--server`.
 *
 * @throws {UsageError} for an invalid URL, and one with a credential.
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
  // Appended to the origin: a path that begins with `//` would name another host, which would get
  // the key.
  return new URL(`${base.origin}${base.pathname.replace(/\/+$/, "")}${path}`);
}

/**
 * The key in the environment variable SIGNALBOX_KEY, and nowhere else: a flag would show in the
 * list of processes.
 *
 * @throws {CommandError}
 */
function serverKey({ environment }: CommandIo, scopes: string): string {
  const key = environment.SIGNALBOX_KEY ?? "";
  if (key === "")
    throw new CommandError(`SIGNALBOX_KEY: is not set; put a key with the scope ${scopes} there`);
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new CommandError("SIGNALBOX_KEY: holds characters that no key has");
  return key;
}

/**
 * Calls a running server with the key in SIGNALBOX_KEY and returns any answer; the answer is
 * untrusted.
 *
 * @throws {CommandError} without a key or an answer.
 */
export async function callServer(io: CommandIo, call: ServerCall): Promise<ServerAnswer> {
  const response = await send(serverKey(io, call.scopes), call);
  if (response.status >= 300 && response.status < 400) {
    // A key is not sent to another address.
    throw new CommandError(
      "--server: sends the call elsewhere, and a key is not sent after it; give the final address",
    );
  }
  return { status: response.status, body: await readBody(response) };
}

async function send(
  key: string,
  { url, body, ifMatch, inDoubt, wait = LONGEST_WAIT }: ServerCall,
): Promise<Response> {
  // Loaded on demand: most commands call no server.
  const { ofetch } = await import("ofetch");
  try {
    return await ofetch.raw(url.href, {
      method: body === undefined ? "GET" : "POST",
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

/** Errors before anything was sent. */
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
  const reason = error instanceof Error ? error.cause : undefined;
  if (!(reason instanceof Error)) return null;
  if (reason.name === "TimeoutError") return "TIMEOUT";
  const code = errorCode(reason.cause);
  return typeof code === "string" && /^[A-Z_]{3,40}$/.test(code) ? code : null;
}

/** Stops at the limit: a longer answer could fill the memory. */
async function readBody({ body }: Response): Promise<JsonObject | null> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body ?? []) {
      length += chunk.byteLength;
      if (length > LONGEST_ANSWER) return null;
      chunks.push(chunk);
    }
  } catch {
    return null;
  }
  return parseJsonObject(Buffer.concat(chunks).toString("utf8"));
}

/**
 * The error of an answer: the server's message and fix.
 *
 * @param path that was called. @param id of the policy, for the commands in the fix. @param undone
 * ends the message of a change.
 */
export function answerError(
  { status, body }: ServerAnswer,
  path: string,
  id: string = "ID",
  undone: string = "",
): CommandError {
  const error = objectOf(body, "error");
  const code = textOf(error, "code").slice(0, 64);
  const sentences = ["message", "fix"].map((name) => textOf(error, name).slice(0, 500));
  const text = sentences
    .filter(Boolean)
    .join(" ")
    .replaceAll(/\bID\b/g, id);
  if (status === 401)
    return new CommandError(
      "SIGNALBOX_KEY: the server does not accept the key: it is another server's, expired or revoked",
    );
  if (status === 404 && !code.endsWith("_not_found")) {
    return new CommandError(
      `--server: has no ${path} (404); it is not Signalbox, is older than this command, or its address has another path`,
    );
  }
  if (status === 409 || status === 412) return new NotNowError(`${text || code}${undone}`);
  if (status === 403 && text !== "") return new CommandError(`SIGNALBOX_KEY: ${text}`);
  const reason = [code && `, ${code}`, text && `: ${text}`].join("");
  return new CommandError(`--server: answered with ${status}${reason}`);
}

/** The keywords of JSON Schema that answers use. */
interface AnswerSchema {
  readonly type?: string | readonly string[];
  readonly const?: string;
  readonly enum?: readonly (string | null)[];
  readonly pattern?: string;
  readonly items?: AnswerSchema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, AnswerSchema>>;
}

/** An answer as its schema describes it. */
export type Answer<Schema> = ValueOf<Schema, object, "open">;

/** The error of an answer in another form than Signalbox's. */
export function unreadableAnswer(): CommandError {
  return new CommandError("--server: the answer is not one of Signalbox; check the address");
}

/**
 * An answer of a server of any version by the schema of this one. A missing member, or one of
 * another type, becomes `null` where the schema allows it, otherwise an empty text, 0, false or an
 * empty list; unknown members are left out. All texts are safe for a terminal.
 *
 * @throws {CommandError} for a text that must have a form, and is missing or has another: it could
 * get into a command.
 */
export function readAnswer<const Schema extends AnswerSchema>(
  schema: Schema,
  value: unknown,
): Answer<Schema> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- readValue returns the type of the schema
  return readValue(schema, value) as Answer<Schema>;
}

function readValue(schema: AnswerSchema, value: unknown): JsonValue {
  const types = typesOf(schema);
  if (types.includes("object") && isJsonObject(value)) return readObject(schema, value);
  if (types.includes("array") && Array.isArray(value)) return readItems(schema.items ?? {}, value);
  const isNumeric = types.includes("integer") || types.includes("number");
  if (typeof value === "number" && Number.isFinite(value) && isNumeric) return value;
  if (types.includes("string") && (typeof value === "string" || typeof value === "number"))
    return readString(schema, String(value));
  if (types.includes("boolean") && typeof value === "boolean") return value;
  return types.includes("null") ? null : absent(schema, types[0] ?? "");
}

function typesOf({ type, enum: values, const: only }: AnswerSchema): readonly string[] {
  if (values !== undefined) return values.includes(null) ? ["string", "null"] : ["string"];
  return only !== undefined || type === undefined ? ["string"] : [type].flat();
}

function readString({ pattern }: AnswerSchema, value: string): string {
  if (pattern !== undefined && !new RegExp(pattern).test(value)) throw unreadableAnswer();
  return printable(value);
}

/** Items of another type than the schema's are left out. */
function readItems(schema: AnswerSchema, items: readonly unknown[]): readonly JsonValue[] {
  const hasObjectItems = typesOf(schema).includes("object");
  return items
    .filter((item) => (hasObjectItems ? isJsonObject(item) : typeof item === "string"))
    .map((item) => readValue(schema, item));
}

function readObject({ properties, required = [] }: AnswerSchema, object: JsonObject): JsonObject {
  if (properties === undefined) return object;
  const members = Object.entries(properties).filter(
    ([name]) => required.includes(name) || Object.hasOwn(object, name),
  );
  return Object.fromEntries(
    members.map(([name, member]) => [name, readValue(member, object[name])]),
  );
}

/** The default of a member that an older server does not send. */
function absent(schema: AnswerSchema, type: string): JsonValue {
  if (type === "object") return readObject(schema, {});
  if (type === "array") return [];
  if (type === "boolean") return false;
  return type === "string" ? readString(schema, "") : 0;
}

/**
 * A member's text, safe for a terminal; empty for an absent member. An explanation may come from a
 * server of another version.
 */
export function textOf(object: JsonObject | null, name: string): string {
  const value = object?.[name];
  return typeof value === "string" || typeof value === "number" ? printable(String(value)) : "";
}

export function objectOf(object: JsonObject | null, name: string): JsonObject | null {
  const value = object?.[name];
  return isJsonObject(value) ? value : null;
}

export function objectsOf(object: JsonObject | null, name: string): readonly JsonObject[] {
  return itemsOf(object, name).filter((item) => isJsonObject(item));
}

function itemsOf(object: JsonObject | null, name: string): readonly unknown[] {
  const value = object?.[name];
  return Array.isArray(value) ? value : [];
}

/** Strings of a list, safe for a terminal. */
export function stringsOf(object: JsonObject | null, name: string): readonly string[] {
  return itemsOf(object, name)
    .filter((item) => typeof item === "string")
    .map(printable);
}

/** A finite number; `null` for anything else. */
export function numberOf(object: JsonObject | null, name: string): number | null {
  const value = object?.[name];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
