import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServiceError } from "../../canon/error.ts";
import { Recorder } from "../recorder.ts";
import type { Runtime } from "../runtime.ts";
import { commonHeaders, readClientRequestId } from "../heads.ts";
import { badRequest, orRefuse, refusal, RefusalError } from "../refusal.ts";
import { internalError, printerAt, sendError, sendText } from "../send.ts";
import type { BundleFile } from "./bundle.ts";
import type { Console, Session } from "./console-port.ts";
import { formatTime } from "../../canon/rfc3339.ts";
import type { Identity, Person, SessionHolder, SignInFault } from "../../canon/identity.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { ConsoleSettings, OidcSettings } from "../../canon/table.ts";
import {
  chosenRole,
  CONSOLE_SCOPES,
  csrfFailed,
  csrfToken,
  formatCookie,
  hasCsrfToken,
  isFromOurPage,
  isOverTls,
  orStoreError,
  readCookie,
  rolesOfKey,
  rolesOfPerson,
  sessionEnded,
  signedIn,
  type SignedIn,
  timesOf,
  type WorkspaceRole,
} from "./signed-in.ts";
import { managesPolicies } from "../control/policies/policy-call.ts";
import { readBody } from "../read-body.ts";
import type { Snapshot } from "../snapshot.ts";

/**
 * Headers of every answer below `/console/`: the page loads nothing from elsewhere, runs nothing
 * that is not its own file, and is in no other page's frame. Names and values by turns.
 */
const PAGE_HEADERS: readonly string[] = [
  "content-security-policy",
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  "x-content-type-options",
  "nosniff",
  "referrer-policy",
  "no-referrer",
  "cross-origin-opener-policy",
  "same-origin",
];

const NOT_STORED: readonly string[] = ["cache-control", "no-store"];

const ASSETS = "/console/assets/";

/** Browsers request it of every page that names no icon, such as JSON; it is among the assets. */
const ICON = "/favicon.ico";

const NOT_BUILT = "The console's page has not been built here: npm run tool -- console\n";

/** Answers `GET /`, `GET /favicon.ico` and everything below `/console`. */
export async function serveConsole(
  runtime: Runtime,
  console: Console,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname } = new URL(incoming.url ?? "/", "http://signalbox.invalid");
  const requestId = runtime.newRequestId();
  const clientRequestId = readClientRequestId(incoming.headers["x-client-request-id"]);
  const common = [...commonHeaders(requestId, clientRequestId, []), ...PAGE_HEADERS];
  const visit = {
    runtime,
    console,
    incoming,
    response,
    common: [...common, ...NOT_STORED],
    requestId,
  };
  if (pathname === "/console/session" || pathname === "/console/session/end") {
    await answerSession(visit);
  } else if (pathname.startsWith("/console/oidc/")) {
    await answerSignIn(visit);
  } else if (pathname === "/") {
    sendText(response, 302, "", [...visit.common, "location", "/console/"], "text/plain");
  } else {
    await sendFile(console, incoming, response, pathname, common);
  }
}

async function sendFile(
  { bundle }: Console,
  { headers }: IncomingMessage,
  response: ServerResponse,
  pathname: string,
  common: readonly string[],
): Promise<void> {
  const built = await bundle();
  if (built === null)
    return sendText(response, 503, NOT_BUILT, [...common, ...NOT_STORED], "text/plain");
  const isIcon = pathname === ICON;
  if (!pathname.startsWith(ASSETS) && !isIcon)
    return sendBytes(response, built.page, headers, [...common, "cache-control", "no-cache"]);
  const asset = built.assets.get(pathname.slice((isIcon ? "/" : ASSETS).length));
  // Not the page: a script of an older build that is gone would be read as HTML.
  if (asset === undefined)
    return sendText(response, 404, "No such file\n", [...common, ...NOT_STORED], "text/plain");
  sendBytes(response, asset, headers, [
    ...common,
    "cache-control",
    isIcon ? "public, max-age=86400" : "public, max-age=31536000, immutable",
  ]);
}

function sendBytes(
  response: ServerResponse,
  { type, bytes, gzipped }: BundleFile,
  headers: IncomingMessage["headers"],
  common: readonly string[],
) {
  const isGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(
    headers["accept-encoding"] ?? "",
  );
  const body = isGzip ? gzipped : bytes;
  const encoding = isGzip ? ["content-encoding", "gzip"] : [];
  const ownHeaders = [
    "vary",
    "accept-encoding",
    "content-type",
    type,
    "content-length",
    String(body.length),
  ];
  response.writeHead(200, [...common, ...encoding, ...ownHeaders]);
  response.end(body);
}

interface Visit {
  readonly runtime: Runtime;
  readonly console: Console;
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly common: readonly string[];
  readonly requestId: string;
}

/**
 * @param isRecorded the request signs somebody in. @param answer throws {@link RefusalError}.
 * @param fail sends an error.
 */
async function answerVisit(
  { runtime, console, incoming, requestId }: Visit,
  isRecorded: boolean,
  answer: (call: SessionCall, recorder: Recorder | null) => Promise<void>,
  fail: (error: ServiceError) => void,
) {
  const { snapshot, release } = runtime.snapshots.take();
  const recorder = isRecorded
    ? new Recorder(runtime, snapshot, "control", requestId, null, incoming.headers)
    : null;
  try {
    await answer({ runtime, console, snapshot, incoming }, recorder);
  } catch (cause) {
    const isRefusal = cause instanceof RefusalError;
    const error = isRefusal ? cause.answer : internalError();
    if (error === null) return;
    if (isRefusal) recorder?.recordRefusal(error);
    else recorder?.crashed(error);
    fail(error);
  } finally {
    recorder?.close();
    release();
  }
}

function answerSession(visit: Visit): Promise<void> {
  const { incoming, response, common, requestId } = visit;
  const endsSession = /^\/console\/session\/end(?:\?|$)/.test(incoming.url ?? "");
  const isPost = incoming.method === "POST";
  const fail = (error: ServiceError) =>
    sendError(response, printerAt("/console"), error, requestId, common);
  const answerCall = async (call: SessionCall, recorder: Recorder | null) => {
    const { json, cookie } = await (recorder !== null
      ? startSession(call, recorder)
      : endsSession && isPost
        ? endSession(call)
        : showSession(call));
    const headers = cookie === undefined ? common : [...common, "set-cookie", cookie];
    sendText(response, 200, JSON.stringify(json), headers);
  };
  return answerVisit(visit, isPost && !endsSession, answerCall, fail);
}

/** The browser is on its way: who reads the answer is a person, so it is a sentence. */
function answerSignIn(visit: Visit): Promise<void> {
  const { incoming, response, common, requestId } = visit;
  const isCallback = /^\/console\/oidc\/callback(?:\?|$)/.test(incoming.url ?? "");
  const fail = ({ status, message, code }: ServiceError) =>
    sendText(
      response,
      status,
      `${message}\n\n${code}, request id ${requestId}\n`,
      common,
      "text/plain; charset=utf-8",
    );
  const answerCall = async (call: SessionCall, recorder: Recorder | null) => {
    const { location, cookies } = await (recorder === null
      ? startSignIn(call)
      : finishSignIn(call, recorder));
    const set = cookies.flatMap((cookie) => ["set-cookie", cookie]);
    sendText(response, 302, "", [...common, ...set, "location", location], "text/plain");
  };
  return answerVisit(visit, isCallback, answerCall, fail);
}

/** A redirect with cookies. */
interface SignInAnswer {
  readonly location: string;
  readonly cookies: readonly string[];
}

const CALLBACK = "/console/oidc/callback";

/** How long a person may take at the provider, seconds. */
const SIGN_IN_TIME = 600;

/**
 * `GET /console/oidc/start`: sends the browser to the provider, with a cookie that its return is
 * checked with. @throws {RefusalError}
 */
export async function startSignIn({ console, snapshot }: SessionCall): Promise<SignInAnswer> {
  const settings = configured(snapshot);
  const client = await console.oidcClient(settings.oidc);
  const begun = await client.begin(`${settings.url}${CALLBACK}`);
  if ("fault" in begun) throw faultError(begun);
  const sealed = await orStoreError(console.sealSignIn(begun.check, SIGN_IN_TIME));
  const secure = isOverTls(console, snapshot);
  const cookie = formatCookie("signalbox_sign_in", sealed, secure, SIGN_IN_TIME);
  return { location: begun.url, cookies: [cookie] };
}

/** `GET /console/oidc/callback`: the browser's return. @throws {RefusalError} */
export async function finishSignIn(call: SessionCall, recorder: Recorder): Promise<SignInAnswer> {
  const { console, snapshot, incoming } = call;
  const settings = configured(snapshot);
  const secure = isOverTls(console, snapshot);
  const cookie = readCookie(incoming.headers, "signalbox_sign_in", secure);
  // A cookie that somebody made up causes no call of the provider.
  const check = cookie === null ? null : await console.openSignIn(cookie);
  if (check === null) throw faultError({ fault: "invalid" });
  const { search } = new URL(incoming.url ?? "/", settings.url);
  const client = await console.oidcClient(settings.oidc);
  const found = await client.finish(new URL(`${settings.url}${CALLBACK}${search}`), check);
  if ("fault" in found) throw faultError(found);
  const mappedGroups = new Set(settings.roles.map(({ group }) => group));
  const person: Person = {
    ...found,
    groups: found.groups.filter((group) => mappedGroups.has(group)),
  };
  const now = Date.now();
  const workspaceRoles = rolesOfPerson(snapshot, person, now + timesOf(snapshot).absolute);
  if (workspaceRoles === null) throw noRole(settings, found);
  recorder.caller = workspaceRoles[0].identity;
  orRefuse(await recorder.recordAnswer());
  const { cookie: started } = await beginSession(call, person, now);
  const cookies = [started, formatCookie("signalbox_sign_in", "", secure, 0)];
  return { location: "/console/", cookies };
}

interface Configured extends ConsoleSettings {
  readonly oidc: OidcSettings;
}

/** @throws {RefusalError} without an identity provider. */
function configured({ decider }: SessionCall["snapshot"]): Configured {
  const settings = decider.table.console;
  if (settings !== undefined && settings.oidc !== null) return { ...settings, oidc: settings.oidc };
  throw refusal(
    "unknown_path",
    "No identity provider is configured here (`console.oidc` of routes.yaml); sign in with a key.",
  );
}

const SIGN_IN_FAILURES = {
  refused: "The identity provider did not let you in.",
  unverified: "The identity provider's ID token cannot be verified with its published keys.",
  invalid:
    "The sign-in took too long, was begun in another window, or does not belong to a sign-in that the console began.",
} as const;

function faultError({ fault }: SignInFault) {
  return fault === "unavailable"
    ? refusal(
        "sign_in_unavailable",
        "The identity provider cannot be reached, or fails. Try again later.",
      )
    : refusal("sign_in_failed", `${SIGN_IN_FAILURES[fault]} Start again at /console/.`);
}

function noRole({ roles, oidc }: Configured, { groups }: Person): RefusalError {
  const mappings = [...new Set(roles.map(({ group, role }) => `${group} (${role})`))].join(", ");
  const found =
    groups.length === 0
      ? `the claim ${oidc.groupsClaim} lists no groups`
      : "none of your groups has a role";
  return refusal(
    "no_role",
    `You are signed in at the identity provider, but ${found} here. Ask for one of these groups: ${mappings}.`,
  );
}

/** One request about a session. */
export interface SessionCall {
  readonly runtime: Runtime;
  readonly console: Console;
  readonly snapshot: Snapshot;
  readonly incoming: IncomingMessage;
}

/** @property cookie `set-cookie`; absent: none. */
interface SessionAnswer {
  readonly json: JsonObject;
  readonly cookie?: string;
}

/** Bytes; a key or a code is all that is sent. */
const BODY = 4 * 1024;

/** `GET /console/session`: who is signed in, and how one signs in. @throws {RefusalError} */
export async function showSession(call: SessionCall): Promise<SessionAnswer> {
  const { console, snapshot, incoming } = call;
  const found = await signedIn(console, snapshot, incoming, Date.now());
  if (found === null || found === "ended") return { json: signedOut(snapshot) };
  return { json: describe(call, found, chosenRole(found.workspaceRoles, incoming.headers)) };
}

/**
 * `POST /console/session`: exchanges a key, or a code for one, for a session. The key is not kept.
 *
 * @throws {RefusalError}
 */
export async function startSession(call: SessionCall, recorder: Recorder): Promise<SessionAnswer> {
  const { runtime, snapshot, incoming } = call;
  // A page of another site must not sign its visitors in as another person.
  if (!isFromOurPage(incoming.headers, snapshot)) throw csrfFailed();
  const limits = { ...runtime.limits, bodyBytes: BODY };
  const body = await readBody(incoming, limits, {
    uniqueMembers: true,
    stopOrder: runtime.stopOrder,
  });
  if (body === "aborted") throw new RefusalError(null);
  const { value: credentials } = orRefuse(body);
  if (typeof credentials.key === "string") recorder.caller = runtime.recognise(credentials.key);
  const now = Date.now();
  const identity = await holderOfBody(call, credentials, now);
  recorder.caller = identity;
  const workspaceRoles = rolesOfKey(snapshot, identity);
  if (workspaceRoles === null) throw noConsoleScope(identity);
  orRefuse(await recorder.recordAnswer());
  const holder = { key: identity.keyId };
  const { value, record, cookie } = await beginSession(call, holder, now, identity.expiresAt);
  return {
    json: describe(call, { value, session: record, workspaceRoles }, workspaceRoles[0]),
    cookie,
  };
}

/**
 * A session instead of the browser's earlier one, and its `set-cookie`. @param latest when it ends
 * at the latest, milliseconds since the epoch. @throws {RefusalError}
 */
async function beginSession(
  { console, snapshot, incoming }: SessionCall,
  holder: SessionHolder,
  now: number,
  latest?: number,
): Promise<{ readonly value: string; readonly record: Session; readonly cookie: string }> {
  const secure = isOverTls(console, snapshot);
  const earlier = readCookie(incoming.headers, "signalbox_session", secure);
  if (earlier !== null) await orStoreError(console.sessions.endSession(earlier));
  const { value, record } = await orStoreError(
    console.sessions.start(holder, now, timesOf(snapshot), latest),
  );
  const seconds = Math.floor((record.endsAt - now) / 1000);
  return { value, record, cookie: formatCookie("signalbox_session", value, secure, seconds) };
}

/** `POST /console/session/end`: for every replica. @throws {RefusalError} */
export async function endSession(call: SessionCall): Promise<SessionAnswer> {
  const { console, snapshot, incoming } = call;
  const secure = isOverTls(console, snapshot);
  const value = readCookie(incoming.headers, "signalbox_session", secure);
  if (value === null) throw sessionEnded();
  if (!isFromOurPage(incoming.headers, snapshot) || !hasCsrfToken(incoming.headers, value))
    throw csrfFailed();
  await orStoreError(console.sessions.endSession(value));
  return { json: { signed_in: false }, cookie: formatCookie("signalbox_session", "", secure, 0) };
}

/** The good key that a body has, or that its code stands for. @throws {RefusalError} */
async function holderOfBody(
  { runtime, console }: SessionCall,
  { key, code, ...others }: JsonObject,
  now: number,
): Promise<Identity> {
  if (Object.keys(others).length > 0 || (key === undefined) === (code === undefined)) {
    throw badRequest("invalid_body", "Send one member: `key` or `code`.");
  }
  if (typeof code === "string") {
    const keyId = console.takeCode(code, now);
    const identity = keyId === null ? null : await console.holderOf(keyId, now);
    if (identity !== null) return identity;
    throw invalidKey("The link has been used, or is older than ten minutes; sign in with a key.");
  }
  if (typeof key !== "string") throw badRequest("invalid_body", "`key` and `code` are texts.");
  let verified = runtime.verify(key, now);
  if (!verified.ok && (await runtime.lookUp(key))) verified = runtime.verify(key, now);
  if (verified.ok) return verified.identity;
  throw invalidKey("The service key is not valid: it is mistyped, unknown, expired or revoked.");
}

function invalidKey(message: string) {
  return refusal("invalid_api_key", message);
}

function noConsoleScope({ scopes }: Identity) {
  return refusal(
    "insufficient_scope",
    `The console needs a key of a workspace that exists, with one of ${CONSOLE_SCOPES.join(", ")}; this one has ${[...scopes].toSorted().join(", ")}.`,
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
  { value, session, workspaceRoles }: SignedIn,
  { identity, roles }: WorkspaceRole,
): JsonObject {
  const { idle } = timesOf(snapshot);
  return {
    signed_in: true,
    person: describeHolder(session, workspaceRoles[0].identity.owner ?? null),
    workspace: identity.workspace,
    workspaces: workspaceRoles.map(({ identity: role }) => role.workspace),
    roles,
    scopes: [...identity.scopes].toSorted(),
    policies: policyRights(snapshot, workspaceRoles),
    inference: console.inference === null ? null : { ...console.inference },
    csrf: csrfToken(value),
    ends_at: formatTime(session.endsAt),
    idle_ends_at: formatTime(Math.min(session.endsAt, session.seenAt + idle)),
    build_id: runtime.build.id,
  };
}

/**
 * As which workspace the page reads and changes policies: they are everybody's, and only some
 * workspaces manage them. `null`: none of the holder's does.
 */
function policyRights(
  snapshot: Snapshot,
  workspaceRoles: SignedIn["workspaceRoles"],
): JsonObject | null {
  const managing = workspaceRoles.filter(({ identity }) => managesPolicies(snapshot, identity));
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
