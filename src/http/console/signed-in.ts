import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { codedError } from "../../canon/error-codes.ts";
import { StoreUnavailableError } from "../../canon/error.ts";
import {
  PLATFORM_SCOPE,
  SCOPES,
  personId,
  personText,
  type Identity,
  type Person,
  type Scope,
  type SessionTimes,
} from "../../canon/identity.ts";
import { SESSION_TIMES, type Role } from "../../canon/table.ts";
import type { Admitted } from "../authenticate.ts";
import type { Console, Session } from "./console-port.ts";
import type { ControlEndpoint } from "../contract/endpoint.ts";
import { RefusalError, refusal } from "../refusal.ts";
import type { Snapshot } from "../snapshot.ts";

/**
 * The console's cookies. That of a sign-in is `Lax`: the provider's redirect comes from another
 * site, and `Strict` cookies do not come with it.
 */
const SAME_SITE = { signalbox_session: "Strict", signalbox_sign_in: "Lax" } as const;

type CookieName = keyof typeof SAME_SITE;

/**
 * Browsers take a cookie with the prefix over TLS only, and for this host alone (RFC 6265bis
 * §4.1.3.2).
 */
function fullName(name: CookieName, isSecure: boolean) {
  return isSecure ? `__Host-${name}` : name;
}

/**
 * The value of the first cookie of that name; `null` where there is none. @param isSecure browsers
 * reach us over TLS: a cookie that plain http could have set does not count.
 */
export function readCookie(
  { cookie }: IncomingHttpHeaders,
  name: CookieName,
  isSecure: boolean,
): string | null {
  for (const pair of cookie?.split(";") ?? []) {
    const at = pair.indexOf("=");
    if (at > 0 && pair.slice(0, at).trim() === fullName(name, isSecure))
      return pair.slice(at + 1).trim();
  }
  return null;
}

/** @param seconds how long the browser keeps it; 0 deletes it. */
export function formatCookie(
  name: CookieName,
  value: string,
  isSecure: boolean,
  seconds: number,
): string {
  return `${fullName(name, isSecure)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=${SAME_SITE[name]}${isSecure ? "; Secure" : ""}`;
}

/**
 * Proves that a request comes from a page of the console: derived from the cookie's value, which
 * no page can read.
 */
export function csrfToken(value: string): string {
  return hash("sha256", `csrf ${value}`, "base64url");
}

/** Whether the request has the token of its session. */
export function hasCsrfToken(headers: IncomingHttpHeaders, value: string): boolean {
  const received = Buffer.from(String(headers["x-signalbox-csrf"] ?? ""));
  const expected = Buffer.from(csrfToken(value));
  return received.length === expected.length && timingSafeEqual(received, expected);
}

/**
 * Whether no page of another origin sent it, as far as the browser reports it (Fetch Metadata, RFC
 * 6454). Other ports of this host are the same site, so the cookie comes with requests of their
 * pages.
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

/** A holder's scopes and roles in one workspace. */
export interface WorkspaceRole {
  readonly identity: Identity;
  readonly roles: readonly Role[];
}

/** Every workspace that the holder may see; at least one. */
type WorkspaceRoles = readonly [WorkspaceRole, ...WorkspaceRole[]];

/** The holder of a session with their current rights: later changes of key and roles count. */
export interface SignedIn {
  /** The cookie's value. */
  readonly value: string;
  readonly session: Session;
  readonly workspaceRoles: WorkspaceRoles;
}

/** `inference` never passes through a session. */
export const CONSOLE_SCOPES: readonly Scope[] = SCOPES.filter((scope) => scope !== "inference");

/** Authority over all workspaces is a role of its own. */
const WORKSPACE_SCOPES: readonly Scope[] = CONSOLE_SCOPES.filter(
  (scope) => scope !== PLATFORM_SCOPE,
);

const VIEWER: readonly Scope[] = WORKSPACE_SCOPES.filter(
  (scope) => scope !== "operations:manage" && scope !== "policies:approve",
);

const SCOPES_OF: Readonly<Record<Role, readonly Scope[]>> = {
  viewer: VIEWER,
  approver: [...VIEWER, "policies:approve"],
  operator: WORKSPACE_SCOPES,
  administrator: CONSOLE_SCOPES,
};

/** Lifetime of sessions by the current configuration. */
export function timesOf({ decider }: Pick<Snapshot, "decider">): SessionTimes {
  return decider.table.console ?? SESSION_TIMES;
}

/** Whether browsers reach the console over TLS. */
export function isOverTls(
  console: Pick<Console, "isSecure">,
  { decider }: Pick<Snapshot, "decider">,
): boolean {
  return decider.table.console?.url.startsWith("https:") ?? console.isSecure;
}

/**
 * @returns `null` where the request has no session, `"ended"` where it has one that is not good any
 * more. @throws {RefusalError}
 */
export async function signedIn(
  console: Console,
  snapshot: Snapshot,
  { headers, socket }: Pick<IncomingMessage, "headers" | "socket">,
  now: number,
): Promise<SignedIn | "ended" | null> {
  const value = readCookie(headers, "signalbox_session", isOverTls(console, snapshot));
  if (value === null) return null;
  const session = await orStoreError(
    console.sessions.find(value, now, timesOf(snapshot), socket.remoteAddress ?? ""),
  );
  if (session === null) return "ended";
  const workspaceRoles = await currentRoles(console, snapshot, session, now);
  return workspaceRoles === null ? "ended" : { value, session, workspaceRoles };
}

async function currentRoles(
  console: Console,
  snapshot: Snapshot,
  session: Session,
  now: number,
): Promise<WorkspaceRoles | null> {
  const { holder, endsAt } = session;
  if (!("key" in holder)) return rolesOfPerson(snapshot, holder, endsAt);
  const identity = await console.holderOf(holder.key, now);
  return identity === null ? null : rolesOfKey(snapshot, identity);
}

/**
 * Rights of a session of a key: those of the key, without inference. `null` where none remain.
 */
export function rolesOfKey(
  { decider }: Pick<Snapshot, "decider">,
  identity: Identity,
): WorkspaceRoles | null {
  if (!Object.hasOwn(decider.table.workspaces, identity.workspace)) return null;
  const scopes = new Set(CONSOLE_SCOPES.filter((scope) => identity.scopes.has(scope)));
  if (scopes.size === 0) return null;
  const role = scopes.has("operations:manage")
    ? "operator"
    : scopes.has("policies:approve")
      ? "approver"
      : "viewer";
  // Such a key can make itself a key of any workspace: it reads all, and changes its own.
  const reads = new Set(VIEWER.filter((scope) => scopes.has(scope)).concat(PLATFORM_SCOPE));
  const others = scopes.has(PLATFORM_SCOPE) ? Object.keys(decider.table.workspaces) : [];
  return [
    { identity: { ...identity, scopes }, roles: [role] },
    ...others
      .filter((workspace) => workspace !== identity.workspace)
      .map((workspace): WorkspaceRole => ({
        identity: { ...identity, workspace, scopes: reads },
        roles: ["viewer"],
      })),
  ];
}

/**
 * Rights of a person by the roles of their groups; `null` where they have none, or where the
 * configuration has another provider by now.
 */
export function rolesOfPerson(
  { decider }: Pick<Snapshot, "decider">,
  person: Person,
  endsAt: number,
): WorkspaceRoles | null {
  const { console: settings, workspaces } = decider.table;
  if (settings?.oidc?.issuer !== person.issuer) return null;
  const groups = new Set(person.groups);
  const callersRoles = settings.roles.filter(({ group }) => groups.has(group));
  const keyId = personId(hash("sha256", personText(person), "hex"));
  const [first, ...rest] = Object.keys(workspaces).flatMap(
    (workspace): readonly WorkspaceRole[] => {
      const here = callersRoles.filter((role) => role.workspaces?.includes(workspace) ?? true);
      if (here.length === 0) return [];
      const roles = [...new Set(here.map(({ role }) => role))].toSorted();
      const scopes = new Set(roles.flatMap((role) => SCOPES_OF[role]));
      // Promotions that ask for roles of their approvers look at labels; those of a person are the
      // groups that have a role here.
      const labels = [...new Set(here.map(({ group }) => group))].toSorted();
      const identity = {
        workspace,
        keyId,
        scopes,
        environment: "production",
        workload: "",
        labels,
        expiresAt: endsAt,
      };
      return [{ identity: { ...identity, person }, roles }];
    },
  );
  return first === undefined ? null : [first, ...rest];
}

/**
 * @param headers `x-signalbox-workspace` names one of the workspaces; without it the first one is
 * meant. @throws {RefusalError}
 */
export function chosenRole(
  workspaceRoles: WorkspaceRoles,
  headers: IncomingHttpHeaders,
): WorkspaceRole {
  const workspace = headers["x-signalbox-workspace"] ?? workspaceRoles[0].identity.workspace;
  const match = workspaceRoles.find(({ identity }) => identity.workspace === workspace);
  if (match !== undefined) return match;
  throw refusal(
    "workspace_not_allowed",
    "The session may not see the workspace that x-signalbox-workspace names.",
  );
}

/**
 * Authenticates who is signed in to the console, for the router's own endpoints
 * (docs/console.md#access).
 *
 * @returns `null` where the request has no session, or has a key: that counts then.
 * @throws {RefusalError}
 */
export async function admitSession(
  console: Console,
  snapshot: Snapshot,
  incoming: IncomingMessage,
  { scopes }: ControlEndpoint,
): Promise<Admitted | null> {
  const { headers, method } = incoming;
  if (headers.authorization !== undefined) return null;
  const found = await signedIn(console, snapshot, incoming, Date.now());
  if (found === null) return null;
  if (found === "ended") throw sessionEnded();
  const role = chosenRole(found.workspaceRoles, headers);
  const { identity } = role;
  if (
    !isFromOurPage(headers, snapshot) ||
    (method !== "GET" && !hasCsrfToken(headers, found.value))
  ) {
    throw csrfFailed(identity);
  }
  const hasAnyScope = ({ scopes: granted }: Identity) => scopes.some((scope) => granted.has(scope));
  if (hasAnyScope(identity)) {
    const identities = found.workspaceRoles.map((each) => each.identity).filter(hasAnyScope);
    return { error: null, identity, identities };
  }
  const sentence = `The session lacks the scope ${scopes.join(" or ")}; it has ${[...identity.scopes].toSorted().join(", ")}.`;
  throw new RefusalError(codedError("insufficient_scope", sentence), identity);
}

export function sessionEnded(): RefusalError {
  return refusal("session_ended", "The session has ended; sign in again.");
}

export function csrfFailed(caller: Identity | null = null): RefusalError {
  const sentence =
    "The request does not come from a page of this console, or lacks the header x-signalbox-csrf of its session.";
  return new RefusalError(codedError("csrf_failed", sentence), caller);
}

/** The result; a 503 where the store is unavailable. @throws {RefusalError} */
export function orStoreError<Result>(work: Promise<Result>): Promise<Result> {
  return work.catch((error: unknown) => {
    if (!(error instanceof StoreUnavailableError)) throw error;
    throw refusal("store_unavailable", "Sessions cannot be read or written now. Try again later.");
  });
}
