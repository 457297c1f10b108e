import { shadowReader } from "../../../governance/shadow/shadow-report.ts";
import { contentOf } from "../../../lifecycle/ledger.ts";
import type { ControlAnswer, ControlCall } from "../control-call.ts";
import { policyShadow, readShadowQuery } from "../shadow/policy-shadow.ts";
import { namedLine, NO_STORE, parts } from "./policy-call.ts";
import { faultError } from "./policy-error.ts";

/** GET /v1/policies/{id}/shadow: what the candidate would have done. */
export async function candidateShadow(call: ControlCall): Promise<ControlAnswer> {
  const found = parts(call);
  if ("code" in found) return found;
  const { identity, administration } = found;
  const asked = readShadowQuery(call.url.searchParams);
  if ("code" in asked) return asked;
  const line = await namedLine(administration, call.parameter);
  if ("code" in line) return line;
  if (line.candidate === null) return faultError({ fault: "no_candidate" });
  const { table } = call.snapshot.decider;
  const { workspace } = identity;
  const reader = shadowReader(workspace, Object.keys(table.workspaces), table.policies.managedBy ?? null);
  const { revision, digest, firstSeenAt: firstSeen } = contentOf(line, line.candidate.digest);
  const watched = { id: line.id, revision, digest, since: line.candidate.since, firstSeen };
  const answer = await policyShadow(administration.shadow, watched, reader, asked.witnesses, Date.now());
  return "code" in answer ? answer : { ...answer, headers: NO_STORE };
}
