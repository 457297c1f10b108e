import { readFileSync } from "node:fs";

/** The package's version. `package.json` stands two folders up, from `src/cli` and from `dist/cli` alike. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(
    readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
  );
  const version =
    typeof manifest === "object" && manifest !== null && "version" in manifest
      ? manifest.version
      : null;
  if (typeof version !== "string") throw new Error("package.json has no version");
  return version;
}
