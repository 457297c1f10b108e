import type { Capability, Feature } from "../../canon/capability.ts";
import { capabilityApprovals, featureApproval, type Approval } from "../../decide/approvals.ts";
import { routeCandidates } from "../../decide/candidates.ts";
import type { SampleRequest } from "../sample-request.ts";
import type { Sight } from "./readers.ts";
import { needToken, type SideView } from "./side-state.ts";
import type { SideStep } from "./side-walk.ts";
import type { OperationUniverse } from "./universe.ts";

/** A need or a feature, which a request has or has not. */
export interface Step {
  readonly need: Capability | null;
  readonly feature: Feature | null;
  /** What assertions see of it; empty for nothing. */
  readonly asserted: string;
  /** Every request has it. */
  readonly isForced: boolean;
  /** Nothing that anybody looks at changes: only the number of requests does. */
  readonly isIdle: boolean;
  /** In the order of the views. */
  readonly sides: readonly SideStep[];
}

/**
 * Needs and features, in the order in which approvals are checked.
 *
 * @param constrained whether the requests have a response schema that no tool can stand in for;
 * `null` where it does not matter.
 */
export function approvalSteps(
  { operation }: SampleRequest,
  universe: OperationUniverse,
  views: readonly SideView[],
  assertions: Sight,
  constrained: boolean | null,
): readonly Step[] {
  const shape = { features: constrained === true ? (["constrained_schema"] as const) : [] };
  const stepOf = (
    name: { readonly need: Capability | null; readonly feature: Feature | null },
    asserted: string,
    isForced: boolean,
    sides: readonly SideStep[],
  ): Step => {
    const isSeen = asserted !== "" || sides.some(({ token }) => token !== "");
    // Signed reasoning has a family, which approvals look at later.
    const isSigned = name.feature === SIGNED;
    return {
      ...name,
      asserted,
      isForced,
      isIdle: !isSeen && !isForced && !isSigned && passesAll(views, sides),
      sides,
    };
  };
  const needs = universe.needs.map((need) => {
    const sides = views.map((view): SideStep => {
      const { opened } = view;
      const approvals =
        opened === null
          ? []
          : capabilityApprovals(opened.workspace, opened.route, { needs: [need], ...shape }, need);
      return { approvals, token: needToken(view, need) };
    });
    return stepOf({ need, feature: null }, assertedName(assertions, "needs", need), false, sides);
  });
  const features = [...universe.features, ...universe.always]
    .toSorted()
    .filter((feature) => feature !== "constrained_schema" || constrained !== false)
    .filter((feature) => feature !== SIGNED || universe.signatureFamilies.length > 0)
    .map((feature) => {
      const sides = views.map((): SideStep => ({
        approvals: [featureApproval(operation, feature)],
        token: "",
      }));
      const isForced =
        universe.always.includes(feature) ||
        (feature === "constrained_schema" && constrained === true);
      return stepOf(
        { need: null, feature },
        assertedName(assertions, "features", feature),
        isForced,
        sides,
      );
    });
  return [...needs, ...features];
}

export const SIGNED = "signed_reasoning";

/** Names that no assertion has are equal to it; but it may see that there is one. */
function assertedName(assertions: Sight, kind: "needs" | "features", name: string): string {
  if (!assertions.sees(`input.request.${kind}`)) return "";
  return assertions.names(name) ? `${kind} ${name}` : `${kind} ~`;
}

function passesAll(views: readonly SideView[], sides: readonly SideStep[]): boolean {
  return views.every(({ table, opened }, index) => {
    if (opened === null) return true;
    const candidates = routeCandidates(table, opened.route);
    const passes = ({ passes: pass }: Approval): boolean => candidates.every(pass);
    return sides[index]?.approvals.every(passes) !== false;
  });
}
