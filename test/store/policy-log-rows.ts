import { deepStrictEqual } from "node:assert/strict";

import { canonicalJson } from "../../src/canon/json.ts";
import { chainHash, GENESIS, type ChainLink } from "../../src/evidence/chain.ts";
import type { PolicyLogRow, PolicyLogStore } from "../../src/lifecycle/records.ts";

/** Rows with these records behind a head, as a caller of the port makes them. */
export function rowsAfter(head: ChainLink, records: readonly string[]): readonly PolicyLogRow[] {
  const rows: PolicyLogRow[] = [];
  for (const record of records) {
    const { position, hash: previous } = rows.at(-1) ?? head;
    rows.push({
      position: position + 1,
      previous,
      hash: chainHash(previous, position + 1, "policy", record),
      record,
    });
  }
  return rows;
}

export const recordText = (policy: string, revision = 1): string =>
  canonicalJson({ kind: "returned", policy, at: 5, revision, digest: "d".repeat(64) });

/** All rows; throws where they are not one chain from the beginning to the head. */
export async function readVerifiedPolicyLog(log: PolicyLogStore): Promise<readonly PolicyLogRow[]> {
  const rows: PolicyLogRow[] = [];
  for (
    let page: readonly PolicyLogRow[] = [], first = true;
    first || page.length > 0;
    first = false
  ) {
    page = await log.read({ after: rows.at(-1)?.position ?? 0, limit: 10_000 });
    rows.push(...page);
  }
  const expected = rowsAfter(
    GENESIS,
    rows.map(({ record }) => record),
  );
  deepStrictEqual(rows, expected);
  const { position, hash } = expected.at(-1) ?? GENESIS;
  deepStrictEqual(await log.head(), { position, hash });
  return rows;
}

/** Adds one row behind whatever is the head by then, as often as it takes. Gives the row. */
export async function appendOne(log: PolicyLogStore, record: string): Promise<PolicyLogRow> {
  for (;;) {
    const [row] = rowsAfter(await log.head(), [record]);
    if (row === undefined) throw new Error("no row");
    const { position, previous } = row;
    if (await log.append({ position: position - 1, hash: previous }, [row])) return row;
  }
}
