import { call, type Failure } from "../../api/client.ts";
import type { Model, RouteSimulation } from "../../api/types.ts";
import { endpointsOf, operationOf, type RouteFacts } from "./route-facts.ts";
import { useInTurn } from "./use-in-turn.ts";

/** In the order of simulation: a route that has several is drawn by the first. */
export const OPERATIONS = [
  "chat.completions",
  "messages",
  "responses",
  "completions",
  "embeddings",
  "rerank",
  "moderations",
] as const;

/**
 * Routes that are simulated at a time: each is one simulation, of which a workspace has so many a
 * minute.
 */
export const PAGE = 12;

/**
 * The endpoints of the first routes, one after the other.
 *
 * @param models of one answer; another answer begins anew.
 */
export function useRoutes(
  models: readonly Model[],
  shown: number,
): {
  readonly routes: readonly RouteFacts[];
  readonly failure: Failure | null;
} {
  const shownOnes = models.slice(0, shown);
  const found = useInTurn(
    shownOnes.map(({ id }) => id),
    (id, signal) => {
      const model = models.find((each) => each.id === id);
      const operation = model === undefined ? null : operationOf(model, OPERATIONS);
      return operation === null
        ? null
        : call<RouteSimulation>(`/v1/route/simulate?operation=${operation}`, {
            method: "POST",
            body: { model: id },
            signal,
          });
    },
  );
  const failed = [...found.values()].find(({ ok }) => !ok);
  const routes = shownOnes.map((model) => {
    const result = found.get(model.id);
    return { model, endpoints: result?.ok === true ? endpointsOf(result.value) : null };
  });
  return { routes, failure: failed?.ok === false ? failed.failure : null };
}
