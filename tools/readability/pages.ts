// The pages whose readability counts: those that people write.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");

/** Reference that `npm run generate` writes. */
const GENERATED: ReadonlySet<string> = new Set(
  [
    "api",
    "builtins",
    "configuration",
    "diagnostics",
    "faults",
    "presets",
    "translation-matrix",
    "troubleshooting",
  ].map((name) => `docs/${name}.md`),
);
const OUTSIDE = ["README.md", "CONTRIBUTING.md", "SECURITY.md"];

const isPage = (path: string): boolean =>
  OUTSIDE.includes(path) ||
  (/^docs\/(?:decisions\/)?[^/]+\.md$/.test(path) && !GENERATED.has(path));

/** Path and text of each page, now or at a commit. */
export function pagesAt(commit: string | null): ReadonlyMap<string, string> {
  if (commit === null) {
    const names = ["docs", "docs/decisions"].flatMap((folder) =>
      readdirSync(join(ROOT, folder)).map((name) => `${folder}/${name}`),
    );
    const paths = [...OUTSIDE, ...names].filter((path) => isPage(path));
    return new Map(paths.map((path) => [path, readFileSync(join(ROOT, path), "utf8")]));
  }
  const git = (...argv: readonly string[]): string =>
    execFileSync("git", argv, { cwd: ROOT, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  const paths = git("ls-tree", "-r", "--name-only", commit).split("\n").filter(isPage);
  return new Map(paths.map((path) => [path, git("show", `${commit}:${path}`)]));
}
