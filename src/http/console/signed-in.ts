import type { IncomingHttpHeaders } from "node:http";
import type { ServiceError } from "../../canon/error.ts";
import type { Identity } from "../../canon/identity.ts";
import { SCOPES, type Scope } from "../../canon/scope.ts";
import type { Snapshot } from "../snapshot.ts";
import type { Console, Session, SessionTimes } from "./console-port.ts";
import { orStoreError } from "./session-errors.ts";
import { readSessionCookie } from "./session-cookie.ts";

/** What people may do on the console; each is more than the one before. */
export type Role = "viewer" | "approver" | "operator";

/** Who is signed in, as of now: what became of their key since counts. */
export interface SignedIn {
  /** The cookie's value. */
  readonly value: string;
  readonly session: Session;
  /** One for each workspace that they may see; at least one. */
  readonly identities: readonly [Identity, ...Identity[]];
  readonly roles: readonly Role[];
}

/** Half an hour without a use, twelve hours in all. */
export const TIMES: SessionTimes = { idle: 30 * 60_000, absolute: 12 * 3_600_000 };

/** Scopes of which a session's key must have one. `inference` never passes through a session. */
export const FOR_PEOPLE: readonly Scope[] = SCOPES.filter((scope) => scope !== "inference");

/** @returns `null` where the request has no session, `"ended"` where it has one that is not good any more. */
export async function signedIn(
  console: Console,
  snapshot: Snapshot,
  headers: IncomingHttpHeaders,
  now: number,
): Promise<SignedIn | "ended" | ServiceError | null> {
  const value = readSessionCookie(headers, console.isSecure);
  if (value === null) return null;
  const session = await orStoreError(() => console.sessions.find(value, now, TIMES));
  if (session === null) return "ended";
  if ("code" in session) return session;
  const standing = await standingOf(console, snapshot, session, now);
  return standing === null ? "ended" : { value, session, ...standing };
}

type Standing = Pick<SignedIn, "identities" | "roles">;

async function standingOf(
  console: Console,
  snapshot: Snapshot,
  { holder }: Session,
  now: number,
): Promise<Standing | null> {
  if (!("key" in holder)) return null;
  const identity = await console.holderOf(holder.key, now);
  return identity === null ? null : keyStanding(snapshot, identity);
}

/** What a session of a key may do: as much as the key, without inference. `null` where that is nothing. */
export function keyStanding({ decider }: Pick<Snapshot, "decider">, identity: Identity): Standing | null {
  if (!Object.hasOwn(decider.table.workspaces, identity.workspace)) return null;
  const scopes = new Set(FOR_PEOPLE.filter((scope) => identity.scopes.has(scope)));
  if (scopes.size === 0) return null;
  return { identities: [{ ...identity, scopes }], roles: [scopes.has("operations:manage") ? "operator" : "viewer"] };
}
