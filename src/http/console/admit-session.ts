import type { IncomingMessage } from "node:http";
import { serviceError } from "../../canon/error.ts";
import type { Admitted } from "../authenticate.ts";
import { scopesOf, type ControlEndpoint } from "../contract/endpoint.ts";
import type { Snapshot } from "../snapshot.ts";
import type { Console } from "./console-port.ts";
import { csrfFailed, sessionEnded } from "./session-errors.ts";
import { hasCsrfToken, isFromOurPage } from "./session-cookie.ts";
import { chosenSeat, signedIn, type Seat } from "./signed-in.ts";

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
  const seat = chosenSeat(found.seats, headers);
  if ("code" in seat) return { error: seat, identity: null };
  const { identity } = seat;
  if (!isFromOurPage(headers, snapshot) || (method !== "GET" && !hasCsrfToken(headers, found.value))) {
    return { error: csrfFailed(), identity };
  }
  const scopes = scopesOf(endpoint);
  const mayCall = ({ identity: { scopes: own } }: Seat): boolean => scopes.some((scope) => own.has(scope));
  if (mayCall(seat)) {
    const covered = found.seats.filter(mayCall).map((each) => each.identity.workspace);
    return { error: null, identity, covered };
  }
  const sentence = `The session lacks the scope ${scopes.join(" or ")}; it has ${[...identity.scopes].toSorted().join(", ")}.`;
  return { error: serviceError(403, "insufficient_scope", "insufficient_scope", sentence), identity };
}
