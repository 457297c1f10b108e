import { editDistance } from "../canon/nearest-name.ts";
import type { Endpoint } from "./contract/endpoint.ts";

/**
 * What clients put before the part of a path that names the operation, by the base URL that they
 * were given.
 */
const BASES: ReadonlySet<string> = new Set([
  "api",
  "openai",
  "anthropic",
  "beta",
  "v1",
  "v1beta",
  "v2",
]);

/** Characters; longer paths are not compared. */
const LONGEST = 200;

/** Slips of the finger in a path that still has a nearest one. */
const FARTHEST = 2;

/**
 * The endpoint that a request for an unknown path, or with another method, was probably for:
 * `POST /api/v1/messages` for `POST /v1/messages`. `null` where none is near. Has nothing of the
 * path that was requested.
 */
export function nearestPath(
  method: string,
  url: string,
  endpoints: readonly Endpoint[],
): string | null {
  const [path = ""] = url.split("?", 1);
  if (path.length > LONGEST) return null;
  const requested = withoutBase(path);
  if (requested.length === 0) return null;
  const found = endpoints.filter((endpoint) => matches(requested, withoutBase(endpoint.path)));
  const near = found.length > 0 ? found : misspelt(requested.join("/"), endpoints);
  const underApi = path.startsWith("/api/");
  const [best] = near.toSorted(
    (left, right) =>
      Number(right.method === method) - Number(left.method === method) ||
      Number(right.path.startsWith("/api/") === underApi) -
        Number(left.path.startsWith("/api/") === underApi),
  );
  return best === undefined ? null : `${best.method} ${best.path}`;
}

function withoutBase(path: string): readonly string[] {
  const segments = path.split("/").filter((segment) => segment !== "");
  const begin = segments.findIndex((segment) => !BASES.has(segment));
  return begin === -1 ? [] : segments.slice(begin);
}

function matches(requested: readonly string[], known: readonly string[]): boolean {
  return (
    requested.length === known.length &&
    known.every((segment, index) => segment.startsWith("{") || segment === requested[index])
  );
}

function misspelt(requested: string, endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const nameOf = ({ path }: Endpoint): string => withoutBase(path).join("/");
  const distanceOf = (endpoint: Endpoint): number => {
    const name = nameOf(endpoint);
    return Math.abs(name.length - requested.length) > FARTHEST
      ? Infinity
      : editDistance(name, requested);
  };
  const least = Math.min(...endpoints.map(distanceOf));
  return least > FARTHEST ? [] : endpoints.filter((endpoint) => distanceOf(endpoint) === least);
}
