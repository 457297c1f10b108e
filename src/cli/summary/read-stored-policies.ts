import { storedPolicies, type StoredPolicy } from "../../governance/policies/stored-policies.ts";
import { PolicyLogError } from "../../lifecycle/fold.ts";
import { openLifecycle } from "../../lifecycle/open-lifecycle.ts";
import type { PolicyLogStore } from "../../lifecycle/policy-log-store.ts";
import { CommandError } from "../terminal/command-io.ts";

/** Where policies stand by their log. Writes nothing. @throws {CommandError} where the log does not hold. */
export async function readStoredPolicies(log: PolicyLogStore): Promise<readonly StoredPolicy[]> {
  try {
    return storedPolicies((await openLifecycle(log, Date.now)).ledger);
  } catch (error) {
    if (error instanceof PolicyLogError) throw new CommandError(error.message);
    throw error;
  }
}
