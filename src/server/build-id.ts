import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { StartError } from "./start-error.ts";

/**
 * The environment variable by which an operator names a build, such as an image's digest or a
 * commit.
 */
export const BUILD_VARIABLE = "SIGNALBOX_BUILD_ID";

/** The program's own folder, `src` or `dist`. */
const PROGRAM = fileURLToPath(new URL("..", import.meta.url));

/**
 * Name of the build in /status: the operator's value, else the package's version and 12 hexadecimal
 * digits of the digest of the program's files, such as `0.2.0+3f9c2a7b61d0`. The same files have
 * the same id on every machine and after every start; a file that is changed, added, taken away or
 * renamed makes another. Files installed beside the program do not count.
 *
 * @throws {StartError} where the operator's name is of another form.
 */
export function buildId(
  configured: string | undefined,
  version: string,
  program = PROGRAM,
): string {
  if (configured === undefined || configured === "")
    return `${version}+${programDigest(program).slice(0, 12)}`;
  if (/^[\w.+:@/-]{1,128}$/.test(configured)) return configured;
  throw new StartError(
    `${BUILD_VARIABLE}: must be 1 to 128 letters, digits and _ . + : @ / -; or leave the variable out`,
  );
}

/**
 * SHA-256 over the paths and bytes of every file below the folder, source maps aside; hexadecimal.
 */
function programDigest(folder: string): string {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".map"))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path, name: relative(folder, path).replaceAll("\\", "/") }))
    .toSorted((left, right) => (left.name < right.name ? -1 : 1));
  const digest = createHash("sha256");
  for (const { path, name } of entries) {
    const bytes = readFileSync(path);
    // Lengths keep a name and its bytes apart from the next.
    digest.update(`${name.length} ${name} ${bytes.length} `).update(bytes);
  }
  return digest.digest("hex");
}
