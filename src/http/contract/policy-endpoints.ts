import {
  CONTENT_QUERY,
  LIST_QUERY,
  SIMULATION_QUERY,
  TRANSITIONS_QUERY,
} from "../control/policies/change-handlers.ts";
import type { ControlEndpoint } from "./endpoint.ts";
import {
  APPROVE_SCHEMA,
  POLICY,
  POLICY_CONTENT,
  POLICY_LIST,
  POLICY_SHADOW,
  POLICY_SIMULATION,
  POLICY_TRANSITIONS,
  POLICY_VIEW,
  PROMOTE_SCHEMA,
  RELEASE_SCHEMA,
  ROLL_BACK_SCHEMA,
  WITHDRAW_SCHEMA,
} from "./policy-answers.ts";
import { SHADOW_QUERY } from "../control/policy-shadow.ts";

const GET = {
  kind: "control",
  method: "GET",
  listener: "public",
  query: {},
  body: null,
  tag: "Policies",
  isNeverStored: true,
} as const;

const READ = { ...GET, scopes: ["governance:read", "operations:manage"] } as const;

const CHANGE = {
  kind: "control",
  method: "POST",
  listener: "public",
  scopes: ["operations:manage"],
  query: {},
  uniqueMembers: true,
  conflicts: true,
  hasEntityTag: true,
  answer: POLICY_VIEW,
  tag: "Policies",
  isNeverStored: true,
} as const;

/** Status of policies, and their changes (docs/policy-lifecycle.md). */
export const POLICY_ENDPOINTS: readonly ControlEndpoint[] = [
  {
    ...READ,
    path: "/v1/policies",
    id: "listPolicies",
    summary: "Every policy with its slots, approvals and requirements",
    optionalQuery: LIST_QUERY,
    answer: POLICY_LIST,
  },
  {
    ...READ,
    path: "/v1/policies/{id}",
    id: "retrievePolicy",
    summary: "One of them, and what a promotion by the caller would lack",
    hasEntityTag: true,
    answer: POLICY,
  },
  {
    ...READ,
    path: "/v1/policies/{id}/content",
    id: "retrievePolicyContent",
    summary: "Rules of one content, for approvers to read",
    optionalQuery: CONTENT_QUERY,
    answer: POLICY_CONTENT,
  },
  {
    ...READ,
    path: "/v1/policies/{id}/shadow",
    id: "retrievePolicyShadow",
    summary:
      "Verdicts of the candidate in shadow, with counts and example requests; never any content",
    optionalQuery: SHADOW_QUERY,
    answer: POLICY_SHADOW,
  },
  {
    ...GET,
    path: "/v1/policies/{id}/simulation",
    id: "retrievePolicySimulation",
    summary: "The server's own simulation report of a promotion; approvals name its SHA-256",
    scopes: ["operations:manage", "policies:approve"],
    optionalQuery: SIMULATION_QUERY,
    answer: POLICY_SIMULATION,
  },
  {
    ...READ,
    path: "/v1/policies/{id}/transitions",
    id: "listPolicyTransitions",
    summary: "Its history, oldest first, from the policy log",
    optionalQuery: TRANSITIONS_QUERY,
    answer: POLICY_TRANSITIONS,
  },
  {
    ...CHANGE,
    path: "/v1/policies/{id}/approvals",
    id: "approvePolicy",
    scopes: ["operations:manage", "policies:approve"],
    summary: "Approves exactly one content",
    body: APPROVE_SCHEMA,
    answer: POLICY,
  },
  {
    ...CHANGE,
    path: "/v1/policies/{id}/promotions",
    id: "promotePolicy",
    summary: "Promotes the candidate: it is enforced from now on",
    ifMatch: "always",
    body: PROMOTE_SCHEMA,
  },
  {
    ...CHANGE,
    path: "/v1/policies/{id}/rollbacks",
    id: "rollBackPolicy",
    summary:
      "Rolls back to content that was enforced before, and holds the content rolled back; needs no approval",
    ifMatch: "always",
    body: ROLL_BACK_SCHEMA,
  },
  {
    ...CHANGE,
    path: "/v1/policies/{id}/withdrawals",
    id: "withdrawPolicy",
    scopes: ["operations:manage", "policies:approve"],
    summary: "Withdraws an approval or the candidate",
    ifMatch: "sometimes",
    body: WITHDRAW_SCHEMA,
  },
  {
    ...CHANGE,
    path: "/v1/policies/{id}/releases",
    id: "releasePolicy",
    summary: "Releases content that was rolled back or withdrawn, so that it can be promoted again",
    ifMatch: "always",
    body: RELEASE_SCHEMA,
  },
];
