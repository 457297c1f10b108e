/** Closed lists of words, sorted. A word outside its list reaches policies as `other`. */
export interface Vocabulary {
  readonly environments: readonly string[];
  readonly workloads: readonly string[];
  readonly labels: readonly string[];
}
