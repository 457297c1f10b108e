import { printable } from "./printable.ts";

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const COMPACT = new Intl.NumberFormat("en", { notation: "compact" });
const THREE_DIGITS = new Intl.NumberFormat("en", {
  notation: "compact",
  minimumSignificantDigits: 3,
  maximumSignificantDigits: 3,
});
const PER_CENT = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });

/** The smallest that {@link PER_CENT} has digits for. */
const SMALLEST_SHARE = 0.001;

/** Shown where the server has no number; it is not 0. */
export const ABSENT = "–";

export function whole(value: number | null | undefined): string {
  return value === null || value === undefined ? ABSENT : WHOLE.format(value);
}

/** Three digits: `1.24M`. */
export function compact(value: number | null | undefined): string {
  return value === null || value === undefined
    ? ABSENT
    : value < 10_000
      ? WHOLE.format(value)
      : THREE_DIGITS.format(value);
}

/** A part of a whole; {@link ABSENT} of nothing. A part above zero is never shown as none. */
export function share(part: number, of: number): string {
  if (part > 0 && part < SMALLEST_SHARE * of) return `<${PER_CENT.format(SMALLEST_SHARE)}`;
  return of === 0 ? ABSENT : PER_CENT.format(part / of);
}

/** Less is not distinguished, but it is not zero. */
const SMALLEST = 0.000001;

/**
 * US dollars: cents, and three digits of less, down to millionths; `unknown` where the server knows
 * no price.
 *
 * @example dollars(0.004_731) // "$0.00473"
 */
export function dollars(value: number | null | undefined): string {
  if (value === null || value === undefined) return "unknown";
  if (value > 0 && value < SMALLEST) return `<$${SMALLEST.toFixed(6)}`;
  const digits = value > 0 ? 2 - Math.floor(Math.log10(value)) : 0;
  return inDollars(value, 2, Math.min(6, Math.max(2, digits)));
}

/** @param least digits of cents and less, at most `most`. */
export const inDollars = (value: number, least: number, most: number): string =>
  value.toLocaleString("en", {
    style: "currency",
    currency: "USD",
    minimumFractionDigits: least,
    maximumFractionDigits: most,
  });

/** A time span: `840 ms`, `12.4 s`, `3 min`. @param value milliseconds. */
export function milliseconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return ABSENT;
  if (value > 0 && value < 1) return "<1\u00A0ms";
  if (value < 1_000) return `${Math.round(value)}\u00A0ms`;
  return value < 60_000 ? `${(value / 1_000).toFixed(1)}\u00A0s` : span(value / 1_000);
}

/** A measure of charts. */
export type Measure = "count" | "dollars" | "milliseconds";

export const FORMATS: Readonly<Record<Measure, (value: number | null) => string>> = {
  count: compact,
  dollars,
  milliseconds,
};

/** Labels of an axis: all in one unit, with the digits that they need to differ. */
export function axisLabels(measure: Measure, ticks: readonly number[]): string[] {
  const most = ticks.at(-1) ?? 0;
  const inSeconds = measure === "milliseconds" && most >= 1_000;
  const scaled = ticks.map((tick) => (inSeconds ? tick / 1_000 : tick));
  const step = (scaled[1] ?? 0) - (scaled[0] ?? 0);
  const decimals = [0, 1, 2, 3, 4, 5].find((digits) => isWhole(step * 10 ** digits)) ?? 6;
  const cents = decimals === 0 ? 0 : Math.max(2, decimals);
  return scaled.map((value) => {
    if (measure === "dollars") return inDollars(value, cents, cents);
    if (measure === "milliseconds")
      return `${value.toFixed(decimals)}\u00A0${inSeconds ? "s" : "ms"}`;
    if (!isWhole(value)) return "";
    return most < 10_000 ? WHOLE.format(value) : COMPACT.format(value);
  });
}

const isWhole = (value: number): boolean => Math.abs(value - Math.round(value)) < 1e-6;

const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
] as const;

/** The two largest units: `2 d 3 h`. @param seconds at least 0. */
export function span(seconds: number): string {
  let rest = Math.max(0, Math.floor(seconds));
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    if (rest >= size) parts.push(`${Math.floor(rest / size)} ${unit}`);
    rest %= size;
  }
  return parts.length === 0 ? "0 s" : parts.slice(0, 2).join(" ");
}

/** `3 keys`, `1 key`. */
export function counted(amount: number, singular: string, plural = `${singular}s`): string {
  return `${whole(amount)} ${amount === 1 ? singular : plural}`;
}

/** An enum value for readers: `client_closed` → `client closed`, `usd/day` → `$ per day`. */
export function humanise(value: string): string {
  return printable(value.replaceAll("_", " ").replace(/^usd\//, "$$ per "));
}
