export type KeyField =
  | "workspace"
  | "scopes"
  | "owner"
  | "expires_at"
  | "environment"
  | "workload"
  | "labels"
  | "exchange.maximum_lifetime"
  | "exchange.operations"
  | "exchange.routes"
  | "exchange.origins"
  | "limits.requests_per_minute"
  | "limits.tokens_per_minute"
  | "limits.concurrency"
  | "limits.budget"
  | "overlap"
  | "key";

/** The fix of a text that would be kept, and read by others, with a secret in it. */
export const NO_SECRETS = "leave the service key or token out; this would store a secret";

/**
 * An option cannot be used. The message names the field and the fix and never quotes what was given: somebody may have
 * put a key there.
 */
export class KeyOptionError extends Error {
  override readonly name = "KeyOptionError";
  readonly field: KeyField;
  /** What to give instead, without the field's name: callers put the name of their flag or member in front. */
  readonly fix: string;
  constructor(field: KeyField, fix: string) {
    super(`${field}: ${fix}`);
    this.field = field;
    this.fix = fix;
  }
}
