import { call, type Result } from "./client.ts";
import type { Session } from "./session-answer.ts";
import { session, signInNotice } from "./session-state.ts";

/** Asks the server who is signed in. */
export async function loadSession(): Promise<Result<Session>> {
  return accepted(await call<Session>("/console/session"));
}

/** Exchanges a key, or the code of the link that `serve --demo` prints, for a session. Neither is kept. */
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

/** Shows another workspace of the session. */
export function chooseWorkspace(workspace: string): void {
  const current = session.value;
  if (current?.signed_in === true) session.value = { ...current, workspace };
}

function accepted(result: Result<Session>): Result<Session> {
  if (result.ok) {
    session.value = result.value;
    if (result.value.signed_in) signInNotice.value = null;
  }
  return result;
}
