import { refuseRepeatedId } from "../observed-policies.ts";
import type { PolicyState } from "../../canon/policy.ts";
import type { PolicyStore } from "../port.ts";
import type { PostgresLink } from "./link.ts";
import type { Row } from "./pool.ts";
import { readNumber, readText } from "../rows/row.ts";

const OBSERVE = "SELECT id, digest, revision, mode FROM signalbox.observe_policies($1::text::jsonb)";

const STATES = "SELECT id, digest, revision, mode FROM signalbox.policies ORDER BY id";

/** All of `contents` in one transaction, so that replicas which start at once agree on the numbers. */
export function postgresPolicies(link: PostgresLink): PolicyStore {
  return {
    async observe(contents) {
      refuseRepeatedId(contents);
      const rows = await link.query(OBSERVE, [JSON.stringify(contents)]);
      const states = new Map(rows.map((row) => [readText(row, "id"), readState(row)]));
      return contents.flatMap(({ id }) => states.get(id) ?? []);
    },
  };
}

/** The newest known state of every policy, sorted by id. @throws {StoreUnavailableError} */
export async function readPolicyStates(link: PostgresLink): Promise<readonly PolicyState[]> {
  return (await link.query(STATES)).map(readState);
}

function readState(row: Row): PolicyState {
  return {
    id: readText(row, "id"),
    digest: readText(row, "digest"),
    revision: readNumber(row, "revision"),
    mode: readText(row, "mode") === "enforce" ? "enforce" : "shadow",
  };
}
