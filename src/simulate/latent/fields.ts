import { BUDGET_STEPS } from "../../canon/limits.ts";
import { CAPABILITY_NAMES } from "../../canon/capability.ts";
import {
  LATENCY_CLASSES,
  RETENTIONS,
  type RoutingTable,
  type Vocabulary,
} from "../../canon/table.ts";
import { type Operation, OPERATIONS } from "../../canon/operation.ts";
import {
  DAY_BUCKETS,
  HOUR_BUCKETS,
  type PolicyCandidate,
  type PolicyInput,
} from "../../canon/policy.ts";
import { REASONING_EFFORTS, TOKEN_BUCKETS } from "../../canon/request.ts";
import { NAMES, OUTSIDE_VOCABULARY } from "../space/universe.ts";
import { type CompiledPolicy, nameTest, zonesOf } from "../../policy/compiled.ts";
import { POLICY_INPUT_SCHEMA } from "../../policy/input-schema.ts";
import { readsPath } from "../../policy/policy-set.ts";
import { policyReader } from "../space/readers.ts";
import { timesOf } from "../space/times.ts";
import { NOT_DECLARED } from "../report/report.ts";
import type { OfSides } from "../sample-request.ts";

/**
 * The members that a policy reads on either side, each with the values of its closed list, the
 * names of both tables, those that only the policy has, and one that none has. Names that the
 * policy takes for equal are one value: those that it does not contain, and that are in the same
 * region groups.
 */
export function latentFields(reads: PolicyReads, tables: TablePair): readonly LatentField[] {
  const declared = JSON.stringify(tables);
  // A label that the policy names is no tier or endpoint that may come.
  const named = reads.named.filter((name) => !declared.includes(JSON.stringify(name)));
  const undeclared = { ...reads, named };
  return [...endpointFields(undeclared, tables), ...inputFields(undeclared, tables)].filter(
    ({ values }) => values.length > 1,
  );
}

function endpointFields(reads: PolicyReads, tables: TablePair): readonly LatentField[] {
  const member = <Name extends keyof PolicyCandidate>(
    name: Name,
    classes: readonly NameClass<PolicyCandidate[Name]>[],
  ): readonly LatentField[] =>
    reads.ofCandidates(name)
      ? [
          field({
            path: `candidates.${name}`,
            row: "endpoint",
            classes,
            of: ({ candidates }) => candidates[0]?.[name],
            set: (input, value) =>
              withCandidate(input, (candidate) => ({ ...candidate, [name]: value })),
          }),
        ]
      : [];
  const names = (kind: keyof typeof NAMES) => open(namesOf(tables, NAMES[kind]), reads);
  const regions = open(namesOf(tables, NAMES.regions), reads, (region) =>
    groupsOf(region, tables, reads),
  );
  return [
    ...member("id", names("endpoints")),
    ...member("rank", closed(["primary", "fallback"], reads)),
    ...member("model", names("models")),
    ...member("provider", names("providers")),
    ...member("region", regions),
    ...member("dialect", names("dialects")),
    ...member("retention", closed(RETENTIONS, reads)),
    ...member("trains_on_data", TRUTH),
    ...member("signature_family", names("signature_families")),
    ...member("latency_class", closed([...LATENCY_CLASSES, "unspecified"], reads)),
    ...(reads.ofCandidates("capabilities")
      ? memberships("candidates.capabilities", "endpoint", CAPABILITY_NAMES, reads, {
          of: ({ candidates }) => candidates[0]?.capabilities ?? [],
          set: (input, capabilities) =>
            withCandidate(input, (candidate) => ({ ...candidate, capabilities })),
        })
      : []),
    ...priceFields(reads),
  ];
}

/**
 * A price has no closed list: the numbers that the policy writes, and one between each two, stand
 * for all.
 */
function priceFields(reads: PolicyReads): readonly LatentField[] {
  if (!reads.ofCandidates("price")) return [];
  const numbers = between(reads.numbers);
  return (["input", "output"] as const)
    .filter((name) => reads.ofCandidates(name))
    .map((name, index): LatentField => {
      // An endpoint without a price has neither of them.
      const values = index === 0 ? [null, ...numbers] : numbers;
      return {
        path: `candidates.price.${name}`,
        row: "endpoint",
        values: values.map((value) => [value === null ? "none" : String(value)]),
        indexOf: ({ candidates }) => priceIndex(candidates[0]?.price?.[name] ?? null, values),
        apply: (input, at) =>
          withCandidate(input, ({ price = null, ...candidate }) => {
            const value = values[at] ?? null;
            if (value === null || (price === null && index > 0)) return candidate;
            return { ...candidate, price: { input: 0, output: 0, ...price, [name]: value } };
          }),
      };
    });
}

/** A number between two of the policy's represents all prices between them. */
function priceIndex(price: number | null, values: readonly (number | null)[]): number {
  if (price === null) return 0;
  const first = values.findIndex((value) => value !== null);
  const next = values.findIndex((value) => value !== null && value >= price);
  if (next === -1) return values.length - 1;
  return values[next] === price || (next - first) % 2 === 0 ? next : next - 1;
}

/** `[5]` → 2.5, 5, 10: below, at and above each number. */
function between(numbers: readonly number[]): readonly number[] {
  const [first] = numbers;
  if (first === undefined) return [1];
  return [
    first / 2,
    ...numbers.flatMap((value, index) => [value, (value + (numbers[index + 1] ?? value * 3)) / 2]),
  ];
}

/** Sections of the input, each of which is one object. */
type Section = "workspace" | "key" | "request" | "budget" | "time";

function inputFields(reads: PolicyReads, tables: TablePair): readonly LatentField[] {
  const member = <Of extends Section, Name extends keyof PolicyInput[Of] & string>(
    section: Of,
    name: Name,
    classes: readonly NameClass<PolicyInput[Of][Name]>[],
    row: LatentRow = "request",
    isRead: boolean = reads.path(`input.${section}.${name}`),
  ): readonly LatentField[] =>
    isRead
      ? [
          field({
            path: `${section}.${name}`,
            row,
            classes,
            of: (input) => input[section][name],
            set: (input, value) => ({ ...input, [section]: { ...input[section], [name]: value } }),
          }),
        ]
      : [];
  const labels = (section: "workspace" | "key", names: readonly string[], row: LatentRow) =>
    reads.path(`input.${section}.labels`)
      ? memberships(`${section}.labels`, row, [...new Set(names)], reads, {
          of: (input) => input[section].labels,
          set: (input, all) => ({ ...input, [section]: { ...input[section], labels: all } }),
        })
      : [];
  const names = (kind: keyof typeof NAMES) => open(namesOf(tables, NAMES[kind]), reads);
  const declared = (name: keyof Vocabulary): readonly string[] =>
    [tables.base, tables.head].flatMap(({ vocabulary }) => vocabulary[name] ?? []);
  const ofKey = (name: "environment" | "workload" | "owner", values: keyof Vocabulary) =>
    member("key", name, closed([...declared(values), ...reads.named, OUTSIDE_VOCABULARY], reads));
  const lengths = [tables.base, tables.head].flatMap(({ models }) =>
    Object.values(models).flatMap(({ dimensions }) => dimensions),
  );
  return [
    ...member(
      "workspace",
      "id",
      names("workspaces"),
      "workspace",
      reads.path("input.workspace.id") || reads.path("data.approved"),
    ),
    ...member("workspace", "tier", names("tiers"), "workspace"),
    ...labels(
      "workspace",
      [...namesOf(tables, ({ vocabulary }) => vocabulary.labels), ...reads.named],
      "workspace",
    ),
    ...member("request", "route", names("routes"), "route"),
    field({
      path: "operation",
      row: "request",
      classes: classesOf(OPERATIONS, (operation) => reads.operationKey(operation)),
      of: ({ operation }) => operation,
      set: (input, operation) => ({ ...input, operation }),
    }),
    ...ofKey("environment", "environments"),
    ...ofKey("workload", "workloads"),
    ...ofKey("owner", "owners"),
    ...labels("key", [...declared("labels"), ...reads.named], "request"),
    ...(reads.path("input.request.needs")
      ? memberships("request.needs", "request", CAPABILITY_NAMES, reads, {
          of: (input) => input.request.needs,
          set: (input, needs) => ({ ...input, request: { ...input.request, needs } }),
        })
      : []),
    ...member("request", "stream", TRUTH),
    ...member("request", "context", closed(TOKEN_BUCKETS, reads)),
    ...member("request", "max_output", closed(TOKEN_BUCKETS, reads)),
    ...member("request", "reasoning_effort", closed(REASONING_EFFORTS, reads)),
    ...member("request", "dimensions", classesOf([0, ...lengths], String)),
    ...member("request", "allow_fallbacks", TRUTH),
    ...member("request", "data_collection", closed(["deny", "allow"], reads)),
    ...member("request", "zdr", TRUTH),
    ...member("budget", "remaining", closed(BUDGET_STEPS, reads)),
    ...member("time", "day", closed(DAY_BUCKETS, reads)),
    ...member("time", "hour", closed(HOUR_BUCKETS, reads)),
    ...(reads.path("input.local_time") ? [localTimeField(reads)] : []),
  ];
}

/** Times in all zones together: only combinations of their clocks that occur. */
function localTimeField({ times: { times, nameOf } }: PolicyReads) {
  return field<string>({
    path: "local_time",
    row: "request",
    classes: classesOf(times.map(nameOf), String),
    of: (input) => nameOf({ ...input.time, local: input.local_time }),
    set: (input, name) => {
      const { local = {} } = times.find((time) => nameOf(time) === name) ?? {};
      return { ...input, local_time: local };
    },
  });
}

/** Reads, strings and numbers of one policy's contents on both sides. */
type PolicyReads = ReturnType<typeof policyReads>;

/** Numbers of a policy that are tried as prices; with more of them the largest are left out. */
const MOST_NUMBERS = 8;

/** @param contents on both sides; at least one. */
export function policyReads(contents: readonly CompiledPolicy[]) {
  const tests = contents.map(({ stringUse }) => nameTest(stringUse));
  const isUsed = (name: string) => tests.some((test) => test(name));
  const inspects = new Set(contents.flatMap(({ stringUse }) => stringUse.inspects));
  const isInspecting = inspects.size > 0;
  // A name that no file has yet may have several of the texts, or begin with one.
  for (const { stringUse } of contents)
    for (const text of stringUse.searches ?? []) inspects.add(`a search for "${text}"`);
  const path = (inputPath: string) => contents.some((content) => readsPath(content, inputPath));
  const readsOperation = path("input.operation");
  return {
    /** Whether a dotted path from `input` or `data` is read. */
    path,
    /**
     * Whether a member of candidates is read: their reads name the list only, and the policy
     * contains the member's name.
     */
    ofCandidates: (member: string) => path("input.candidates") && isUsed(member),
    /** Whether the policy may distinguish the name from every other one. */
    tellsApart: (name: string) => isInspecting || isUsed(name),
    /** Operations with the same text are the same to it. */
    operationKey: (operation: Operation) =>
      JSON.stringify([
        ...contents.map(({ contract }) => contract.operations.includes(operation)),
        readsOperation && (isInspecting || isUsed(operation)) ? operation : "",
      ]),
    /** The times that it distinguishes in the zones that it names. */
    times: timesOf(contents.map(policyReader), [...new Set(contents.flatMap(zonesOf))]),
    /** Numbers that its rules contain, ascending. */
    numbers: numbersIn(contents).slice(0, MOST_NUMBERS),
    /** Strings of its rules, which routes.yaml may not declare yet. */
    named: namesIn(contents),
    /** Built-ins that see more of names than whether they are equal: other names may differ too. */
    inspects: [...inspects].toSorted(),
  };
}

/** Members of the input and values of its closed lists, as JSON. */
const OF_THE_INPUT = JSON.stringify(POLICY_INPUT_SCHEMA);

/** Literals and keys of rules that no closed list has, without the rules of the contract. */
function namesIn(contents: readonly CompiledPolicy[]): readonly string[] {
  const declared = new Set(
    contents.flatMap(({ contract: { constraints, obligations } }) => [
      ...constraints.flatMap(({ name, reasons }) => [name, ...reasons]),
      ...obligations.map(({ name }) => name),
    ]),
  );
  const found = codeOf(contents).flatMap((text) =>
    [...text.matchAll(/["`]([^"`\n]+)["`]|^\w+\.(\w+)/gm)].map(
      ([, literal, key = ""]) => literal ?? key,
    ),
  );
  return [...new Set(found)]
    .filter((name) => !declared.has(name) && !OF_THE_INPUT.includes(JSON.stringify(name)))
    .toSorted();
}

function codeOf(contents: readonly CompiledPolicy[]): readonly string[] {
  return contents.flatMap(({ sources }) =>
    sources.map(({ source }) => source.replaceAll(/#.*$/gm, "")),
  );
}

function numbersIn(contents: readonly CompiledPolicy[]): readonly number[] {
  const found = codeOf(contents).flatMap((text) =>
    [...text.matchAll(/(?<![\w."])\d+(?:\.\d+)?/g)].map(([number]) => Number(number)),
  );
  return [...new Set(found)].filter((number) => number > 0).toSorted((left, right) => left - right);
}

/**
 * The row of routes.yaml that a value stands in; `request`: it comes with each request, and a
 * simulation tries them all.
 */
export type LatentRow = "endpoint" | "workspace" | "route" | "request";

/** A member of the input that a policy reads, with every value that it can distinguish. */
export interface LatentField {
  /**
   * As policies write it, with the name behind it for one value of a list: `candidates.retention`,
   * `workspace.labels.eu`.
   */
  readonly path: string;
  readonly row: LatentRow;
  /**
   * The names that each value represents, as files have them. Values that the policy takes for
   * equal share one.
   */
  readonly values: readonly (readonly string[])[];
  /** The index of the value that an input has. */
  readonly indexOf: (input: PolicyInput) => number;
  readonly apply: (input: PolicyInput, index: number) => PolicyInput;
}

export type TablePair = OfSides<RoutingTable>;

/** Values that a policy takes for equal; the first represents them. */
interface NameClass<Value> {
  readonly members: readonly Value[];
  readonly names: readonly string[];
}

function namesOf(
  { base, head }: TablePair,
  of: (table: RoutingTable) => readonly string[],
): readonly string[] {
  return [...new Set([...of(head), ...of(base)])].toSorted();
}

/** A closed list. */
function closed<Value extends string>(values: readonly Value[], { tellsApart }: PolicyReads) {
  return classesOf(values, (value) => (tellsApart(value) ? value : ""));
}

/**
 * Names that files declare, those of the policy, and one more that none declares yet.
 *
 * @param more other facts about a name that a policy can read.
 */
function open(
  names: readonly string[],
  { tellsApart, named }: PolicyReads,
  more: (name: string) => string = () => "",
): readonly NameClass<string>[] {
  let fresh = "another";
  while (names.includes(fresh)) fresh += "-one";
  const classes = classesOf([...names, ...named, fresh], (name) =>
    tellsApart(name) ? name : `\n${more(name)}`,
  );
  return classes.map(({ members, names: shown }) => ({
    members,
    names: shown.map((name) => (name === fresh ? NOT_DECLARED : name)),
  }));
}

const TRUTH: readonly NameClass<boolean>[] = [false, true].map((value) => ({
  members: [value],
  names: [String(value)],
}));

/** @param keyOf equal for values that the policy takes for equal. */
function classesOf<Value extends string | number>(
  values: readonly Value[],
  keyOf: (value: Value) => string,
): readonly NameClass<Value>[] {
  return [...Map.groupBy(new Set(values), keyOf).values()].map((members) => ({
    members,
    names: members.map(String),
  }));
}

function field<Value>({
  path,
  row,
  classes,
  of,
  set,
}: Pick<LatentField, "path" | "row"> & {
  readonly classes: readonly NameClass<Value>[];
  readonly of: (input: PolicyInput) => Value | undefined;
  readonly set: (input: PolicyInput, value: Value) => PolicyInput;
}): LatentField {
  return {
    path,
    row,
    values: classes.map(({ names }) => names),
    indexOf: (input) => {
      const value = of(input);
      return Math.max(
        0,
        classes.findIndex(({ members }) => members.some((member) => member === value)),
      );
    },
    apply: (input, index) => {
      const value = classes[index]?.members[0];
      return value === undefined ? input : set(input, value);
    },
  };
}

/** A field for each value that a list may have or not, of those that the policy distinguishes. */
function memberships<Value extends string>(
  path: string,
  row: LatentRow,
  values: readonly Value[],
  { tellsApart }: PolicyReads,
  list: {
    readonly of: (input: PolicyInput) => readonly Value[];
    readonly set: (input: PolicyInput, values: readonly Value[]) => PolicyInput;
  },
): readonly LatentField[] {
  return values.filter(tellsApart).map((value) =>
    field<boolean>({
      path: `${path}.${value}`,
      row,
      classes: TRUTH,
      of: (input) => list.of(input).includes(value),
      set: (input, isIncluded) => {
        const others = list.of(input).filter((other) => other !== value);
        return list.set(input, isIncluded ? [...others, value].toSorted() : others);
      },
    }),
  );
}

function withCandidate(
  input: PolicyInput,
  change: (candidate: PolicyCandidate) => PolicyCandidate,
): PolicyInput {
  return { ...input, candidates: input.candidates.map(change) };
}

/**
 * The region groups that a region is in, of those that the policy reads; with approvals, every
 * region is its own.
 */
function groupsOf(region: string, { base, head }: TablePair, reads: PolicyReads): string {
  if (reads.path("data.approved")) return region;
  const groups = [base, head].map(({ regionGroups }) =>
    Object.entries(regionGroups).flatMap(([group, regions]) =>
      reads.path(`data.regions.${group}`) && regions.includes(region) ? [group] : [],
    ),
  );
  return JSON.stringify(groups);
}
