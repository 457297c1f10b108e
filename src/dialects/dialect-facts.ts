import type { Capability, Feature } from "../canon/capability.ts";
import type { ModelOperation } from "../canon/operation.ts";
import type {
  EmbedRequest,
  EmbedResult,
  ModerateRequest,
  ModerateResult,
  RerankRequest,
  RerankResult,
} from "../canon/unary.ts";
import type { Upstream } from "./dialect.ts";
import type { RequestRules } from "./fit-request.ts";
import type { UnaryUpstream } from "./unary/surface.ts";

/** What the compiler needs to know of a wire protocol without loading its translator. */
export interface DialectFacts {
  readonly operations: readonly ModelOperation[];
  /** Capabilities that the protocol can carry; a model's others do not exist on its endpoints. */
  readonly expresses: readonly Capability[];
  /** The features that its requests can use (docs/protocols.md#what-a-protocol-carries). */
  readonly features: readonly Feature[];
  /** What only some of its models take; a model row names them under `accepts`. */
  readonly optional: readonly Feature[];
  /** Whether an effort may be sent as a budget of tokens where the model row has a table. */
  readonly takesBudgets: boolean;
  /** Whether the protocol has beta flags. */
  readonly takesBetas: boolean;
  /** Whether its models may sign reasoning, which then only their own family can read. */
  readonly signs: boolean;
  /** Named deviations that a provider row may declare. */
  readonly flags: Readonly<Record<string, FlagFacts>>;
  /** Whether providers may want `api_version` in the query of every call; not where absent. */
  readonly takesApiVersion?: boolean;
  /**
   * Most inputs in one call that embeds; any number where absent. An endpoint's row may say less or
   * more.
   */
  readonly maxBatch?: number;
  /** Whether a request without an output limit is refused by everybody who speaks the protocol. */
  readonly demandsOutputLimit: boolean;
  /**
   * What its providers require of requests that generate; absent of a protocol that generates
   * nothing.
   */
  readonly requires?: RequestRules;
}

export interface FlagFacts {
  /** One line for docs/configuration.md. */
  readonly meaning: string;
  /** Members that requests to such a provider never have: the fix for a refusal that names one. */
  readonly omits?: readonly string[];
  /** What requests to such a provider cannot say. */
  readonly withdraws: readonly Feature[];
  /** What translated requests to such a provider can say besides what the dialect can. */
  readonly grants?: readonly Feature[];
  /** What of the dialect's operations such a provider serves; all where absent. */
  readonly leaves?: readonly ModelOperation[];
  /** As `DialectFacts.maxBatch`, where the deviation allows fewer. */
  readonly maxBatch?: number;
  /** The provider's row must have `api_version`. */
  readonly demandsApiVersion?: boolean;
  /**
   * Flags of the same dialect that contradict this one; no provider can have both. Said once for a
   * pair.
   */
  readonly excludes?: readonly string[];
}

/** Of a protocol that generates nothing: its row adds operations and features. */
export const UNARY_FACTS = {
  expresses: [],
  optional: [],
  takesBudgets: false,
  takesBetas: false,
  signs: false,
  flags: {},
  demandsOutputLimit: false,
} as const satisfies Partial<DialectFacts>;

/**
 * How providers of a wire protocol are called, for each of the protocol's operations
 * (`DialectFacts.operations`).
 */
export interface Dialect extends Partial<Record<ModelOperation, unknown>> {
  readonly generate?: Upstream;
  readonly embed?: UnaryUpstream<EmbedRequest, EmbedResult>;
  readonly rerank?: UnaryUpstream<RerankRequest, RerankResult>;
  readonly moderate?: UnaryUpstream<ModerateRequest, ModerateResult>;
}

/**
 * A wire protocol's row: its facts, and its translator. Checking a configuration needs the facts
 * only, so it does not load translators.
 */
export interface DialectRow extends DialectFacts {
  readonly load: () => Promise<{ readonly dialect: Dialect }>;
}

/** Members of sampling. */
export const SAMPLING = [
  "sampling",
  "temperature_above_1",
  "penalties",
  "penalties_outside_0_1",
  "logit_bias",
  "seed",
] as const satisfies readonly Feature[];
/** Every effort of reasoning. */
export const EFFORTS = [
  "effort_none",
  "effort_minimal",
  "effort_low",
  "effort_medium",
  "effort_high",
  "effort_xhigh",
  "effort_max",
] as const satisfies readonly Feature[];
/** Every way to choose among tools. */
export const TOOL_CHOICES = [
  "tool_choice_required",
  "tool_choice_named",
  "tool_choice_allowed",
  "parallel_tool_calls_off",
  "one_tool_called_once",
  "tool_strict",
] as const satisfies readonly Feature[];
