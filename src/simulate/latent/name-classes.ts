import type { Operation } from "../../canon/operation.ts";
import type { PolicyCandidate, PolicyInput } from "../../canon/policy.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { nameTest, zonesOf, type CompiledPolicy } from "../../policy/compiled.ts";
import { POLICY_INPUT_SCHEMA } from "../../policy/input-schema.ts";
import { readsPath } from "../../policy/policy-set.ts";
import { policyReader } from "../space/readers.ts";
import { timesOf, type Times } from "../space/times.ts";
import { NOT_DECLARED } from "../report/report.ts";
import type { OfSides } from "../sample-request.ts";

/** Reads, strings and numbers of one policy's contents on both sides. */
export interface PolicyReads {
  /** Whether a dotted path from `input` or `data` is read. */
  readonly path: (path: string) => boolean;
  /**
   * Whether a member of candidates is read: their reads name the list only, and the policy contains
   * the member's name.
   */
  readonly ofCandidates: (member: string) => boolean;
  /** Whether the policy may distinguish the name from every other one. */
  readonly tellsApart: (name: string) => boolean;
  /** Operations with the same text are the same to it. */
  readonly operationKey: (operation: Operation) => string;
  /** The times that it distinguishes in the zones that it names. */
  readonly times: Times;
  /** Numbers that its rules contain, ascending. */
  readonly numbers: readonly number[];
  /** Strings of its rules, which routes.yaml may not declare yet. */
  readonly named: readonly string[];
  /** Built-ins that see more of names than whether they are equal: other names may differ too. */
  readonly inspects: readonly string[];
}

/** Numbers of a policy that are tried as prices; with more of them the largest are left out. */
const MOST_NUMBERS = 8;

/** @param contents on both sides; at least one. */
export function policyReads(contents: readonly CompiledPolicy[]): PolicyReads {
  const tests = contents.map(({ stringUse }) => nameTest(stringUse));
  const isKnown = (name: string) => tests.some((test) => test(name));
  const inspects = new Set(contents.flatMap(({ stringUse }) => stringUse.inspects));
  const isInspecting = inspects.size > 0;
  // A name that no file has yet may have several of the texts, or begin with one.
  for (const { stringUse } of contents)
    for (const text of stringUse.searches ?? []) inspects.add(`a search for "${text}"`);
  const path = (wanted: string) => contents.some((content) => readsPath(content, wanted));
  const readsOperation = path("input.operation");
  return {
    path,
    ofCandidates: (member) => path("input.candidates") && isKnown(member),
    tellsApart: (name) => isInspecting || isKnown(name),
    operationKey: (operation) =>
      JSON.stringify([
        ...contents.map(({ contract }) => contract.operations.includes(operation)),
        readsOperation && (isInspecting || isKnown(operation)) ? operation : "",
      ]),
    times: timesOf(contents.map(policyReader), [...new Set(contents.flatMap(zonesOf))]),
    numbers: numbersIn(contents).slice(0, MOST_NUMBERS),
    named: namesIn(contents),
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
   * The names that each value represents, as files have them. Values that the policy takes for equal
   * share one.
   */
  readonly values: readonly (readonly string[])[];
  /** The index of the value that an input has. */
  readonly indexOf: (input: PolicyInput) => number;
  readonly apply: (input: PolicyInput, index: number) => PolicyInput;
}

export type TablePair = OfSides<RoutingTable>;

/** Values that a policy takes for equal; the first represents them. */
export interface NameClass<Value> {
  readonly members: readonly Value[];
  readonly names: readonly string[];
}

export function namesOf(
  { base, head }: TablePair,
  of: (table: RoutingTable) => readonly string[],
): readonly string[] {
  return [...new Set([...of(head), ...of(base)])].toSorted();
}

/** A closed list. */
export function closed<Value extends string>(
  values: readonly Value[],
  { tellsApart }: PolicyReads,
): readonly NameClass<Value>[] {
  return classesOf(values, (value) => (tellsApart(value) ? value : ""));
}

/**
 * Names that files declare, those of the policy, and one more that none declares yet.
 *
 * @param more other facts about a name that a policy can read.
 */
export function open(
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

export function truth(): readonly NameClass<boolean>[] {
  return [false, true].map((value) => ({ members: [value], names: [String(value)] }));
}

/** @param keyOf equal for values that the policy takes for equal. */
export function classesOf<Value extends string | number>(
  values: readonly Value[],
  keyOf: (value: Value) => string,
): readonly NameClass<Value>[] {
  return [...Map.groupBy(new Set(values), keyOf).values()].map((members) => ({
    members,
    names: members.map(String),
  }));
}

export function field<Value>({
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
export function memberships<Value extends string>(
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
      classes: truth(),
      of: (input) => list.of(input).includes(value),
      set: (input, isIn) => {
        const others = list.of(input).filter((other) => other !== value);
        return list.set(input, isIn ? [...others, value].toSorted() : others);
      },
    }),
  );
}

export function withCandidate(
  input: PolicyInput,
  change: (candidate: PolicyCandidate) => PolicyCandidate,
): PolicyInput {
  return { ...input, candidates: input.candidates.map(change) };
}

/**
 * The region groups that a region is in, of those that the policy reads; with approvals, every
 * region is its own.
 */
export function groupsOf(region: string, { base, head }: TablePair, reads: PolicyReads): string {
  if (reads.path("data.approved")) return region;
  const groups = [base, head].map(({ regionGroups }) =>
    Object.entries(regionGroups).flatMap(([group, regions]) =>
      reads.path(`data.regions.${group}`) && regions.includes(region) ? [group] : [],
    ),
  );
  return JSON.stringify(groups);
}
