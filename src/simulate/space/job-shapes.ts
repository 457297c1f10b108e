import type { Universe, OperationUniverse } from "./universe.ts";
import { type Job, type Space, startSample } from "./job-space.ts";
import { preferenceEffects } from "./preference-effects.ts";
import { openSide, type SideView } from "./side-walk.ts";

/** How many requests jobs have, without looking at any. */
export class JobShapes {
  readonly #space: Space;
  readonly #preferences = new Map<string, bigint>();

  constructor(space: Space) {
    this.#space = space;
  }

  /** Requests of one member. */
  of({ pair, operation }: Job): bigint {
    const { universe, sides, prefersRegion } = this.#space;
    const own = universe.operations.get(operation);
    if (own === undefined) return 0n;
    const start = startSample(pair.members[0], operation, universe);
    const views = sides.map(({ table, sightOf }) => openSide(table, sightOf(operation), start));
    const seesOrder = views.some(({ sight }) => sight.seesOrder);
    const key = `${seesOrder}\n${JSON.stringify(views.map(preferenceFacts))}`;
    let preferences = this.#preferences.get(key);
    if (preferences === undefined) {
      const effects = preferenceEffects(universe.preferences, views, { seesOrder, prefersRegion });
      preferences = effects.reduce((sum, { size }) => sum + size, 0n);
      this.#preferences.set(key, preferences);
    }
    return preferences * shapesOf(universe, own);
  }
}

/** What the preferences of callers may name and leave out. */
function preferenceFacts({ opened }: SideView): unknown {
  if (opened === null) return null;
  const { providers, regions, dataCollection, retention } = opened.workspace.approve;
  // What a workspace's ceilings leave out, no caller can order.
  return [opened.route.tiers, providers, regions, dataCollection ?? null, retention ?? null];
}

/** Everything besides preferences. A request with signed reasoning is one for each family. */
function shapesOf(universe: Universe, own: OperationUniverse): bigint {
  const { needs, features, dimensions, signatureFamilies } = own;
  const signed = features.includes("signed_reasoning") ? 1n + BigInt(signatureFamilies.length) : 1n;
  const free = features.filter((name) => name !== "signed_reasoning").length;
  const counts = [
    dimensions.length,
    own.stream.length,
    own.context.length,
    own.maxOutput.length,
    own.reasoningEffort.length,
    universe.environments.length,
    universe.workloads.length,
    universe.owners.length,
    universe.budgets.length,
    universe.times.length,
  ];
  return counts.reduce(
    (all, count) => all * BigInt(count),
    signed << BigInt(needs.length + free + universe.labels.length),
  );
}
