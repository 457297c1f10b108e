import type { JsonObject } from "../../../../canon/json.ts";
import { objectOf, objectsOf } from "../../../explain/members.ts";
import type { PolicyServer } from "./client.ts";
import { notPolicies, numberOf } from "./view.ts";

/** Rows of one answer. */
const PAGE = 500;

/** All rows about a policy, oldest first, as the log has them. @throws {CommandError} for answers that do not go on. */
export async function* readTransitions(server: PolicyServer, id: string): AsyncGenerator<JsonObject> {
  for (let after = 0; ;) {
    const answer = await server.below(id, "transitions", { after: String(after), limit: String(PAGE) });
    if (answer["object"] !== "list" || !Array.isArray(answer["data"])) throw notPolicies();
    for (const row of objectsOf(answer, "data")) {
      const position = numberOf(row, "position") ?? 0;
      // Or a server that always says the same would be asked for ever.
      if (position <= after || objectOf(row, "record") === null) throw notPolicies();
      after = position;
      yield row;
    }
    if (answer["has_more"] !== true || answer["data"].length === 0) return;
  }
}
