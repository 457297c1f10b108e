import { GENESIS } from "../../evidence/chain.ts";
import { PolicyLogWatchers, refuseLogRange, refuseUnchained } from "../policy-log.ts";
import type { PolicyLogRow, PolicyLogStore } from "../../lifecycle/policy-log-store.ts";
import { readBytes, readNumber, readText } from "../rows/row.ts";
import { StatementFailure, UNIQUE_VIOLATION } from "./failure.ts";
import type { PostgresLink } from "./link.ts";
import type { Row } from "./pool.ts";

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
const CONTENT = "SELECT digest, policy, description, module FROM signalbox.policy_contents WHERE digest = $1";

/** The log of policies. An append is one statement; its answer may be lost, so it is not sent again by itself. */
export function postgresPolicyLog(link: PostgresLink): PolicyLogStore {
  const head: PolicyLogStore["head"] = async () => {
    const row = (await link.query(HEAD))[0];
    return row === undefined ? GENESIS : { position: readNumber(row, "position"), hash: readText(row, "hash") };
  };
  const watchers = new PolicyLogWatchers(head);
  return {
    head,
    async read(query) {
      refuseLogRange(query);
      const found: PolicyLogRow[] = [];
      for (;;) {
        const limit = Math.min(PAGE, query.limit - found.length);
        const rows = await link.query(READ, [found.at(-1)?.position ?? query.after, limit]);
        found.push(...rows.map(readRow));
        if (rows.length < limit || found.length >= query.limit) return found;
      }
    },
    async append(expected, rows) {
      refuseUnchained(expected, rows);
      const appended = await appendRows(link, expected.position, expected.hash, JSON.stringify(rows));
      if (appended) watchers.publish(rows.at(-1) ?? expected);
      return appended;
    },
    async keep({ policy, digest, description, module }) {
      // Nearly always it is there: a start keeps what the last one kept, and a module can be large.
      if ((await link.query(IS_KEPT, [digest])).length > 0) return;
      await link.query(KEEP, [digest, policy, description, Buffer.from(module).toString("base64")]);
    },
    async content(digest) {
      const row = (await link.query(CONTENT, [digest]))[0];
      if (row === undefined) return null;
      return {
        policy: readText(row, "policy"),
        digest: readText(row, "digest"),
        description: readText(row, "description"),
        module: readBytes(row, "module"),
      };
    },
    watch: (listener) => watchers.add(listener),
  };
}

async function appendRows(link: PostgresLink, position: number, hash: string, rows: string): Promise<boolean> {
  try {
    return (await link.query(APPEND, [position, hash, rows]))[0]?.["appended"] === true;
  } catch (error) {
    // Only by somebody who adds rows without the function and its lock: the position is taken.
    if (error instanceof StatementFailure && error.code === UNIQUE_VIOLATION) return false;
    throw error;
  }
}

function readRow(row: Row): PolicyLogRow {
  return {
    position: readNumber(row, "position"),
    previous: readText(row, "previous"),
    hash: readText(row, "hash"),
    record: readText(row, "record"),
  };
}
