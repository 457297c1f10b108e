import { readFileSync } from "node:fs";
import { parseJson } from "../../canon/json/parse-json.ts";

/** The package's version. `package.json` stands three folders up, from `src/cli/terminal` and from `dist/cli/terminal` alike. */
export function readVersion(): string {
  const manifest: unknown = parseJson(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
  const version = typeof manifest === "object" && manifest !== null && "version" in manifest ? manifest.version : null;
  if (typeof version !== "string") throw new Error("package.json has no version");
  return version;
}
