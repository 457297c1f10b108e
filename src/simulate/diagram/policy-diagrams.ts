import { type Numbered, remembered } from "../remembered.ts";
import { CAPABILITY_NAMES } from "../../canon/capability.ts";
import type { Operation } from "../../canon/operation.ts";
import type { PolicyEvaluation, PolicyInput } from "../../canon/policy.ts";
import {
  REMEMBERED_MEMBERS,
  readsAllOf,
  readsPath,
  type SinglePolicy,
} from "../../policy/policy-set.ts";
import type { Budget } from "./budget.ts";
import { leafOf, type Diagrams, type Node, type PairedLeaves, type Profiles } from "./diagrams.ts";
import type { SampleRequest } from "../sample-request.ts";
import { concernsJob, type JobSpace, type Space } from "../space/job-space.ts";
import {
  KEY_LABELS,
  joinedNames,
  type LevelReader,
  type Level,
  type PolicyOnly,
} from "../space/levels.ts";
import { projectionFor, type Projection } from "../space/readers.ts";
import { CANDIDATES, NO_VERDICTS, type LoadedPolicy, valuesByMembers } from "../views.ts";

/**
 * Which assertions mean a request, as diagrams: only those that select by members which levels
 * have.
 *
 * @returns gives a root whose leaves differ where one assertion means a request of a state and not
 * another.
 */
export function assertionDiagrams(
  { assertions, sides }: Space,
  { operation, diagrams, levels, pairs }: OperationDiagrams,
): (job: JobSpace, sample: SampleRequest) => Node {
  const byLevels = assertions.flatMap((assertion) => {
    const projection = projectionFor([assertion.reader], operation, null);
    // A key's names are read in the vocabulary of each side.
    const seen = levels.map((level) =>
      level.values.map((_, value) =>
        sides.map(({ table }) => level.textFor({ projection, table }, value)).join("/"),
      ),
    );
    return seen.every(isUniform) ? [] : [{ assertion, seen }];
  });
  return ({ job }, sample) =>
    byLevels
      .filter(({ assertion }) => concernsJob(assertion, job))
      .map(({ assertion, seen }) =>
        buildDiagram(diagrams, levels, seen, sample, (other: PolicyOnly) => ({
          number: Number(assertion.means({ ...sample, ...other })),
          dependsOn: () => true,
        })),
      )
      .reduce(pairs.of, leafOf(0));
}

/** The diagrams of one operation, which both sides share. */
export interface OperationDiagrams {
  readonly operation: Operation;
  readonly diagrams: Diagrams;
  readonly levels: readonly Level[];
  readonly profiles: Profiles;
  /** Joins any two functions; a leaf can be a pair of pairs. */
  readonly pairs: PairedLeaves;
  readonly budget: Budget;
}

/** An answer to one request, by its number, and whether it depends on a level. */
interface Answer {
  readonly number: number;
  readonly dependsOn: (level: Level) => boolean;
}

/**
 * The answers of one reader for every request of a state. A request is varied only in the levels
 * that its answer depends on, so a reader that tests ten members one after the other is called
 * about ten times, not once for every combination.
 *
 * @param seen a text for each value of each level; equal for values that the reader does not
 * distinguish.
 */
function buildDiagram(
  diagrams: Diagrams,
  levels: readonly Level[],
  seen: readonly (readonly string[])[],
  start: PolicyOnly,
  answer: (sample: PolicyOnly) => Answer,
): Node {
  const cache = new Map<string, Node>();
  /** @param fixed texts of the levels that have been chosen; `null` for the others. */
  const visit = (
    sample: PolicyOnly,
    fixed: readonly (string | null)[],
    knownAnswer: Answer | null,
  ) => {
    return remembered(cache, keyOf(levels, fixed), () => {
      const result = knownAnswer ?? answer(sample);
      const depth = levels.findIndex(
        (level, index) =>
          fixed[index] === null && !isUniform(seen[index] ?? []) && result.dependsOn(level),
      );
      return depth === -1 ? leafOf(result.number) : varied(sample, fixed, result, depth);
    });
  };
  const varied = (
    sample: PolicyOnly,
    fixed: readonly (string | null)[],
    result: Answer,
    depth: number,
  ): Node => {
    const texts = seen[depth] ?? [];
    const children = new Map<string, Node>();
    for (const [value, text] of texts.entries()) {
      if (children.has(text)) continue;
      const next = levels[depth]?.set(sample, value) ?? sample;
      children.set(text, visit(next, fixed.with(depth, text), value === 0 ? result : null));
    }
    return diagrams.select(
      depth,
      texts.map((text) => children.get(text) ?? 0),
    );
  };
  const first = levels.reduce((sample, level) => level.set(sample, 0), start);
  const open = levels.map(() => null);
  return visit(first, open, null);
}

/** Sets of labels that the reader sees alike have the same key. */
function keyOf(levels: readonly Level[], fixed: readonly (string | null)[]): string {
  let labels = "";
  const texts = fixed.map((text, index) => {
    if (text === null || levels[index]?.name !== KEY_LABELS) return text;
    labels = joinedNames(labels, text);
    return "";
  });
  return JSON.stringify([texts, labels]);
}

/** Whether a reader distinguishes no values of a level. @param texts that it sees for each. */
function isUniform(texts: readonly string[]) {
  return texts.every((text) => text === texts[0]);
}

/** The requests of one state, as the policies of a side get them. */
interface StateInput {
  /** Of any of them. */
  readonly input: PolicyInput;
  /** Ids and ranks of the candidates. */
  readonly inOrder: string;
  readonly sorted: string;
  /** Of a request of the state with other values of the levels. */
  readonly inputOf: (sample: PolicyOnly) => PolicyInput;
}

/** Members of the input that are no levels, so that they differ between states of requests. */
const STATE_MEMBERS = REMEMBERED_MEMBERS.filter(
  ([path]) =>
    !path.startsWith("input.key.") &&
    !path.startsWith("input.time.") &&
    path !== "input.local_time" &&
    !["stream", "context", "max_output", "reasoning_effort"].some(
      (name) => path === `input.request.${name}`,
    ),
);

const WORKSPACE = "input.workspace.id";
const ROUTE = "input.request.route";
const NEEDS = "input.request.needs";
const WORKSPACE_LABELS = "input.workspace.labels";

/** Members that a policy may see less of than their whole value, as it sees them. */
function partlySeen(
  policy: SinglePolicy,
  { distinguishes }: Pick<Projection, "distinguishes">,
): Readonly<Record<string, (input: PolicyInput) => string>> {
  const readsData = readsPath(policy, "data");
  const readsCandidates = readsPath(policy, CANDIDATES);
  const readsApprovals = readsPath(policy, "data.approved.capabilities");
  const [seesNeeds, seesLabels] = [NEEDS, WORKSPACE_LABELS].map((path) => readsAllOf(policy, path));
  const distinguishedNeeds: ReadonlySet<string> = new Set(
    CAPABILITY_NAMES.filter((need) => distinguishes(NEEDS, need)),
  );
  // The same text for names that it does not distinguish. Data has facts by name.
  const nameAt = (path: string, name: string) =>
    readsData || distinguishes(path, name) ? `=${name}` : "";
  return {
    [WORKSPACE]: ({ workspace }) => nameAt(WORKSPACE, workspace.id),
    [ROUTE]: ({ request }) => nameAt(ROUTE, request.route),
    // Needs that it does not name are as good as each other where the same of its candidates have
    // them (decision 16): then only their number matters.
    [NEEDS]: ({ request, candidates }) =>
      request.needs
        .filter((need) => seesNeeds || distinguishedNeeds.has(need))
        .map((need) => {
          if (readsApprovals || distinguishedNeeds.has(need)) return `=${need}`;
          if (!readsCandidates) return "~";
          return candidates
            .map(({ capabilities }) => (capabilities.includes(need) ? "1" : "0"))
            .join("");
        })
        .toSorted()
        .join("\n"),
    // Where it only seeks some labels, the others do not matter.
    [WORKSPACE_LABELS]: ({ workspace }) =>
      workspace.labels
        .filter((label) => seesLabels || distinguishes(WORKSPACE_LABELS, label))
        .join("\n"),
  };
}

/** The diagram of a state's requests. @param start any of them. */
type PolicyDiagram = (state: StateInput, start: PolicyOnly) => Node;

/**
 * The answers of one policy, as a diagram over the members that it reads. Its leaves are
 * evaluations by the policy itself.
 *
 * @param reader of this policy alone.
 */
export function policyDiagram(
  { single: policy, traced }: LoadedPolicy,
  reader: LevelReader & { readonly projection: Projection },
  { operation, diagrams, levels, budget }: OperationDiagrams,
  evaluations: Numbered<PolicyEvaluation>,
): PolicyDiagram {
  const { contract, identity } = policy;
  const seen = levels.map((level) => level.values.map((_, value) => level.textFor(reader, value)));
  const partly = partlySeen(policy, reader.projection);
  /** Members of the input that differ between states, as the policy sees them. */
  const members = new Map(
    STATE_MEMBERS.filter(([path]) => readsPath(policy, path)).map(([path, valueOf]) => [
      path,
      partly[path] ?? valueOf,
    ]),
  );
  // Of several reasons, the one of the first candidate is given.
  const seesOrder =
    reader.projection.seesOrder || contract.constraints.some(({ reasons }) => reasons.length > 1);
  const cache = valuesByMembers<Node>();
  const numberOf = (evaluation: PolicyEvaluation) =>
    evaluations.numberOf(JSON.stringify(evaluation), () => evaluation);
  return ({ input, inOrder, sorted, inputOf }, start) => {
    const valueOf = (path: string) =>
      path === CANDIDATES ? (seesOrder ? inOrder : sorted) : members.get(path)?.(input);
    const same = cache.find(valueOf);
    if (same !== undefined) return same;
    const loaded = new Set<string>();
    const diagram = contract.operations.includes(operation)
      ? buildDiagram(diagrams, levels, seen, start, (sample) => {
          const spend = () => budget.spend(identity.id);
          const { evaluation, loaded: loadedPaths } = traced(inputOf(sample), spend);
          for (const path of loadedPaths) loaded.add(path);
          return {
            number: numberOf(evaluation),
            dependsOn: ({ paths }) => paths.some((path) => loadedPaths.has(path)),
          };
        })
      : leafOf(numberOf(NO_VERDICTS));
    const read = [...loaded].filter((path) => path === CANDIDATES || members.has(path));
    cache.keep(read, valueOf, diagram);
    return diagram;
  };
}
