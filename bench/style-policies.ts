import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Source } from "../src/canon/diagnostic.ts";

/** Policies as people write them, each a small pull request (`bench/styles/README.md`). */
const FOLDER = new URL("styles/", import.meta.url);

/** A line of base, and what head has instead of it. */
const CHANGE = /^(.*)\n\s*# head: (.*)$/gm;

export const STYLES: readonly string[] = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".rego"))
  .map((name) => basename(name, ".rego"));

/** @param isHead whether the policy has the lines of head. */
export function stylePolicy(style: string, isHead: boolean): Source {
  const text = readFileSync(new URL(`${style}.rego`, FOLDER), "utf8");
  return {
    path: `policies/${style}.rego`,
    text: text.replaceAll(CHANGE, (_change, base: string, head: string) =>
      isHead ? base.replace(/\S.*/, () => head) : base,
    ),
  };
}

/** What the styles import. */
export function styleLibraries(): readonly Source[] {
  return readdirSync(new URL("lib/", FOLDER)).map((name) => ({
    path: `policies/lib/${name}`,
    text: readFileSync(new URL(`lib/${name}`, FOLDER), "utf8"),
  }));
}
