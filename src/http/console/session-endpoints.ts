import type { IncomingMessage } from "node:http";
import { codedError } from "../../canon/error-codes.ts";
import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { Identity, Person, SessionHolder, SignInFault } from "../../canon/identity.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { ConsoleSettings, OidcSettings } from "../../canon/table.ts";
import type { Console, Session } from "./console-port.ts";
import {
  FOR_PEOPLE,
  chosenSeat,
  csrfFailed,
  csrfToken,
  hasCsrfToken,
  isFromOurPage,
  isOverTls,
  keySeats,
  orStoreError,
  personSeats,
  readCookie,
  readSessionCookie,
  sessionCookie,
  sessionEnded,
  signedIn,
  timesOf,
  type Seat,
  type SignedIn,
} from "./signed-in.ts";
import { managementError } from "../control/policies/policy-call.ts";
import { readBody } from "../read-body.ts";
import type { Recorder } from "../recorder.ts";
import type { Snapshot } from "../snapshot.ts";
import type { Runtime } from "../runtime.ts";

/** A redirect with cookies, or the text of a page that explains the failure. */
type SignInAnswer =
  | { readonly location: string; readonly cookies: readonly string[] }
  | { readonly error: ServiceError };

const CALLBACK = "/console/oidc/callback";

/** How long a person may take at the provider, seconds. */
const PATIENCE = 600;

/**
 * `GET /console/oidc/start`: sends the browser to the provider, with a cookie that its return is
 * checked with.
 */
export async function startSignIn({ console, snapshot }: SessionCall): Promise<SignInAnswer> {
  const settings = configured(snapshot);
  if (settings === null) return { error: notConfigured() };
  const client = await console.oidcClient(settings.oidc);
  const begun = await client.begin(`${settings.url}${CALLBACK}`);
  if ("fault" in begun) return { error: faultError(begun) };
  const sealed = await orStoreError(() => console.sealSignIn(begun.check, PATIENCE));
  if (typeof sealed !== "string") return { error: sealed };
  return {
    location: begun.url,
    cookies: [checkCookie(sealed, isOverTls(console, snapshot), PATIENCE)],
  };
}

/** `GET /console/oidc/callback`: the browser's return. */
export async function finishSignIn(call: SessionCall, recorder: Recorder): Promise<SignInAnswer> {
  const { console, snapshot, incoming } = call;
  const refuse = (error: ServiceError): SignInAnswer => ({
    error: recorder.recordRefusal(error),
  });
  const settings = configured(snapshot);
  if (settings === null) return refuse(notConfigured());
  const secure = isOverTls(console, snapshot);
  const cookie = readCookie(incoming.headers.cookie, checkName(secure));
  // A cookie that somebody made up causes no call of the provider.
  const check = cookie === null ? null : await console.openSignIn(cookie);
  if (check === null) return refuse(faultError({ fault: "invalid" }));
  const { search } = new URL(incoming.url ?? "/", settings.url);
  const client = await console.oidcClient(settings.oidc);
  const found = await client.finish(new URL(`${settings.url}${CALLBACK}${search}`), check);
  if ("fault" in found) return refuse(faultError(found));
  const named = new Set(settings.roles.map(({ group }) => group));
  const person: Person = { ...found, groups: found.groups.filter((group) => named.has(group)) };
  const now = Date.now();
  const seats = personSeats(snapshot, person, now + timesOf(snapshot).absolute);
  if (seats === null) return refuse(noRole(settings, found));
  recorder.caller = seats[0].identity;
  const unrecorded = await recorder.answered();
  if (unrecorded !== null) return { error: unrecorded };
  const started = await beginSession(call, person, now);
  if ("code" in started) return { error: started };
  return { location: "/console/", cookies: [started.cookie, checkCookie("", secure, 0)] };
}

interface Configured extends ConsoleSettings {
  readonly oidc: OidcSettings;
}

function configured({ decider }: SessionCall["snapshot"]): Configured | null {
  const settings = decider.table.console;
  return settings === undefined || settings.oidc === null
    ? null
    : { ...settings, oidc: settings.oidc };
}

const CHECK = "signalbox_sign_in";

function checkName(secure: boolean): string {
  return secure ? `__Host-${CHECK}` : CHECK;
}

/**
 * `Lax`: the provider's redirect comes from another site, and `Strict` cookies do not come with it.
 */
function checkCookie(value: string, secure: boolean, seconds: number): string {
  const own = `${checkName(secure)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax`;
  return secure ? `${own}; Secure` : own;
}

function notConfigured(): ServiceError {
  const message =
    "No identity provider is configured here (`console.oidc` of routes.yaml); sign in with a key.";
  return codedError("unknown_path", message);
}

function faultError({ fault }: SignInFault): ServiceError {
  switch (fault) {
    case "unavailable":
      return codedError(
        "sign_in_unavailable",
        "The identity provider cannot be reached, or fails. Try again later.",
      );
    case "refused":
      return signInFailed("The identity provider did not let you in.");
    case "unverified":
      return signInFailed(
        "The identity provider's ID token cannot be verified with its published keys.",
      );
    case "invalid":
      return signInFailed(
        "The sign-in took too long, was begun in another window, or does not belong to a sign-in that the console began.",
      );
  }
}

function signInFailed(sentence: string): ServiceError {
  return codedError("sign_in_failed", `${sentence} Start again at /console/.`);
}

function noRole({ roles, oidc }: Configured, { groups }: Person): ServiceError {
  const wanted = [...new Set(roles.map(({ group, role }) => `${group} (${role})`))].join(", ");
  const found =
    groups.length === 0
      ? `the claim ${oidc.groupsClaim} lists no groups`
      : "none of your groups has a role";
  return codedError(
    "no_role",
    `You are signed in at the identity provider, but ${found} here. Ask for one of these groups: ${wanted}.`,
  );
}

/** One request about a session. */
export interface SessionCall {
  readonly runtime: Runtime;
  readonly console: Console;
  readonly snapshot: Snapshot;
  readonly incoming: IncomingMessage;
}

/** @param cookie `set-cookie`; none where absent. */
type SessionAnswer =
  | { readonly json: JsonObject; readonly cookie?: string }
  | ServiceError
  | "aborted";

/** Bytes; a key or a code is all that is sent. */
const BODY = 4 * 1024;

/** `GET /console/session`: who is signed in, and how one signs in. */
export async function showSession(call: SessionCall): Promise<SessionAnswer> {
  const { console, snapshot, incoming } = call;
  const found = await signedIn(console, snapshot, incoming, Date.now());
  if (found === null || found === "ended") return { json: signedOut(snapshot) };
  if ("code" in found) return found;
  const seat = chosenSeat(found.seats, incoming.headers);
  return "code" in seat ? seat : { json: describe(call, found, seat) };
}

/**
 * `POST /console/session`: exchanges a key, or a code for one, for a session. The key is not kept.
 */
export async function startSession(call: SessionCall, recorder: Recorder): Promise<SessionAnswer> {
  const { runtime, snapshot, incoming } = call;
  const refuse = (error: ServiceError, identity: Identity | null = null): ServiceError => {
    recorder.caller = identity;
    return recorder.recordRefusal(error);
  };
  // A page of another site must not sign its visitors in as another person.
  if (!isFromOurPage(incoming.headers, snapshot)) return refuse(csrfFailed());
  const limits = { ...runtime.limits, bodyBytes: BODY };
  const body = await readBody(incoming, limits, {
    uniqueMembers: true,
    stopOrder: runtime.stopOrder,
  });
  if (body === "aborted") return body;
  if ("code" in body) return refuse(body);
  const now = Date.now();
  const identity = await holderOfBody(call, body.value, now);
  if ("code" in identity) return refuse(identity, recognised(runtime, body.value));
  const seats = keySeats(snapshot, identity);
  if (seats === null) return refuse(nothingToSee(identity), identity);
  recorder.caller = identity;
  const unrecorded = await recorder.answered();
  if (unrecorded !== null) return unrecorded;
  const started = await beginSession(call, { key: identity.keyId }, now, identity.expiresAt);
  if ("code" in started) return started;
  const { value, record, cookie } = started;
  return { json: describe(call, { value, session: record, seats }, seats[0]), cookie };
}

/**
 * A session instead of the browser's earlier one, and its `set-cookie`. @param latest when it ends
 * at the latest, milliseconds since the epoch.
 */
async function beginSession(
  { console, snapshot, incoming }: SessionCall,
  holder: SessionHolder,
  now: number,
  latest?: number,
): Promise<
  { readonly value: string; readonly record: Session; readonly cookie: string } | ServiceError
> {
  const secure = isOverTls(console, snapshot);
  const earlier = readSessionCookie(incoming.headers, secure);
  const started = await orStoreError(async () => {
    if (earlier !== null) await console.sessions.endSession(earlier);
    return console.sessions.start(holder, now, timesOf(snapshot), latest);
  });
  if ("code" in started) return started;
  const { value, record } = started;
  return {
    value,
    record,
    cookie: sessionCookie(value, secure, Math.floor((record.endsAt - now) / 1000)),
  };
}

/** `POST /console/session/end`: for every replica. */
export async function endSession(call: SessionCall): Promise<SessionAnswer> {
  const { console, snapshot, incoming } = call;
  const secure = isOverTls(console, snapshot);
  const value = readSessionCookie(incoming.headers, secure);
  if (value === null) return sessionEnded();
  if (!isFromOurPage(incoming.headers, snapshot) || !hasCsrfToken(incoming.headers, value))
    return csrfFailed();
  const failed = await orStoreError(async () => {
    await console.sessions.endSession(value);
    return null;
  });
  return failed ?? { json: { signed_in: false }, cookie: sessionCookie("", secure, 0) };
}

/** The good key that a body has, or that its code stands for. */
async function holderOfBody(
  { runtime, console }: SessionCall,
  { key, code, ...others }: JsonObject,
  now: number,
): Promise<Identity | ServiceError> {
  if (Object.keys(others).length > 0 || (key === undefined) === (code === undefined)) {
    return invalidRequest("invalid_body", "Send one member: `key` or `code`.");
  }
  if (typeof code === "string") {
    const keyId = console.takeCode(code, now);
    const identity = keyId === null ? null : await console.holderOf(keyId, now);
    return (
      identity ??
      refused("The link has been used, or is older than ten minutes; sign in with a key.")
    );
  }
  if (typeof key !== "string") return invalidRequest("invalid_body", "`key` and `code` are texts.");
  let verified = runtime.verify(key, now);
  if (!verified.ok && (await runtime.lookUp(key))) verified = runtime.verify(key, now);
  if (verified.ok) return verified.identity;
  return refused("The service key is not valid: it is mistyped, unknown, expired or revoked.");
}

function recognised({ recognise }: Runtime, { key }: JsonObject): Identity | null {
  return typeof key === "string" ? (recognise?.(key) ?? null) : null;
}

function refused(message: string): ServiceError {
  return codedError("invalid_api_key", message);
}

function nothingToSee({ scopes }: Identity): ServiceError {
  return codedError(
    "insufficient_scope",
    `The console needs a key of a workspace that exists, with one of ${FOR_PEOPLE.join(", ")}; this one has ${[...scopes].toSorted().join(", ")}.`,
  );
}

function signedOut({ decider }: Snapshot): JsonObject {
  const oidc = decider.table.console?.oidc ?? null;
  return {
    signed_in: false,
    sign_in: {
      key: true,
      oidc: oidc === null ? null : { name: oidc.label, url: "/console/oidc/start" },
    },
  };
}

function describe(
  { runtime, snapshot, console }: SessionCall,
  { value, session, seats }: SignedIn,
  { identity, roles }: Seat,
): JsonObject {
  const { idle } = timesOf(snapshot);
  return {
    signed_in: true,
    person: describeHolder(session, seats[0].identity.owner ?? null),
    workspace: identity.workspace,
    workspaces: seats.map((seat) => seat.identity.workspace),
    roles,
    scopes: [...identity.scopes].toSorted(),
    policies: policySeat(snapshot, seats),
    inference: console.inference === null ? null : { ...console.inference },
    csrf: csrfToken(value),
    ends_at: new Date(session.endsAt).toISOString(),
    idle_ends_at: new Date(Math.min(session.endsAt, session.seenAt + idle)).toISOString(),
    build_id: runtime.build.id,
  };
}

/**
 * As which workspace the page reads and changes policies: they are everybody's, and only some
 * workspaces manage them. `null`: none of the holder's does.
 */
function policySeat(snapshot: Snapshot, seats: SignedIn["seats"]): JsonObject | null {
  const managing = seats.filter(({ identity }) => managementError({ snapshot }, identity) === null);
  // The one where the holder may do most.
  const [best] = managing.toSorted(
    (left, right) => right.identity.scopes.size - left.identity.scopes.size,
  );
  return best === undefined
    ? null
    : { workspace: best.identity.workspace, scopes: [...best.identity.scopes].toSorted() };
}

function describeHolder({ holder }: Session, owner: string | null): JsonObject {
  if ("key" in holder) return { subject: holder.key, issuer: null, name: owner, key: holder.key };
  const { subject, issuer, name } = holder;
  return { subject, issuer, name, key: null };
}
