import { invalidRequest, serviceError, type ServiceError } from "../../../canon/error.ts";
import { codedError } from "../../../canon/errors/coded-error.ts";
import type { EvidenceEntry, EvidenceFound } from "../../../evidence/evidence-store.ts";
import type { DecisionListAnswer } from "../../contract/decision-schemas.ts";
import type { ControlCall, ControlHandler } from "../control-call.ts";
import { ownWorkspace, readWorkspaces } from "../covered-workspaces.ts";
import { takeSimulation } from "../simulation-rate.ts";
import { decisionAnswer, decisionLine } from "./print-decision.ts";
import { readDecisionQuery } from "./decision-query.ts";
import type { Decision } from "../../../canon/decision.ts";
import { isJsonObject, parseJson, type JsonObject } from "../../../canon/json.ts";
import { decide } from "../../../decide/decide.ts";
import type { Decider } from "../../../decide/decider.ts";
import type { DecisionRecord } from "../../../evidence/record.ts";
import { readEvidenceSample, type EvidenceSample } from "../../../simulate/evidence/evidence-sample.ts";
import { explain } from "../../../simulate/explain/explanation.ts";
import { sampleQuestionOf } from "../../../simulate/decide-sample.ts";

const ID = /^(?:req|dec)_([0-9a-f]{32})$/;

/** What was decided about the requests of the caller's workspace, and how they ended: names and counts, never content. */
export const DECISION_HANDLERS = {
  listDecisions: async (call) => {
    const { runtime, url } = call;
    if (runtime.decisions === undefined) return unavailable();
    const search = readDecisionQuery(url.searchParams, readWorkspaces(call));
    if ("code" in search) return search;
    let found: EvidenceFound;
    try {
      found = await runtime.decisions.search(search);
    } catch (error) {
      if (error instanceof RangeError) {
        return invalidRequest(
          "invalid_cursor",
          "cursor must be the next_cursor of a page of the same search",
          "cursor",
        );
      }
      return unavailable();
    }
    const answer: DecisionListAnswer = {
      object: "list",
      data: found.entries.map(decisionLine),
      next_cursor: found.next,
      searched_to: found.searchedTo === null ? null : new Date(found.searchedTo).toISOString(),
    };
    return { json: answer };
  },
  retrieveDecision: async (call) => {
    const entry = await foundEntry(call);
    return "code" in entry ? entry : { json: decisionAnswer(entry) };
  },
  explainDecision: async (call) => {
    const entry = await foundEntry(call);
    if ("code" in entry) return entry;
    const { runtime, snapshot } = call;
    const refused = takeSimulation(runtime.simulationRate, snapshot.decider.table, ownWorkspace(call));
    return refused ?? { json: explanationAnswer(snapshot.decider, entry.decision) };
  },
} as const satisfies Record<string, ControlHandler>;

/** The decision that the path names, of the workspaces that the caller reads. */
async function foundEntry(call: ControlCall): Promise<EvidenceEntry | ServiceError> {
  const { runtime, parameter } = call;
  if (runtime.decisions === undefined) return unavailable();
  const digits = ID.exec(parameter ?? "")?.[1];
  if (digits === undefined) return notFound();
  try {
    const [entry] = await runtime.decisions.read({ after: 0, limit: 1, requestId: `req_${digits}` });
    const { workspace = null } = entry?.decision ?? {};
    return entry === undefined || workspace === null || !readWorkspaces(call).includes(workspace) ? notFound() : entry;
  } catch {
    return unavailable();
  }
}

function unavailable(): ServiceError {
  const message = "The server cannot read the decisions from the store now. Try again later.";
  return codedError("decisions_unavailable", message);
}

function notFound(): ServiceError {
  return serviceError(
    404,
    "not_found",
    "decision_not_found",
    "The workspace has no decision of this id. It is `req_` or `dec_` and 32 hexadecimal digits, as x-request-id has it; pruned decisions are not available.",
  );
}

/**
 * Decides a recorded request again. The record has the plan only: to keep why each candidate was passed over would make every request dearer, and the same
 * every later evaluation of table and policies gives the same.
 */
function explanationAnswer({ table, policies }: Decider, record: DecisionRecord): JsonObject {
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
