import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";

/**
 * What only some machines have is looked for here and nowhere else: `.ci/run` runs every test that
 * imports this file a second time on a machine that has only Node and npm, so that the README's
 * test command is proven there too.
 */

/** @returns the path of the first executable file of that name on PATH, or `null`. */
export function programAtHand(name: string): string | null {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const path = resolve(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      continue;
    }
  }
  return null;
}

/**
 * @returns why tests that run these programs are skipped, as the end of a title; `null` where all
 * of them are on PATH.
 */
export function missingPrograms(...names: readonly string[]): string | null {
  const missing = names.filter((name) => programAtHand(name) === null);
  return missing.length === 0 ? null : `(skipped: ${missing.join(", ")} not installed)`;
}

/**
 * The specification, references and recordings that the team keeps beside the checkout and never
 * commits.
 */
const SHARED = resolve(import.meta.dirname, "../../../shared");

/**
 * @returns the path of a file beside the project, or `null`: users of Signalbox have none of them.
 */
export function sharedAtHand(path: string): string | null {
  const found = join(SHARED, path);
  return existsSync(found) ? found : null;
}
