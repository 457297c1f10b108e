import { isOutcome } from "../import-report.ts";
import type { KnownKeys } from "../import-report.ts";
import sections from "./known-keys.json" with { type: "json" };

/** Keys of LiteLLM's configuration that need no reading, as config_settings of its documentation lists them, by section; `file` has the sections themselves. */
export function knownKeys(section: keyof typeof sections): KnownKeys {
  return Object.fromEntries(
    sections[section].flatMap(({ outcome, text, keys }) => {
      if (!isOutcome(outcome)) throw new Error(`known-keys.json: ${outcome} is no outcome`);
      return keys.map((key) => [key, [outcome, text] as const]);
    }),
  );
}
