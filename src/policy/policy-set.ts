import type { Operation } from "../canon/operation.ts";
import type {
  PolicyContract,
  PolicyData,
  PolicyIdentity,
  PolicyEvaluation,
  PolicyInput,
  PolicySet,
  PolicyState,
} from "../canon/policy.ts";
import type { CompiledPolicy, PolicyModule, PolicyPass, PolicyUnit } from "./compiled.ts";
import { Evaluator, serialise } from "./evaluator.ts";
import { deriveObligations, deriveVerdicts } from "./verdicts.ts";

/** A content in its slot: what a verdict is attributed to. */
interface Member {
  readonly identity: PolicyIdentity;
  readonly contract: PolicyContract;
}

/** A loaded module; `members` in the order of its units. */
interface Loaded {
  readonly evaluator: Evaluator;
  readonly units: readonly PolicyUnit[];
  readonly members: readonly Member[];
  readonly passes: PolicyModule["passes"];
}

/**
 * Makes the policies ready to be asked.
 *
 * @param compiled the modules, each with one or more contents; a content stands in one of them only.
 * @param states revision and mode of the contents. Without a row for its digest a content has revision 0, and the mode
 * of another row for its id, or else the initial mode.
 * @param data what policies may read besides their input.
 * @param initialMode the mode of a policy without any row; `shadow` unless given.
 * @throws {PolicyModuleError} when a module cannot be loaded.
 */
export async function createPolicySet(
  compiled: { readonly modules: readonly PolicyModule[] },
  states: readonly PolicyState[],
  data: PolicyData,
  initialMode: (id: string) => "shadow" | "enforce" = () => "shadow",
): Promise<PolicySet> {
  const loaded = await loadModules(compiled, states, data, initialMode);
  const policies = loaded.flatMap(({ members }) => members).toSorted(byIdentity);
  const order = new Map(policies.map((member, index) => [member, index]));
  return {
    policies,
    readsTime: readsTime(compiled),
    evaluate: (input) => {
      const found = loaded.flatMap((module) => evaluateModule(module, input));
      found.sort((left, right) => (order.get(left.member) ?? 0) - (order.get(right.member) ?? 0));
      return {
        verdicts: found.flatMap(({ verdicts }) => verdicts),
        obligations: found.flatMap(({ obligations }) => obligations),
      };
    },
  };
}

/** One content in its slot, asked alone. */
export interface SinglePolicy {
  readonly identity: PolicyIdentity;
  readonly contract: PolicyContract;
  /** Dotted paths from `input` or `data`, each covering everything below it. */
  readonly reads: readonly string[];
  /** Empty where the policy does not apply to the operation. */
  readonly evaluate: (input: PolicyInput) => PolicyEvaluation;
}

/**
 * The same policies one by one, in the order of {@link createPolicySet}: for who asks the same again and again and remembers the answers. A set asks
 * them together, which is quicker for one request.
 *
 * @throws {PolicyModuleError} when a module cannot be loaded.
 */
export async function createSinglePolicies(
  compiled: { readonly modules: readonly PolicyModule[] },
  states: readonly PolicyState[],
  data: PolicyData,
  initialMode: (id: string) => "shadow" | "enforce",
): Promise<readonly SinglePolicy[]> {
  const loaded = await loadModules(compiled, states, data, initialMode);
  const policies = loaded.flatMap((module) =>
    module.members.map((member, index): SinglePolicy => {
      const evaluate = (input: PolicyInput): PolicyEvaluation => evaluateAlone(module, index, input);
      return { ...member, reads: module.units[index]?.policy.reads ?? [], evaluate };
    }),
  );
  return policies.toSorted(byIdentity);
}

async function loadModules(
  compiled: { readonly modules: readonly PolicyModule[] },
  states: readonly PolicyState[],
  data: PolicyData,
  initialMode: (id: string) => "shadow" | "enforce",
): Promise<readonly Loaded[]> {
  return Promise.all(
    compiled.modules.map(async ({ bytes, units, passes }): Promise<Loaded> => {
      const entrypoints = [...units, ...Object.values(passes)].map(({ entrypoint }) => entrypoint);
      const members = units.map(({ policy }) => ({
        identity: identityOf(policy, states, initialMode),
        contract: policy.contract,
      }));
      return { evaluator: await Evaluator.load(bytes, data, entrypoints), units, members, passes };
    }),
  );
}

/** Whether any content looks at the time of a request. */
export function readsTime({ modules }: { readonly modules: readonly PolicyModule[] }): boolean {
  return modules.some(({ units }) => units.some(({ policy }) => policy.reads.some(coversTime)));
}

interface Found extends PolicyEvaluation {
  readonly member: Member;
}

/** @param path a dotted path that a policy reads; it covers everything below it. */
function coversTime(path: string): boolean {
  return path === "input" || path === "input.time" || path.startsWith("input.time.");
}

/** One pass over everything that applies; where that fails, each content alone, so that none can spoil another's answer. */
function evaluateModule({ evaluator, units, members, passes }: Loaded, input: PolicyInput): Found[] {
  const pass = passOf(passes, input.operation);
  if (pass === undefined) return [];
  const candidates = input.candidates.map(({ id }) => id);
  const text = orUndefined(() => serialise(input));
  const together = text === undefined ? undefined : orUndefined(() => evaluator.evaluate(text, pass.entrypoint));
  return pass.units.flatMap((index, place) => {
    const unit = units[index];
    const member = members[index];
    if (unit === undefined || member === undefined) return [];
    const value = Array.isArray(together)
      ? together[place]
      : text === undefined
        ? undefined
        : orUndefined(() => evaluator.evaluate(text, unit.entrypoint));
    const { identity, contract } = member;
    const verdicts = deriveVerdicts(identity, contract, value, candidates);
    return [{ member, verdicts, obligations: deriveObligations(identity, contract, value) }];
  });
}

function evaluateAlone(
  { evaluator, units, members, passes }: Loaded,
  index: number,
  input: PolicyInput,
): PolicyEvaluation {
  const [unit, member] = [units[index], members[index]];
  const applies = passOf(passes, input.operation)?.units.includes(index) === true;
  if (unit === undefined || member === undefined || !applies) return { verdicts: [], obligations: [] };
  const candidates = input.candidates.map(({ id }) => id);
  const value = orUndefined(() => evaluator.evaluate(serialise(input), unit.entrypoint));
  const { identity, contract } = member;
  const verdicts = deriveVerdicts(identity, contract, value, candidates);
  return { verdicts, obligations: deriveObligations(identity, contract, value) };
}

function passOf(passes: PolicyModule["passes"], operation: Operation): PolicyPass | undefined {
  return Object.hasOwn(passes, operation) ? passes[operation] : undefined;
}

/** What an engine throws names files and lines of policies, so it ends here: the verdict says indeterminate. */
function orUndefined<Value>(attempt: () => Value): Value | undefined {
  try {
    return attempt();
  } catch {
    return undefined;
  }
}

function identityOf(
  { contract: { id }, digest }: CompiledPolicy,
  states: readonly PolicyState[],
  initialMode: (id: string) => "shadow" | "enforce",
): PolicyIdentity {
  const own = states.find((state) => state.id === id && state.digest === digest);
  const mode = (own ?? states.find((state) => state.id === id))?.mode ?? initialMode(id);
  return { id, revision: own?.revision ?? 0, digest, slot: mode === "enforce" ? "enforced" : "candidate" };
}

function byIdentity({ identity: left }: Member, { identity: right }: Member): number {
  if (left.id !== right.id) return left.id < right.id ? -1 : 1;
  return left.slot === right.slot ? 0 : left.slot === "enforced" ? -1 : 1;
}
