import { watchIssuers } from "../watchers.ts";
import type { IssuerStore } from "../../keys/key-store.ts";
import type { PostgresLink } from "./link.ts";
import { readIssuer, readNumber } from "../rows.ts";

const PUBLISH =
  "INSERT INTO signalbox.issuers (kid, public_key, expires_at) VALUES ($1, $2, $3) ON CONFLICT (kid) DO NOTHING";
const LIST =
  "SELECT kid, public_key, expires_at FROM signalbox.issuers WHERE expires_at > $1 ORDER BY kid";
const PRUNE = `
WITH gone AS (DELETE FROM signalbox.issuers WHERE expires_at <= $1 RETURNING kid) SELECT count(*) AS count FROM gone`;

/** Who signs exchanged tokens, each change one statement. */
export function postgresIssuers(link: PostgresLink): IssuerStore {
  const list: IssuerStore["list"] = async (now) =>
    (await link.query(LIST, [Math.trunc(now)])).map(readIssuer);
  return {
    async publish({ kid, publicKey, expiresAt }) {
      await link.query(PUBLISH, [kid, publicKey, expiresAt]);
    },
    list,
    watch: (listener) => watchIssuers(list, listener),
    async prune(before) {
      return readNumber((await link.query(PRUNE, [Math.trunc(before)]))[0], "count");
    },
  };
}
