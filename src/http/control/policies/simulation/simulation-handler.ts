import type { ControlAnswer, ControlCall } from "../../control-call.ts";
import { managementError, namedStatus, NO_STORE, parts } from "../policy-call.ts";
import { contentNamed } from "../policy-content.ts";
import { faultError, noSuchContent, simulationError } from "../policy-error.ts";
import { checkQuery, readDigest, SIMULATION_QUERY } from "../policy-query.ts";

/** GET /v1/policies/{id}/simulation: the server's own report on the promotion of one content. */
export async function promotionSimulation(call: ControlCall): Promise<ControlAnswer> {
  const found = parts(call);
  if ("code" in found) return found;
  const { identity, administration } = found;
  // A report names every workspace that the promotion concerns, and making one costs up to a minute.
  const refused = managementError(call, identity);
  if (refused !== null) return refused;
  const { searchParams } = call.url;
  const wrong = checkQuery(searchParams, SIMULATION_QUERY);
  if (wrong !== null) return wrong;
  const asked = readDigest(searchParams);
  if (asked !== null && typeof asked !== "string") return asked;
  const line = await namedStatus(administration, call.parameter);
  if ("code" in line) return line;
  const name = asked ?? "candidate";
  const content = contentNamed(line, name);
  if (content === null) return name === "candidate" ? faultError({ fault: "no_candidate" }) : noSuchContent();
  const made = await administration.simulate(line.id, content.digest);
  return typeof made === "string" ? simulationError(made) : { text: made.text, headers: NO_STORE };
}
