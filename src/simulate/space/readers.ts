import { remembered } from "../remembered.ts";
import { BUDGET_STEPS } from "../../canon/limits.ts";
import { CAPABILITY_NAMES } from "../../canon/capability.ts";
import { WEEKDAYS, DAY_BUCKETS, HOUR_BUCKETS } from "../../canon/policy.ts";
import { LATENCY_CLASSES, RETENTIONS, type RoutingTable } from "../../canon/table.ts";
import { OPERATIONS, type Operation } from "../../canon/operation.ts";
import { REASONING_EFFORTS, TOKEN_BUCKETS } from "../../canon/request.ts";
import { nameTest, type CompiledPolicy } from "../../policy/compiled.ts";
import { readsAllOf, readsPath } from "../../policy/policy-set.ts";
import type { Distinctions } from "../sample-request.ts";
import { zoneReading, type ClockReader, type ZoneReading } from "./times.ts";
import { NAMES, OUTSIDE_VOCABULARY } from "./universe.ts";

/** A policy or an assertion, whose answer may depend on members of the input. */
export interface Reader extends ClockReader {
  /** `policy:<id>` or `assertions`. */
  readonly name: string;
  /** `null`: all of them. */
  readonly operations: readonly Operation[] | null;
  /** Whether its answer may depend on the order of candidates. */
  readonly seesOrder: boolean;
}

/**
 * Built-ins that look into single strings, so that their result does not depend on the order of
 * candidates.
 */
const BLIND_TO_ORDER: ReadonlySet<string> = new Set([
  "count",
  "contains",
  "endswith",
  "startswith",
  "indexof",
  "lower",
  "upper",
  "replace",
  "split",
  "substring",
  "trim",
  "trim_left",
  "trim_prefix",
  "trim_right",
  "trim_space",
  "trim_suffix",
  "glob.match",
  "regex.match",
]);

/**
 * The distinctions that a policy can make. A Rego program gives the permuted answer to a permuted
 * input if it does not contain the permuted strings, and looks neither into strings nor at their
 * order. Such strings need not be tried one by one.
 */
export function policyReader({
  contract,
  reads,
  relates,
  hours,
  stringUse: strings,
}: CompiledPolicy): Reader {
  return {
    name: `policy:${contract.id}`,
    operations: contract.operations,
    reads,
    names: nameTest(strings),
    inspects: strings.inspects,
    relates,
    hours,
    seesOrder:
      readsPath({ reads }, CANDIDATES) &&
      strings.inspects.some((reason) => !BLIND_TO_ORDER.has(reason)),
  };
}

export function distinctionReader({ reads, strings }: Distinctions): Reader {
  return {
    name: "assertions",
    operations: null,
    reads,
    names: nameTest({ strings }),
    inspects: [],
    relates: true,
    hours: [],
    seesOrder: false,
  };
}

/** Dimensions that share values: a reader of two of them may compare one with the other. */
const SIZES: readonly string[] = [
  "input.request.context",
  "input.request.max_output",
  "input.request.reasoning_effort",
];

export type Projection = ReturnType<typeof projectionFor>;

/**
 * Which values the readers of one side and one operation distinguish.
 *
 * @param ambiguous names of the side's table; `null`: assertions name values of one kind each.
 */
export function projectionFor(
  all: readonly Reader[],
  operation: Operation,
  ambiguous: AmbiguousNames | null,
) {
  const readers = all.filter(
    ({ operations }) => operations === null || operations.includes(operation),
  );
  const cache = new Map<string, boolean>();
  const zones = new Map<string, ZoneReading>();
  const canDistinguish = (reader: Reader, path: string, name: string) => {
    if (reader.inspects.length > 0 || reader.names(name)) return true;
    if (!reader.relates) return false;
    if (ambiguous?.of(reader).has(name) === true) return true;
    return SIZES.includes(path) && SIZES.filter((size) => readsPath(reader, size)).length > 1;
  };
  return {
    /** Whether a reader's answer may depend on the order of candidates. */
    seesOrder: readers.some((reader) => reader.seesOrder),
    sees: (path: string) =>
      remembered(cache, path, () => readers.some((reader) => readsPath(reader, path))),
    zone: (name: string) => remembered(zones, name, () => zoneReading(readers, name)),
    /** Whether a reader sees more of a list than whether names that it contains are in it. */
    seesAllOf: (path: string) => readers.some((reader) => readsAllOf(reader, path)),
    /** Whether a reader contains the name, at any path. */
    names: (name: string) => readers.some(({ names }) => names(name)),
    /** Whether a reader may distinguish the name from every other one at the path. */
    distinguishes: (path: string, name: string) =>
      readers.some((reader) => readsPath(reader, path) && canDistinguish(reader, path, name)),
  };
}

const CANDIDATES = "input.candidates";

/** A kind of name: within one a name may occur several times, and means the same. */
interface NameKind {
  /** Where policies find names of the kind. */
  readonly paths: readonly string[];
  readonly names: readonly string[];
}

export type AmbiguousNames = ReturnType<typeof ambiguousNames>;

/** Names that mean two things in a table: a policy that reads both may compare them. */
export function ambiguousNames(table: RoutingTable) {
  const kinds = kindsOf(table);
  const cache = new WeakMap<readonly string[], ReadonlySet<string>>();
  return {
    /** Names of two kinds, whichever reader needs them. */
    all: () => repeated(kinds),
    /** Names of two kinds that a reader reads both, and may compare. */
    of: (reader: Pick<Reader, "reads" | "relates">) =>
      reader.relates
        ? remembered(cache, reader.reads, () =>
            repeated(kinds.filter(({ paths }) => paths.some((path) => readsPath(reader, path)))),
          )
        : NO_NAMES,
  };
}

const NO_NAMES: ReadonlySet<string> = new Set();

function repeated(kinds: readonly NameKind[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const found = new Set<string>();
  for (const { names } of kinds) {
    for (const name of new Set(names)) {
      if (seen.has(name)) found.add(name);
      seen.add(name);
    }
  }
  return found;
}

function kindsOf(table: RoutingTable): readonly NameKind[] {
  const { environments, workloads, owners = [], labels } = table.vocabulary;
  const kind = (paths: readonly string[], names: readonly string[]): NameKind => ({ paths, names });
  return [
    kind(["input.request.needs", CANDIDATES, "data.approved.capabilities"], CAPABILITY_NAMES),
    kind(["input.workspace.id", "data.approved"], NAMES.workspaces(table)),
    kind(["input.workspace.tier"], NAMES.tiers(table)),
    kind(["input.workspace.labels"], NAMES.labels(table)),
    kind(["input.request.route", "data.approved.routes"], NAMES.routes(table)),
    kind([CANDIDATES], NAMES.endpoints(table)),
    kind([CANDIDATES], NAMES.models(table)),
    kind([CANDIDATES, "data.approved.providers"], NAMES.providers(table)),
    kind([CANDIDATES, "data.regions", "data.approved.regions"], NAMES.regions(table)),
    kind(["data.regions"], NAMES.region_groups(table)),
    kind([CANDIDATES], NAMES.dialects(table)),
    kind([CANDIDATES], NAMES.signature_families(table)),
    // Names outside a vocabulary read alike, so an environment can have the same name as a
    // workload.
    kind(["input.key.environment"], [...environments, OUTSIDE_VOCABULARY]),
    kind(["input.key.workload"], [...workloads, OUTSIDE_VOCABULARY]),
    kind(["input.key.owner"], [...owners, OUTSIDE_VOCABULARY]),
    kind(["input.key.labels"], labels),
    ...NAMES_OF_ALL,
  ];
}

/**
 * Values of the input that are the same for every table, by path; `none` is also the family of
 * models that sign nothing.
 */
const NAMES_OF_ALL: readonly NameKind[] = [
  { paths: ["input.operation"], names: OPERATIONS },
  // Sizes and efforts share a value, and are distinguished where two of them are read.
  { paths: SIZES, names: [...TOKEN_BUCKETS, ...REASONING_EFFORTS] },
  { paths: ["input.time.day"], names: DAY_BUCKETS },
  { paths: ["input.time.hour"], names: HOUR_BUCKETS },
  { paths: ["input.local_time"], names: WEEKDAYS },
  { paths: ["input.budget.remaining"], names: BUDGET_STEPS },
  { paths: [CANDIDATES], names: RETENTIONS },
  { paths: [CANDIDATES], names: [...LATENCY_CLASSES, "unspecified"] },
  { paths: [CANDIDATES], names: ["primary", "fallback"] },
  { paths: ["input.request.data_collection"], names: ["allow", "deny"] },
];
