import { parseJson } from "../../canon/json.ts";
/**
 * A row as a driver gives it. The readers below refuse a column of another type instead of passing
 * it on.
 */
export type Row = Readonly<Record<string, unknown>>;

export function readText(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== "string") throw new TypeError(`column ${column} holds no text`);
  return value;
}

export function readTextOrNull(row: Row, column: string): string | null {
  return row[column] === null ? null : readText(row, column);
}

export function readNumber(row: Row, column: string): number {
  const value = row[column];
  if (typeof value !== "number") throw new TypeError(`column ${column} holds no number`);
  return value;
}

export function readNumberOrNull(row: Row, column: string): number | null {
  return row[column] === null ? null : readNumber(row, column);
}

/** A column that holds a list of strings, or its JSON text. */
export function readTexts(row: Row, column: string): readonly string[] {
  const stored = row[column];
  const value: unknown = typeof stored === "string" ? parseJson(stored) : stored;
  if (!Array.isArray(value)) throw new TypeError(`column ${column} holds no list`);
  return value.filter((item) => typeof item === "string");
}

export function readBytes(row: Row, column: string): Uint8Array<ArrayBuffer> {
  const value = row[column];
  if (!(value instanceof Uint8Array) || !(value.buffer instanceof ArrayBuffer)) {
    throw new TypeError(`column ${column} holds no bytes`);
  }
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}
