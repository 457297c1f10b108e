import type { Capability } from "../canon/capability.ts";
import { editDistance } from "../canon/diagnostic.ts";
import type { Feature } from "../canon/generate/feature.ts";
import type { JsonObject } from "../canon/json.ts";

/**
 * What a member of a request is to us (protocols.md §6).
 * `core`: shapes the answer; `capability`: asks for something that a route and a workspace must approve; `region`: says where content may be processed, which the
 * routing table decides; `state`: asks somebody to keep content, refused unless it says no; `egress`: lets a provider call somebody else;
 * `identity`: tells who the caller's user is, taken out before the request leaves; `hint`: may help, may be ignored by a provider;
 * `ours`: read by the router, never sent.
 */
export type FieldClass = "core" | "capability" | "region" | "state" | "egress" | "identity" | "hint" | "ours";

export interface FieldFacts {
  readonly class: FieldClass;
  /** The capability that the member needs when it has a value; finer rules stand in the dialect's parser. */
  readonly needs?: Capability;
  /** The feature that the member uses when it has a value; finer rules stand in the dialect's parser. */
  readonly uses?: Feature;
}

export type FieldRegistry = Readonly<Record<string, FieldFacts>>;

/** Top-level members of a body that the registry does not know, in the body's order. `undefined`-free, so cheap on the hot path. */
export function unknownFields(registry: FieldRegistry, body: object): readonly string[] {
  let unknown: string[] | null = null;
  for (const name in body) {
    if (!Object.hasOwn(registry, name)) (unknown ??= []).push(name);
  }
  return unknown ?? NONE;
}

const NONE: readonly string[] = Object.freeze([]);

/** The registered name nearest to a mistyped one (at most two edits away), or `null`. */
export function nearestField(registry: FieldRegistry, name: string): string | null {
  let best: string | null = null;
  let bestDistance = 3;
  for (const known of Object.keys(registry)) {
    if (Math.abs(known.length - name.length) > 2) continue;
    const distance = editDistance(known, name);
    if (distance < bestDistance) {
      best = known;
      bestDistance = distance;
    }
  }
  return best;
}

/** Whether an object holds a member with a value that is not among `known`. Null counts as absent. */
export function hasStranger(object: JsonObject, known: ReadonlySet<string>): boolean {
  for (const name in object) if (!known.has(name) && object[name] !== null && object[name] !== undefined) return true;
  return false;
}
