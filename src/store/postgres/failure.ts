import { StoreUnavailableError } from "../../canon/error.ts";

/** A failed statement, by SQLSTATE: PostgreSQL and driver quote values and addresses. */
export class StatementFailure extends StoreUnavailableError {
  /** SQLSTATE (PostgreSQL, appendix A), or the driver's or system's code; else `null`. */
  readonly code: string | null;
  /** The server cannot be used at present, and whether the statement took effect is not known. */
  readonly away: boolean;
  constructor(code: string | null) {
    super(`PostgreSQL failed: ${describeCode(code)}`, {
      applied: code !== null && isRolledBack(code) ? "no" : "unknown",
      permanent: code !== null && /^2[23][0-9A-Z]{3}$/.test(code),
    });
    this.code = code;
    this.away = code === null ? false : isDisconnection(code);
  }
}

/** The code that {@link StatementFailure} has when this process stopped waiting. */
export const NO_ANSWER = "NO_ANSWER";

const UNIQUE_VIOLATION = "23505";

export function isUniqueViolation(error: unknown): boolean {
  return error instanceof StatementFailure && error.code === UNIQUE_VIOLATION;
}

/** Ended by the server in favour of another transaction: the same statement may pass now. */
export function isRetryable(error: unknown): boolean {
  return error instanceof StatementFailure && ["40001", "40P01"].includes(error.code ?? "");
}

const SENTENCES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    [NO_ANSWER]: "it did not answer in time; check the server and the network",
    "57014": "the statement took too long and was ended; look for locks and load",
    "55P03": "a lock was not free in time; look for long transactions",
    "28P01": "the user or the password is not right; check the database URL",
    "28000":
      "the server does not allow this user to connect from here; check pg_hba.conf and sslmode",
    "3D000": "there is no such database; create it, or correct the database URL",
    "42501": "this user lacks a permission; see docs/storage.md",
    "53300": "the server has no connection left; raise max_connections or run fewer replicas",
    "53100": "its disk is full; make room",
    "25006": "it is read-only, such as a standby; name the primary in the database URL",
    "57P03": "it is starting up or shutting down; try again",
    ECONNREFUSED: "nothing listens at its address; start it, or correct the database URL",
    ENOTFOUND: "its host name is not known; correct the database URL",
    ENOENT: "there is no Unix socket in that folder; correct the database URL",
    ECONNRESET: "the connection was cut; if the server does not support TLS, set sslmode=disable",
  }),
);

const CLASSES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "08": "the connection was lost",
    "23": "it refused the values",
    "42": "its tables are not those of this program; do not change the schema signalbox by hand",
    "53": "it lacks memory, disk or connections",
    "57": "an operator ended the connection or the server",
    "58": "its system reported an error",
  }),
);

function describeCode(code: string | null): string {
  if (code === null) return "an unexpected error";
  const sentence = SENTENCES.get(code) ?? CLASSES.get(code.slice(0, 2));
  if (sentence !== undefined) return `${sentence} (${code})`;
  return isTlsCode(code)
    ? `the TLS handshake failed; check sslmode and sslrootcert (${code})`
    : `the connection or the statement failed (${code})`;
}

const isTlsCode = (code: string) => /CERT|TLS|SSL|EPROTO|SIGNATURE|ISSUER/.test(code);

/** SQLSTATE is five characters; the driver's and the system's codes are longer. */
function isDisconnection(code: string): boolean {
  if (!/^[0-9A-Z]{5}$/.test(code)) return true;
  return (
    ["08", "53", "58"].includes(code.slice(0, 2)) ||
    code.startsWith("57P") ||
    ["25006", "25P03"].includes(code)
  );
}

/** No connection was made, or the statement's error shows that the server rolled back. */
function isRolledBack(code: string) {
  return (
    NOT_CONNECTED.has(code) || code.startsWith("53") || code === "25006" || !isDisconnection(code)
  );
}

const NOT_CONNECTED: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "ENOENT",
  "CONNECT_TIMEOUT",
]);

/** Keeps the code of what the driver threw, and nothing else. */
export function toFailure(error: unknown): StatementFailure {
  if (error instanceof StatementFailure) return error;
  const code: unknown =
    typeof error === "object" && error !== null ? Reflect.get(error, "code") : undefined;
  return new StatementFailure(
    typeof code === "string" && /^[A-Z0-9_]{2,60}$/.test(code) ? code : null,
  );
}
