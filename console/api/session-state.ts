import { computed, signal } from "@preact/signals";
import { address, WORKSPACE } from "../router.ts";
import type { Session } from "./session-answer.ts";

/** `null`: not loaded yet. */
export const session = signal<Session | null>(null);

/** The session; `null` before the sign-in, and while it loads. */
export const signedIn = () => (session.value?.signed_in === true ? session.value : null);

/** Why the sign-in is shown: the server's sentence; `null` where nothing happened. */
export const signInNotice = signal<string | null>(null);

/**
 * True if all workspaces of the session are shown together: unless the address names one of
 * several.
 */
export const showsAll = computed(() => {
  const workspaces = signedIn()?.workspaces ?? [];
  return workspaces.length > 1 && !workspaces.includes(address.value.query.get(WORKSPACE) ?? "");
});

/** Loads them from the API; nothing where one workspace is shown. */
export const inWorkspaces = (): { readonly workspaces: "all" | null } => ({
  workspaces: showsAll.value ? "all" : null,
});

/** Looks something up by its id, which is good in whatever workspace it is. */
export const inEveryWorkspace = (): { readonly workspaces: "all" | null } => ({
  workspaces: (signedIn()?.workspaces.length ?? 0) > 1 ? "all" : null,
});

/** Names what is shown, for keys of components; no workspace is called `*`. */
export const workspaceShown = (): string => (showsAll.value ? "*" : (signedIn()?.workspace ?? ""));

/** Where clients send requests to: this page may be on another listener. */
export function inferenceUrl(): string {
  const inference = signedIn()?.inference;
  if (inference == null) return location.origin;
  return `${inference.tls ? "https" : "http"}://${location.hostname}:${inference.port}`;
}

/** A call was answered 401: shows the sign-in. */
export function signedOut(message: string): void {
  if (signedIn() === null) return;
  signInNotice.value = message;
  session.value = { signed_in: false };
}

/** True if the session has the scope. The server decides; the page hides what would be refused. */
export const hasScope = (scope: string): boolean => signedIn()?.scopes.includes(scope) === true;

/** True if the session may change keys. */
export const mayManageKeys = (): boolean => hasScope("operations:manage");

/** True if it may change policies. */
export const mayManagePolicies = (): boolean => policyScopes().includes("operations:manage");

/** True if it may approve, and withdraw an approval. */
export const mayApprove = (): boolean =>
  mayManagePolicies() || policyScopes().includes("policies:approve");

const policyScopes = (): readonly string[] => signedIn()?.policies?.scopes ?? [];

/**
 * As which workspace a path of the API is requested: policies are everybody's, so those are
 * requested as one that manages them.
 */
export function workspaceFor(path: string): string | null {
  const current = signedIn();
  const { policies = null, workspace = null } = current ?? {};
  return path.startsWith("/v1/policies") && policies !== null ? policies.workspace : workspace;
}
