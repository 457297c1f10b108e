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
  const refused = Math.floor(requests / 200);
  const failed = Math.floor(requests / 100);
  return {
    requests,
    running: 0,
    allowed: requests - denied - refused,
    answered: 0,
    denied,
    refused,
    shadow: { judged: requests, would_deny: 0, newly_denied: 0, would_narrow: 0, indeterminate: 0 },
    ended: {
      terminals: {
        completed: requests - denied - refused - failed,
        incomplete: 0,
        failed,
        denied,
        refused,
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
  workspace: ["search", "support"],
};

/**
 * Parts of a total in the shares of weights, in steps; the first has the rest. All measures above
 * are whole for 200 requests, so that parts of whole steps add up to the total in every table.
 */
function parts(total: number, weights: readonly number[], step: number): readonly number[] {
  const sum = weights.reduce((all, weight) => all + weight, 0);
  const rest = weights.slice(1).map((weight) => Math.round((total * weight) / sum / step) * step);
  return [total - rest.reduce((all, part) => all + part, 0), ...rest];
}

/** Weights of names in their order: each has half of the one before. */
const halves = (names: readonly string[]): readonly number[] => names.map((_, at) => 2 ** -at);

/** Requests of each step: a day has waves, an hour of minutes is a fraction of them. */
const requestsAt = (at: number, isMinute: boolean): number => {
  const wave = 1_900 + 1_500 * Math.sin(at / 3.4);
  return isMinute ? Math.round(wave * 0.02) : Math.round(wave / 200) * 200;
};

/** Requests of 24 hours, those that still run, and the number of them that were denied. */
const OF_A_DAY = Array.from({ length: 24 }, (_, at) => requestsAt(at, false)).reduce(
  (sum, requests) => sum + requests,
);
const OF_CHAT_LARGE = 25_000;
const RUNNING = 17;
const DENIED_IN_EU = 812;

/** Of a span before another one, and why requests were stopped. */
export const BEFORE = { totals: measures(41_400) };
export const STOPPED: Pick<Summary, "verdicts"> = {
  verdicts: [
    {
      policy: "eu-residency",
      constraint: "processed_in_eu",
      reason_code: "NO_EU_ENDPOINT",
      denied: DENIED_IN_EU,
      refused: 0,
    },
    {
      policy: "data-retention",
      constraint: "keeps_nothing",
      reason_code: "PROVIDER_KEEPS_DATA",
      denied: measures(OF_A_DAY).denied - DENIED_IN_EU,
      refused: 0,
    },
    {
      policy: null,
      constraint: null,
      reason_code: "budget_exhausted",
      denied: 0,
      refused: measures(OF_A_DAY).refused,
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

/** Groups of the reasons that the verdicts count. */
const reasonsOf = (verdicts: Summary["verdicts"]): Summary["groups"] =>
  verdicts.map(({ reason_code, denied, refused }) => ({
    group: { reason_code: reason_code ?? "", workspace: "search", hour: "2026-11-24T01:00:00Z" },
    ...measures(denied + refused, { denied, refused, allowed: 0 }),
  }));

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
  const counts =
    step === undefined
      ? parts(second === "route" ? OF_CHAT_LARGE : OF_A_DAY, halves(labels), 200)
      : labels.map((_, at) => requestsAt(at, dimension === "minute"));
  const total = step === undefined ? OF_A_DAY : counts.reduce((sum, count) => sum + count, 0);
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
    totals: measures(total, { running: RUNNING }),
    groups: [
      ...(dimension === "reason_code" ? reasonsOf(changes.verdicts ?? []) : []),
      ...labels.map((label, at) => ({
        group: {
          [dimension]: label,
          ...(second === "route" && { route: "chat-large" }),
          ...(second === "hour" && { hour: "2026-11-24T01:00:00Z" }),
        },
        ...measuredAt(at, counts[at] ?? 0),
      })),
    ],
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
    judged: 4_870,
    would_deny: 16,
    newly_denied: 14,
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
    endpoint("gpt-5-eu", "openai-eu", "eu", { routes: ["chat-large", "chat-large-eu"] }),
    endpoint("gpt-5-us", "openai-us", "us", {
      state: "ejected",
      failure: "rate_limited",
      retry_in_ms: 24_000,
      consecutive_failures: 5,
      in_flight: 0,
    }),
    endpoint("mistral-large-eu", "mistral-eu", "eu-west", {
      model: "mistral-large",
      routes: ["chat-large", "chat-large-eu"],
      in_flight: 3,
    }),
    endpoint("claude-sonnet-eu", "anthropic-global", "eu", {
      model: "claude-sonnet",
      routes: ["claude"],
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

/** Of 85 calls of each of these endpoints, so many failed; as many more by the caller's fault. */
export function callsOf(endpoints: readonly EndpointHealth[], failed: number): Summary {
  const all = summary("provider,region,model");
  const { ended } = measures(80);
  return {
    ...all,
    groups: endpoints.map(({ provider, region, model }) => ({
      group: { provider, region, model },
      ...measures(80),
      ended: ended && {
        ...ended,
        attempts: { total: 85, failed: { server_error: failed, rejected: failed } },
      },
    })),
  };
}

const figures = (requests: number, cost: number | null, unpriced = 0): SpendFigures => ({
  requests,
  input_tokens: requests * 1_140,
  output_tokens: requests * 262,
  cache_read_tokens: requests * 210,
  reasoning_tokens: requests * 40,
  cost_usd: cost,
  unpriced_requests: unpriced,
});

/** Days of the window: those from November on are the month of the budget, and today has begun. */
const SPENT_IN_MONTH = 803.72;
const SPENT_TODAY = 1.21;
const DAYS = Array.from({ length: 31 }, (_, at) =>
  new Date(END - (30 - at) * 24 * HOUR).toISOString().slice(0, 10),
);

const cents = (amount: number): number => Math.round(amount * 100) / 100;
const sumOf = (amounts: readonly number[]): number =>
  cents(amounts.reduce((sum, amount) => sum + amount, 0));

const COSTS: readonly number[] = (() => {
  const waves = DAYS.slice(0, -1).map((_, at) => 1 + 0.4 * Math.sin(at / 2));
  const first = DAYS.indexOf("2026-11-01");
  const ofMonth = SPENT_IN_MONTH - SPENT_TODAY;
  const scale = ofMonth / waves.slice(first).reduce((sum, wave) => sum + wave, 0);
  const costs = waves.map((wave) => cents(wave * scale));
  const rest = ofMonth - sumOf(costs.slice(first, -1));
  return [...costs.slice(0, -1), cents(rest), SPENT_TODAY];
})();
const REQUESTS = DAYS.map((_, at) => (at === 30 ? 3_200 : OF_A_DAY - 200 * (29 - at)));

/** One third name has no price: its requests are those without a cost. */
const UNPRICED = 2;

/** Figures of each name: requests in halves, and the cost shared among those that have a price. */
function byName(names: readonly string[], requests: number, cost: number): readonly SpendFigures[] {
  const counts = parts(requests, halves(names), 1);
  const isPriced = (at: number): boolean => at !== UNPRICED;
  const weights = names.map((_, at) => (isPriced(at) ? 4 ** -at : 0));
  const costs = parts(cost, weights, 0.01).map(cents);
  return names.map((_, at) =>
    isPriced(at)
      ? figures(counts[at] ?? 0, costs[at] ?? 0)
      : figures(counts[at] ?? 0, null, counts[at] ?? 0),
  );
}

/** Without a price, as many as of the routes of each day together. */
const unpricedOf = (requests: number): number =>
  byName(NAMES.route ?? [], requests, 0)[UNPRICED]?.unpriced_requests ?? 0;
const TOTAL = figures(
  REQUESTS.reduce((sum, count) => sum + count, 0),
  sumOf(COSTS),
  REQUESTS.map(unpricedOf).reduce((sum, count) => sum + count, 0),
);

/** Calls of 24 hours, as the drawing of routes reads them: of routes by model, and of endpoints. */
const CALLS: Readonly<
  Record<string, readonly (readonly [Readonly<Record<string, string>>, number])[]>
> = {
  "route,model": [
    [{ route: "chat-large", model: "gpt-5" }, 17_500],
    [{ route: "chat-large", model: "mistral-large" }, 7_500],
    [{ route: "chat-large-eu", model: "gpt-5" }, 0],
    [{ route: "chat-large-eu", model: "mistral-large" }, 0],
  ],
  "provider,region,model": [
    [{ provider: "openai-us", region: "us", model: "gpt-5" }, 9_000],
    [{ provider: "openai-eu", region: "eu", model: "gpt-5" }, 8_500],
    [{ provider: "mistral-eu", region: "eu-west", model: "mistral-large" }, 7_500],
  ],
};

/** Rows of days added up. */
const added = (rows: readonly SpendFigures[]): SpendFigures =>
  figures(
    rows.reduce((sum, { requests }) => sum + requests, 0),
    rows.some(({ cost_usd }) => cost_usd !== null)
      ? sumOf(rows.map(({ cost_usd }) => cost_usd ?? 0))
      : null,
    rows.reduce((sum, { unpriced_requests }) => sum + unpriced_requests, 0),
  );

/**
 * The cost of a day, of which each hour of the day has the same part; of the last one two hours.
 */
function hoursOf(day: string, cost: number): Spend["groups"] {
  const hours = day === DAYS.at(-1) ? 2 : 24;
  return Array.from({ length: hours }, (_, hour) => ({
    group: { hour: `${day}T${String(hour).padStart(2, "0")}:00:00Z` },
    ...figures(100, cost / hours),
  }));
}

/** A budget of a key that will not last. */
export const KEY_BUDGET: Spend["budgets"][number] = {
  name: "usd/day",
  workspace: "search",
  key: "4fzkq8wpc2rt",
  limit_usd: 2,
  spent_usd: 0.847,
  window_start: "2026-11-24T00:00:00Z",
  window_end: "2026-11-25T00:00:00Z",
  projected_usd: 10.164,
};

/** Spend as the API groups it. */
export function spend(groupBy: string | null, changes: Partial<Spend> = {}): Spend {
  const [dimension = "route", second] = groupBy?.split(",") ?? [];
  const names = NAMES[dimension] ?? ["gpt-5", "mistral-large", "claude-sonnet"];
  const daily = DAYS.map((day, at) => ({
    day,
    rows: byName(names, REQUESTS[at] ?? 0, COSTS[at] ?? 0),
  }));
  const calls = CALLS[groupBy ?? ""];
  const groups =
    calls !== undefined
      ? calls.map(([group, requests]) => ({ group, ...figures(requests, null) }))
      : dimension === "hour"
        ? DAYS.flatMap((day, at) => hoursOf(day, COSTS[at] ?? 0))
        : dimension === "day"
          ? DAYS.map((day, at) => {
              const requests = REQUESTS[at] ?? 0;
              return {
                group: { day },
                ...figures(requests, COSTS[at] ?? 0, unpricedOf(requests)),
              };
            })
          : names.flatMap((name, kind) =>
              second === "day"
                ? daily.map(({ day, rows }) => ({
                    group: { [dimension]: name, day },
                    ...(rows[kind] ?? figures(0, null)),
                  }))
                : [
                    {
                      group: { [dimension]: name },
                      ...added(daily.flatMap(({ rows }) => rows[kind] ?? [])),
                    },
                  ],
            );
  return {
    object: "spend",
    workspace: "search",
    workspaces: ["search"],
    window: { start: new Date(END - 720 * HOUR).toISOString(), end: new Date(END).toISOString() },
    group_by: groupBy?.split(",") ?? [],
    groups,
    total: TOTAL,
    budgets: [
      {
        name: "usd/month",
        workspace: "search",
        key: null,
        limit_usd: 1_000,
        spent_usd: SPENT_IN_MONTH,
        window_start: "2026-11-01T00:00:00Z",
        window_end: "2026-12-01T00:00:00Z",
        projected_usd: 1_041.1,
      },
      {
        name: "usd/day",
        workspace: "search",
        key: null,
        limit_usd: 50,
        spent_usd: SPENT_TODAY,
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

/** Of 24 hours, of the spans before, and of a server without requests. */
export const SPENT_IN_A_DAY = { total: figures(OF_A_DAY, COSTS[29] ?? 0, unpricedOf(OF_A_DAY)) };
export const SPENT_BEFORE = { total: figures(1_135_372, 952.7, 151_383), budgets: [] };
export const SPENT_DAY_BEFORE = { total: figures(41_400, 43.1, 5_520), budgets: [] };
export const NOTHING_SPENT = { total: figures(0, null), groups: [], budgets: [] };
