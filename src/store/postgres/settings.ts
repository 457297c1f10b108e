import { isIP } from "node:net";
import { readFileSync } from "node:fs";

import { StoreUnavailableError } from "../../canon/error.ts";

/** How to reach the server: the URL, with its password, goes no further than its parser. */
export interface PostgresSettings {
  /** Host name or address; `null` for a Unix socket. */
  readonly host: string | null;
  readonly port: number;
  /** The Unix socket's file; `null` for TCP. */
  readonly socketPath: string | null;
  readonly user: string | undefined;
  /** Never in an error, a log or a status. */
  readonly password: string | undefined;
  readonly database: string | undefined;
  /** `false` without TLS. */
  readonly tls: TlsSettings | false;
}

interface TlsSettings {
  /** `false` encrypts without knowing whom to (`sslmode=require`). */
  readonly rejectUnauthorized: boolean;
  /** PEM certificates to trust instead of the system's. */
  readonly ca?: string;
}

const PARAMETERS: readonly string[] = ["sslmode", "sslrootcert", "host"];

/** Whether the text is a URL of PostgreSQL; everything else is the path of an SQLite file. */
export function isPostgresUrl(text: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(text);
}

/**
 * Reads `postgres://user:password@host:port/database?sslmode=verify-full`. Parameters are `sslmode`
 * (`verify-full`, `require`, `disable`; without it `disable` for this machine and `verify-full` for
 * every other), `sslrootcert` (a PEM file) and `host` (the folder of a Unix socket).
 *
 * @throws {StoreUnavailableError} naming the part and the fix, never a value: the URL holds a
 * password
 */
export function parsePostgresUrl(text: string): PostgresSettings {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) {
    throw refusal(
      "it is not a URL; characters such as @ / # ? in the password must be percent-encoded",
    );
  }
  const repeated = new Set<string>();
  for (const name of url.searchParams.keys()) {
    if (!PARAMETERS.includes(name))
      throw refusal(`the parameters it may have are ${PARAMETERS.join(", ")}`);
    if (repeated.has(name)) throw refusal(`${name} is given twice`);
    repeated.add(name);
  }
  const port = url.port === "" ? 5432 : Number(url.port);
  const folder = url.searchParams.get("host");
  if (folder !== null && !folder.startsWith("/")) {
    throw refusal(
      "the parameter host is for the folder of a Unix socket; name a host before the path",
    );
  }
  const socketPath = folder === null ? null : `${folder}/.s.PGSQL.${port}`;
  const host =
    socketPath === null ? decode(url.hostname).replace(/^\[(.*)\]$/u, "$1") || "localhost" : null;
  return {
    host,
    port,
    socketPath,
    user: decode(url.username) || undefined,
    password: decode(url.password) || undefined,
    database: decode(url.pathname.slice(1)) || undefined,
    tls: host === null ? false : readTls(url.searchParams, isLocalHost(host)),
  };
}

function readTls(parameters: URLSearchParams, local: boolean): TlsSettings | false {
  const mode = parameters.get("sslmode") ?? (local ? "disable" : "verify-full");
  const file = parameters.get("sslrootcert");
  switch (mode) {
    case "disable":
      return false;
    case "require":
      if (file !== null) throw refusal("sslrootcert has an effect with sslmode=verify-full only");
      return { rejectUnauthorized: false };
    case "verify-full":
      return file === null
        ? { rejectUnauthorized: true }
        : { rejectUnauthorized: true, ca: readCertificates(file) };
    default:
      throw refusal("sslmode: give verify-full, require or disable");
  }
}

function readCertificates(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    throw refusal("sslrootcert: the file cannot be read; check its path and access rights");
  }
}

function isLocalHost(host: string) {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw refusal("a percent sign in it must be written %25");
  }
}

function refusal(sentence: string) {
  return new StoreUnavailableError(`the database URL cannot be used: ${sentence}`);
}
