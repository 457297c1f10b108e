import { hash } from "node:crypto";
import { overflow } from "../results.ts";

/** What is judged together: a text, or the parts of one message. */
export interface Judged {
  /** `null` where there is none. */
  readonly text: string | null;
  /** The addresses of its images. */
  readonly images: readonly string[];
}

/** How a category is judged. */
export interface Judgement {
  readonly flagged: boolean;
  /** 0 to 1, or no number at all. */
  readonly score: unknown;
}

const FLAGGED_SCORE = 0.98;

/** Largest score of what is not flagged. */
const LARGEST_HARMLESS = 0.0005;

/**
 * Judges a text in a category. It is flagged where the text has the word `simulated-` with the
 * category's name after it, a hyphen instead of every other sign: `simulated-self-harm-intent`. The
 * score of any other text follows from the text, so that results differ.
 */
export function judge(text: string, category: string): Judgement {
  const word = `simulated-${category.replaceAll(/[^a-z]/g, "-")}`;
  const words: readonly string[] = text.match(/simulated(?:-[a-z]+)+/g) ?? [];
  if (words.includes(word)) return { flagged: true, score: FLAGGED_SCORE };
  const share = hash("sha256", `${category} ${text}`, "buffer").readUInt16LE(0) / 0xffff;
  return { flagged: false, score: Number((share * LARGEST_HARMLESS).toPrecision(4)) };
}

/** The scores by category, the first of them no finite number where `isBroken`. */
export function scoresOf(
  judged: readonly (readonly [category: string, judgement: Judgement])[],
  isBroken: boolean,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    judged.map(([category, { score }], position) => [
      category,
      isBroken && position === 0 ? overflow() : score,
    ]),
  );
}

/** Which categories are flagged. */
export function flagsOf(
  judged: readonly (readonly [category: string, judgement: Judgement])[],
): Readonly<Record<string, boolean>> {
  return Object.fromEntries(judged.map(([category, { flagged }]) => [category, flagged]));
}
