import type { ChangeWord, View } from "../../sample-request.ts";
import type {
  CaseExpectation,
  CaseRequest,
  CoverageMeasure,
  DecisionCondition,
  DecisionDemand,
  EndpointSelector,
  RequestSelector,
  Waiver,
} from "../assertion.ts";

interface AuthoredCommon {
  readonly id: string;
  readonly title: string;
  readonly standpoint?: View | "both";
  readonly waiver?: Waiver;
}

interface AuthoredSelection {
  readonly for?: RequestSelector;
  readonly except?: RequestSelector;
  readonly may_be_empty?: boolean;
}

export interface AuthoredCase {
  readonly name?: string;
  readonly request: CaseRequest;
  readonly expect: CaseExpectation;
}

type AuthoredDemand =
  | ({ readonly kind: "no_new_access"; readonly to?: EndpointSelector } & AuthoredSelection)
  | ({ readonly kind: "access_not_granted"; readonly to: EndpointSelector } & AuthoredSelection)
  | ({ readonly kind: "always_routable"; readonly min_places?: number } & AuthoredSelection)
  | ({ readonly kind: "implies"; readonly if: DecisionCondition; readonly then: DecisionDemand } & AuthoredSelection)
  | ({ readonly kind: "equivalent"; readonly ignoring?: readonly ChangeWord[] } & AuthoredSelection)
  | { readonly kind: "cases"; readonly cases: readonly AuthoredCase[] };

export type AuthoredAssertion = AuthoredDemand & AuthoredCommon;

/** The file as its schema has it, before any word is looked up. */
export interface AuthoredAssertions {
  readonly version: 1;
  readonly assertions: readonly AuthoredAssertion[];
  readonly coverage?: Readonly<Partial<Record<CoverageMeasure, number>>> & { readonly except?: readonly string[] };
}
