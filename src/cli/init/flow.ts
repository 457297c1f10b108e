import type { JsonValue } from "../../canon/json.ts";

/** What may stand in YAML without quotes and is text there. */
const PLAIN = /^[A-Za-z_][A-Za-z0-9_./-]*(?::[A-Za-z0-9_./-]+)*$/;
const NOT_TEXT: ReadonlySet<string> = new Set(["true", "false", "null", "yes", "no", "on", "off"]);

/** A value in YAML's flow style, on one line: `{ bearer: { env: NAME } }`. */
export function flow(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map((item: JsonValue | undefined) => flow(item ?? null)).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(([name, member]) => `${flow(name)}: ${flow(member ?? null)}`);
    return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
  }
  if (typeof value !== "string") return String(value);
  return PLAIN.test(value) && !NOT_TEXT.has(value) ? value : JSON.stringify(value);
}
