import { signal } from "@preact/signals";
import type { Session } from "./session-answer.ts";

/** `null`: not asked yet. */
export const session = signal<Session | null>(null);

/** Why the sign-in is shown: the server's sentence; `null` where nothing happened. */
export const signInNotice = signal<string | null>(null);

/** Whether the pages that can show all workspaces of the session together. */
export const showsAll = signal(false);

/** What asks the API for them; nothing where one workspace is shown. */
export const inWorkspaces = (): { readonly workspaces: "all" | null } => ({
  workspaces: showsAll.value ? "all" : null,
});

/** A call was answered 401: shows the sign-in. */
export function signedOut(message: string): void {
  if (session.value?.signed_in !== true) return;
  signInNotice.value = message;
  session.value = { signed_in: false };
}

/** Whether the session may do what needs the scope. The server decides; the page only hides what would be refused. */
export function hasScope(scope: string): boolean {
  return session.value?.signed_in === true && session.value.scopes.includes(scope);
}

/** Whether the session may change keys and policies. */
export const mayManage = (): boolean => hasScope("operations:manage");

/** Whether it may approve, and withdraw an approval. */
export const mayApprove = (): boolean => mayManage() || hasScope("policies:approve");
