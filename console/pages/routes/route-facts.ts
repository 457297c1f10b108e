import { isObject, member } from "../../api/client.ts";
import type { Model, RouteSimulation } from "../../api/types.ts";

/** An endpoint of a route, as a plain request to the route meets it. */
export interface RouteEndpoint {
  readonly id: string;
  readonly model: string;
  readonly provider: string;
  readonly region: string;
  readonly capabilities: readonly string[];
  /** US dollars for a million tokens; `null` where the table has no price. */
  readonly price: { readonly input: number | null; readonly output: number | null } | null;
  readonly inPlan: boolean;
  /** The first constraint that excludes it; `null` where none does. */
  readonly leftOutBy: string | null;
  /** Health as the answering process has it; `null` where it is not in the plan. */
  readonly state: string | null;
  /** Its fault; empty where that is not known. */
  readonly trouble: string;
  /** Called without TLS. */
  readonly plaintext: boolean;
}

/** A route with its endpoints; `null` until they have been requested. */
export interface RouteFacts {
  readonly model: Model;
  readonly endpoints: readonly RouteEndpoint[] | null;
}

/** Of an answer of `POST /v1/route/simulate`, whose schema leaves these members open. */
export function endpointsOf({ candidates, plan }: RouteSimulation): readonly RouteEndpoint[] {
  return candidates.map((candidate) => {
    const planned: unknown = plan.find((each) => each.endpoint === candidate.endpoint);
    const failed = candidate.constraints.find(
      ({ verdict }) => verdict === "fail" || verdict === "indeterminate",
    );
    const price = member(candidate, "price");
    return {
      id: candidate.endpoint,
      model: textOf(member(candidate, "model")),
      provider: textOf(member(candidate, "provider")),
      region: textOf(member(candidate, "region")),
      capabilities: textsOf(member(candidate, "capabilities")),
      price: isObject(price)
        ? { input: numberOf(price.input), output: numberOf(price.output) }
        : null,
      inPlan: candidate.in_plan,
      leftOutBy:
        candidate.in_plan || failed === undefined ? null : `${failed.policy}/${failed.constraint}`,
      trouble: "",
      plaintext: false,
      state:
        planned === undefined ? null : textOf(member(member(planned, "status"), "state")) || null,
    };
  });
}

/** The operation to simulate for a route: chat where it has it. */
export function operationOf({ operations }: Model, known: readonly string[]): string | null {
  return known.find((operation) => operations.includes(operation)) ?? null;
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const numberOf = (value: unknown): number | null => (typeof value === "number" ? value : null);
const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
