const UNITS: ReadonlyMap<string, number> = new Map([
  ["ms", 1],
  ["s", 1_000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
]);

/** A day: no provider call takes longer, and timers overflow at about 24 days. */
export const LONGEST_DURATION = 86_400_000;

/** Ninety days: a candidate in shadow for longer was probably forgotten. */
export const LONGEST_SOAK = 90 * 86_400_000;

/**
 * Milliseconds of a duration such as `500ms`, `30s`, `10m` or `1h`. Days (`7d`) are for keys whose
 * schema has them.
 *
 * @throws {TypeError} for text that the schema's pattern refuses; that is a bug of the caller.
 */
export function milliseconds(duration: string): number {
  const [, amount, unit] = /^([1-9][0-9]{0,6})(ms|s|m|h|d)$/.exec(duration) ?? [];
  const factor = UNITS.get(unit ?? "");
  if (amount === undefined || factor === undefined)
    throw new TypeError("milliseconds: not a duration of the schema");
  return Number(amount) * factor;
}

/**
 * Defaults of routes.yaml. They are unfavourable where a favourable one would flatter a provider: a
 * missing line must never approve training or endless retention.
 */
export const DEFAULT_TIMEOUTS = {
  connect: "2s",
  first_byte: "30s",
  idle: "20s",
  // As long as `total`: reasoning models and provider-side tools can be silent for minutes.
  first_token: "10m",
  total: "10m",
} as const;
export const DEFAULT_MAX_CONCURRENCY = 200;
export const DEFAULT_QUEUE = { size: 0, wait: "1s" } as const;
export const DEFAULT_HEALTH = {
  consecutive_failures: 5,
  failure_ratio: 0.5,
  minimum_calls: 20,
  window: "30s",
  ejection: "10s",
  longest_ejection: "5m",
} as const;
export const DEFAULT_PROBE_INTERVAL = "10s";
export const DEFAULT_BALANCE = "order";
export const DEFAULT_MAX_ATTEMPTS = 4;
export const DEFAULT_MAX_EJECTED_SHARE = 0.5;
export const DEFAULT_RETENTION = "unlimited";
export const DEFAULT_TRAINS_ON_DATA = true;
export const DEFAULT_AWS_PROFILE = "default";
export const DEFAULT_GOOGLE_SCOPES: readonly string[] = [
  "https://www.googleapis.com/auth/cloud-platform",
];
export const DEFAULT_POLICY_DIRECTORY = "policies";
export const DEFAULT_INITIAL_MODE = "shadow";
export const DEFAULT_ENVIRONMENTS: readonly string[] = [
  "development",
  "production",
  "staging",
  "test",
];
