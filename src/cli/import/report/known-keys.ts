import { looksLikeSecret } from "../../../compile/authored/literal-secrets.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import type { Fields } from "../source/fields.ts";
import type { Outcome } from "./import-report.ts";

/** What becomes of keys that need no reading: outcome and sentence, by name. */
export type KnownKeys = Readonly<Record<string, readonly [Outcome, string]>>;

/**
 * Reports every member of a mapping that has not been read. A key that is in no table is reported as unknown, so that it can be looked up; a value is
 * never repeated.
 */
export function reportOthers(fields: Fields, known: KnownKeys, { report }: ImportedConfiguration): void {
  for (const [name, item] of fields.unread()) {
    const row = Object.hasOwn(known, name) ? known[name] : undefined;
    const [outcome, text] = row ?? UNKNOWN;
    report.add(outcome, item, text);
    if (row === undefined && item.node.kind === "scalar" && looksLikeSecret(String(item.node.value)))
      report.add("decide", item, "this value looks like a credential: put it into the environment");
  }
}

const UNKNOWN: readonly [Outcome, string] = [
  "decide",
  "this key is not known to the import: look up what it does, and whether anything has to replace it",
];
