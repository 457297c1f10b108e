import { nearestName } from "../../canon/nearest-name.ts";
import { scalars, type ConfigNode, type Path } from "./tree.ts";
import type { TextFindings } from "../findings/findings.ts";

/** The shortest list of known names that a hint still prints whole. */
const LONGEST_LIST = 12;

/**
 * A hint for a misspelt name: "did you mean `fallbacks`?", or else the known names, or else the
 * empty string. A known name can come from the file too, so one that looks like a credential is
 * never suggested.
 */
export function suggest(name: string, knownNames: Iterable<string>): string {
  const candidates = [...new Set(knownNames)].filter(isShowable).toSorted();
  const nearest = nearestName(name, candidates);
  if (nearest !== null) return `did you mean ${quote(nearest)}?`;
  if (candidates.length === 0) return "";
  const shown = candidates.slice(0, LONGEST_LIST).map(quote);
  const rest = candidates.length - shown.length;
  return `known here: ${shown.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}

/**
 * Forms that issuers give their credentials, so that a find is certain enough to stop a deployment.
 * Data, not rules about vendors.
 */
const ISSUED = [
  /\bsk-[A-Za-z0-9_-]{16,}/,
  /\b(?:gsk|hf|r8|sk_live|sk_test|rk_live)_[A-Za-z0-9]{16,}/,
  /\b(?:xai|pplx|nvapi|fw)-[A-Za-z0-9_-]{20,}/,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/,
  /\bAIza[0-9A-Za-z_-]{30,}/,
  /\bya29\.[0-9A-Za-z_-]{20,}/,
  /\bgh[oprsu]_[A-Za-z0-9]{30,}/,
  /\bgithub_pat_[A-Za-z0-9_]{30,}/,
  /\bglpat-[A-Za-z0-9_-]{20,}/,
  /\bxox[abeprs]-[A-Za-z0-9-]{10,}/,
  /\bsbx_[a-z]+_[A-Za-z0-9]+_[A-Za-z0-9]{20,}/,
  /\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}/,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  /\b[Bb]earer\s+[A-Za-z0-9._~+/-]{20,}/,
] as const;

/** Keys under which people write a credential down. */
const SECRET_KEY =
  /^(?:.*[_-])?(?:secret|token|password|passwd|passphrase|api[_-]?key|apikey|access[_-]?key|credentials?|bearer)$/i;
/** Keys of routes.yaml that look like names of secrets and are not. */
const HARMLESS_KEYS: ReadonlySet<string> = new Set(["on_missing_secret", "first_token"]);

const SOURCE_WORD = /^[a-z_]{0,20}$/;

const RUN = /[A-Za-z0-9+]{20,}/g;

const FIX = "revoke it if it was committed, then refer to it: `{env: NAME}` or `{file: path}`";

/** Whether a text holds something that looks like an issued credential. */
export function looksLikeSecret(text: string): boolean {
  return ISSUED.some((form) => form.test(text));
}

/** Whether a text from the file may stand in a message. */
export function isShowable(text: string): boolean {
  return !looksLikeSecret(text) && !looksRandom(text);
}

/**
 * A name from the file as messages show it: never a credential, never long, never with control
 * characters.
 */
export function quote(name: string): string {
  return isShowable(name) ? `\`${clean(name)}\`` : "(a value not shown here)";
}

function clean(name: string): string {
  const shown = name.length > 60 ? `${name.slice(0, 59)}…` : name;
  return shown.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}`]/gu, "�");
}

/**
 * A line of the file for reports: credentials, and values of keys that name one, are replaced by
 * asterisks of equal length, so that a caret below still points at the right column.
 */
export function redactLine(line: string): string {
  let shown = line;
  for (const form of ISSUED)
    shown = shown.replaceAll(new RegExp(form, "g"), (found) => "*".repeat(found.length));
  shown = shown.replaceAll(
    /\b(?!first_token["']?\s*:\s*["']?\d+(?:ms|s|m|h)\b)((?:[\w-]*[_-])?(?:secret|token|password|passwd|passphrase|api[_-]?key|access[_-]?key|credentials?|bearer|auth)["']?\s*:\s*)([^\s{[&*|>#][^,}\]#]*?)(?=\s*(?:[,}\]#]|$))/gi,
    (_, key: string, value: string) => key + "*".repeat(value.length),
  );
  return shown.replaceAll(RUN, (run) => (looksRandom(run) ? "*".repeat(run.length) : run));
}

/**
 * Reports every literal credential of a text with line feeds only: in the whole text by its form
 * (comments included, for they are committed too), by the key it stands under, and, where
 * credentials belong, by its randomness.
 */
export function reportLiteralSecrets(
  text: string,
  tree: ConfigNode | null,
  findings: TextFindings,
  file?: string,
): void {
  const lines = new Set<number>();
  if (tree !== null) {
    for (const { path, node } of scalars(tree)) {
      if (typeof node.value !== "string" || !isLiteralSecret(path, node.value)) continue;
      lines.add(node.at.line);
      findings.add(
        "LITERAL_SECRET",
        node.at,
        `${describeSafely(path)} contains a literal credential, or a value that looks like one`,
        FIX,
      );
    }
  }
  for (const [index, line] of text.split("\n").entries()) {
    const form = ISSUED.find((issued) => issued.test(line));
    if (form === undefined || lines.has(index + 1)) continue;
    findings.add(
      "LITERAL_SECRET",
      { line: index + 1, column: line.search(form) + 1, ...(file !== undefined && { file }) },
      "this line contains a value that looks like a credential",
      FIX,
    );
  }
}

function isLiteralSecret(path: Path, value: string): boolean {
  if (looksLikeSecret(value)) return true;
  const name = path.at(-1);
  if (isSourceOfCredentials(path)) return !SOURCE_WORD.test(value);
  if (typeof name === "string" && SECRET_KEY.test(name) && !HARMLESS_KEYS.has(name))
    return value !== "";
  if (path[0] !== "providers" || path[2] !== "auth") return false;
  // `auth: <text>` can only be `none`; any other text may be the key itself.
  return path.length === 3 ? value !== "none" : looksRandom(value);
}

/**
 * `providers.*.auth.*.credentials` is an enum of sources, whose values no issuer could have made.
 */
function isSourceOfCredentials(path: Path) {
  return (
    path.length === 5 && path[0] === "providers" && path[2] === "auth" && path[4] === "credentials"
  );
}

/**
 * A path as messages show it, such as `routes.chat-large.fallbacks[1]`: a key can be a credential
 * too, pasted in the wrong position.
 */
export function describeSafely(path: Path): string {
  if (!path.every((name) => isShowable(String(name)))) return "this value";
  const steps = path.map((name) => (typeof name === "number" ? `[${name}]` : `.${clean(name)}`));
  return steps.length === 0 ? "the file" : steps.join("").replace(/^\./, "");
}

/**
 * Holds an unbroken run of twenty letters and digits with more than three bits a character: unlike
 * any name that a person would choose.
 */
function looksRandom(text: string) {
  return (text.match(RUN) ?? []).some(
    (run) => /\d/.test(run) && /[A-Za-z]/.test(run) && bitsPerCharacter(run) > 3,
  );
}

function bitsPerCharacter(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values())
    bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
