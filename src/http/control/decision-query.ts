import { isOperation, OPERATIONS } from "../../canon/operation.ts";
import type { EvidenceEntry, EvidenceSearch } from "../../evidence/evidence-store.ts";
import { TERMINALS } from "../../evidence/record.ts";
import { readInstant } from "../../governance/roll-up.ts";
import { OUTCOMES } from "../contract/decision-schemas.ts";
import { WORKSPACES_QUERY } from "./covered-workspaces.ts";
import { readCount } from "./query.ts";

const name = (description: string) =>
  ({ type: "string", minLength: 1, maxLength: 200, description }) as const;

/** Query parameters of the list, for /openapi.json. */
export const DECISION_QUERY = {
  workspaces: WORKSPACES_QUERY,
  kind: {
    enum: ["inference", "router"],
    description:
      "`inference`: requests of models. `router`: those that the router answers itself, such as simulations, changes of keys, and readings of this list. Both if absent.",
  },
  start: {
    type: "string",
    format: "date-time",
    description: "Requests that arrived then or later.",
  },
  end: {
    type: "string",
    format: "date-time",
    description: "Requests that arrived then or earlier. Default: now.",
  },
  operation: { enum: OPERATIONS, description: "Requests of this operation." },
  route: name("Requests that named this route."),
  key: name("Public id of the key."),
  outcome: { enum: OUTCOMES, description: "What was decided." },
  policy: name("Policy that denied the request, or `approvals` or `preferences`."),
  constraint: name("Its constraint."),
  reason: name("Reason code of the denial, or error code of the refusal."),
  terminal: {
    enum: [...TERMINALS, "running"],
    description: "How the request ended; `running`: it has not ended.",
  },
  provider: name("Provider of an attempt."),
  endpoint: name("Endpoint of an attempt."),
  limit: {
    type: "integer",
    minimum: 1,
    maximum: 100,
    default: 50,
    description: "Maximum number of decisions.",
  },
  cursor: { type: "string", description: "The page after another one: its `next_cursor`." },
} as const;

/** Members of a decision's record by query parameter. */
const MEMBERS = {
  operation: "operation",
  route: "route",
  key: "keyId",
  outcome: "outcome",
  policy: "policy",
  constraint: "constraint",
  reason: "reason",
} as const satisfies Partial<Record<keyof typeof DECISION_QUERY, keyof EvidenceEntry["decision"]>>;

/**
 * What a caller looks for among the decisions of workspaces. @param query as `checkQuery` has
 * checked it.
 */
export function readDecisionQuery(
  query: URLSearchParams,
  workspaces: readonly string[],
): EvidenceSearch {
  const instant = (parameter: "start" | "end"): number | null =>
    readInstant(query.get(parameter) ?? "");
  const limit = readCount(query, "limit", DECISION_QUERY);
  const cursor = query.get("cursor");
  return {
    workspaces,
    from: instant("start"),
    to: instant("end"),
    limit,
    cursor,
    ...filterOf(query),
  };
}

function filterOf(query: URLSearchParams): Pick<EvidenceSearch, "contains" | "accepts"> {
  const wanted = Object.entries(MEMBERS).flatMap(([parameter, member]) => {
    const value = query.get(parameter);
    return value === null ? [] : [{ member, value }];
  });
  const kind = query.get("kind");
  const terminal = query.get("terminal");
  const provider = query.get("provider");
  const endpoint = query.get("endpoint");
  return {
    // As the record's text has it: JSON without spaces.
    contains: wanted.map(({ member, value }) => `"${member}":${JSON.stringify(value)}`),
    accepts: ({ decision, outcome }) =>
      wanted.every(({ member, value }) => decision[member] === value) &&
      (kind === null || isOperation(decision.operation) === (kind === "inference")) &&
      (terminal === null || (outcome?.terminal ?? "running") === terminal) &&
      (provider === null ||
        outcome?.attempts.some((attempt) => attempt.provider === provider) === true) &&
      (endpoint === null ||
        outcome?.attempts.some((attempt) => attempt.endpoint === endpoint) === true),
  };
}
