import type { Source } from "../canon/diagnostic.ts";
import { OPERATIONS, type Operation } from "../canon/operation.ts";
import type { CompiledPolicy, PolicyPass, PolicyUnit } from "./compiled.ts";
import type { BuildRequest } from "./toolchain/protocol.ts";

/**
 * Everything a set of policies needs to be compiled into one module, and how to evaluate that
 * module afterwards.
 */
interface DecideModule {
  readonly request: BuildRequest;
  readonly units: readonly PolicyUnit[];
  readonly passes: Partial<Record<Operation, PolicyPass>>;
}

const PACKAGE = "signalbox.decide";

/**
 * Writes the package that evaluates every constraint and every obligation of every policy by name.
 * Explicit references, because whatever is found by iterating would leave out what is undefined:
 * here it comes back as an empty list, and a value as a list of one.
 *
 * Paths are made from packages: the module is the same wherever the sources lay.
 */
export function decideModule(policies: readonly CompiledPolicy[]): DecideModule {
  const lines = [`package ${PACKAGE}`, ""];
  const units = policies.map((policy, index): PolicyUnit => {
    lines.push(`u${index} := ${unitDocument(policy, `u${index}`)}`, "");
    return { policy, entrypoint: entrypointOf(`u${index}`) };
  });
  const passes: Partial<Record<Operation, PolicyPass>> = {};
  const rules = new Map<string, string>();
  for (const operation of OPERATIONS) {
    const applying = policies.flatMap(({ contract }, index) =>
      contract.operations.includes(operation) ? [index] : [],
    );
    if (applying.length === 0) continue;
    const list = applying.map((index) => `u${index}`).join(", ");
    let rule = rules.get(list);
    if (rule === undefined) {
      rule = `pass${rules.size}`;
      rules.set(list, rule);
      lines.push(`${rule} := [${list}]`, "");
    }
    passes[operation] = { entrypoint: entrypointOf(rule), units: applying };
  }
  const entrypoints = [
    ...[...rules.values()].map(entrypointOf),
    ...units.map(({ entrypoint }) => entrypoint),
  ];
  return {
    request: {
      units: policies.map(({ sources }, index) => ({
        name: `u${index}`,
        modules: sources.map(sourceOf),
      })),
      modules: [{ path: "decide.rego", text: lines.join("\n") }],
      entrypoints,
    },
    units,
    passes,
  };
}

function entrypointOf(rule: string): string {
  return `${PACKAGE.replace(".", "/")}/${rule}`;
}

function sourceOf({ package: name, source }: CompiledPolicy["sources"][number]): Source {
  return { path: `${name}.rego`, text: source };
}

/** Names go in as strings: a constraint may be called like a keyword. */
function unitDocument({ contract, reasoned }: CompiledPolicy, unit: string): string {
  const home = `data.signalbox.unit.${unit}.policy[${JSON.stringify(contract.id.replaceAll("-", "_"))}]`;
  const ruleBody = (rule: "pass" | "reason" | "waive", names: readonly string[]): string =>
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
