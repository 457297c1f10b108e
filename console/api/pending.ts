/** Answers of endpoints that are being built; each goes to types.ts, derived from its schema, when that has landed. */
import type { JsonObject } from "../../src/canon/json.ts";

export type Role = "viewer" | "approver" | "operator";

export interface SignedOut {
  readonly signed_in: false;
  readonly sign_in?: {
    readonly key: boolean;
    readonly oidc: { readonly name: string; readonly url: string } | null;
  };
}

export interface SignedIn {
  readonly signed_in: true;
  readonly person: {
    readonly subject: string;
    readonly issuer: string | null;
    readonly name: string | null;
    readonly key: string | null;
  };
  readonly workspace: string;
  readonly workspaces: readonly string[];
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  readonly csrf: string;
  readonly ends_at: string;
  readonly idle_ends_at: string;
  readonly build_id: string;
}

export type Session = SignedIn | SignedOut;

export interface DecisionLine {
  readonly object: "decision";
  readonly id: string;
  readonly at: string;
  readonly operation: string;
  readonly route: string | null;
  readonly key: string | null;
  readonly environment: string | null;
  readonly outcome: string;
  readonly policy: string | null;
  readonly constraint: string | null;
  readonly reason: string | null;
  readonly repeated: number;
  /** null: running. */
  readonly terminal: string | null;
  readonly status: number | null;
  readonly endpoint: string | null;
  readonly provider: string | null;
  readonly region: string | null;
  readonly attempts: number;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly cost_usd?: number | null;
  readonly total_ms: number | null;
}

export interface DecisionList {
  readonly object: "list";
  readonly data: readonly DecisionLine[];
  readonly next_cursor: string | null;
  readonly searched_to: string | null;
}

export interface DecisionCall {
  readonly endpoint: string;
  readonly provider: string;
  readonly region: string;
  readonly model: string | null;
  readonly failure: string | null;
  readonly status: number | null;
  readonly duration_ms: number;
  readonly simulated: boolean;
  readonly translated: boolean | null;
  readonly calls: number;
}

export interface Decision extends DecisionLine {
  readonly table_revision: string;
  readonly policy_set: string | null;
  readonly policy_revision: string | null;
  readonly plan: readonly string[];
  readonly needs: readonly string[];
  readonly features: readonly string[];
  readonly stream: boolean;
  readonly context: string;
  readonly max_output: string;
  readonly reasoning_effort: string;
  readonly dimensions: number | null;
  readonly preferences: JsonObject | null;
  readonly workload: string | null;
  readonly labels: readonly string[];
  readonly token: string | null;
  readonly retries: number;
  readonly shadow: readonly {
    readonly policy: string;
    readonly revision: string;
    readonly constraint: string;
    readonly reason: string | null;
    readonly verdict: string;
    readonly effect: string | null;
  }[];
  readonly obligations: readonly {
    readonly policy: string;
    readonly revision: string;
    readonly obligation: string;
    readonly effect: string;
  }[];
  readonly change: {
    readonly what: string;
    readonly id: string;
    readonly replaces: string | null;
    readonly content: string | null;
  } | null;
  readonly calls: readonly DecisionCall[];
  readonly finish: string | null;
  readonly stripped: readonly string[];
  readonly dropped: readonly string[];
  readonly edits: readonly string[];
  readonly joined: string | null;
  readonly ended: string | null;
  readonly estimated: boolean;
  readonly cache_read_tokens: number | null;
  readonly reasoning_tokens: number | null;
  readonly first_byte_ms: number | null;
  readonly router_ms: number | null;
  readonly explain: string | null;
}

export interface SpendFigures {
  readonly requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly reasoning_tokens: number;
  readonly cost_usd: number | null;
  readonly unpriced_requests: number;
}

export interface Budget {
  readonly name: string;
  readonly limit_usd: number;
  readonly spent_usd: number;
  readonly window_start: string;
  readonly window_end: string;
  readonly projected_usd: number | null;
}

export interface Spend {
  readonly object: "spend";
  readonly window: { readonly start: string; readonly end: string };
  readonly group_by: readonly string[];
  readonly groups: readonly (SpendFigures & { readonly group: Readonly<Record<string, string | null>> })[];
  readonly total: SpendFigures;
  readonly budgets: readonly Budget[];
  readonly estimate: true;
  readonly truncated: boolean;
}

export interface EndpointHealth {
  readonly id: string;
  readonly provider: string;
  readonly region: string;
  readonly state: string;
  readonly reason: string | null;
  readonly since: string | null;
  readonly in_flight: number;
  readonly latency_ms: number | null;
}

export interface Health {
  readonly object: "health";
  readonly endpoints: readonly EndpointHealth[];
  readonly workers?: { readonly worker: number; readonly configured: number; readonly ready: number };
  readonly evidence: JsonObject;
  readonly degraded: readonly string[];
  readonly build_id: string;
  readonly table_sha256: string;
  readonly policy_set: string;
}
