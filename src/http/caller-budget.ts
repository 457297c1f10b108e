import type { BudgetStep } from "../canon/budget-step.ts";
import type { ServiceError } from "../canon/error.ts";
import { codedError } from "../canon/errors/coded-error.ts";
import type { Identity } from "../canon/identity.ts";
import { limitedSubjects } from "./limited-subjects.ts";
import type { Runtime } from "./runtime.ts";
import type { Snapshot } from "./snapshot.ts";

type Budget = BudgetStep | undefined | ServiceError;

/** What is left of a caller's budgets, as policies read it; `undefined` where none does. Where the counters cannot be read: the error of a limit. */
export function callerBudget(
  runtime: Pick<Runtime, "budgets">,
  { decider: { table, policies } }: Snapshot,
  identity: Identity,
): Budget | Promise<Budget> {
  if (!policies.readsBudget) return undefined;
  const step = runtime.budgets?.stepOf(limitedSubjects(table, identity)) ?? "unlimited";
  return step instanceof Promise ? step.then((known) => known ?? unknown()) : step;
}

function unknown(): ServiceError {
  return codedError(
    "limits_unavailable",
    "The router could not read the limit counters, which its policies need, so it does not send the request. Try again later.",
  );
}
