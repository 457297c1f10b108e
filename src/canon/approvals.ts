import type { Capability } from "./capability.ts";
import type { Retention } from "./retention.ts";

/** What a workspace may use; everything else is denied. */
export interface Approvals {
  readonly routes: readonly string[];
  /** Concrete regions; groups have been written out. Sorted. */
  readonly regions: readonly string[];
  readonly providers: readonly string[];
  readonly capabilities: readonly Capability[];
  readonly dimensions: readonly number[];
  /** The largest context window of a model that embeds, tokens; `null` approves none. */
  readonly contextWindow: number | null;
  /** Providers that train on data are no candidates, whatever callers prefer; absent: callers decide. */
  readonly dataCollection?: "deny";
  /** The longest retention of a provider that is a candidate; absent: any. */
  readonly retention?: Exclude<Retention, "unlimited">;
}
