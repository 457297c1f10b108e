import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { databasePath } from "../../src/cli/terminal/open-store.ts";
import { CommandError } from "../../src/cli/terminal/command-io.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { missingPrograms } from "../support/at-hand.ts";
import { temporaryFolder } from "../store/temporary-folder.ts";

const GIT = missingPrograms("git");

function io(cwd: string): Parameters<typeof databasePath>[1] {
  return { cwd, environment: {}, stdout: () => {}, stderr: () => {} };
}

async function folderWithDatabase(): Promise<string> {
  const folder = temporaryFolder();
  await (await openSqliteStore({ path: join(folder, ".signalbox/signalbox.db") })).close();
  return folder;
}

describe("the database of the working directory", () => {
  test("is used where Signalbox created it, and where there is none yet", async () => {
    const folder = await folderWithDatabase();
    expect(databasePath(undefined, io(folder))).toBe(join(folder, ".signalbox/signalbox.db"));
    const empty = temporaryFolder();
    expect(databasePath(undefined, io(empty))).toBe(join(empty, ".signalbox/signalbox.db"));
  });

  test.skipIf(GIT !== null)(`is refused where a checkout brought it ${GIT ?? ""}`, async () => {
    const origin = await folderWithDatabase();
    const git = (...argv: readonly string[]): void =>
      void execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...argv], {
        cwd: origin,
      });
    git("init", "--quiet");
    git("add", "--force", ".");
    git("commit", "--quiet", "--message", "keys of somebody else");
    const clone = join(temporaryFolder(), "clone");
    git("clone", "--quiet", origin, clone);
    expect(() => databasePath(undefined, io(clone))).toThrow(CommandError);
    expect(() => databasePath(undefined, io(clone))).toThrow(
      /it may come from a checkout, .* name it with --database/,
    );
  });

  test("is refused where other users can read it, and used where it is named", async () => {
    const folder = await folderWithDatabase();
    const copy = temporaryFolder();
    mkdirSync(join(copy, ".signalbox"));
    const path = join(copy, ".signalbox/signalbox.db");
    cpSync(join(folder, ".signalbox/signalbox.db"), path);
    chmodSync(path, 0o640);
    expect(() => databasePath(undefined, io(copy))).toThrow(CommandError);
    expect(databasePath(path, io(copy))).toBe(path);
  });
});
