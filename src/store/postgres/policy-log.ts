import { policyLogOver } from "../policy-log.ts";
import type { PolicyLogStore } from "../../lifecycle/records.ts";
import { StatementFailure, UNIQUE_VIOLATION } from "./failure.ts";
import type { PostgresLink } from "./link.ts";

const APPEND = "SELECT signalbox.append_policy_log($1, $2, $3::text::json) AS appended";
const IS_KEPT = "SELECT 1 AS kept FROM signalbox.policy_contents WHERE digest = $1";
const KEEP = `
INSERT INTO signalbox.policy_contents (digest, policy, description, module) VALUES ($1, $2, $3, $4)
ON CONFLICT (digest) DO NOTHING`;
/** The policy log. An append is never retried here: a lost answer may have succeeded. */
export function postgresPolicyLog(link: PostgresLink): PolicyLogStore {
  return policyLogOver(link.runCommon, {
    append: ({ position, hash }, rows) => appendRows(link, position, hash, JSON.stringify(rows)),
    async keep({ policy, digest, description, module }) {
      // A start keeps the same contents as the last one, and a module can be large.
      if ((await link.query(IS_KEPT, [digest])).length > 0) return;
      await link.query(KEEP, [digest, policy, description, module]);
    },
  });
}

async function appendRows(
  link: PostgresLink,
  position: number,
  hash: string,
  rows: string,
): Promise<boolean> {
  try {
    return (await link.query(APPEND, [position, hash, rows]))[0]?.appended === true;
  } catch (error) {
    // The position is taken by a row that was added without the function and its lock.
    if (error instanceof StatementFailure && error.code === UNIQUE_VIOLATION) return false;
    throw error;
  }
}
