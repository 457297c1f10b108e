import { appendFileSync, copyFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

import { FileIdentity } from "../../src/store/sqlite/store-watch.ts";
import { temporaryFolder } from "./temporary-folder.ts";

function watched(): { readonly path: string; readonly identity: FileIdentity } {
  const path = join(temporaryFolder(), "file");
  writeFileSync(path, "0123456789");
  return { path, identity: new FileIdentity(path) };
}

it("a file that was not replaced has its present size", () => {
  const { path, identity } = watched();
  expect(identity.look()).toBe(10);
  appendFileSync(path, "more");
  expect(identity.look()).toBe(14);
});

it.each<readonly [string, (path: string) => void, string]>([
  ["was removed", (path) => rmSync(path), "file_removed"],
  [
    "was replaced by a copy",
    (path) => {
      copyFileSync(path, `${path}.copy`);
      renameSync(`${path}.copy`, path);
    },
    "file_replaced",
  ],
])("a file that %s is reported", (_, change, cause) => {
  const { path, identity } = watched();
  change(path);
  expect(identity.look()).toBe(cause);
});

it("a file that was absent from the beginning is not reported", () => {
  expect(new FileIdentity(join(temporaryFolder(), "none")).look()).toBeNull();
});
