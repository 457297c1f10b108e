import type { JsonObject } from "../../canon/json.ts";
import { INFERENCE_ENDPOINTS } from "./inference-endpoints.ts";

/**
 * Requests that a reader can send to an endpoint, with answers. Tests send each to a server and
 * check its answers against the contract.
 */
export interface EndpointExample {
  /** Values of `{name}` in the path, and of query parameters, by name. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Bodies by name, in the order to try them. */
  readonly requests?: Readonly<Record<string, JsonObject>>;
  /** The entity tag to send as If-Match. */
  readonly ifMatch?: string;
  /** A 200 body; text where the endpoint answers text. */
  readonly answer?: JsonObject | string;
  /** A stream as it arrives. */
  readonly stream?: string;
}

/** The digest of a policy's content in examples; tests replace it by that of a real content. */
export const EXAMPLE_DIGEST = "7d1a54127b222502f5b79b5fb0803061152a44f92b37e23c6527baf665d4da9a";

/** The public id of a key in examples, likewise. */
export const EXAMPLE_KEY = "4fzkq8wpc2rt";

/** The id of a request in examples, likewise. */
export const EXAMPLE_DECISION = "req_0199d2a4f1c04b6a8f0e2d7c915b3a64";

/** The name of a policy in examples, likewise. */
const EXAMPLE_POLICY = "tool-approval";

export const EXAMPLE_ETAG = '"4a7c1f02b9d35e68"';

/** Stands for a time in the future; a request that is sent has another one. */
export const EXAMPLE_EXPIRY = "2027-06-30T00:00:00Z";

const ofKey = { parameters: { id: EXAMPLE_KEY } } as const;
const ofName = { parameters: { workspace: "demo", name: "payments-checkout" } } as const;
const ofPolicy = { parameters: { id: EXAMPLE_POLICY } } as const;

const CONTROL_EXAMPLES: Readonly<Record<string, EndpointExample>> = {
  retrieveModel: { parameters: { id: "chat-small" } },
  retrieveAnthropicModel: { parameters: { id: "claude-sonnet-4-6" } },
  listAnthropicModels: { parameters: { limit: "2" } },
  simulateRoute: {
    parameters: { operation: "chat.completions" },
    requests: {
      shape: { model: "chat-small", needs: ["tools"], stream: true, provider: { region: "eu" } },
      request: {
        model: "chat-small",
        request: { messages: [{ role: "user", content: "Say hello." }] },
      },
      promoted: {
        model: "chat-large",
        time: { day: "weekday", hour: "afternoon" },
        promoted: true,
      },
    },
  },
  listDecisions: { parameters: { operation: "chat.completions", outcome: "route", limit: "2" } },
  retrieveDecision: { parameters: { id: EXAMPLE_DECISION } },
  explainDecision: { parameters: { id: EXAMPLE_DECISION } },
  createKey: {
    requests: {
      plain: {
        name: "checkout-prod",
        scopes: ["inference", "catalogue:read"],
        owner: "group:payments",
        expires_in: 7_776_000,
      },
      exchangeable: {
        scopes: ["inference"],
        owner: "group:web",
        workload: "chat-widget",
        expires_in: 7_776_000,
        exchange: {
          maximum_lifetime: 900,
          operations: ["chat.completions"],
          origins: ["https://app.example.com"],
        },
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
  retrievePolicyShadow: { parameters: { id: EXAMPLE_POLICY, examples: "5" } },
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
  releasePolicy: {
    ...ofPolicy,
    ifMatch: EXAMPLE_ETAG,
    requests: { plain: { digest: EXAMPLE_DIGEST } },
  },
  getSpend: { parameters: { group_by: "route,day" } },
  getGovernanceSummary: { parameters: { group_by: "operation,day" } },
};

import RECORDED from "./recorded-answers.json" with { type: "json" };

const INFERENCE_EXAMPLES: Readonly<Record<string, EndpointExample>> = Object.fromEntries(
  INFERENCE_ENDPOINTS.map(({ id, surface }) => [id, { requests: surface.contract.examples }]),
);

const REQUESTS: Readonly<Record<string, EndpointExample>> = {
  ...INFERENCE_EXAMPLES,
  ...CONTROL_EXAMPLES,
};

/** A server's answers, with constant ids and times and short lists; `npm run generate` writes them. */
const ANSWERS: Readonly<Record<string, Pick<EndpointExample, "answer" | "stream">>> = RECORDED;

/** By the id of the endpoint. */
export const EXAMPLES: Readonly<Record<string, EndpointExample>> = Object.fromEntries(
  [...new Set([...Object.keys(REQUESTS), ...Object.keys(ANSWERS)])].map((id) => [
    id,
    { ...REQUESTS[id], ...ANSWERS[id] },
  ]),
);
