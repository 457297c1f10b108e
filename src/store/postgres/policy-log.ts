import { policyLogOver } from "../policy-log.ts";
import type { PolicyLogStore } from "../../lifecycle/records.ts";
import { readPolicyContent, readLink, readPolicyRow } from "../rows.ts";
import { StatementFailure, UNIQUE_VIOLATION } from "./failure.ts";
import type { PostgresLink } from "./link.ts";

/** Rows read at a time, so that no statement is long. */
const PAGE = 2_000;

const HEAD = "SELECT position, hash FROM signalbox.policy_log ORDER BY position DESC LIMIT 1";
const READ = `
SELECT position, previous, hash, record FROM signalbox.policy_log WHERE position > $1 ORDER BY position LIMIT $2`;
const APPEND = "SELECT signalbox.append_policy_log($1, $2, $3::text::json) AS appended";
const IS_KEPT = "SELECT 1 AS kept FROM signalbox.policy_contents WHERE digest = $1";
const KEEP = `
INSERT INTO signalbox.policy_contents (digest, policy, description, module) VALUES ($1, $2, $3, decode($4, 'base64'))
ON CONFLICT (digest) DO NOTHING`;
const CONTENT =
  "SELECT digest, policy, description, module FROM signalbox.policy_contents WHERE digest = $1";

/**
 * The policy log. An append is one statement; it is never retried here, because a lost answer may
 * have succeeded.
 */
export function postgresPolicyLog(link: PostgresLink): PolicyLogStore {
  return policyLogOver({
    page: PAGE,
    head: async () => readLink((await link.query(HEAD))[0]),
    rows: async (after, limit) => (await link.query(READ, [after, limit])).map(readPolicyRow),
    append: ({ position, hash }, rows) => appendRows(link, position, hash, JSON.stringify(rows)),
    async keep({ policy, digest, description, module }) {
      // It is almost always there: a start keeps the same contents as the last one, and a module
      // can be large.
      if ((await link.query(IS_KEPT, [digest])).length > 0) return;
      await link.query(KEEP, [digest, policy, description, Buffer.from(module).toString("base64")]);
    },
    content: async (digest) => readPolicyContent((await link.query(CONTENT, [digest]))[0]),
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
