import type {
  Decision,
  DecisionExplanation,
  DecisionLine,
  DecisionList,
} from "../../../console/api/types.ts";

const PLAIN: DecisionLine = {
  workspace: "search",
  object: "decision",
  id: "req_01a20b4bce6f69705078dac708bbe749",
  at: "2026-11-24T01:58:12.345Z",
  operation: "chat.completions",
  route: "chat-large",
  key: "4fzkq8wpc2rt",
  environment: "production",
  outcome: "route",
  policy: null,
  constraint: null,
  reason: null,
  limit: null,
  repeated: 1,
  terminal: "completed",
  status: 200,
  endpoint: "gpt-5-eu",
  provider: "openai-eu",
  region: "eu",
  attempts: 1,
  input_tokens: 1_240,
  output_tokens: 318,
  cost_usd: 0.0047,
  total_ms: 1_840.4,
};

export function decisionLine(at: number, changes: Partial<DecisionLine> = {}): DecisionLine {
  return {
    ...PLAIN,
    id: `req_01a20b4bce6f69705078dac7${String(at).padStart(8, "0")}`,
    at: new Date(Date.UTC(2026, 10, 24, 1, 58, 12) - at * 7_300).toISOString(),
    ...changes,
  };
}

const VARIETY: readonly Partial<DecisionLine>[] = [
  { attempts: 2 },
  {
    route: "chat-small",
    endpoint: "mistral-small-eu",
    provider: "mistral-eu",
    attempts: 2,
    total_ms: 3_412,
    cost_usd: 0.0002,
  },
  {
    outcome: "deny",
    terminal: "denied",
    status: 403,
    policy: "eu-residency",
    constraint: "processed_in_eu",
    reason: "NO_EU_ENDPOINT",
    endpoint: null,
    provider: null,
    attempts: 0,
    input_tokens: null,
    output_tokens: null,
    cost_usd: null,
    total_ms: 1.2,
  },
  {
    operation: "embeddings",
    route: "embed",
    endpoint: "embed-3-eu",
    output_tokens: null,
    cost_usd: 0.00001,
    total_ms: 96,
  },
  {
    terminal: "failed",
    status: 502,
    attempts: 3,
    output_tokens: null,
    cost_usd: null,
    total_ms: 12_040,
    reason: null,
  },
  {
    operation: "messages",
    route: "claude",
    endpoint: "claude-sonnet-eu",
    provider: "anthropic-global",
    cost_usd: 0.0413,
    input_tokens: 128_400,
  },
  {
    terminal: null,
    status: null,
    total_ms: null,
    input_tokens: null,
    output_tokens: null,
    cost_usd: null,
  },
  {
    outcome: "refuse",
    terminal: "refused",
    status: 401,
    route: null,
    key: null,
    environment: null,
    reason: "invalid_api_key",
    endpoint: null,
    attempts: 0,
    repeated: 17,
    input_tokens: null,
    output_tokens: null,
    cost_usd: null,
    total_ms: 0.4,
  },
];

export function decisionList(count: number, next: string | null = null): DecisionList {
  return {
    object: "list",
    data: Array.from({ length: count }, (_, at) => decisionLine(at, VARIETY[at % VARIETY.length])),
    next_cursor: next,
    searched_to: "2026-11-24T01:00:00.000Z",
  };
}

export const DECISION: Decision = {
  ...PLAIN,
  attempts: 2,
  table_revision: "42aeb633e909c1d4a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718",
  policy_set: "26b61c0fd96b6d43",
  policy_revision: null,
  plan: ["gpt-5-north", "gpt-5-eu", "mistral-large-eu"],
  needs: ["tools", "json_schema"],
  features: ["parallel_tool_calls"],
  stream: true,
  context: "up_to_8k",
  max_output: "unspecified",
  reasoning_effort: "medium",
  dimensions: null,
  preferences: { region: "eu" },
  workload: "other",
  owner: null,
  budget: null,
  labels: ["tools-approved"],
  token: null,
  retries: 0,
  shadow: [
    {
      policy: "tool-approval",
      revision: "r3",
      constraint: "tools_are_approved",
      reason: "TOOLS_NOT_APPROVED",
      verdict: "fail",
      effect: "would_deny",
    },
  ],
  obligations: [],
  change: null,
  calls: [
    {
      endpoint: "gpt-5-north",
      provider: "openai-eu",
      region: "eu-north",
      model: "gpt-5",
      failure: "rate_limited",
      status: 429,
      start_ms: 2,
      duration_ms: 212,
      simulated: false,
      translated: false,
      plaintext: false,
      proxied: false,
      flag: null,
      calls: 1,
    },
    {
      endpoint: "gpt-5-eu",
      provider: "openai-eu",
      region: "eu",
      model: "gpt-5",
      failure: null,
      status: 200,
      start_ms: 214,
      duration_ms: 1_601,
      simulated: false,
      translated: false,
      plaintext: false,
      proxied: false,
      flag: null,
      calls: 1,
    },
  ],
  finish: "stop",
  stripped: ["user"],
  dropped: ["cache_hint_dropped"],
  edits: ["model_replaced", "usage_requested"],
  ended: null,
  skipped: [],
  second_choice: null,
  estimated: false,
  cache_read_tokens: 512,
  reasoning_tokens: 96,
  first_byte_ms: 640,
  router_ms: 2.4,
  explain: `signalbox explain --point '{"workspace":"search","operation":"chat.completions","model":"chat-large","needs":["tools","json_schema"],"stream":true,"preferences":{"region":"eu"}}'`,
};

/** Of {@link DECISION}: one more candidate, which the caller's region and a policy exclude. */
export const EXPLANATION: DecisionExplanation = {
  object: "decision.explanation",
  id: DECISION.id,
  same_table: true,
  same_policies: true,
  same_result: true,
  explanation: explained("route", [
    { endpoint: "gpt-5-north", provider: "openai-eu", region: "eu-north", leftOutBy: null },
    { endpoint: "gpt-5-eu", provider: "openai-eu", region: "eu", leftOutBy: null },
    { endpoint: "mistral-large-eu", provider: "mistral-eu", region: "eu-west", leftOutBy: null },
    {
      endpoint: "deepseek-chat",
      provider: "deepseek",
      region: "cn",
      leftOutBy: "REGION_OUTSIDE_EU",
    },
  ]),
};

interface ExplainedCandidate {
  readonly endpoint: string;
  readonly provider: string;
  readonly region: string;
  /** Reason code of `eu-residency`. */
  readonly leftOutBy: string | null;
}

export function explained(
  outcome: "route" | "deny",
  candidates: readonly ExplainedCandidate[],
): NonNullable<DecisionExplanation["explanation"]> {
  const verdictOf = (reason: string | null) => ({
    policy: "eu-residency",
    revision: "r1",
    slot: "enforced" as const,
    constraint: "processed_in_eu",
    verdict: reason === null ? ("pass" as const) : ("fail" as const),
    reason,
  });
  const failing = candidates.filter(({ leftOutBy }) => leftOutBy !== null);
  return {
    object: "route.simulation",
    operation: "chat.completions",
    model: "chat-large",
    outcome,
    plan: [],
    arrangement: null,
    candidates: candidates.map(({ leftOutBy, ...facts }) => ({
      ...facts,
      model: facts.endpoint.replace(/-(north|eu)$/, ""),
      in_plan: leftOutBy === null,
      constraints: [verdictOf(leftOutBy)],
    })),
    constraints: [
      {
        ...verdictOf(failing[0]?.leftOutBy ?? null),
        effect: failing.length === 0 ? "none" : "narrowed",
        failing: failing.map(({ endpoint }) => endpoint),
      },
    ],
    table_revision: DECISION.table_revision,
    policy_revisions: { "eu-residency": { enforced: { revision: "r1", digest: "1".repeat(64) } } },
  };
}

/** Each decision of a list, and its explanation. */
/** A request that the budget of its key refused. */
export const REFUSED: Decision = {
  ...DECISION,
  id: "req_refused",
  outcome: "refuse",
  terminal: "refused",
  status: 402,
  reason: "exceeds_remaining_budget",
  endpoint: null,
  attempts: 0,
  calls: [],
  shadow: [],
  edits: [],
  stripped: [],
  dropped: [],
  finish: null,
  cost_usd: null,
  input_tokens: null,
  output_tokens: null,
  cache_read_tokens: null,
  reasoning_tokens: null,
  first_byte_ms: null,
  total_ms: 2,
  explain: null,
  limit: {
    subject: "key",
    measure: "usd",
    per: "day",
    size: 2.5,
    used: 2.31,
    reserved: 0.24,
    requested: 0.31,
    renews_at: "2026-11-25T00:00:00Z",
  },
};

/** Two calls of one endpoint, and the provider's `retry-after` of 20 seconds between them. */
export const WAITED: Decision = {
  ...DECISION,
  id: "req_waited",
  total_ms: 21_900,
  first_byte_ms: 20_856,
  calls: DECISION.calls.map((each, at) => ({
    ...each,
    endpoint: "gpt-5-eu",
    start_ms: at === 0 ? 2 : 20_216,
  })),
};

/** Answered by another endpoint than the route's first choice. */
export const SECOND: Decision = {
  ...DECISION,
  id: "req_second",
  route: "chat-small",
  endpoint: "mistral-small-eu",
  skipped: [{ endpoint: "gpt-5-mini-eu", reason: "ejected" }],
  second_choice: "ejected",
};

const BY_ID = new Map([REFUSED, WAITED, SECOND].map((each) => [each.id, each]));

export const decisionOf = ({ path }: { readonly path: string }): { readonly body: object } => ({
  body: path.endsWith("/explanation")
    ? EXPLANATION
    : (BY_ID.get(path.split("/").at(-1) ?? "") ?? DECISION),
});
