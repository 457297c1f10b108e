import type {
  AuthoredEndpoint,
  AuthoredModel,
  AuthoredPolicies,
  AuthoredProvider,
  AuthoredRoute,
  AuthoredWorkspace,
} from "../../compile/routes-schema.ts";
import { rowOf } from "../table-rows.ts";

interface EffectRow {
  /** Why it does not decide where requests go; for `decides`: its effect. */
  readonly sentence: string;
  /** Whether `--fail-on any` counts it. */
  readonly matters: boolean;
}

/**
 * Effects of changed settings. Every value but `decides` is a reason why no class of requests
 * shows the change.
 */
export const SETTING_EFFECTS = {
  decides: { sentence: "decides where requests go; the classes show the effect", matters: true },
  equivalent: {
    sentence: "written differently: both sides compile to the same row",
    matters: false,
  },
  renamed: { sentence: "another name for the same content", matters: true },
  layout: { sentence: "names the files of the other settings", matters: false },
  description: { sentence: "text for readers", matters: false },
  credential: {
    sentence: "which credential calls carry; its secret is never read here",
    matters: true,
  },
  price: {
    sentence: "what calls cost; preferences for price, policies and budgets use it",
    matters: true,
  },
  limit: { sentence: "how much may be used; a running server counts it", matters: true },
  load: {
    sentence: "how many calls run or wait at once; known to a running server only",
    matters: true,
  },
  health: {
    sentence: "when failing endpoints are left out; known to a running server only",
    matters: true,
  },
  attempts: {
    sentence: "how often and when further endpoints of the same plan are tried",
    matters: true,
  },
  timeout: { sentence: "how long calls may take", matters: true },
  exchange: {
    sentence: "what is sent to the provider for a request, not to which provider",
    matters: true,
  },
  telemetry: { sentence: "what calls carry for tracing", matters: true },
  evidence: { sentence: "when decisions are written", matters: true },
  keys: { sentence: "whether running answers of a revoked key may finish", matters: true },
  vocabulary: {
    sentence: "which values keys may carry; policies see others as `other`",
    matters: true,
  },
  known_policies: {
    sentence: "without effect on policies that a store already has",
    matters: false,
  },
  promotion: { sentence: "what a promotion of a policy requires", matters: true },
  management: { sentence: "whose keys may approve and promote policies", matters: true },
  access: {
    sentence: "who may sign in to the console, for how long, and what they may do",
    matters: true,
  },
  alerts: { sentence: "what operators are alerted to, and where", matters: true },
  workloads: { sentence: "which workloads get tokens without a key, and for what", matters: true },
  policy: { sentence: "compiles to another policy; the classes show the effect", matters: true },
  same_policy: { sentence: "compiles to the same policies", matters: false },
  policy_test: { sentence: "a test of policies, which no server loads", matters: false },
  other_environment: {
    sentence: "another environment, which is compared with `--environment` only",
    matters: true,
  },
  assertion: { sentence: "what changes are checked against", matters: true },
} as const satisfies Readonly<Record<string, EffectRow>>;

export type SettingEffect = keyof typeof SETTING_EFFECTS;

type Effects<Row> = { readonly [Name in keyof Row]-?: SettingEffect };

const PROVIDER: Effects<AuthoredProvider> = {
  preset: "decides",
  preset_region: "decides",
  dialect: "decides",
  base_url: "decides",
  network: "decides",
  plaintext: "decides",
  api_version: "decides",
  region: "decides",
  auth: "credential",
  retention: "decides",
  trains_on_data: "decides",
  trace_context: "telemetry",
  timeouts: "timeout",
  max_concurrency: "load",
  queue: "load",
  health: "health",
  flags: "decides",
  beta_flags: "exchange",
};

const MODEL: Effects<AuthoredModel> = {
  operations: "decides",
  context_window: "decides",
  max_output_tokens: "exchange",
  default_max_output_tokens: "exchange",
  capabilities: "decides",
  dimensions: "decides",
  default_dimensions: "decides",
  moderation_categories: "exchange",
  signature_family: "decides",
  reasoning: "decides",
  refuses: "decides",
  accepts: "decides",
};

const ENDPOINT: Effects<AuthoredEndpoint> = {
  id: "decides",
  model: "decides",
  provider: "decides",
  upstream_model: "decides",
  region: "decides",
  capabilities: "decides",
  price: "price",
  latency_class: "decides",
  max_concurrency: "load",
  batch: "exchange",
};

const ROUTE: Effects<AuthoredRoute> = {
  title: "description",
  primary: "decides",
  peers: "decides",
  balance: "decides",
  weights: "decides",
  fallbacks: "decides",
  max_attempts: "attempts",
  resend_after_reset: "attempts",
  max_ejected_share: "health",
  hedge_after: "attempts",
  on_gap: "decides",
  unknown_fields: "exchange",
  emulate_json_schema: "decides",
  operations: "decides",
};

const WORKSPACE: Effects<AuthoredWorkspace> = {
  tier: "decides",
  labels: "decides",
  approve: "decides",
  default_moderation_route: "decides",
  limits: "limit",
  on_revoke: "keys",
  record: "evidence",
};

const POLICIES: Effects<AuthoredPolicies> = {
  dir: "layout",
  initial_mode: "decides",
  promotion: "promotion",
  managed_by: "management",
  denial_link: "description",
};

/** Sections whose members are rows by id. */
const ROWS: Readonly<Record<string, Readonly<Record<string, SettingEffect>>>> = {
  providers: PROVIDER,
  models: MODEL,
  endpoints: ENDPOINT,
  routes: ROUTE,
  workspaces: WORKSPACE,
};
const SECTIONS: Readonly<Record<string, Readonly<Record<string, SettingEffect>> | SettingEffect>> =
  {
    version: "layout",
    include: "layout",
    regions: "decides",
    policies: POLICIES,
    vocabulary: "vocabulary",
    console: "access",
    workload_identity: "workloads",
    alerts: "alerts",
  };

/** Whether the members of a section are rows: one that comes or goes is one change. */
export function hasRows(section: string): boolean {
  return Object.hasOwn(ROWS, section);
}

/**
 * The effect of a setting of routes.yaml.
 *
 * @param path its names from the root; an endpoint is named by its id.
 * @throws {Error} for a setting without a row here: an unclassified change must not count as one
 * without effect.
 */
export function effectOf(path: readonly string[]): SettingEffect {
  const [section = "", name = "", member] = path;
  if (hasRows(section))
    return member === undefined ? "decides" : found(ROWS[section], member, path);
  const effects = rowOf(SECTIONS, section);
  return typeof effects === "string" ? effects : found(effects, name, path);
}

function found(
  effects: Readonly<Record<string, SettingEffect>> | undefined,
  name: string,
  path: readonly string[],
): SettingEffect {
  const effect = rowOf(effects ?? {}, name);
  if (effect === undefined)
    throw new Error(`simulation: no effect is known for a change of ${path.join(".")}`);
  return effect;
}
