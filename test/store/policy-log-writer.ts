/**
 * Run as a process by `policy-log-crash.test.ts`: adds rows to the policy log without end and says
 * on stdout which were acknowledged.
 */
import { writeSync } from "node:fs";

import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { recordText, rowsAfter } from "./policy-log-rows.ts";

const [, , path = "", name = ""] = process.argv;
const { policyLog } = await openSqliteStore({ path, busyTimeout: 10_000 });

async function writeWithoutEnd(lane: number): Promise<void> {
  for (let number = 0; ; number += 1) {
    const head = await policyLog.head();
    // Two together: half an append must not be there.
    const rows = rowsAfter(
      head,
      ["a", "b"].map((half) => recordText(`${name}-${lane}-${number}-${half}`)),
    );
    const appended = await policyLog.append(head, rows);
    // Synchronous: an acknowledgement that is printed later than it was given could die with the
    // process.
    if (appended) writeSync(1, `${rows.map(({ hash }) => hash).join(" ")}\n`);
  }
}

await Promise.all([0, 1].map(writeWithoutEnd));
