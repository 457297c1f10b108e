import { final, passing, type ErrorRow } from "./error-row.ts";

/** Sessions of the console, and signing in to it. */
export const SESSION_ERRORS = {
  session_ended: {
    ...final(401, "authentication"),
    at: ["by_session"],
    meaning:
      "The console's session was ended, was not used for too long, or its key is revoked or expired.",
    example: "A request of the console's page, half an hour after the last one.",
    fix: "Sign in again.",
  },
  csrf_failed: {
    ...final(403, "insufficient_scope"),
    at: ["by_session"],
    meaning:
      "A request with a session does not come from a page of the console, or lacks the header of its session.",
    example: "A form of another site, sent by a browser that is signed in.",
    fix: "Send `x-signalbox-csrf` as `GET /console/session` answers it, from the console's own origin; scripts use a key.",
  },
  sign_in_failed: {
    ...final(403, "insufficient_scope"),
    at: [],
    meaning:
      "The identity provider refused a sign-in to the console, or its answer does not belong to a sign-in that the console began.",
    example: "A sign-in page that was left open for longer than ten minutes.",
    fix: "Start again at `/console/`.",
  },
  no_role: {
    ...final(403, "insufficient_scope"),
    at: [],
    meaning:
      "The person is signed in at the identity provider, but none of their groups has a role in `console.roles` of routes.yaml.",
    example: "The first sign-in of a new colleague.",
    fix: "Ask for one of the groups that the message names; operators look at `groups_claim`.",
  },
  sign_in_unavailable: {
    ...passing(503, "unavailable", 1000),
    at: [],
    meaning: "The identity provider could not be reached.",
    example: "A provider that is down, or an `issuer` that this machine cannot reach.",
    fix: "Try again later; operators look at `console.oidc` of routes.yaml.",
  },
  workspace_not_allowed: {
    ...final(403, "insufficient_scope"),
    at: ["by_session"],
    meaning: "`x-signalbox-workspace` names a workspace that the session may not see.",
    example: "`x-signalbox-workspace: payments` in a session for `search`.",
    fix: "Name one of `workspaces` of `GET /console/session`.",
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;
