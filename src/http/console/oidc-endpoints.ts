import { codedError } from "../../canon/error-codes.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { ConsoleSettings, OidcSettings } from "../../canon/table.ts";
import type { Person, SignInFault } from "../../canon/identity.ts";
import type { Recorder } from "../recorder.ts";
import { readCookie } from "./session-cookie.ts";
import { beginSession, type SessionCall } from "./session-endpoints.ts";
import { isSecure, orStoreError, personSeats, timesOf } from "./signed-in.ts";

/** A redirect with cookies, or the text of a page that says why there is none. */
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
    cookies: [checkCookie(sealed, isSecure(console, snapshot), PATIENCE)],
  };
}

/** `GET /console/oidc/callback`: the browser's return. */
export async function finishSignIn(call: SessionCall, recorder: Recorder): Promise<SignInAnswer> {
  const { console, snapshot, incoming } = call;
  const refuse = (error: ServiceError): SignInAnswer => ({
    error: recorder.refuse(error),
  });
  const settings = configured(snapshot);
  if (settings === null) return refuse(notConfigured());
  const secure = isSecure(console, snapshot);
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
