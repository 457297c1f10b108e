import type { ConstraintContract } from "../../canon/policy.ts";
import {
  finding,
  locationOf,
  type Location,
  type PolicyCode,
  type PolicyDiagnostic,
} from "../codes.ts";
import type { CompiledPolicy } from "../compiled.ts";
import type { ModuleFacts, RuleFacts } from "../toolchain/protocol.ts";
import type { LocatedContract } from "./contract.ts";

/**
 * Holds the `pass` and `reason` rules of a policy to its contract: everything declared can pass,
 * and there are no other rules.
 */
export function checkRules(
  { contract, constraintAt }: LocatedContract,
  facts: ModuleFacts,
): readonly PolicyDiagnostic[] {
  const diagnostics: PolicyDiagnostic[] = [];
  const constraints = new Map(
    contract.constraints.map((constraint) => [constraint.name, constraint]),
  );
  const passing = new Map<string, RuleFacts[]>();
  for (const rule of facts.rules) {
    const [group, name] = rule.path;
    if (group !== "pass" && group !== "reason") continue;
    const location = locationOf(facts.path, rule);
    const report = (code: PolicyCode, message: string, hint?: string): void => {
      diagnostics.push(finding(code, location, message, hint));
    };
    const constraint = typeof name === "string" ? constraints.get(name) : undefined;
    if (typeof name !== "string") {
      const message = `a ${group} rule must name its constraint in the source`;
      report("POLICY_RULE_SHAPE", message, `Write ${group}.<constraint>.`);
    } else if (constraint === undefined)
      report("POLICY_CONSTRAINT_UNDECLARED", `METADATA declares no constraint ${name}`);
    else if (group === "pass") {
      passing.set(name, [...(passing.get(name) ?? []), rule]);
      diagnostics.push(...passFindings(constraint, rule, location));
    } else diagnostics.push(...reasonFindings(constraint, rule, location, facts.path));
  }
  for (const { name } of contract.constraints) {
    const rules = passing.get(name);
    if (rules === undefined) {
      diagnostics.push(
        finding("POLICY_CONSTRAINT_WITHOUT_RULE", constraintAt(name), `no rule pass.${name}`),
      );
    } else if (!rules.some(canPass)) {
      const [first] = rules;
      const location = first === undefined ? constraintAt(name) : locationOf(facts.path, first);
      diagnostics.push(
        finding("POLICY_CONSTRAINT_NEVER_PASSES", location, `pass.${name} is never true`),
      );
    }
  }
  return diagnostics;
}

/** Constraints that have a reason rule, sorted. */
export function reasonedConstraints(
  { contract }: LocatedContract,
  { rules }: ModuleFacts,
): readonly string[] {
  return contract.constraints
    .map(({ name }) => name)
    .filter((name) => rules.some(({ path }) => path[0] === "reason" && path[1] === name));
}

/** The position of the first pass rule of each constraint; none for a constraint without. */
export function passLocations(
  { contract }: LocatedContract,
  { rules }: ModuleFacts,
): CompiledPolicy["locations"] {
  return Object.fromEntries(
    contract.constraints.flatMap(({ name }) => {
      const rule = rules.find(({ path }) => path[0] === "pass" && path[1] === name);
      return rule === undefined ? [] : [[name, { line: rule.row, column: rule.col }]];
    }),
  );
}

function passFindings(
  { name, effect }: ConstraintContract,
  rule: RuleFacts,
  location: Location,
): PolicyDiagnostic[] {
  const kind = effect === "gate" ? "value" : "set";
  if (rule.path.length !== 2 || rule.kind !== kind) {
    const shape =
      effect === "gate" ? `pass.${name} if …` : `pass.${name} contains candidate.id if …`;
    const message = `pass.${name} has the wrong form for the effect ${effect}`;
    return [finding("POLICY_RULE_SHAPE", location, message, `Write ${shape}`)];
  }
  if (rule.default && rule.results.some(({ constant, value }) => !constant || value !== false)) {
    return [finding("POLICY_DEFAULT_PASS", location, `the default of pass.${name} is not false`)];
  }
  return [];
}

/**
 * `reason.<constraint>` gives a reason, `reason.<constraint>[candidate.id]` one for each candidate.
 */
function reasonFindings(
  { name, reasons }: ConstraintContract,
  rule: RuleFacts,
  location: Location,
  file: string,
): PolicyDiagnostic[] {
  if (rule.path.length > 3 || rule.kind !== "value") {
    const hint = `Write reason.${name} := "…" if …, or reason.${name}[candidate.id] := "…" if …`;
    return [
      finding(
        "POLICY_RULE_SHAPE",
        location,
        `reason.${name} has a form that a reason rule cannot have`,
        hint,
      ),
    ];
  }
  return rule.results
    .filter(
      ({ constant, value }) =>
        constant && typeof value !== "object" && !reasons.some((reason) => reason === value),
    )
    .map((result) => {
      const message = `reason.${name} gives a reason that METADATA does not list`;
      const hint = `Its reasons are ${reasons.join(", ")}.`;
      return finding("POLICY_REASON_UNDECLARED", locationOf(file, result), message, hint);
    });
}

/** Whether any branch can hold with anything but a value that is written and does not pass. */
function canPass({ kind, results }: RuleFacts): boolean {
  return results.some(({ constant, value }) => kind === "set" || !constant || value === true);
}

/**
 * Holds the `waive` rules of a policy to its contract. An obligation needs no rule: it applies
 * unless a rule waives it, so that whatever is undefined or fails leaves it in force.
 */
export function checkWaivers(
  { contract }: LocatedContract,
  facts: ModuleFacts,
): readonly PolicyDiagnostic[] {
  const declared = new Set(contract.obligations.map(({ name }) => name));
  return facts.rules.flatMap(
    ({ path: [group, name, ...deeper], kind, default: isDefault, results, row, col }) => {
      if (group !== "waive") return [];
      const location = locationOf(facts.path, { row, col });
      if (typeof name !== "string") {
        const message = "a waive rule must name its obligation in the source";
        return [finding("POLICY_WAIVE_SHAPE", location, message)];
      }
      if (!declared.has(name)) {
        return [
          finding(
            "POLICY_OBLIGATION_UNDECLARED",
            location,
            `METADATA declares no obligation ${name}`,
          ),
        ];
      }
      const valueThatWaivesNothing = results.some(
        ({ constant, value }) => constant && typeof value !== "boolean",
      );
      if (deeper.length > 0 || kind !== "value" || valueThatWaivesNothing) {
        const hint = `Write waive.${name} if …`;
        return [
          finding(
            "POLICY_WAIVE_SHAPE",
            location,
            `waive.${name} has a form that waives nothing`,
            hint,
          ),
        ];
      }
      if (isDefault && results.some(({ constant, value }) => !constant || value !== false)) {
        return [
          finding("POLICY_DEFAULT_WAIVE", location, `the default of waive.${name} is not false`),
        ];
      }
      return [];
    },
  );
}
