import {
  EXAMPLE_DECISION,
  EXAMPLE_DIGEST,
  EXAMPLE_ETAG,
  EXAMPLE_EXPIRY,
  EXAMPLE_KEY,
  EXAMPLE_POLICY,
  type EndpointExample,
} from "./example.ts";

const ofKey = { parameters: { id: EXAMPLE_KEY } } as const;
const ofName = { parameters: { workspace: "demo", name: "payments-checkout" } } as const;
const ofPolicy = { parameters: { id: EXAMPLE_POLICY } } as const;

export const CONTROL_EXAMPLES: Readonly<Record<string, EndpointExample>> = {
  retrieveModel: { parameters: { id: "chat-small" } },
  retrieveAnthropicModel: { parameters: { id: "claude-sonnet-4-6" } },
  listAnthropicModels: { parameters: { limit: "2" } },
  simulateRoute: {
    parameters: { operation: "chat.completions" },
    requests: {
      shape: { model: "chat-small", needs: ["tools"], stream: true, provider: { region: "eu" } },
      request: { model: "chat-small", request: { messages: [{ role: "user", content: "Say hello." }] } },
      promoted: { model: "chat-large", time: { day: "weekday", hour: "afternoon" }, promoted: true },
    },
  },
  listDecisions: { parameters: { operation: "chat.completions", outcome: "route", limit: "2" } },
  retrieveDecision: { parameters: { id: EXAMPLE_DECISION } },
  explainDecision: { parameters: { id: EXAMPLE_DECISION } },
  createKey: {
    requests: {
      plain: { scopes: ["inference", "catalogue:read"], owner: "group:payments", expires_in: 7_776_000 },
      exchangeable: {
        scopes: ["inference"],
        owner: "group:web",
        workload: "chat-widget",
        expires_in: 7_776_000,
        exchange: { maximum_lifetime: 900, operations: ["chat.completions"], origins: ["https://app.example.com"] },
        limits: { requests_per_minute: 60, budget: { usd: 5, per: "day" } },
      },
    },
  },
  listKeys: { parameters: { limit: "2" } },
  retrieveKey: ofKey,
  rotateKey: { ...ofKey, requests: { plain: { overlap_seconds: 3_600, expires_in: 7_776_000 } } },
  revokeKey: ofKey,
  putNamedKey: {
    ...ofName,
    requests: {
      plain: {
        scopes: ["inference", "catalogue:read"],
        owner: "group:payments",
        expires_at: EXAMPLE_EXPIRY,
        limits: { budget: { usd: 50, per: "day" } },
      },
    },
  },
  retrieveNamedKey: ofName,
  deleteNamedKey: ofName,
  exchangeKey: {
    requests: {
      plain: {
        grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
        operations: "chat.completions",
        origin: "https://app.example.com",
        lifetime: 300,
        max_requests: 20,
      },
    },
  },
  retrievePolicy: ofPolicy,
  retrievePolicyContent: { parameters: { id: EXAMPLE_POLICY, digest: "candidate" } },
  retrievePolicyShadow: { parameters: { id: EXAMPLE_POLICY, witnesses: "5" } },
  retrievePolicySimulation: ofPolicy,
  listPolicyTransitions: { parameters: { id: EXAMPLE_POLICY, limit: "10" } },
  approvePolicy: { ...ofPolicy, requests: { plain: { digest: EXAMPLE_DIGEST } } },
  promotePolicy: {
    ...ofPolicy,
    ifMatch: EXAMPLE_ETAG,
    requests: { plain: { expected: { candidate_revision: "r1", enforced_revision: null } } },
  },
  rollBackPolicy: {
    ...ofPolicy,
    ifMatch: EXAMPLE_ETAG,
    requests: { plain: { expected: { enforced_revision: "r1" }, reason: "wrong_denials" } },
  },
  withdrawPolicy: {
    ...ofPolicy,
    ifMatch: EXAMPLE_ETAG,
    requests: {
      approval: { what: "approval", digest: EXAMPLE_DIGEST },
      candidate: { what: "candidate", expected: { candidate_revision: "r1" } },
    },
  },
  releasePolicy: { ...ofPolicy, ifMatch: EXAMPLE_ETAG, requests: { plain: { digest: EXAMPLE_DIGEST } } },
  getSpend: { parameters: { group_by: "route,day" } },
  getGovernanceSummary: { parameters: { group_by: "operation,day" } },
};
