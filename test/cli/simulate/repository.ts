import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { missingPrograms } from "../../support/at-hand.ts";
import { TEST_HOME } from "../../support/cache.ts";

/** Why tests with git are skipped; `null` where it is there. */
export const NO_GIT = missingPrograms("git");

/**
 * Of a person without any settings, and of no repository around the tests (a hook sets GIT_DIR).
 */
export const GIT_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: process.env.PATH ?? "",
  HOME: "/nonexistent",
  XDG_CACHE_HOME: TEST_HOME,
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_AUTHOR_NAME: "Test",
  GIT_AUTHOR_EMAIL: "test@example.org",
  GIT_COMMITTER_NAME: "Test",
  GIT_COMMITTER_EMAIL: "test@example.org",
};

/** A folder of its own, gone when the test ends. */
export function temporaryFolder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "signalbox-simulate-")));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export function writeTo(
  folder: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
}

export function git(folder: string, ...argv: readonly string[]): string {
  return execFileSync("git", argv, {
    cwd: folder,
    env: GIT_ENVIRONMENT,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  }).trim();
}

/** A repository with one commit on `main`. */
export function repository(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = temporaryFolder();
  git(folder, "init", "--quiet", "--initial-branch", "main");
  writeTo(folder, files);
  commit(folder, "first");
  return folder;
}

/** Everything that stands there; gives the commit's id. */
export function commit(folder: string, message: string): string {
  git(folder, "add", "--all");
  git(folder, "commit", "--quiet", "--allow-empty", "--message", message);
  return git(folder, "rev-parse", "HEAD");
}
