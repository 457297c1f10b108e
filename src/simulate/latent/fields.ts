import { BUDGET_STEPS } from "../../canon/limits.ts";
import { CAPABILITY_NAMES } from "../../canon/capability.ts";
import { LATENCY_CLASSES, RETENTIONS, type Vocabulary } from "../../canon/table.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import {
  DAY_BUCKETS,
  HOUR_BUCKETS,
  type PolicyCandidate,
  type PolicyInput,
} from "../../canon/policy.ts";
import { REASONING_EFFORTS, TOKEN_BUCKETS } from "../../canon/request.ts";
import { NAMES, OUTSIDE_VOCABULARY } from "../space/universe.ts";
import {
  classesOf,
  closed,
  field,
  groupsOf,
  memberships,
  namesOf,
  open,
  truth,
  withCandidate,
  type LatentField,
  type LatentRow,
  type NameClass,
  type PolicyReads,
  type TablePair,
} from "./name-classes.ts";

/**
 * The members that a policy reads on either side, each with the values of its closed list, the
 * names of both tables, those that only the policy has, and one that none has. Names that the policy takes for equal are one
 * value: those that it does not contain, and that are in the same region groups.
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
    ...member("trains_on_data", truth()),
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
    ...member("request", "stream", truth()),
    ...member("request", "context", closed(TOKEN_BUCKETS, reads)),
    ...member("request", "max_output", closed(TOKEN_BUCKETS, reads)),
    ...member("request", "reasoning_effort", closed(REASONING_EFFORTS, reads)),
    ...member("request", "dimensions", classesOf([0, ...lengths], String)),
    ...member("request", "allow_fallbacks", truth()),
    ...member("request", "data_collection", closed(["deny", "allow"], reads)),
    ...member("request", "zdr", truth()),
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
