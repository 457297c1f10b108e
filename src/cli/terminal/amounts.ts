import type { SeenUsage } from "../../simulate/evidence/seen-usage.ts";

/** Whole numbers with thousands apart: `1,926,400`. */
export function numberText(amount: number | string): string {
  return String(amount).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}

/** As many digits as readers take in one by one: 10^12. */
const EXACT = "1000000000000";

/** A number of request shapes, given in decimal digits: exact up to 10^12, `1.9 × 10^18` above. */
export function shapesText(digits: string): string {
  const larger = digits.length > EXACT.length || (digits.length === EXACT.length && digits > EXACT);
  if (!larger) return numberText(digits);
  const tenths = Math.round(Number(digits.slice(0, 3)) / 10);
  const carried = tenths >= 100;
  return `${((carried ? tenths / 10 : tenths) / 10).toFixed(1)} × 10^${digits.length - (carried ? 0 : 1)}`;
}

/** "1 class", "3,184 classes". */
export function amountText(
  amount: number,
  singular: string,
  plural: string = `${singular}s`,
): string {
  return `${numberText(amount)} ${amount === 1 ? singular : plural}`;
}

export function classesText(amount: number): string {
  return amountText(amount, "class", "classes");
}

/** "1 request shape", "1,926,400 request shapes". */
export function requestShapesText(digits: string): string {
  return `${shapesText(digits)} request shape${digits === "1" ? "" : "s"}`;
}

/** "12 classes, 40,200 request shapes". */
export function scopeText({
  classes,
  shapes,
}: {
  readonly classes: number;
  readonly shapes: string;
}): string {
  return `${classesText(classes)}, ${requestShapesText(shapes)}`;
}

/** "seen 3 times in evidence"; `null` without evidence. */
export function seenText(seen: number | null, usage: SeenUsage | null = null): string | null {
  if (seen === null) return null;
  if (seen === 0) return "not seen in evidence";
  return [`seen ${amountText(seen, "time")} in evidence`, ...usageTexts(usage, seen)].join(", ");
}

/**
 * "90,000 tokens of 8 answers", "0.12 → at least 0.3 USD by list price (2 answers without a
 * price)": nothing where no answer used anything.
 */
export function usageTexts(usage: SeenUsage | null, calls: number): readonly string[] {
  const tokens = usage === null ? 0 : usage.input_tokens + usage.output_tokens;
  if (usage === null || tokens === 0) return [];
  const unpriced = Math.max(usage.unpriced_before, usage.unpriced_after);
  const cost = (known: number, isWhole: boolean, isSome: boolean): string =>
    isWhole ? dollars.format(known) : isSome ? `at least ${dollars.format(known)}` : "unknown";
  const before = cost(
    usage.known_cost_before,
    usage.unpriced_before === 0,
    usage.known_cost_before > 0,
  );
  const after = cost(
    usage.known_cost_after,
    usage.unpriced_after === 0,
    usage.known_cost_after > 0,
  );
  const without =
    unpriced === 0 ? "" : ` (${amountText(unpriced, "answer")} without a price or a count)`;
  const of = usage.counted < calls ? ` of ${amountText(usage.counted, "answer")}` : "";
  return [
    `${amountText(tokens, "token")}${of}`,
    `${before} → ${after} USD by list price${without}`,
  ];
}

const dollars = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** "acme-prod, acme-dev and 411 more": a list for people, never longer than `most` and one. */
export function listText(items: readonly string[], most = 6): string {
  if (items.length <= most + 1) return items.join(", ");
  return `${items.slice(0, most).join(", ")} and ${numberText(items.length - most)} more`;
}

/**
 * Per cent with one digit, cut and not rounded, so that only all of it is 100; a little is never
 * nothing.
 */
export function percentageText(part: number, whole: number): string {
  const percentage = whole === 0 ? 0 : (part / whole) * 100;
  if (part > 0 && percentage < 0.1) return "less than 0.1 %";
  return `${(Math.floor(percentage * 10) / 10).toFixed(1)} %`;
}

/** "incomparable" at the head of a line. */
export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
