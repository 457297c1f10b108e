import { computed, signal } from "@preact/signals";
import { address, WORKSPACE } from "../router.ts";
import type { Session } from "./session-answer.ts";

/** `null`: not loaded yet. */
export const session = signal<Session | null>(null);

/** Why the sign-in is shown: the server's sentence; `null` where nothing happened. */
export const signInNotice = signal<string | null>(null);

/**
 * True if all workspaces of the session are shown together: unless the address names one of
 * several.
 */
export const showsAll = computed(() => {
  const current = session.value;
  if (current?.signed_in !== true || current.workspaces.length < 2) return false;
  return !current.workspaces.includes(address.value.query.get(WORKSPACE) ?? "");
});

/** Loads them from the API; nothing where one workspace is shown. */
export const inWorkspaces = (): { readonly workspaces: "all" | null } => ({
  workspaces: showsAll.value ? "all" : null,
});

/** Looks something up by its id, which is good in whatever workspace it is. */
export function inEveryWorkspace(): { readonly workspaces: "all" | null } {
  const current = session.value;
  const several = current?.signed_in === true && current.workspaces.length > 1;
  return { workspaces: several ? "all" : null };
}

/** Names what is shown, for keys of components; no workspace is called `*`. */
export function workspaceShown(): string {
  const current = session.value;
  return showsAll.value ? "*" : current?.signed_in === true ? current.workspace : "";
}

/** Where clients send requests to: this page may be on another listener. */
export function inferenceUrl(): string {
  const inference = session.value?.signed_in === true ? session.value.inference : null;
  if (inference === null) return location.origin;
  return `${inference.tls ? "https" : "http"}://${location.hostname}:${inference.port}`;
}

/** A call was answered 401: shows the sign-in. */
export function signedOut(message: string): void {
  if (session.value?.signed_in !== true) return;
  signInNotice.value = message;
  session.value = { signed_in: false };
}

/** True if the session has the scope. The server decides; the page hides what would be refused. */
export function hasScope(scope: string): boolean {
  return session.value?.signed_in === true && session.value.scopes.includes(scope);
}

/** True if the session may change keys. */
export const mayManageKeys = (): boolean => hasScope("operations:manage");

/** True if it may change policies. */
export const mayManagePolicies = (): boolean => policyScopes().includes("operations:manage");

/** True if it may approve, and withdraw an approval. */
export const mayApprove = (): boolean =>
  mayManagePolicies() || policyScopes().includes("policies:approve");

function policyScopes(): readonly string[] {
  return session.value?.signed_in === true ? (session.value.policies?.scopes ?? []) : [];
}

/**
 * As which workspace a path of the API is requested: policies are everybody's, so those are
 * requested as one that manages them.
 */
export function workspaceFor(path: string): string | null {
  if (session.value?.signed_in !== true) return null;
  const { workspace, policies } = session.value;
  return path.startsWith("/v1/policies") && policies !== null ? policies.workspace : workspace;
}
