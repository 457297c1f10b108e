import type { Operation } from "../canon/operation.ts";
import type {
  PolicyContract,
  PolicyData,
  PolicyEvaluation,
  PolicyIdentity,
  PolicyInput,
} from "../canon/policy.ts";
import type { PolicyModule, PolicyPass, PolicyUnit } from "./compiled.ts";
import { EvaluationTimeoutError, Evaluator, serialise } from "./evaluator.ts";
import { deriveObligations, deriveVerdicts, TIMED_OUT } from "./verdicts.ts";

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
  readonly passes: PolicyModule["passes"];
}

/**
 * Modules loaded with the data of one table. Loading takes milliseconds each; putting sets together
 * of what is loaded takes nothing.
 */
export class LoadedModules {
  readonly #data: PolicyData;
  #modules: readonly LoadedModule[] = [];

  /** @param data what policies may read besides their input. */
  constructor(data: PolicyData) {
    this.#data = data;
  }

  /** @throws {PolicyModuleError} when a module cannot be loaded. */
  static async load(modules: readonly PolicyModule[], data: PolicyData): Promise<LoadedModules> {
    const loaded = new LoadedModules(data);
    for (const module of await Promise.all(modules.map((one) => loadModule(one, data))))
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
   * Forgets modules of one content that is not among these; sets that are made of them go on with
   * them.
   */
  retain(digests: ReadonlySet<string>): void {
    this.#modules = this.#modules.filter(
      ({ units }) => units.length > 1 || units.some(({ policy }) => digests.has(policy.digest)),
    );
  }

  #keep(module: LoadedModule): void {
    this.#modules = [...this.#modules, module];
  }
}

async function loadModule(
  { bytes, units, passes }: PolicyModule,
  data: PolicyData,
): Promise<LoadedModule> {
  const entrypoints = [...units, ...Object.values(passes)].map(({ entrypoint }) => entrypoint);
  return { evaluator: await Evaluator.load(bytes, data, entrypoints), units, passes };
}

/**
 * One content of a module. Each is evaluated alone, so that it has its own bound and no other can
 * spoil its answer.
 *
 * @param suspended counts evaluations that would have taken more than they may; what it has is not
 * evaluated any more.
 */
export function evaluateAlone(
  { evaluator, units, passes }: LoadedModule,
  index: number,
  { identity, contract }: Member,
  input: PolicyInput,
  suspended: SuspendedCandidates | null,
): PolicyEvaluation {
  const unit = units[index];
  const applies = passOf(passes, input.operation)?.units.includes(index) === true;
  if (unit === undefined || !applies) return { verdicts: [], obligations: [] };
  const timedOut = (): void => suspended?.timedOut(identity);
  const isSuspended = suspended?.has(identity.digest) === true;
  const value = isSuspended ? TIMED_OUT : valueOf(evaluator, input, unit.entrypoint, timedOut);
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
): unknown {
  try {
    return evaluator.evaluate(serialise(input), entrypoint);
  } catch (error) {
    if (!(error instanceof EvaluationTimeoutError)) return undefined;
    timedOut();
    return TIMED_OUT;
  }
}

function passOf(passes: PolicyModule["passes"], operation: Operation): PolicyPass | undefined {
  return Object.hasOwn(passes, operation) ? passes[operation] : undefined;
}

/**
 * A candidate is given up at this many evaluations that took more than they may; each costs
 * milliseconds of every tenant's time.
 */
const TIMEOUTS = 3;

/**
 * Candidates that are not evaluated any more in this process, because they took more than an
 * evaluation may take again and again. By content: other rules under the same id are evaluated, and
 * so is everything after a start. Enforced policies are never among them.
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
