import { hash } from "node:crypto";
import { canonicalJson } from "../../canon/json.ts";
import type { RoutingTable } from "../../canon/table.ts";
import type { PolicyAdministration } from "../../http/control/policies/administration.ts";
import { contentOf, type PolicyStates } from "../../lifecycle/lifecycle.ts";
import { KeptContentError, type RecompiledContent } from "../../policy/kept-content.ts";
import type { PromotionSimulator } from "../../simulate/promotion-simulator.ts";
import type { PromotionInput } from "../../simulate/simulate-promotion.ts";
import { StoreUnavailableError } from "../../canon/error.ts";
import type { Ground } from "../snapshots.ts";
import type { KeptModules } from "./slots.ts";

/**
 * Milliseconds. Waivers of assertions end with a day (UTC), so all simulations of one day are the
 * same.
 */
const DAY = 86_400_000;

/** The serving snapshot and the policy log at the moment of the simulation. */
interface SimulationContext {
  readonly table: RoutingTable;
  readonly assertions: Ground["assertions"];
  readonly states: PolicyStates;
  readonly kept: Pick<KeptModules, "recompiled">;
}

/** `PolicyAdministration.simulate`. */
export async function simulatePromotionOf(
  simulator: PromotionSimulator,
  policy: string,
  digest: string,
  { table, assertions, states, kept }: SimulationContext,
): ReturnType<PolicyAdministration["simulate"]> {
  const status = states.policies.get(policy);
  const content = status?.contents.get(digest);
  if (status === undefined || content === undefined) return "unknown_content";
  if (
    status.enforced?.digest === digest ||
    (status.enforced === null && content.content === "removal")
  )
    return "no_change";
  if (assertions === "unreadable") return "assertions_invalid";
  const enforced = enforcedContents(states);
  const now = Math.floor(Date.now() / DAY) * DAY;
  const input = async (): Promise<PromotionInput> => {
    const acting: RecompiledContent[] = [];
    for (const one of enforced) acting.push(await kept.recompiled(states, one.policy, one.digest));
    const candidate =
      content.content === "removal" ? null : await kept.recompiled(states, policy, digest);
    return {
      table,
      enforced: acting.map((one) => one.policy),
      policy,
      candidate: candidate?.policy ?? null,
      modules: [...acting, candidate].flatMap((one) => one?.module ?? []),
      assertions,
      now,
    };
  };
  const key = canonicalJson([
    table.revision,
    assertions && { path: assertions.path, sha256: hash("sha256", assertions.text, "hex") },
    now,
    policy,
    digest,
    enforced.map((one) => one.digest),
  ]);
  const made = await simulator.simulate(key, input).catch((error: unknown) => {
    if (error instanceof StoreUnavailableError || error instanceof KeptContentError)
      return "unavailable" as const;
    throw error;
  });
  if (typeof made === "string") return made;
  return { ...made, tableRevision: table.revision, enforced: status.enforced?.digest ?? null };
}

/** Of everything with rules that is enforced, by policy. */
function enforcedContents(
  states: PolicyStates,
): readonly { readonly policy: string; readonly digest: string }[] {
  return [...states.policies.values()].flatMap((status) => {
    if (status.enforced === null || contentOf(status, status.enforced.digest).content === "removal")
      return [];
    return [{ policy: status.id, digest: status.enforced.digest }];
  });
}
