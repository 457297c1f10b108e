import { contentOf, type PolicyStates, type PolicyStatus } from "../lifecycle/policy-states.ts";

/** The slots of a policy by the policy log, the same for every process. */
export interface StoredPolicy {
  readonly id: string;
  /** `null`: nothing is enforced. */
  readonly enforced: StoredSlot | null;
  /** `null`: nothing is in shadow. */
  readonly candidate: StoredSlot | null;
}

export interface StoredSlot {
  readonly revision: number;
  readonly digest: string;
  /** `removal`: the policy's end, which evaluates nothing. */
  readonly content: "rules" | "removal";
  /** When it entered the slot, milliseconds since the epoch; `null` where it was not recorded. */
  readonly since: number | null;
}

/** Every policy of the log that has something in a slot, sorted by id. */
export function storedPolicies({ policies }: Pick<PolicyStates, "policies">): readonly StoredPolicy[] {
  return [...policies.values()]
    .map((status) => ({ id: status.id, enforced: slotOf(status, "enforced"), candidate: slotOf(status, "candidate") }))
    .filter(({ enforced, candidate }) => enforced !== null || candidate !== null);
}

function slotOf(status: PolicyStatus, name: "enforced" | "candidate"): StoredSlot | null {
  const state = status[name];
  if (state === null) return null;
  const { digest, since } = state;
  const { revision, content } = contentOf(status, digest);
  return { revision, digest, content, since };
}
