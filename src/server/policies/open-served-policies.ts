import { PolicyLogError } from "../../lifecycle/fold.ts";
import { openLifecycle } from "../../lifecycle/open-lifecycle.ts";
import { ToolchainError } from "../../policy/toolchain/error.ts";
import type { PolicyLogStore } from "../../lifecycle/policy-log-store.ts";
import { StartError } from "../start-error.ts";
import type { BuiltSnapshot, SnapshotSupply } from "../snapshots.ts";
import { ServedPolicies } from "./served-policies.ts";
import { ContentUnusableError } from "./slots.ts";

/** @throws {StartError} when the policy log does not hold. @throws {StoreUnavailableError} */
export async function openServedPolicies(supply: SnapshotSupply, log: PolicyLogStore): Promise<ServedPolicies> {
  return await sayingWhy(async () => new ServedPolicies(supply, log, await openLifecycle(log, Date.now)));
}

/** The first snapshot. @throws {StartError} saying what keeps the server from starting. @throws {StoreUnavailableError} */
export async function startPolicies(policies: ServedPolicies): Promise<BuiltSnapshot> {
  return await sayingWhy(() => policies.start());
}

/** Errors whose messages are for operators, as the one that commands print. */
async function sayingWhy<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ContentUnusableError || error instanceof PolicyLogError || error instanceof ToolchainError)
      throw new StartError(error.message, { cause: error });
    throw error;
  }
}
