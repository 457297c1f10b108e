/** Requests of `small` in a minute, over all replicas. */
export const REQUESTS_PER_MINUTE = 90;

/** Tokens of `metered` in a month: no window ends while the test runs, but for one moment in it. */
export const TOKENS_PER_MONTH = 6_000;

/** What the simulated provider says that each answer used. */
export const USAGE = { prompt_tokens: 7, completion_tokens: 13, total_tokens: 20 };

/**
 * What `routes.yaml` says: a route for each workspace, so that the provider sees whose request it
 * has.
 */
export function fixture(upstream: string): object {
  const names = ["large", "small", "metered"];
  return {
    version: 1,
    regions: { world: ["global"] },
    providers: {
      p: {
        dialect: "openai-chat",
        base_url: `${upstream}/v1`,
        network: "private",
        region: "global",
        auth: { bearer: { env: "PROVIDER_KEY" } },
        retention: "none",
        trains_on_data: false,
      },
    },
    models: {
      m: {
        operations: ["generate"],
        context_window: 20_000,
        max_output_tokens: 1_000,
        default_max_output_tokens: 50,
        capabilities: [],
      },
    },
    endpoints: names.map((name) => ({
      id: name,
      model: "m",
      provider: "p",
      upstream_model: `upstream-${name}`,
    })),
    routes: Object.fromEntries(names.map((name) => [name, { primary: name }])),
    workspaces: {
      large: workspace("large"),
      small: { ...workspace("small"), limits: { requests_per_minute: REQUESTS_PER_MINUTE } },
      metered: {
        ...workspace("metered"),
        limits: { budget: { tokens: TOKENS_PER_MONTH, per: "month" } },
      },
    },
  };
}

function workspace(route: string): object {
  return {
    tier: "t",
    approve: {
      routes: [route],
      regions: ["world"],
      providers: ["p"],
      capabilities: [],
      context_window: 20_000,
    },
  };
}
