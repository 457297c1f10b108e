import { OPERATIONS, type Operation } from "../../canon/operation.ts";
import { DAY_BUCKETS, HOUR_BUCKETS } from "../../canon/policy.ts";
import { REASONING_EFFORTS, TOKEN_BUCKETS } from "../../canon/request.ts";
import { RETENTIONS } from "../../canon/retention.ts";
import type { RoutingTable } from "../../canon/table.ts";
import type { CompiledPolicy } from "../../policy/compiled.ts";
import { readsPath } from "../../policy/modules/reads.ts";
import type { Distinctions } from "../sample-request.ts";
import { OUTSIDE_VOCABULARY } from "./universe.ts";

/** Somebody whose answer may depend on members of the input. */
export interface Reader {
  /** `policy:<id>` or `assertions`. */
  readonly name: string;
  /** `null`: all of them. */
  readonly operations: readonly Operation[] | null;
  /** Paths of the input and of the data; each covers everything below it. */
  readonly reads: readonly string[];
  /** Strings that it can distinguish because it contains them. */
  readonly strings: ReadonlySet<string>;
  /** Why it can distinguish any two strings, such as a built-in that looks into text; empty where it cannot. */
  readonly inspects: readonly string[];
  /** Whether its answer may depend on the order of candidates. */
  readonly seesOrder: boolean;
}

/** Of what a policy may do besides comparing words: these look into single words, which no order changes. */
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
 * What a policy can tell apart. A Rego program gives the permuted answer to a permuted input wherever the words that change places do not
 * stand in it and it does not look into words or at their order; so such words need not be tried one by one.
 */
export function policyReader({ contract, reads, words: strings }: CompiledPolicy): Reader {
  return {
    name: `policy:${contract.id}`,
    operations: contract.operations,
    reads,
    strings: new Set(strings.strings),
    inspects: strings.inspects,
    seesOrder:
      readsPath({ reads }, "input.candidates") && strings.inspects.some((reason) => !BLIND_TO_ORDER.has(reason)),
  };
}

export function distinctionReader({ reads, strings }: Distinctions): Reader {
  return { name: "assertions", operations: null, reads, strings: new Set(strings), inspects: [], seesOrder: false };
}

/** Dimensions that share values: a reader of two of them may compare one with the other. */
const SHARED_NAMES: readonly (readonly string[])[] = [
  ["input.request.context", "input.request.max_output", "input.request.reasoning_effort"],
];

/** What the readers of one side and one operation see of requests. */
export class Sight {
  readonly #readers: readonly Reader[];
  /** Names that occur at more than one path of the table: a policy may compare them. */
  readonly #ambiguous: ReadonlySet<string>;

  constructor(readers: readonly Reader[], operation: Operation, ambiguous: ReadonlySet<string>) {
    this.#readers = readers.filter(({ operations }) => operations === null || operations.includes(operation));
    this.#ambiguous = ambiguous;
  }

  /** Whether a reader's answer may depend on the order of candidates. */
  get seesOrder(): boolean {
    return this.#readers.some((reader) => reader.seesOrder);
  }

  sees(path: string): boolean {
    return this.#readers.some((reader) => readsPath(reader, path));
  }

  /** Whether a reader contains the name, at any path. */
  names(name: string): boolean {
    return this.#readers.some(({ strings }) => strings.has(name));
  }

  /** Whether a reader may distinguish the name from every other one at the path. */
  distinguishes(path: string, name: string): boolean {
    return this.#readers.some((reader) => readsPath(reader, path) && this.#canDistinguish(reader, path, name));
  }

  #canDistinguish(reader: Reader, path: string, name: string): boolean {
    if (reader.inspects.length > 0 || reader.strings.has(name) || this.#ambiguous.has(name)) return true;
    const shared = SHARED_NAMES.find((paths) => paths.includes(path)) ?? [];
    return shared.filter((other) => readsPath(reader, other)).length > 1;
  }
}

/** Names that are in two lists of a table, or are the name of a capability too. */
export function ambiguousNames(table: RoutingTable, capabilities: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const ambiguous = new Set<string>();
  for (const list of [capabilities, ...nameLists(table)]) {
    for (const name of new Set(list)) {
      if (seen.has(name)) ambiguous.add(name);
      seen.add(name);
    }
  }
  return ambiguous;
}

/** Each list is one kind of name; within a kind a name may occur several times. */
function nameLists(table: RoutingTable): readonly (readonly string[])[] {
  const workspaces = Object.values(table.workspaces);
  const { environments, workloads, labels } = table.vocabulary;
  return [
    Object.keys(table.workspaces),
    workspaces.map(({ tier }) => tier),
    workspaces.flatMap((workspace) => workspace.labels),
    Object.keys(table.routes),
    Object.keys(table.endpoints),
    Object.keys(table.models),
    Object.keys(table.providers),
    [...Object.values(table.regionGroups).flat(), ...Object.values(table.endpoints).map(({ region }) => region)],
    Object.keys(table.regionGroups),
    Object.values(table.endpoints).map(({ dialect }) => dialect),
    Object.values(table.models).flatMap(({ signatureFamily }) => signatureFamily ?? []),
    // Names outside a vocabulary read alike, so an environment can have the same name as a workload.
    [...environments, OUTSIDE_VOCABULARY],
    [...workloads, OUTSIDE_VOCABULARY],
    labels,
    ...NAMES_OF_ALL,
  ];
}

/** Values of the input that are the same for every table, by path; `none` is also the family of models that sign nothing. */
const NAMES_OF_ALL: readonly (readonly string[])[] = [
  OPERATIONS,
  // Sizes and efforts share a value, and are distinguished where two of them are read.
  [...TOKEN_BUCKETS, ...REASONING_EFFORTS],
  DAY_BUCKETS,
  HOUR_BUCKETS,
  RETENTIONS,
  ["primary", "fallback"],
  ["allow", "deny"],
];
