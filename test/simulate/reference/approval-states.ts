import type { Capability, Feature } from "../../../src/canon/capability.ts";
import { routeCandidates } from "../../../src/decide/candidates.ts";
import {
  capabilityApprovals,
  featureApproval,
  endpointApprovals,
  type Approval,
} from "../../../src/decide/approvals.ts";
import {
  isNarrowed,
  NARROWED,
  type SampleRequest,
  preferenceValues,
} from "../../../src/simulate/sample-request.ts";
import { merged, StateNumbers, type ApprovalState, type Common } from "./approval-state.ts";
import { joinedNames } from "../../../src/simulate/space/levels.ts";
import type { Projection } from "../../../src/simulate/space/readers.ts";
import type { PreferenceEffect } from "../../../src/simulate/space/preference-effects.ts";
import { approveSide, needToken, seeNeed, startSide, type SideView } from "./side-state.ts";
import type { OperationUniverse } from "../../../src/simulate/space/universe.ts";

/** What one step makes of a request that takes it. */
interface Step {
  readonly needed: Capability | Feature;
  readonly kind: "needs" | "features";
  readonly asserted: string;
  readonly isForced: boolean;
  /** Nothing that anybody looks at changes: only the number of requests does. */
  readonly isIdle: boolean;
  /** For each view: the requirements on candidates, and what policies see. */
  readonly approvals: readonly (readonly Approval[])[];
  readonly tokens: readonly string[];
}

/**
 * Every state that requests of one workspace, route and operation can reach, with the number of
 * requests in each. Needs and features are taken one by one, in the order in which approvals are
 * evaluated, and requests that have come to the same state go on as one: so the subsets of a
 * hundred values need not be written out.
 *
 * @param matters receives the needs and features by which requests reach different states.
 */
export function approvalStates(
  sample: SampleRequest,
  universe: OperationUniverse,
  preferences: readonly PreferenceEffect[],
  views: readonly SideView[],
  assertions: Projection,
  matters: Set<string>,
): readonly ApprovalState[] {
  const emulates = views.some(({ opened }) => opened?.route.emulateSchema === true);
  const couples = emulates && universe.features.includes("constrained_schema");
  const numbers = new StateNumbers();
  const walks = (couples ? [false, true] : [null]).map(
    (constrained) =>
      new Walk(sample, universe, preferences, views, assertions, constrained, numbers),
  );
  return merged(
    walks.flatMap((walk) => walk.states(matters)),
    numbers,
    () => "",
  );
}

class Walk {
  readonly #sample: SampleRequest;
  readonly #universe: OperationUniverse;
  readonly #preferences: readonly PreferenceEffect[];
  readonly #views: readonly SideView[];
  readonly #assertions: Projection;
  /**
   * Whether these requests have a response schema that no tool can stand in for; `null` where it
   * does not matter.
   */
  readonly #constrained: boolean | null;
  readonly #numbers: StateNumbers;

  constructor(
    sample: SampleRequest,
    universe: OperationUniverse,
    preferences: readonly PreferenceEffect[],
    views: readonly SideView[],
    assertions: Projection,
    constrained: boolean | null,
    numbers: StateNumbers,
  ) {
    this.#sample = sample;
    this.#universe = universe;
    this.#preferences = preferences;
    this.#views = views;
    this.#assertions = assertions;
    this.#constrained = constrained;
    this.#numbers = numbers;
  }

  states(matters: Set<string>): readonly ApprovalState[] {
    let states = merged(this.#starts(), this.#numbers);
    for (const step of this.#steps()) {
      if (!step.isIdle && !step.isForced) matters.add(`${step.kind} ${step.needed}`);
      const taken = step.isIdle ? [] : states.map((state) => this.#take(state, step));
      if (step.isForced) states = merged(taken, this.#numbers);
      else if (step.isIdle) states = states.map((state) => ({ ...state, size: state.size * 2n }));
      else states = merged([...states, ...taken], this.#numbers);
    }
    return states.flatMap((state) => this.#finish(state));
  }

  #starts(): readonly ApprovalState[] {
    return this.#preferences.flatMap(({ preferences, sides, size }) =>
      this.#universe.dimensions.map((dimensions): ApprovalState => {
        const request = "input.request";
        const asserted = [
          this.#asserts(`${request}.allow_fallbacks`, preferences?.allow_fallbacks !== false),
          this.#asserts(`${request}.data_collection`, preferences?.data_collection ?? "deny"),
          this.#asserts(`${request}.zdr`, preferences?.zdr === true),
          this.#asserts(`${request}.dimensions`, dimensions),
          this.#asserts(NARROWED, isNarrowed(preferences)),
        ];
        return {
          part: { needs: [], features: [], signatureFamilies: [], dimensions, preferences },
          sides: sides.flatMap((side, index) => {
            const view = this.#views[index];
            return view === undefined ? [] : [startSide(view, side, preferences, dimensions)];
          }),
          asserted: asserted.join("|"),
          common: { needs: [], features: [] },
          taken: new Map([
            ...preferenceValues(preferences),
            ["dimensions", [String(dimensions ?? "none")]],
          ]),
          size,
        };
      }),
    );
  }

  #asserts(path: string, value: string | number | boolean | null): string {
    return this.#assertions.sees(path) ? String(value) : "";
  }

  #steps(): readonly Step[] {
    const { needs, features, always } = this.#universe;
    const steps: Step[] = [];
    for (const needed of needs) {
      const asserted = this.#assertedName("needs", needed);
      const approvals = this.#views.map((view) => this.#needed(view, needed));
      const tokens = this.#views.map((view) => needToken(view, needed));
      const isIdle =
        asserted === "" && tokens.every((token) => token === "") && this.#passesAll(approvals);
      steps.push({ needed, kind: "needs", asserted, isForced: false, isIdle, approvals, tokens });
    }
    for (const needed of [...features, ...always].toSorted()) {
      if (needed === "constrained_schema" && this.#constrained === false) continue;
      const isSigned = needed === "signed_reasoning" && this.#universe.signatureFamilies.length > 0;
      if (needed === "signed_reasoning" && !isSigned) continue;
      const asserted = this.#assertedName("features", needed);
      const isForced =
        always.includes(needed) || (needed === "constrained_schema" && this.#constrained === true);
      const approvals = this.#views.map(() => [featureApproval(this.#sample.operation, needed)]);
      const isIdle = asserted === "" && !isForced && !isSigned && this.#passesAll(approvals);
      steps.push({ needed, kind: "features", asserted, isForced, isIdle, approvals, tokens: [] });
    }
    return steps;
  }

  /** Names that no assertion has are equal to it; but it may see that there is one. */
  #assertedName(kind: Step["kind"], needed: string): string {
    const path = `input.request.${kind}`;
    if (!this.#assertions.sees(path)) return "";
    return this.#assertions.names(needed) ? `${kind} ${needed}` : `${kind} ~`;
  }

  /** @param approvals of each view */
  #passesAll(approvals: readonly (readonly Approval[])[]): boolean {
    return this.#views.every(({ table, opened }, index) => {
      if (opened === null) return true;
      const candidates = routeCandidates(table, opened.route);
      return (approvals[index] ?? []).every((approval) =>
        candidates.every((candidate) => approval.passes(candidate)),
      );
    });
  }

  #needed({ opened }: SideView, capability: Capability): readonly Approval[] {
    if (opened === null) return [];
    const shape = {
      needs: [capability],
      features: this.#constrained === true ? (["constrained_schema"] as const) : [],
    };
    return capabilityApprovals(opened.workspace, opened.route, shape, capability);
  }

  #take(state: ApprovalState, step: Step): ApprovalState {
    const { kind, needed } = step;
    const { needs, features } = this.#universe;
    const capability = kind === "needs" ? needs.find((name) => name === needed) : undefined;
    const feature =
      kind === "features"
        ? [...features, ...this.#universe.always].find((name) => name === needed)
        : undefined;
    const sides = state.sides.map((side, index) => {
      const view = this.#views[index];
      if (view === undefined) return side;
      return seeNeed(
        approveSide(view, side, step.approvals[index] ?? []),
        step.tokens[index] ?? "",
      );
    });
    const more = <Part extends Common>(part: Part): Part => ({
      ...part,
      needs: capability === undefined ? part.needs : [...part.needs, capability],
      features: feature === undefined ? part.features : [...part.features, feature],
    });
    return {
      ...state,
      part: more(state.part),
      common: more(state.common),
      sides,
      asserted: state.asserted.split("\n").includes(step.asserted)
        ? state.asserted
        : joinedNames(state.asserted, step.asserted),
    };
  }

  /** Signed reasoning has a family; then the candidates are looked at. */
  #finish(state: ApprovalState): readonly ApprovalState[] {
    const isSigned = state.part.features.includes("signed_reasoning");
    const families = isSigned ? this.#universe.signatureFamilies : [[]];
    return families.map((signatureFamilies) => {
      const { operation } = this.#sample;
      const shape = { operation, dimensions: state.part.dimensions, signatureFamilies };
      const sides = state.sides.map((side, index) => {
        const view = this.#views[index];
        if (view?.opened == null) return side;
        return approveSide(view, side, endpointApprovals(view.table, view.opened.workspace, shape));
      });
      const seen = this.#assertions.sees("input.request.signature_families")
        ? signatureFamilies
        : [];
      const asserted = seen.reduce(
        (text, family) => joinedNames(text, `family ${family}`),
        state.asserted,
      );
      return { ...state, part: { ...state.part, signatureFamilies }, sides, asserted };
    });
  }
}
