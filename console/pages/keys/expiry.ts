import type { ServiceKey } from "../../api/types.ts";

const DAY = 86_400_000;
/** The list of keys that end, and the marks in it, look this far ahead. */
export const SOON_DAYS = 14;

/** The end of that time, RFC 3339. @param now milliseconds since the epoch. */
export const soonEnd = (now: number): string => new Date(now + SOON_DAYS * DAY).toISOString();

/**
 * True if an active key needs a person before it ends. A key made for {@link SOON_DAYS} or less
 * would be marked from its first day, so it is marked on its last day only. A replaced key is meant
 * to end.
 *
 * @param now milliseconds since the epoch.
 */
export function expiresSoon(
  {
    status,
    created_at,
    expires_at,
    replaced_by,
  }: Pick<ServiceKey, "status" | "created_at" | "expires_at" | "replaced_by">,
  now: number,
): boolean {
  const end = Date.parse(expires_at);
  const isShortLived = end - Date.parse(created_at) <= SOON_DAYS * DAY;
  return (
    status === "active" && replaced_by === null && end - now < (isShortLived ? 1 : SOON_DAYS) * DAY
  );
}
