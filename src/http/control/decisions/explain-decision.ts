import type { Decision } from "../../../canon/decision.ts";
import { isJsonObject, parseJson, type JsonObject } from "../../../canon/json.ts";
import { decide } from "../../../decide/decide.ts";
import type { Decider } from "../../../decide/decider.ts";
import type { DecisionRecord } from "../../../evidence/record.ts";
import { readEvidenceSample, type EvidenceSample } from "../../../simulate/evidence/evidence-sample.ts";
import { explain } from "../../../simulate/explain/explanation.ts";
import { sampleQuestionOf } from "../../../simulate/explain/sample-question.ts";

/**
 * Decides a recorded request again. The record has the plan only: to keep why each candidate was passed over would make every request dearer, and the same
 * every later evaluation of table and policies gives the same.
 */
export function explanationAnswer({ table, policies }: Decider, record: DecisionRecord): JsonObject {
  const facts = {
    object: "decision.explanation",
    id: record.requestId,
    same_table: record.tableRevision === table.revision,
    same_policies: record.policySet === undefined ? null : record.policySet === policies.id,
  };
  const recorded = sampleOf(record);
  if (recorded === null) return { ...facts, same_result: null, explanation: null };
  const { identity, question, at } = sampleQuestionOf(recorded.sample);
  const decision = decide(table, policies, identity, question, at);
  const { time } = recorded.sample;
  const explained = { table, policies, identity, question, paths: null, time, promoted: false };
  // Health is not recorded: an order by the health of now would not be that of then.
  return { ...facts, same_result: isSame(recorded, decision), explanation: explain(explained, decision, null) };
}

/** `null` where the record has nothing to decide, or something that this version does not know. */
function sampleOf(record: DecisionRecord): EvidenceSample | null {
  const value = parseJson(JSON.stringify(record));
  const read = isJsonObject(value) ? readEvidenceSample(value) : null;
  return read === null || "unsayable" in read ? null : read;
}

function isSame({ outcome, reason, plan }: EvidenceSample, decision: Decision): boolean {
  if (decision.outcome === "deny") return outcome === "deny" && reason === decision.denial.reason;
  return outcome === "route" && decision.plan.map(({ endpoint }) => endpoint.id).join() === plan.join();
}
