import { call, type Result } from "./client.ts";
import type { Session } from "./session-answer.ts";
import { session, showsAll, signInNotice } from "./session-state.ts";

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

/** Shows another workspace of the session, where the person may have another role. */
export async function chooseWorkspace(workspace: string): Promise<Result<Session> | null> {
  const current = session.value;
  showsAll.value = false;
  if (current?.signed_in !== true || current.workspace === workspace) return null;
  session.value = { ...current, workspace };
  return loadSession();
}

/** Shows all of them, on the pages that can. */
export function chooseAllWorkspaces(): void {
  showsAll.value = true;
}

function accepted(result: Result<Session>): Result<Session> {
  if (result.ok) {
    session.value = result.value;
    if (result.value.signed_in) signInNotice.value = null;
  }
  return result;
}
