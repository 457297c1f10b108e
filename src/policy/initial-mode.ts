import type { RoutingTable } from "../canon/table.ts";

/** The mode that a policy starts in where no store has it (`policies.initial_mode`): its own, that of `*`, or shadow. */
export function initialMode(table: Pick<RoutingTable, "policies">, policy: string): "shadow" | "enforce" {
  const modes = table.policies.initialMode;
  const own = Object.hasOwn(modes, policy) ? modes[policy] : undefined;
  return own ?? (Object.hasOwn(modes, "*") ? modes["*"] : undefined) ?? "shadow";
}
