import type { JsonObject, JsonValue } from "../../../canon/json.ts";

/** Hints that only the protocol's own provider takes; clouds refuse requests that have them. */
const DIRECT_HINTS: ReadonlySet<string> = new Set(["service_tier", "speed", "diagnostics"]);

/**
 * Members that are the router's to set. A route that forwards unknown members would else let callers turn on beta features that the
 * provider's row does not list.
 */
const OURS: ReadonlySet<string> = new Set(["anthropic_version", "anthropic_beta"]);

/** A body for a cloud, and the registered names of what was taken out of it. */
export interface HostedBody {
  readonly body: Record<string, JsonValue | undefined>;
  readonly stripped: readonly string[];
}

/**
 * The members of a request that a cloud takes, with the cloud's word for the version.
 *
 * @param elsewhere members that the cloud reads somewhere else, such as in the path.
 */
export function hostedBody(body: JsonObject, version: string, elsewhere: readonly string[]): HostedBody {
  // Without a prototype: a member that is called `__proto__` must travel as a member, not become one.
  const kept: Record<string, JsonValue | undefined> = Object.create(null);
  const stripped: string[] = [];
  for (const name in body) {
    if (DIRECT_HINTS.has(name)) stripped.push(name);
    else if (OURS.has(name)) stripped.push("unknown_field");
    else if (!elsewhere.includes(name)) kept[name] = body[name];
  }
  kept["anthropic_version"] = version;
  return { body: kept, stripped };
}

/** The value of a header in a list of names and values by turns; `null` where it is absent. */
export function headerIn(headers: readonly string[], name: string): string | null {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] === name) return headers[index + 1] ?? null;
  }
  return null;
}
