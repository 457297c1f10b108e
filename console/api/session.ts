import { call, type Result } from "./client.ts";
import type { Session } from "./session-answer.ts";
import { address, WORKSPACE } from "../router.ts";
import { session, signInNotice } from "./session-state.ts";

/** Loads from the server who is signed in. */
export async function loadSession(): Promise<Result<Session>> {
  return accepted(await call<Session>("/console/session"));
}

/**
 * Exchanges a key, or the code of the link that `serve --demo` prints, for a session. Neither is
 * kept.
 */
export async function signIn(
  credential: { readonly key: string } | { readonly code: string },
): Promise<Result<Session>> {
  return accepted(await call<Session>("/console/session", { method: "POST", body: credential }));
}

/** Ends the session on all replicas. */
export async function signOut(): Promise<Result<Session>> {
  const result = await call<Session>("/console/session/end", { method: "POST", body: {} });
  if (result.ok) await loadSession();
  return result;
}

/**
 * Takes up the workspace that the address names, where the person may have another role than in the
 * one before.
 */
export async function followWorkspace(): Promise<Result<Session> | null> {
  const current = session.value;
  const workspace = address.value.query.get(WORKSPACE);
  if (current?.signed_in !== true || workspace === null || workspace === current.workspace)
    return null;
  if (!current.workspaces.includes(workspace)) return null;
  session.value = { ...current, workspace };
  return loadSession();
}

function accepted(result: Result<Session>): Result<Session> {
  if (result.ok) {
    session.value = result.value;
    if (result.value.signed_in) signInNotice.value = null;
  }
  return result;
}
