/** Nearest rank: what the sketch must come near. */
export function exactQuantile(all: readonly number[], share: number): number {
  const sorted = all.toSorted((left, right) => left - right);
  return sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1] ?? Number.NaN;
}
