import { DuplicateKeyError, KeyNotActiveError, KeyRotatedError } from "../../keys/key-store.ts";

/** Primary result codes that operators can do something about (sqlite.org/rescode.html). */
const FIXES: ReadonlyMap<number, string> = new Map([
  [5, "another process holds the database for writing; end it or try again"],
  [8, "the database is read-only; give this user write access to the file and its folder"],
  [10, "the disk reported an error; check the disk and the file system"],
  [11, "the database file is damaged; restore it from a backup"],
  [13, "the disk is full; make room"],
  [14, "the database file cannot be opened; check the path and its access rights"],
  [26, "the file is not an SQLite database; give the path of a new file"],
]);

const BUSY = 5;

/** Primary result codes of faulty calls: too big, constraint, mismatch, range. */
const REFUSALS: ReadonlySet<number> = new Set([18, 19, 20, 25]);

/** Our message with SQLite's code; SQLite's own can quote statements and paths. */
export function describeFailure(error: unknown): string {
  const code = primaryCode(error);
  if (code !== null)
    return `${FIXES.get(code) ?? "the database refused the statement"} (SQLite result code ${code})`;
  const systemCode = readMember(error, "code");
  return typeof systemCode === "string" && /^[A-Z][A-Z0-9_]{1,40}$/.test(systemCode)
    ? `the operating system refused (${systemCode}); check the path and its access rights`
    : "an unexpected error inside the store";
}

/** Whether a retry fails again: the values are at fault, as with errors without a code. */
export function isRefusal(error: unknown): boolean {
  const code = primaryCode(error);
  return code === null || REFUSALS.has(code);
}

export function isBusy(error: unknown): boolean {
  return primaryCode(error) === BUSY;
}

/** Also for a WAL whose index cannot be made beside it. */
export function cannotOpen(error: unknown): boolean {
  const code = primaryCode(error);
  return code === 14 || code === 8;
}

/** Whether an INSERT met a row with the same primary key or the same unique column. */
export function isUniqueViolation(error: unknown): boolean {
  const code = readMember(error, "errcode");
  return code === 1555 || code === 2067;
}

function primaryCode(error: unknown): number | null {
  const code = readMember(error, "errcode");
  return typeof code === "number" ? code & 0xff : null;
}

function readMember(error: unknown, name: string): unknown {
  return typeof error === "object" && error !== null ? Reflect.get(error, name) : undefined;
}

/** Errors of keys, which cross the thread by their names here. */
export const KEY_ERRORS = {
  duplicate: DuplicateKeyError,
  not_active: KeyNotActiveError,
  rotated: KeyRotatedError,
} as const;

/** A change of a key that its state does not allow. */
export class KeyRefusal extends Error {
  readonly reason: keyof typeof KEY_ERRORS;
  readonly id: string;
  constructor(reason: KeyRefusal["reason"], id: string) {
    super(reason);
    this.reason = reason;
    this.id = id;
  }
}
