import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { GENESIS } from "../../src/evidence/chain.ts";
import { diskHead } from "../../src/store/sqlite/log-end.ts";
import { temporaryFolder } from "./temporary-folder.ts";

describe("the end of the log on disk", () => {
  test("is unreadable where the file opens and is no database, at the second look", () => {
    const path = join(temporaryFolder(), "signalbox.db");
    writeFileSync(path, "no database ".repeat(1_000));
    const compare = diskHead(path);
    expect([compare(GENESIS), compare(GENESIS)]).toEqual([GENESIS, "log_unreadable"]);
  });

  test("is unknown, and no fault, where nothing can be opened, as without free file descriptors", () => {
    const compare = diskHead(join(temporaryFolder(), "absent", "signalbox.db"));
    expect([compare(GENESIS), compare(GENESIS), compare(GENESIS)]).toEqual([
      GENESIS,
      GENESIS,
      GENESIS,
    ]);
  });
});
