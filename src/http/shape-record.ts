import type { Identity } from "../canon/identity.ts";
import type { ProviderPreferences } from "../canon/request.ts";
import type { RoutingTable, Vocabulary } from "../canon/table.ts";
import type { Question } from "../decide/decide.ts";
import { regionsNamed } from "../decide/narrow.ts";
import {
  UNKNOWN_NAME,
  type PreferencesRecord,
  type DecisionRecord,
  asIdentifier,
  type Identifier,
} from "../evidence/record.ts";

/**
 * What a decision depends on besides what every record has, so that `simulate --evidence` can
 * decide the request again.
 */
type ShapeRecord = Pick<
  DecisionRecord,
  "signatureFamilies" | "dimensions" | "preferences" | "workload" | "owner" | "budget" | "labels"
>;

/**
 * The part of a key that records have; the same for every request of the key under one vocabulary.
 */
const keyParts = new WeakMap<
  Identity,
  { readonly vocabulary: Vocabulary; readonly part: ShapeRecord | null }
>();

/** @returns `null` where a request and its key have none of it, as most do. */
export function shapeRecord(
  table: RoutingTable,
  identity: Identity,
  { shape, preferences, budget }: Omit<Question, "model">,
): ShapeRecord | null {
  const key = keyPart(table, identity);
  const { signatureFamilies, dimensions } = shape;
  const isPlain = preferences === null && dimensions === null && signatureFamilies.length === 0;
  if (isPlain && budget === undefined) return key;
  return {
    ...key,
    ...(signatureFamilies.length > 0 && {
      signatureFamilies: knownFamilies(table, signatureFamilies),
    }),
    ...(budget !== undefined && { budget }),
    ...(dimensions !== null && { dimensions }),
    ...(preferences !== null && { preferences: preferencesRecord(table, preferences) }),
  };
}

function keyPart({ vocabulary }: RoutingTable, identity: Identity): ShapeRecord | null {
  const known = keyParts.get(identity);
  if (known?.vocabulary === vocabulary) return known.part;
  const { workload, labels } = identity;
  const owner = vocabulary.owners?.find((one) => one === identity.owner);
  const part =
    workload === "" && owner === undefined && labels.length === 0
      ? null
      : {
          ...(workload !== "" && { workload: asIdentifier(workload) }),
          ...(owner !== undefined && { owner: asIdentifier(owner) }),
          ...(labels.length > 0 && { labels: labels.map(asIdentifier) }),
        };
  keyParts.set(identity, { vocabulary, part });
  return part;
}

/** A client sends signed reasoning back, and may write any family into it. */
function knownFamilies(table: RoutingTable, families: readonly string[]): readonly Identifier[] {
  const known = new Set(Object.values(table.models).map(({ signatureFamily }) => signatureFamily));
  return families.map((family) => (known.has(family) ? asIdentifier(family) : UNKNOWN_NAME));
}

function preferencesRecord(
  table: RoutingTable,
  preferences: ProviderPreferences,
): PreferencesRecord {
  const { order, only, ignore, region, allow_fallbacks, sort, max_price, data_collection, zdr } =
    preferences;
  const providers = (names: readonly string[]): readonly Identifier[] =>
    once(
      names.map((name) =>
        Object.hasOwn(table.providers, name) ? asIdentifier(name) : UNKNOWN_NAME,
      ),
    );
  return {
    ...(order !== undefined && { order: providers(order) }),
    ...(only !== undefined && { only: providers(only) }),
    ...(ignore !== undefined && { ignore: providers(ignore) }),
    ...(region !== undefined && { region: once(region.map((name) => regionName(table, name))) }),
    ...(allow_fallbacks !== undefined && { allow_fallbacks }),
    ...(sort !== undefined && { sort: { by: sort.by, partition: sort.partition } }),
    ...(max_price !== undefined && { max_price }),
    ...(data_collection !== undefined && { data_collection }),
    ...(zdr !== undefined && { zdr }),
  };
}

/**
 * A name that a list repeats decides nothing more, and 64 of them would make a record six times as
 * long.
 */
function once(names: readonly Identifier[]): readonly Identifier[] {
  return [...new Set(names)];
}

function regionName(table: RoutingTable, name: string): Identifier {
  return regionsNamed(table, name) === null ? UNKNOWN_NAME : asIdentifier(name);
}
