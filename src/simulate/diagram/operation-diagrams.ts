import type { Operation } from "../../canon/operation.ts";
import type { Budget } from "./budget.ts";
import type { Diagrams } from "./diagrams.ts";
import type { Level } from "../space/levels.ts";
import type { Profiles } from "./profiles.ts";

/** The diagrams of one operation, which both sides share. */
export interface OperationDiagrams {
  readonly operation: Operation;
  readonly diagrams: Diagrams;
  readonly levels: readonly Level[];
  readonly profiles: Profiles;
  readonly budget: Budget;
}
