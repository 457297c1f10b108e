import type { RoutingTable } from "../canon/table.ts";

/** The mode that routes.yaml gives a policy that no store has seen. */
export function initialMode({ policies }: RoutingTable, policy: string): "shadow" | "enforce" {
  const modes = policies.initialMode;
  const own = Object.hasOwn(modes, policy) ? modes[policy] : undefined;
  return own ?? (Object.hasOwn(modes, "*") ? modes["*"] : undefined) ?? "shadow";
}
