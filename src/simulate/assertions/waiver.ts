/** Milliseconds since the epoch at which a day (UTC) has ended; `null` for a day that there is not. */
export function lastMoment(day: string): number | null {
  const midnight = Date.parse(`${day}T00:00:00.000Z`);
  // `2026-02-30` would be read as the second of March by some engines.
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== day) return null;
  return midnight + 86_400_000;
}
