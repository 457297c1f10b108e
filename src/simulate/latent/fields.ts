import { BUDGET_STEPS } from "../../canon/budget-step.ts";
import { CAPABILITY_NAMES } from "../../canon/capability.ts";
import { LATENCY_CLASSES } from "../../canon/latency-class.ts";
import { NO_FAMILY } from "../../canon/generate/signature.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import { DAY_BUCKETS, HOUR_BUCKETS, type PolicyCandidate, type PolicyInput } from "../../canon/policy.ts";
import { REASONING_EFFORTS, TOKEN_BUCKETS } from "../../canon/request.ts";
import { RETENTIONS } from "../../canon/retention.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { OUTSIDE_VOCABULARY } from "../space/universe.ts";
import {
  classesOf,
  closed,
  field,
  groupsOf,
  memberships,
  namesOf,
  type LatentField,
  type NameClass,
  open,
  type TablePair,
  truth,
  withCandidate,
} from "./name-classes.ts";
import type { PolicyReads } from "./policy-reads.ts";

/**
 * The members that a policy reads on either side, each with the values of its closed list, the names of both tables and one name that none has.
 * Names that the policy takes for equal are one value: those that it does not contain, and that are in the same region groups.
 */
export function latentFields(reads: PolicyReads, tables: TablePair): readonly LatentField[] {
  return [
    ...endpointFields(reads, tables),
    ...workspaceFields(reads, tables),
    ...routeFields(reads, tables),
    ...requestFields(reads, tables),
  ].filter(({ values }) => values.length > 1);
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
            set: (input, value) => withCandidate(input, (candidate) => ({ ...candidate, [name]: value })),
          }),
        ]
      : [];
  const names = (of: (table: RoutingTable) => readonly string[]): readonly string[] => namesOf(tables, of);
  const endpoints = (of: (row: RoutingTable["endpoints"][string]) => string): readonly string[] =>
    names((table) => Object.values(table.endpoints).map(of));
  const families = names((table) =>
    Object.values(table.models).map(({ signatureFamily }) => signatureFamily ?? NO_FAMILY),
  );
  const regions = names((table) => [
    ...Object.values(table.regionGroups).flat(),
    ...Object.values(table.providers).map(({ region }) => region),
    ...Object.values(table.endpoints).map(({ region }) => region),
  ]);
  return [
    ...member(
      "id",
      open(
        endpoints(({ id }) => id),
        reads,
      ),
    ),
    ...member("rank", closed(["primary", "fallback"], reads)),
    ...member(
      "model",
      open(
        names((table) => Object.keys(table.models)),
        reads,
      ),
    ),
    ...member(
      "provider",
      open(
        names((table) => Object.keys(table.providers)),
        reads,
      ),
    ),
    ...member(
      "region",
      open(regions, reads, (region) => groupsOf(region, tables, reads)),
    ),
    ...member(
      "dialect",
      open(
        endpoints(({ dialect }) => dialect),
        reads,
      ),
    ),
    ...member("retention", closed(RETENTIONS, reads)),
    ...member("trains_on_data", truth()),
    ...member("signature_family", open(families, reads)),
    ...member("latency_class", closed([...LATENCY_CLASSES, "unspecified"], reads)),
    ...(reads.ofCandidates("capabilities")
      ? memberships("candidates.capabilities", "endpoint", CAPABILITY_NAMES, reads, {
          of: ({ candidates }) => candidates[0]?.capabilities ?? [],
          set: (input, capabilities) => withCandidate(input, (candidate) => ({ ...candidate, capabilities })),
        })
      : []),
    ...priceFields(reads),
  ];
}

/** A price has no closed list: the numbers that the policy writes, and one between each two, stand for all. */
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

/** Between two numbers of the policy stands the one that represents what is between them. */
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
  return [first / 2, ...numbers.flatMap((value, index) => [value, (value + (numbers[index + 1] ?? value * 3)) / 2])];
}

function workspaceFields(reads: PolicyReads, tables: TablePair): readonly LatentField[] {
  const rows = (of: (row: RoutingTable["workspaces"][string]) => readonly string[]): readonly string[] =>
    namesOf(tables, (table) => Object.values(table.workspaces).flatMap(of));
  const named = (name: "id" | "tier", names: readonly string[]): readonly LatentField[] =>
    reads.path(`input.workspace.${name}`) || (name === "id" && reads.path("data.approved"))
      ? [
          field({
            path: `workspace.${name}`,
            row: "workspace",
            classes: open(names, reads),
            of: ({ workspace }) => workspace[name],
            set: (input, value) => ({ ...input, workspace: { ...input.workspace, [name]: value } }),
          }),
        ]
      : [];
  const labels = namesOf(tables, ({ vocabulary }) => vocabulary.labels);
  return [
    ...named(
      "id",
      rows(({ id }) => [id]),
    ),
    ...named(
      "tier",
      rows(({ tier }) => [tier]),
    ),
    ...(reads.path("input.workspace.labels")
      ? memberships("workspace.labels", "workspace", labels, reads, {
          of: ({ workspace }) => workspace.labels,
          set: (input, all) => ({ ...input, workspace: { ...input.workspace, labels: all } }),
        })
      : []),
  ];
}

function routeFields(reads: PolicyReads, tables: TablePair): readonly LatentField[] {
  if (!reads.path("input.request.route")) return [];
  return [
    field({
      path: "request.route",
      row: "route",
      classes: open(
        namesOf(tables, (table) => Object.keys(table.routes)),
        reads,
      ),
      of: ({ request }) => request.route,
      set: (input, route) => ({ ...input, request: { ...input.request, route } }),
    }),
  ];
}

function requestFields(reads: PolicyReads, tables: TablePair): readonly LatentField[] {
  const { vocabulary: before } = tables.base;
  const { vocabulary: after } = tables.head;
  const key = (name: "environment" | "workload" | "owner", names: readonly string[]): readonly LatentField[] =>
    reads.path(`input.key.${name}`)
      ? [
          field({
            path: `key.${name}`,
            row: "request",
            classes: closed([...new Set([...names, OUTSIDE_VOCABULARY])], reads),
            of: (input) => input.key[name],
            set: (input, value) => ({ ...input, key: { ...input.key, [name]: value } }),
          }),
        ]
      : [];
  const request = <Name extends keyof PolicyInput["request"]>(
    name: Name,
    classes: readonly NameClass<PolicyInput["request"][Name]>[],
  ): readonly LatentField[] =>
    reads.path(`input.request.${name}`)
      ? [
          field({
            path: `request.${name}`,
            row: "request",
            classes,
            of: (input) => input.request[name],
            set: (input, value) => ({ ...input, request: { ...input.request, [name]: value } }),
          }),
        ]
      : [];
  const time = <Name extends keyof PolicyInput["time"]>(
    name: Name,
    values: readonly PolicyInput["time"][Name][],
  ): readonly LatentField[] =>
    reads.path(`input.time.${name}`)
      ? [
          field({
            path: `time.${name}`,
            row: "request",
            classes: closed(values, reads),
            of: (input) => input.time[name],
            set: (input, value) => ({ ...input, time: { ...input.time, [name]: value } }),
          }),
        ]
      : [];
  const lengths = [tables.base, tables.head].flatMap(({ models }) =>
    Object.values(models).flatMap(({ dimensions }) => dimensions),
  );
  return [
    field({
      path: "operation",
      row: "request",
      classes: classesOf(OPERATIONS, (operation) => reads.operationKey(operation)),
      of: ({ operation }) => operation,
      set: (input, operation) => ({ ...input, operation }),
    }),
    ...key("environment", [...before.environments, ...after.environments]),
    ...key("workload", [...before.workloads, ...after.workloads]),
    ...key("owner", [...(before.owners ?? []), ...(after.owners ?? [])]),
    ...(reads.path("input.key.labels")
      ? memberships("key.labels", "request", [...new Set([...before.labels, ...after.labels])], reads, {
          of: (input) => input.key.labels,
          set: (input, labels) => ({ ...input, key: { ...input.key, labels } }),
        })
      : []),
    ...(reads.path("input.request.needs")
      ? memberships("request.needs", "request", CAPABILITY_NAMES, reads, {
          of: (input) => input.request.needs,
          set: (input, needs) => ({ ...input, request: { ...input.request, needs } }),
        })
      : []),
    ...request("stream", truth()),
    ...request("context", closed(TOKEN_BUCKETS, reads)),
    ...request("max_output", closed(TOKEN_BUCKETS, reads)),
    ...request("reasoning_effort", closed(REASONING_EFFORTS, reads)),
    ...request("dimensions", classesOf([0, ...lengths], String)),
    ...request("allow_fallbacks", truth()),
    ...request("data_collection", closed(["deny", "allow"], reads)),
    ...request("zdr", truth()),
    ...(reads.path("input.budget")
      ? [
          field({
            path: "budget.remaining",
            row: "request" as const,
            classes: closed(BUDGET_STEPS, reads),
            of: ({ budget }) => budget.remaining,
            set: (input, remaining) => ({ ...input, budget: { remaining } }),
          }),
        ]
      : []),
    ...time("day", DAY_BUCKETS),
    ...time("hour", HOUR_BUCKETS),
  ];
}
