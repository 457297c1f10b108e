import { randomBytes } from "node:crypto";

/** A secret word that was put somewhere. */
export interface Canary {
  /** Where it was put. */
  readonly location: string;
  readonly word: string;
}

const ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/** Long enough to be found by either half, and not by chance. */
const LENGTH = 28;

/** Every canary of a run. */
export class Canaries {
  readonly all: Canary[] = [];

  /** A new text for this location. */
  word(location: string): string {
    const word = [...randomBytes(LENGTH)].map((byte) => ALPHABET[byte % ALPHABET.length] ?? "a").join("");
    return this.adopt(location, word);
  }

  /** A word that somebody else has made, such as a key's secret. */
  adopt(location: string, word: string): string {
    this.all.push({ location, word });
    return word;
  }
}

export interface Finding {
  readonly location: string;
  readonly form: string;
}

/** The forms in which a word may be hidden, as the text to look for. */
export function formsOf(word: string): ReadonlyMap<string, string> {
  const forms = new Map<string, string>();
  // Whatever cuts a text leaves one of its halves.
  const half = Math.ceil(word.length / 2);
  forms.set("raw, first half", word.slice(0, half));
  forms.set("raw, second half", word.slice(-half));
  forms.set("reversed", word.split("").toReversed().join(""));
  const bytes = Buffer.from(word);
  forms.set("hex", bytes.toString("hex"));
  forms.set("hex, upper case", bytes.toString("hex").toUpperCase());
  forms.set("percent", [...bytes].map((byte) => `%${byte.toString(16)}`).join(""));
  forms.set("percent, upper case", [...bytes].map((byte) => `%${byte.toString(16).toUpperCase()}`).join(""));
  forms.set("JSON escapes", [...bytes].map((byte) => `\\u00${byte.toString(16)}`).join(""));
  forms.set("UTF-16", Buffer.from(word, "utf16le").toString("latin1"));
  for (const shift of [0, 1, 2]) {
    for (const kind of ["base64", "base64url"] as const) {
      // What stands before shifts every character; the first and the last ones depend on their neighbours.
      const text = Buffer.concat([Buffer.alloc(shift), bytes])
        .toString(kind)
        .replace(/=+$/, "");
      forms.set(`${kind}, shifted by ${shift}`, text.slice(shift === 0 ? 0 : shift + 1, -2));
    }
  }
  return forms;
}

/** Where which canary stands in these bytes. */
export function scan(bytes: Uint8Array | string, canaries: readonly Canary[]): readonly Finding[] {
  const text = typeof bytes === "string" ? bytes : Buffer.from(bytes).toString("latin1");
  const findings: Finding[] = [];
  for (const { location, word } of canaries) {
    for (const [form, wanted] of formsOf(word)) if (text.includes(wanted)) findings.push({ location, form });
  }
  return findings;
}
