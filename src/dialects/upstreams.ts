import type { ModelOperation } from "../canon/operation.ts";
import type { Dialect } from "./dialect-facts.ts";
import { DIALECTS } from "./table.ts";

const loaded = Object.entries(DIALECTS).map(async ([name, { load }]) => [name, (await load()).dialect] as const);

const UPSTREAMS: ReadonlyMap<string, Dialect> = new Map(await Promise.all(loaded));

/**
 * How a provider is called for an operation.
 *
 * @param dialect of an endpoint whose model has the operation; anything else is a bug.
 */
export function upstreamFor<Operation extends ModelOperation>(
  operation: Operation,
  dialect: string,
): NonNullable<Dialect[Operation]> {
  const upstream = UPSTREAMS.get(dialect)?.[operation];
  if (upstream === undefined) throw new Error(`dialects: ${dialect} has no translator for ${operation}`);
  return upstream;
}
