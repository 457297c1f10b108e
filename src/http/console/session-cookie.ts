import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Snapshot } from "../snapshot.ts";

const NAME = "signalbox_session";

/**
 * Browsers take a cookie of this name over TLS only, and for this host alone (RFC 6265bis
 * §4.1.3.2).
 */
const HOST_NAME = `__Host-${NAME}`;

/**
 * The value of the session's cookie; `null` where there is none. @param isSecure browsers reach us
 * over TLS: a cookie that plain http could have set does not count.
 */
export function readSessionCookie(
  { cookie }: IncomingHttpHeaders,
  isSecure: boolean,
): string | null {
  return readCookie(cookie, isSecure ? HOST_NAME : NAME);
}

/** @param seconds how long the browser keeps it; 0 deletes it. */
export function sessionCookie(value: string, isSecure: boolean, seconds: number): string {
  const name = isSecure ? HOST_NAME : NAME;
  return `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`;
}

/** The value of the first cookie of that name. */
export function readCookie(header: string | undefined, name: string): string | null {
  for (const pair of header?.split(";") ?? []) {
    const at = pair.indexOf("=");
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return null;
}

/**
 * What a page of ours proves with that it is ours: it follows from the cookie's value, which no
 * page can read.
 */
export function csrfToken(value: string): string {
  return hash("sha256", `csrf ${value}`, "base64url");
}

/** Whether the request has the token of its session. */
export function hasCsrfToken(headers: IncomingHttpHeaders, value: string): boolean {
  const sent = Buffer.from(String(headers["x-signalbox-csrf"] ?? ""));
  const expected = Buffer.from(csrfToken(value));
  return sent.length === expected.length && timingSafeEqual(sent, expected);
}

/**
 * Whether no page of another origin sent it, as far as the browser says (Fetch Metadata, RFC 6454).
 * Other ports of this host are the same site, so the cookie comes with requests of their pages.
 */
export function isFromOurPage(
  headers: IncomingHttpHeaders,
  { decider }: Pick<Snapshot, "decider">,
): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") return false;
  const { origin, host } = headers;
  return (
    origin === undefined ||
    origin === decider.table.console?.url ||
    origin.replace(/^https?:\/\//, "") === host
  );
}
