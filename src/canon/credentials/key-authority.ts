import type { Identity } from "../identity.ts";
import { PLATFORM_SCOPE } from "../scope.ts";
import type { ServiceKey } from "./service-key.ts";

type Caller = Pick<Identity, "workspace" | "scopes">;

/** Whether the caller may see and manage keys of a workspace: of its own, or of all with `platform:manage`. */
export function managesWorkspace(caller: Caller, workspace: string): boolean {
  if (caller.scopes.has(PLATFORM_SCOPE)) return true;
  return caller.workspace === workspace && caller.scopes.has("operations:manage");
}

/** Whether the caller may replace or end a key: who manages one workspace must not get, or end, authority over all. */
export function mayChangeKey(caller: Caller, key: Pick<ServiceKey, "workspace" | "scopes">): boolean {
  if (!managesWorkspace(caller, key.workspace)) return false;
  return !key.scopes.includes(PLATFORM_SCOPE) || caller.scopes.has(PLATFORM_SCOPE);
}
