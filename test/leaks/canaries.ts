import { randomBytes } from "node:crypto";

/** A secret text that was put somewhere. */
export interface Canary {
  /** Where it was put. */
  readonly location: string;
  readonly secret: string;
}

const ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/** Long enough to be found by either half, and not by chance. */
const LENGTH = 28;

/** Every canary of a run. */
export class Canaries {
  readonly all: Canary[] = [];

  /** A new text for this location. */
  create(location: string): string {
    const secret = [...randomBytes(LENGTH)]
      .map((byte) => ALPHABET[byte % ALPHABET.length] ?? "a")
      .join("");
    return this.adopt(location, secret);
  }

  /** A text of another origin, such as a key's secret. */
  adopt(location: string, secret: string): string {
    this.all.push({ location, secret });
    return secret;
  }
}

export interface Finding {
  readonly location: string;
  readonly form: string;
}

/** The forms in which a text may be hidden, as the text to look for. */
export function formsOf(secret: string): ReadonlyMap<string, string> {
  const forms = new Map<string, string>();
  // A text that was cut keeps one of its halves.
  const half = Math.ceil(secret.length / 2);
  forms.set("raw, first half", secret.slice(0, half));
  forms.set("raw, second half", secret.slice(-half));
  forms.set("reversed", secret.split("").toReversed().join(""));
  const bytes = Buffer.from(secret);
  forms.set("hex", bytes.toString("hex"));
  forms.set("hex, upper case", bytes.toString("hex").toUpperCase());
  forms.set("percent", [...bytes].map((byte) => `%${byte.toString(16)}`).join(""));
  forms.set(
    "percent, upper case",
    [...bytes].map((byte) => `%${byte.toString(16).toUpperCase()}`).join(""),
  );
  forms.set("JSON escapes", [...bytes].map((byte) => `\\u00${byte.toString(16)}`).join(""));
  forms.set("UTF-16", Buffer.from(secret, "utf16le").toString("latin1"));
  for (const shift of [0, 1, 2]) {
    for (const kind of ["base64", "base64url"] as const) {
      // What stands before shifts every character; the first and the last ones depend on their
      // neighbours.
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
  for (const { location, secret } of canaries) {
    for (const [form, wanted] of formsOf(secret))
      if (text.includes(wanted)) findings.push({ location, form });
  }
  return findings;
}
