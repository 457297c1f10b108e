import type {
  ConstraintContract,
  ConstraintEffect,
  PolicyContract,
  PolicyData,
  PolicyEvaluation,
  PolicyIdentity,
  PolicyInput,
  PolicyObligation,
  PolicyVerdict,
  Verdict,
} from "../canon/policy.ts";
import type { PolicyModule, PolicyUnit } from "./compiled.ts";
import { EvaluationTimeoutError, Evaluator, serialise } from "./evaluator.ts";

/** The reason of a constraint that could not be evaluated; no policy may declare it. */
const INDETERMINATE_REASON = "EVALUATION_INDETERMINATE";

/**
 * The reason of a constraint whose evaluation would have taken more than it may; no policy may
 * declare it.
 */
const TIMEOUT_REASON = "POLICY_TIMEOUT";

/**
 * Replaces the document of such an evaluation: like any failed one it denies, with its own reason.
 */
const TIMED_OUT = Symbol("timed out");

/**
 * Result of a unit's entrypoint: for each name a list, empty where the rule is undefined,
 * otherwise with its value.
 */
interface UnitDocument {
  readonly pass: object;
  readonly reason: object;
}

/**
 * Derives a verdict for every declared constraint from the `pass` rules of a policy
 * (docs/policies.md#a-policy). No output of a policy can add a constraint, a reason or a candidate:
 * an output of another form is indeterminate, which denies.
 *
 * @param value a unit's document, or anything else where the evaluation failed.
 * @param candidates ids of the candidates, in plan order.
 */
export function deriveVerdicts(
  policy: PolicyIdentity,
  contract: PolicyContract,
  value: unknown,
  candidates: readonly string[],
): readonly PolicyVerdict[] {
  const document = isUnitDocument(value) ? value : null;
  return contract.constraints.map((constraint) => {
    const { name, effect } = constraint;
    const { verdict, failing } = judge(
      effect,
      document === null ? UNKNOWN : single(document.pass, name),
      candidates,
    );
    return {
      policy,
      constraint: name,
      effect,
      verdict,
      reason:
        value === TIMED_OUT ? TIMEOUT_REASON : reasonFor(constraint, verdict, failing, document),
      failing,
    };
  });
}

/**
 * The obligations that a policy has not waived. Only `true` waives: an evaluation that failed, a
 * rule that is undefined and a value of any other type leave the obligation in force.
 *
 * @param value a unit's document, or anything else where the evaluation failed.
 */
function deriveObligations(
  policy: PolicyIdentity,
  { obligations }: PolicyContract,
  value: unknown,
): readonly PolicyObligation[] {
  const waivers = isUnitDocument(value) ? ownProperty(value, "waive") : undefined;
  return obligations
    .filter(
      ({ name }) =>
        typeof waivers !== "object" || waivers === null || single(waivers, name) !== true,
    )
    .map((obligation) => ({ ...obligation, policy }));
}

interface Judgement {
  readonly verdict: Verdict;
  readonly failing: readonly string[];
}

/**
 * The value of a rule whose policy could not be evaluated at all. Unlike undefined, it matches no
 * effect.
 */
const UNKNOWN = Symbol("unknown");

/**
 * A gate is undefined whenever its condition does not hold, so that is a fail. A set is always
 * defined, empty where nothing passes, so an undefined one is indeterminate like a value of the
 * wrong type.
 */
function judge(effect: ConstraintEffect, value: unknown, candidates: readonly string[]): Judgement {
  if (effect === "gate") {
    if (value === true) return { verdict: "pass", failing: [] };
    return {
      verdict: value === undefined || value === false ? "fail" : "indeterminate",
      failing: [],
    };
  }
  if (!Array.isArray(value)) return { verdict: "indeterminate", failing: candidates };
  const passing = new Set<unknown>(value);
  for (const id of passing) {
    if (typeof id !== "string" || !candidates.includes(id))
      return { verdict: "indeterminate", failing: candidates };
  }
  const failing = candidates.filter((id) => !passing.has(id));
  return { verdict: failing.length === 0 ? "pass" : "fail", failing };
}

function reasonFor(
  constraint: ConstraintContract,
  verdict: Verdict,
  failing: readonly string[],
  document: UnitDocument | null,
): string | null {
  switch (verdict) {
    case "pass":
      return null;
    case "indeterminate":
      return INDETERMINATE_REASON;
    case "fail":
      return declaredReason(
        constraint,
        document === null ? undefined : single(document.reason, constraint.name),
        failing,
      );
  }
}

/**
 * The policy's reason, or that of the first failing candidate which has one; from the declared list
 * or not at all.
 */
function declaredReason(
  { reasons }: ConstraintContract,
  value: unknown,
  failing: readonly string[],
): string {
  const declared = (reason: unknown) => reasons.find((one) => one === reason);
  if (typeof value === "string") return declared(value) ?? reasons[0];
  if (typeof value === "object" && value !== null) {
    for (const id of failing) {
      const reason = declared(ownProperty(value, id));
      if (reason !== undefined) return reason;
    }
  }
  return reasons[0];
}

function isUnitDocument(value: unknown): value is UnitDocument {
  return (
    typeof value === "object" &&
    value !== null &&
    "pass" in value &&
    typeof value.pass === "object" &&
    value.pass !== null &&
    "reason" in value &&
    typeof value.reason === "object" &&
    value.reason !== null
  );
}

/** The value in the list of one under the name; `undefined` for an empty list or none. */
function single(lists: object, name: string): unknown {
  const list = ownProperty(lists, name);
  return Array.isArray(list) && list.length === 1 ? list[0] : undefined;
}

function ownProperty(value: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(value, name)?.value;
}

/** A content in its slot: what a verdict is attributed to. */
export interface Member {
  readonly identity: PolicyIdentity;
  readonly contract: PolicyContract;
}

/**
 * A module that can be evaluated. The slots of its contents are no part of it, so that sets share
 * it.
 */
export interface LoadedModule {
  readonly evaluator: Evaluator;
  readonly units: readonly PolicyUnit[];
}

/**
 * Modules loaded with the data of one table. Loading takes milliseconds each; assembling sets of
 * loaded modules is free.
 */
export class LoadedModules {
  readonly #data: PolicyData;
  #modules: readonly LoadedModule[] = [];

  /** @param data what policies may read besides their input. */
  constructor(data: PolicyData) {
    this.#data = data;
  }

  /** @throws {PolicyModuleError} when a module cannot be loaded. */
  static async load(
    modules: readonly PolicyModule[],
    data: PolicyData,
    isTraced = false,
  ): Promise<LoadedModules> {
    const loaded = new LoadedModules(data);
    for (const module of await Promise.all(modules.map((one) => loadModule(one, data, isTraced))))
      loaded.#keep(module);
    return loaded;
  }

  get modules(): readonly LoadedModule[] {
    return this.#modules;
  }

  has(digest: string): boolean {
    return this.#modules.some(({ units }) => units.some(({ policy }) => policy.digest === digest));
  }

  /** @throws {PolicyModuleError} when it cannot be loaded. */
  async add(module: PolicyModule): Promise<void> {
    this.#keep(await loadModule(module, this.#data));
  }

  /**
   * Drops single-content modules of other digests; sets made from them keep working.
   */
  retain(digests: ReadonlySet<string>): void {
    this.#modules = this.#modules.filter(
      ({ units }) => units.length > 1 || units.some(({ policy }) => digests.has(policy.digest)),
    );
  }

  #keep(module: LoadedModule) {
    this.#modules = [...this.#modules, module];
  }
}

async function loadModule(
  { bytes, units }: PolicyModule,
  data: PolicyData,
  isTraced = false,
): Promise<LoadedModule> {
  const entrypoints = units.map(({ entrypoint }) => entrypoint);
  return { evaluator: await Evaluator.load(bytes, data, entrypoints, isTraced), units };
}

/**
 * One content of a module. Each is evaluated alone, so that it has its own bound and no other can
 * spoil its answer.
 *
 * @param suspended counts evaluations that would have taken more than they may; what it has is not
 * evaluated any more.
 * @param loaded receives the paths of the input that the evaluation loaded.
 */
export function evaluateAlone(
  { evaluator, units }: LoadedModule,
  index: number,
  { identity, contract }: Member,
  input: PolicyInput,
  suspended: SuspendedCandidates | null,
  loaded?: Set<string>,
): PolicyEvaluation {
  const unit = units[index];
  if (unit === undefined || !contract.operations.includes(input.operation))
    return { verdicts: [], obligations: [] };
  const timedOut = (): void => suspended?.timedOut(identity);
  const isSuspended = suspended?.has(identity.digest) === true;
  const value = isSuspended
    ? TIMED_OUT
    : valueOf(evaluator, input, unit.entrypoint, timedOut, loaded);
  const candidates = input.candidates.map(({ id }) => id);
  return {
    verdicts: deriveVerdicts(identity, contract, value, candidates),
    obligations: deriveObligations(identity, contract, value),
  };
}

/**
 * An engine's error names files and lines of policies, so it is dropped here: the verdict is
 * indeterminate.
 */
function valueOf(
  evaluator: Evaluator,
  input: PolicyInput,
  entrypoint: string,
  timedOut: () => void,
  loaded?: Set<string>,
): unknown {
  try {
    return evaluator.evaluate(serialise(input), entrypoint, loaded);
  } catch (error) {
    if (!(error instanceof EvaluationTimeoutError)) return undefined;
    timedOut();
    return TIMED_OUT;
  }
}

/**
 * Timed-out evaluations after which a candidate is suspended; each costs every tenant milliseconds.
 */
const TIMEOUTS = 3;

/**
 * Candidates that this process no longer evaluates, because they timed out repeatedly. By content:
 * other rules under the same id are evaluated, and so is everything after a start. Enforced
 * policies are never among them.
 */
export class SuspendedCandidates {
  /** Digest → evaluations that timed out. */
  readonly #timeouts = new Map<string, number>();
  readonly #onSuspended: (identity: PolicyIdentity) => void;

  /** @param onSuspended called once for each content. */
  constructor(onSuspended: (identity: PolicyIdentity) => void) {
    this.#onSuspended = onSuspended;
  }

  has(digest: string): boolean {
    return (this.#timeouts.get(digest) ?? 0) >= TIMEOUTS;
  }

  timedOut(identity: PolicyIdentity): void {
    const count = (this.#timeouts.get(identity.digest) ?? 0) + 1;
    this.#timeouts.set(identity.digest, count);
    if (count === TIMEOUTS) this.#onSuspended(identity);
  }
}
