/** Milliseconds since the epoch of an RFC 3339 time with a zone; `null` for anything else. */
export function readTime(text: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/.test(text)) return null;
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : time;
}

/** The same, written in UTC. */
export function formatTime(time: number): string;
export function formatTime(time: number | null): string | null;
export function formatTime(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
