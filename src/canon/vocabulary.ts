/** Of keys: `group:payments`, or an address. */
export const OWNER_PATTERN = "^[A-Za-z0-9][A-Za-z0-9._:@+/-]{0,127}$";

/** Closed lists of values, sorted. A value outside its list reaches policies as `other`. */
export interface Vocabulary {
  readonly environments: readonly string[];
  readonly workloads: readonly string[];
  readonly labels: readonly string[];
  /**
   * Owners of keys that policies can read; absent where routes.yaml declares none, so that such a
   * table keeps its revision.
   */
  readonly owners?: readonly string[];
}
