import type {
  Health,
  Measures,
  ServerStatus,
  Spend,
  SpendFigures,
  Summary,
} from "../../../console/api/types.ts";

const percentiles = (p50: number): NonNullable<Measures["ended"]>["latency_ms"]["total"] => ({
  count: 100,
  p50,
  p90: p50 * 2.1,
  p95: p50 * 2.6,
  p99: p50 * 4.2,
});

export function measures(requests: number, changes: Partial<Measures> = {}): Measures {
  const denied = Math.floor(requests / 40);
  const failed = Math.floor(requests / 90);
  return {
    requests,
    running: 3,
    allowed: requests - denied,
    answered: 0,
    denied,
    refused: Math.floor(requests / 200),
    shadow: { judged: requests, would_deny: 0, newly_denied: 0, would_narrow: 0, indeterminate: 0 },
    ended: {
      terminals: {
        completed: requests - denied - failed,
        incomplete: 0,
        failed,
        denied,
        refused: 0,
        client_closed: 0,
        unknown: 0,
      },
      fallbacks: Math.floor(requests / 25),
      second_choice: { total: Math.floor(requests / 20), reasons: {} },
      attempts: { total: requests + Math.floor(requests / 20), failed: {} },
      tokens: {
        input: requests * 1_140,
        output: requests * 262,
        cache_read: requests * 210,
        reasoning: requests * 40,
        counted_requests: requests,
      },
      latency_ms: {
        total: percentiles(900),
        first_byte: percentiles(310),
        router: percentiles(2.1),
      },
    },
    ...changes,
  };
}

const END = Date.UTC(2026, 10, 24, 2);
const HOUR = 3_600_000;
const MINUTE = 60_000;

const NAMES: Readonly<Record<string, readonly string[]>> = {
  route: ["chat-large", "chat-small", "embed", "claude"],
  provider: ["openai-eu", "mistral-eu", "anthropic-global", "openai-us"],
  key: ["4fzkq8wpc2rt", "k00000000001"],
  operation: ["chat.completions", "embeddings", "messages"],
};

/** Of a span before another one, and why requests were stopped. */
export const BEFORE = { totals: measures(41_300) };
export const STOPPED: Pick<Summary, "verdicts"> = {
  verdicts: [
    {
      policy: "eu-residency",
      constraint: "processed_in_eu",
      reason_code: "NO_EU_ENDPOINT",
      denied: 812,
      refused: 0,
    },
    {
      policy: null,
      constraint: null,
      reason_code: "budget_exhausted",
      denied: 0,
      refused: 241,
    },
  ],
};

/** Latencies of the steps differ, as they do. */
function measuredAt(at: number, requests: number): Measures {
  const measured = measures(requests);
  if (measured.ended === null) return measured;
  const { latency_ms } = measured.ended;
  const total = percentiles(900 + Math.round(130 * Math.sin(at * 2.1)));
  return { ...measured, ended: { ...measured.ended, latency_ms: { ...latency_ms, total } } };
}

/** A summary as the API groups it. */
export function summary(
  groupBy: string | null,
  shadows: Summary["shadows"] = [],
  changes: Pick<Partial<Summary>, "totals" | "verdicts"> = {},
): Summary {
  const dimension = groupBy?.split(",")[0] ?? "";
  const step = { minute: MINUTE, hour: HOUR, day: 24 * HOUR }[dimension];
  const steps = dimension === "minute" ? 60 : 24;
  const labels =
    step === undefined
      ? (NAMES[dimension] ?? [])
      : Array.from({ length: steps }, (_, at) => {
          const instant = new Date(END - (steps - at) * step).toISOString();
          return dimension === "day" ? instant.slice(0, 10) : instant.replace(".000Z", "Z");
        });
  const second = groupBy?.split(",")[1];
  return {
    object: "governance.summary",
    version: 1,
    workspace: "search",
    workspaces: ["search"],
    window: {
      start: new Date(END - steps * (step ?? HOUR)).toISOString(),
      end: new Date(END).toISOString(),
      complete_until: new Date(END - HOUR).toISOString(),
    },
    group_by: groupBy === null ? [] : groupBy.split(","),
    relative_error: 0.01,
    totals: measures(48_210),
    groups: labels.map((label, at) => ({
      group: {
        [dimension]: label,
        ...(second === "route" && { route: "chat-large" }),
        ...(second === "hour" && { hour: "2026-11-24T01:00:00Z" }),
      },
      ...measuredAt(
        at,
        step === undefined
          ? 24_000 >> at
          : Math.round((1_900 + 1_500 * Math.sin(at / 3.4)) * (dimension === "minute" ? 0.02 : 1)),
      ),
    })),
    truncated: false,
    verdicts: [],
    ...changes,
    shadows,
    policies: [
      {
        id: "tool-approval",
        slots: [],
        stored: {
          enforced: null,
          candidate: { revision: "r3", digest: "d".repeat(64), content: "rules", since: null },
        },
        drift: null,
      },
    ],
    table_revision: "42aeb633e909",
    evidence: { head: null },
  };
}

export const SHADOWS: Summary["shadows"] = [
  {
    policy: "tool-approval",
    revision: "r3",
    judged: 12_840,
    would_deny: 41,
    newly_denied: 37,
    would_narrow: 0,
    indeterminate: 0,
    verdicts: [],
  },
];

export const NO_TRAFFIC: Summary = { ...summary(null), totals: measures(0), policies: [] };

export const STATUS: ServerStatus = {
  build_id: "0.2.0+3f9c2a7b61d0",
  contract_sha256: "7".repeat(64),
  table_sha256: "42aeb633e909".padEnd(64, "0"),
  policy_set: "26b61c0fd96b6d43",
  policy_revisions: {},
  uptime_seconds: 187_400,
  degraded: [],
  workers: { worker: 1, configured: 4, ready: 4 },
  evidence: { state: "ok" },
};

type EndpointHealth = Health["endpoints"][number];

function endpoint(
  id: string,
  provider: string,
  region: string,
  changes: Partial<EndpointHealth> = {},
): EndpointHealth {
  return {
    id,
    provider,
    region,
    model: "gpt-5",
    plaintext: false,
    routes: ["chat-large"],
    state: "healthy",
    retry_in_ms: null,
    failure: null,
    consecutive_failures: 0,
    latency_ms: { p50: 912, p90: 1_804, recent: 870, age_ms: 1_200 },
    tokens_per_second: { p50: 61, age_ms: 1_200 },
    in_flight: 14,
    operations: { generate: "healthy" },
    ...changes,
  };
}

export const HEALTH: Health = {
  object: "health",
  endpoints: [
    endpoint("gpt-5-eu", "openai-eu", "eu"),
    endpoint("gpt-5-us", "openai-us", "us", {
      state: "ejected",
      failure: "rate_limited",
      retry_in_ms: 24_000,
      consecutive_failures: 5,
      in_flight: 0,
    }),
    endpoint("mistral-large-eu", "mistral-eu", "eu-west", { in_flight: 3 }),
    endpoint("claude-sonnet-eu", "anthropic-global", "eu", {
      in_flight: 0,
      latency_ms: { p50: null, p90: null, recent: null, age_ms: null },
    }),
  ],
  evidence: { state: "ok" },
  replicas: [
    {
      started_at: "2026-11-21T22:00:00.000Z",
      seen_at: "2026-11-24T01:58:10.000Z",
      state: "running",
    },
    {
      started_at: "2026-11-23T07:30:00.000Z",
      seen_at: "2026-11-24T01:58:12.000Z",
      state: "running",
    },
  ],
  degraded: [],
  build_id: STATUS.build_id,
  table_sha256: STATUS.table_sha256,
  policy_set: STATUS.policy_set,
};

const figures = (requests: number, cost: number | null, unpriced = 0): SpendFigures => ({
  requests,
  input_tokens: requests * 1_140,
  output_tokens: requests * 262,
  cache_read_tokens: requests * 210,
  reasoning_tokens: requests * 40,
  cost_usd: cost,
  unpriced_requests: unpriced,
});

/** Spend as the API groups it. */
export function spend(groupBy: string | null, changes: Partial<Spend> = {}): Spend {
  const [dimension = "route", second] = groupBy?.split(",") ?? [];
  const groups =
    dimension !== "day" && second === "day"
      ? (NAMES[dimension] ?? ["gpt-5", "mistral-large"]).flatMap((name, kind) =>
          Array.from({ length: 30 }, (_, at) => ({
            group: {
              [dimension]: name,
              day: new Date(END - (30 - at) * 24 * HOUR).toISOString().slice(0, 10),
            },
            ...figures(1_500 + at * 20, (22 + 9 * Math.sin(at / 2 + kind)) / (kind + 1)),
          })),
        )
      : dimension === "day"
        ? Array.from({ length: 30 }, (_, at) => ({
            group: { day: new Date(END - (30 - at) * 24 * HOUR).toISOString().slice(0, 10) },
            ...figures(1_500 + at * 20, 31 + 12 * Math.sin(at / 2)),
          }))
        : (NAMES[dimension] ?? ["gpt-5", "mistral-large", "claude-sonnet"]).map((name, at) => ({
            group: { [dimension]: name },
            ...figures(24_000 >> at, at === 2 ? null : 612.4 / (at + 1) ** 2, at === 2 ? 6_000 : 0),
          }));
  return {
    object: "spend",
    workspace: "search",
    workspaces: ["search"],
    window: { start: new Date(END - 720 * HOUR).toISOString(), end: new Date(END).toISOString() },
    group_by: groupBy?.split(",") ?? [],
    groups,
    total: figures(45_000, 803.72, 6_000),
    budgets: [
      {
        name: "usd/month",
        workspace: "search",
        limit_usd: 1_000,
        spent_usd: 803.72,
        window_start: "2026-11-01T00:00:00Z",
        window_end: "2026-12-01T00:00:00Z",
        projected_usd: 1_041.1,
      },
      {
        name: "usd/day",
        workspace: "search",
        limit_usd: 50,
        spent_usd: 1.21,
        window_start: "2026-11-24T00:00:00Z",
        window_end: "2026-11-25T00:00:00Z",
        projected_usd: 14.5,
      },
    ],
    estimate: true,
    truncated: false,
    ...changes,
  };
}

/** Of the span before, and of a server without requests. */
export const SPENT_BEFORE = { total: figures(38_900, 871.4, 6_900), budgets: [] };
export const NOTHING_SPENT = { total: figures(0, null), groups: [], budgets: [] };
