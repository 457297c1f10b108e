import { approvePolicy } from "./approve.ts";
import { promotePolicy, releasePolicy, rollBackPolicy, withdrawPolicy } from "./changes.ts";
import type { LifecycleCommand } from "./command.ts";
import { diffPolicy } from "./diff.ts";
import { listPolicies, policyHistory, showPolicy, simulatePromotion } from "./readings.ts";

/** The commands about the policies of a running server, in the order of the help. */
export const LIFECYCLE_COMMANDS: readonly LifecycleCommand[] = [
  listPolicies,
  showPolicy,
  diffPolicy,
  simulatePromotion,
  approvePolicy,
  promotePolicy,
  rollBackPolicy,
  withdrawPolicy,
  releasePolicy,
  policyHistory,
];
