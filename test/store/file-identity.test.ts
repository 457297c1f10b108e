import { appendFileSync, copyFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

import { FileIdentity } from "../../src/store/sqlite/watch/file-identity.ts";
import { temporaryFolder } from "./temporary-folder.ts";

function watched(): { readonly path: string; readonly identity: FileIdentity } {
  const path = join(temporaryFolder(), "file");
  writeFileSync(path, "0123456789");
  const identity = new FileIdentity(path);
  expect(identity.look()).toEqual({ size: 10 });
  expect(identity.isThere(true)).toBe(true);
  return { path, identity };
}

it("a file that grows is there", () => {
  const { path, identity } = watched();
  appendFileSync(path, "more");
  expect(identity.isThere(true)).toBe(true);
  appendFileSync(path, "more");
  expect(identity.isThere(false)).toBe(false);
  expect(identity.isThere(false)).toBe(true);
  // Shorter than it was a moment ago, though longer than at first.
  truncateSync(path, 12);
  expect(identity.isThere(true)).toBe(false);
});

it.each<readonly [string, (path: string) => void]>([
  ["was removed", (path) => rmSync(path)],
  ["is shorter", (path) => truncateSync(path, 9)],
  [
    "was replaced by a copy",
    (path) => {
      copyFileSync(path, `${path}.copy`);
      renameSync(`${path}.copy`, path);
    },
  ],
])("a file that %s is not there", (_, change) => {
  const { path, identity } = watched();
  change(path);
  expect(identity.isThere(true)).toBe(false);
});

it("a file that was not there in the beginning is not missed", () => {
  expect(new FileIdentity(join(temporaryFolder(), "none")).isThere(true)).toBe(true);
});
