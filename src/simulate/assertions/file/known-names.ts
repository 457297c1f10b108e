import { NO_FAMILY } from "../../../canon/generate/signature.ts";
import type { RoutingTable } from "../../../canon/table.ts";
import type { AssertionSide } from "../assertion.ts";

/** Lists of an assertions file whose names come from routes.yaml, and how to read them there. */
const TABLE_NAMES = {
  workspaces: ({ workspaces }) => Object.keys(workspaces),
  tiers: ({ workspaces }) => Object.values(workspaces).map(({ tier }) => tier),
  labels: ({ workspaces, vocabulary }) => [
    ...vocabulary.labels,
    ...Object.values(workspaces).flatMap(({ labels }) => labels),
  ],
  routes: ({ routes }) => Object.keys(routes),
  environments: ({ vocabulary }) => [...vocabulary.environments, "other"],
  workloads: ({ vocabulary }) => [...vocabulary.workloads, "other"],
  owners: ({ vocabulary }) => [...(vocabulary.owners ?? []), "other"],
  key_labels: ({ vocabulary }) => vocabulary.labels,
  signature_families: ({ models }) => Object.values(models).map(({ signatureFamily }) => signatureFamily ?? NO_FAMILY),
  dimensions: ({ models }) => ["0", ...Object.values(models).flatMap(({ dimensions }) => dimensions.map(String))],
  providers: ({ providers }) => Object.keys(providers),
  regions: (table) => [
    ...Object.entries(table.regionGroups).flatMap(([group, regions]) => [group, ...regions]),
    ...Object.values(table.providers).map(({ region }) => region),
    ...Object.values(table.endpoints).map(({ region }) => region),
  ],
  models: ({ models }) => Object.keys(models),
  endpoints: ({ endpoints }) => Object.keys(endpoints),
} as const satisfies Record<string, (table: RoutingTable) => readonly string[]>;

export type NameKind = keyof typeof TABLE_NAMES;

/** The title of one name of a list, for messages. */
export const NAME_TITLES: Readonly<Record<NameKind, string>> = {
  workspaces: "workspace",
  tiers: "tier",
  labels: "workspace label",
  routes: "route",
  environments: "environment",
  workloads: "workload",
  owners: "owner",
  key_labels: "key label",
  signature_families: "signature family",
  dimensions: "vector length",
  providers: "provider",
  regions: "region",
  models: "model",
  endpoints: "endpoint",
};

export function isNameKind(member: string): member is NameKind {
  return Object.hasOwn(TABLE_NAMES, member);
}

/** The names of one side, read once for a whole file. */
export class KnownNames {
  readonly #side: AssertionSide;
  readonly #names = new Map<NameKind, ReadonlySet<string>>();

  constructor(side: AssertionSide) {
    this.#side = side;
  }

  of(kind: NameKind): ReadonlySet<string> {
    const known = this.#names.get(kind) ?? new Set(TABLE_NAMES[kind](this.#side.table));
    this.#names.set(kind, known);
    return known;
  }

  /** `null` where the policies are unknown. */
  get contracts(): AssertionSide["contracts"] {
    return this.#side.contracts;
  }

  /** `route → endpoint` for every fallback of every route. */
  get edges(): readonly string[] {
    return Object.values(this.#side.table.routes).flatMap(({ id, fallbacks }) =>
      fallbacks.map((endpoint) => `${id} → ${endpoint}`),
    );
  }
}
