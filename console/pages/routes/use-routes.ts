import { useEffect, useState } from "preact/hooks";
import { call, type Failure } from "../../api/client.ts";
import type { Model, RouteSimulation } from "../../api/types.ts";
import { endpointsOf, operationOf, type RouteFacts } from "./route-facts.ts";

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
  const [found, setFound] = useState<ReadonlyMap<string, RouteFacts>>(new Map());
  const [failure, setFailure] = useState<Failure | null>(null);
  const ids = models.slice(0, shown).map(({ id }) => id);
  useEffect(() => {
    const controller = new AbortController();
    const askAll = async (): Promise<void> => {
      for (const model of models.slice(0, shown)) {
        if (controller.signal.aborted || found.has(model.id)) continue;
        const operation = operationOf(model, OPERATIONS);
        if (operation === null) continue;
        const result = await call<RouteSimulation>(`/v1/route/simulate?operation=${operation}`, {
          method: "POST",
          body: { model: model.id },
          signal: controller.signal,
        });
        if (controller.signal.aborted) return;
        if (!result.ok) {
          setFailure(result.failure);
          return;
        }
        const facts: RouteFacts = { model, endpoints: endpointsOf(result.value) };
        setFound((before) => new Map([...before, [model.id, facts]]));
      }
    };
    void askAll();
    return () => controller.abort();
  }, [JSON.stringify(ids)]);
  const routes = models
    .slice(0, shown)
    .map((model) => found.get(model.id) ?? { model, endpoints: null });
  return { routes, failure };
}
