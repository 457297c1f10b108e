import { compareDiagnostics, type Source } from "../canon/diagnostic.ts";
import type { PolicyContract } from "../canon/policy.ts";
import { diagnosticOf, finding, locationOf, type PolicyDiagnostic } from "./codes.ts";
import {
  policyDigest,
  type CompiledPolicy,
  type PolicyModule,
  type PolicySource,
  type PolicyUnit,
  type StringUse,
} from "./compiled.ts";
import {
  checkComparisons,
  comparedValues,
  dependsOnTable,
  readWaivers,
  type ComparedValue,
} from "./contract/comparisons.ts";
import { readContract } from "./contract/contract.ts";
import {
  checkReferences,
  checkRules,
  checkWaivers,
  checkZones,
  librariesOf,
  passLocations,
  reasonedConstraints,
} from "./contract/rules.ts";
import { classifySources, type PolicyFile } from "./contract/sources.ts";
import { inputSchemaFor } from "./input-schema.ts";
import type { CompileCache } from "./toolchain/compile-cache.ts";
import { ToolchainError, type BuildRequest, type ModuleFacts } from "./toolchain/protocol.ts";
import { createToolchain, type Toolchain } from "./toolchain/toolchain.ts";

interface CompilePoliciesOptions {
  /**
   * Where compiled policies are kept between runs; `null` for nowhere. A folder that cannot be
   * written costs time only.
   */
  readonly cache: CompileCache | null;
  /**
   * Accepts values that input never has, for policies that are compared with and will not run;
   * reported unless set.
   */
  readonly acceptUnknownValues?: boolean;
  /** For tests; made with `cache` unless given. */
  readonly toolchain?: Toolchain;
}

export interface CompiledPolicies {
  /** Sorted by id; empty when a diagnostic is an error. */
  readonly policies: readonly CompiledPolicy[];
  /** Input of `createPolicySet`. */
  readonly modules: readonly PolicyModule[];
  /** Everything that was found in all files, sorted. */
  readonly diagnostics: readonly PolicyDiagnostic[];
  /** Values that the sources compare with names of routes.yaml. */
  readonly compared: readonly ComparedValue[];
}

/**
 * Compiles policies, their tests and their libraries, or reports all their errors. Deterministic:
 * the same sources give the same digests on any path, with any line endings. Never rejects over
 * what a source holds.
 */
export async function compilePolicies(
  sources: readonly Source[],
  options: CompilePoliciesOptions,
): Promise<CompiledPolicies> {
  const toolchain = options.toolchain ?? createToolchain({ cache: options.cache });
  const { files, diagnostics: misplaced } = classifySources(sources);
  const none = { policies: [], modules: [], compared: [] };
  if (files.length === 0) return { ...none, diagnostics: misplaced.toSorted(compareDiagnostics) };
  try {
    const checked = await checkPolicies(files, toolchain);
    const unknown = options.acceptUnknownValues === true ? [] : checkComparisons(checked.compared);
    const diagnostics = [...misplaced, ...checked.diagnostics, ...unknown].toSorted(
      compareDiagnostics,
    );
    const compared = checked.compared.filter(dependsOnTable);
    if (diagnostics.some(({ severity }) => severity === "error"))
      return { ...none, compared, diagnostics };
    const { policies } = checked;
    return { policies, modules: await buildModules(policies, toolchain), diagnostics, compared };
  } catch (error) {
    if (!(error instanceof ToolchainError)) throw error;
    const location = { file: files[0]?.source.path ?? "", line: 1, column: 1 };
    const broken = finding("POLICY_TOOLCHAIN", location, error.message);
    return { ...none, diagnostics: [...misplaced, broken].toSorted(compareDiagnostics) };
  }
}

/**
 * One policy from its sources, without its tests: contract, digest, paths that it reads. `null`
 * where they are no such policy. Findings are ignored: content that was accepted once must stay
 * readable when checks become stricter.
 *
 * @throws {ToolchainError}
 */
export async function readPolicy(
  id: string,
  sources: readonly Source[],
  toolchain: Toolchain,
): Promise<CompiledPolicy | null> {
  const { policies } = await checkPolicies(classifySources(sources).files, toolchain);
  return policies.find(({ contract }) => contract.id === id) ?? null;
}

interface Checked {
  readonly policies: readonly CompiledPolicy[];
  readonly compared: readonly ComparedValue[];
  readonly diagnostics: readonly PolicyDiagnostic[];
}

async function checkPolicies(files: readonly PolicyFile[], toolchain: Toolchain): Promise<Checked> {
  const response = await toolchain.check({
    modules: files.map(({ source }) => source),
    units: unitsOf(files),
    input_schema: inputSchemaFor(files.map(({ source }) => source.text)),
  });
  const factsByPath = new Map(response.modules.map((facts) => [facts.path, facts]));
  const read = files.flatMap((file): ReadFile[] => {
    const facts = factsByPath.get(file.source.path);
    return facts === undefined ? [] : [{ file, facts }];
  });
  const libraries = new Map(
    read.filter(({ file }) => file.kind === "library").map((one) => [one.file.name, one]),
  );
  const diagnostics = [...response.errors.map(diagnosticOf), ...structureFindings(files, read)];
  const libraryFacts = new Map([...libraries].map(([name, { facts }]) => [name, facts]));
  const policies: CompiledPolicy[] = [];
  const compared: ComparedValue[] = [];
  for (const { file, facts } of read) {
    const { later, diagnostics: waived } = readWaivers(file, facts, response.errors.length === 0);
    compared.push(...comparedValues(file, facts, later));
    diagnostics.push(...checkReferences(file, facts, libraryFacts), ...waived);
    diagnostics.push(...checkZones(facts));
    if (file.kind !== "policy") continue;
    const { located, diagnostics: found } = readContract(file, facts);
    diagnostics.push(...found);
    if (located === null) continue;
    diagnostics.push(...checkRules(located, facts), ...checkWaivers(located, facts));
    const modules = closure({ file, facts }, libraries);
    const policySources = modules.map(sourceOf);
    policies.push({
      contract: located.contract,
      digest: policyDigest(located.contract, policySources),
      sources: policySources,
      reasoned: reasonedConstraints(located, facts),
      reads: facts.reads ?? [],
      relates: facts.relates,
      hours: facts.hours,
      stringUse: stringUseOf(located.contract, modules),
      path: file.source.path,
      locations: passLocations(located, facts),
    });
  }
  policies.sort((left, right) => (left.contract.id < right.contract.id ? -1 : 1));
  return { policies, compared, diagnostics };
}

interface ReadFile {
  readonly file: PolicyFile;
  readonly facts: ModuleFacts;
}

/**
 * Units: all libraries, each policy with them, each test with its policy. An error in one unit
 * hides none in another.
 */
function unitsOf(files: readonly PolicyFile[]): readonly (readonly string[])[] {
  const libraries = files.filter(({ kind }) => kind === "library").map(({ source }) => source.path);
  const units: (readonly string[])[] = libraries.length > 0 ? [libraries] : [];
  for (const file of files) {
    if (file.kind === "library") continue;
    const policy = files.find(({ kind, name }) => kind === "policy" && name === file.name);
    if (policy === undefined) continue;
    units.push([...libraries, ...new Set([policy.source.path, file.source.path])]);
  }
  return units;
}

/** Checks across files: packages, tests without a policy, unused libraries. */
function structureFindings(
  files: readonly PolicyFile[],
  read: readonly ReadFile[],
): readonly PolicyDiagnostic[] {
  const diagnostics: PolicyDiagnostic[] = [];
  for (const { file, facts } of read) {
    const [found, expected] = [facts.package.join("."), file.package.join(".")];
    const location = locationOf(facts.path, facts.package_at);
    if (found !== expected) {
      const hint = `Write: package ${expected}`;
      diagnostics.push(finding("POLICY_PACKAGE", location, `the package is not ${expected}`, hint));
    }
    if (
      file.kind === "test" &&
      !files.some(({ kind, name }) => kind === "policy" && name === file.name)
    ) {
      diagnostics.push(finding("POLICY_TEST_ORPHAN", location, `there is no policy ${file.name}`));
    }
    const users = read.filter(
      (other) => other.file !== file && librariesOf(other.facts).includes(file.name),
    );
    if (file.kind === "library" && users.length === 0 && read.length === files.length) {
      diagnostics.push(
        finding("POLICY_LIBRARY_UNUSED", location, `nothing uses the library ${file.name}`),
      );
    }
  }
  return diagnostics;
}

/** The module with every library that it needs, directly or not, sorted by package. */
function closure(policy: ReadFile, libraries: ReadonlyMap<string, ReadFile>): readonly ReadFile[] {
  const found = new Map<string, ReadFile>();
  const visit = (one: ReadFile) => {
    const name = one.file.package.join(".");
    if (found.has(name)) return;
    found.set(name, one);
    for (const library of librariesOf(one.facts)) {
      const next = libraries.get(library);
      if (next !== undefined) visit(next);
    }
  };
  visit(policy);
  return [...found].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, one]) => one);
}

/**
 * The host looks a reason up in the contract's list, so the strings of that list are distinguished
 * like the source's.
 */
function stringUseOf({ constraints }: PolicyContract, modules: readonly ReadFile[]): StringUse {
  const facts = (of: "strings" | "inspects" | "searches"): readonly string[] =>
    modules.flatMap((module) => module.facts[of]);
  const sorted = (texts: readonly string[]): readonly string[] => [...new Set(texts)].toSorted();
  return {
    strings: sorted([...constraints.flatMap(({ reasons }) => reasons), ...facts("strings")]),
    inspects: sorted(facts("inspects")),
    searches: sorted(facts("searches")),
  };
}

function sourceOf({ file }: ReadFile): PolicySource {
  return { package: file.package.join("."), source: file.source.text };
}

/** Compiles contents that have been checked, by this process or by an earlier one. */
export async function buildModules(
  policies: readonly CompiledPolicy[],
  toolchain: Toolchain,
): Promise<readonly PolicyModule[]> {
  if (policies.length === 0) return [];
  const { request, units } = decideModule(policies);
  const { wasm, errors } = await toolchain.build(request);
  if (wasm === null || errors.length > 0) {
    const [first] = errors;
    throw new ToolchainError(
      "TOOLCHAIN_FAILED",
      `policies that passed every check do not compile (${first?.code ?? "no module"})`,
    );
  }
  return [{ bytes: Buffer.from(wasm, "base64"), units }];
}

/**
 * Everything a set of policies needs to be compiled into one module, and how to evaluate that
 * module afterwards.
 */
interface DecideModule {
  readonly request: BuildRequest;
  readonly units: readonly PolicyUnit[];
}

const PACKAGE = "signalbox.decide";

/**
 * Writes the package that evaluates every constraint and every obligation of every policy by name.
 * Explicit references, because whatever is found by iterating would leave out what is undefined:
 * here it comes back as an empty list, and a value as a list of one.
 *
 * Paths are derived from packages, so the module does not depend on the location of the sources.
 */
export function decideModule(policies: readonly CompiledPolicy[]): DecideModule {
  const lines = [`package ${PACKAGE}`, ""];
  const units = policies.map((policy, index): PolicyUnit => {
    lines.push(`u${index} := ${unitDocument(policy, `u${index}`)}`, "");
    return { policy, entrypoint: `${PACKAGE.replace(".", "/")}/u${index}` };
  });
  return {
    request: {
      units: policies.map(({ sources }, index) => ({
        name: `u${index}`,
        modules: sources.map(({ package: name, source }) => ({
          path: `${name}.rego`,
          text: source,
        })),
      })),
      modules: [{ path: "decide.rego", text: lines.join("\n") }],
      entrypoints: units.map(({ entrypoint }) => entrypoint),
    },
    units,
  };
}

/** Names go in as strings: a constraint may be called like a keyword. */
function unitDocument({ contract, reasoned }: CompiledPolicy, unit: string): string {
  const home = `data.signalbox.unit.${unit}.policy[${JSON.stringify(contract.id.replaceAll("-", "_"))}]`;
  const ruleBody = (rule: "pass" | "reason" | "waive", names: readonly string[]) =>
    names
      .map(
        (name) =>
          `${JSON.stringify(name)}: [value | value := ${home}.${rule}[${JSON.stringify(name)}]]`,
      )
      .join(", ");
  const constraints = contract.constraints.map(({ name }) => name);
  const obligations = contract.obligations.map(({ name }) => name);
  const rules = [
    `"pass": {${ruleBody("pass", constraints)}}`,
    `"reason": {${ruleBody("reason", reasoned)}}`,
  ];
  return `{${[...rules, `"waive": {${ruleBody("waive", obligations)}}`].join(", ")}}`;
}
