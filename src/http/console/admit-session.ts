import type { IncomingMessage } from "node:http";
import { serviceError, type ServiceError } from "../../canon/error.ts";
import type { Identity } from "../../canon/identity.ts";
import { scopesOf, type ControlEndpoint } from "../contract/endpoint.ts";
import type { Admitted } from "../authenticate.ts";
import type { Snapshot } from "../snapshot.ts";
import type { Console } from "./console-port.ts";
import { csrfFailed, sessionEnded } from "./session-errors.ts";
import { hasCsrfToken, isFromOurPage } from "./session-cookie.ts";
import { signedIn, type SignedIn } from "./signed-in.ts";

/**
 * Authenticates who is signed in to the console, for the router's own endpoints (docs/console.md#access).
 *
 * @returns `null` where the request has no session, or has a key: that counts then.
 */
export async function admitSession(
  console: Console,
  snapshot: Snapshot,
  { headers, method }: IncomingMessage,
  endpoint: ControlEndpoint,
): Promise<Admitted | null> {
  if (headers.authorization !== undefined) return null;
  const found = await signedIn(console, snapshot, headers, Date.now());
  if (found === null) return null;
  if (found === "ended") return { error: sessionEnded(), identity: null };
  if ("code" in found) return { error: found, identity: null };
  const identity = chosenIdentity(found, headers["x-signalbox-workspace"]);
  if ("code" in identity) return { error: identity, identity: null };
  if (!isFromOurPage(headers) || (method !== "GET" && !hasCsrfToken(headers, found.value))) {
    return { error: csrfFailed(), identity };
  }
  const scopes = scopesOf(endpoint);
  if (scopes.some((scope) => identity.scopes.has(scope))) return { error: null, identity };
  const sentence = `The session lacks the scope ${scopes.join(" or ")}; it has ${[...identity.scopes].toSorted().join(", ")}.`;
  return { error: serviceError(403, "insufficient_scope", "insufficient_scope", sentence), identity };
}

/** @param workspace what the request's header names; the first one where it names none. */
function chosenIdentity(
  { identities }: SignedIn,
  workspace: string | readonly string[] | undefined,
): Identity | ServiceError {
  if (workspace === undefined) return identities[0];
  const chosen = identities.find((identity) => identity.workspace === workspace);
  return (
    chosen ??
    serviceError(
      403,
      "insufficient_scope",
      "workspace_not_allowed",
      "The session may not see the workspace that x-signalbox-workspace names.",
    )
  );
}
