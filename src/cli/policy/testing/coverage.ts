import { compareDiagnostics, type Diagnostic, type Source } from "../../../canon/diagnostic.ts";
import type { PolicyIdentity, Verdict } from "../../../canon/policy.ts";
import {
  linePercentage,
  percentText,
  type CoveredConstraint,
  type GapCode,
} from "./test-report.ts";
import type { Location } from "../../../policy/codes.ts";
import type { CompiledPolicy } from "../../../policy/compiled.ts";
import type { FileCoverage, ModuleFacts, Position } from "../../../policy/toolchain/protocol.ts";
import { deriveVerdicts } from "../../../policy/loaded-modules.ts";

/**
 * A value of a constraint's rule in a test, as Rego printed it; `value` has the form of a decide
 * module's result.
 */
export interface Sighting {
  readonly policy: string;
  readonly constraint: string;
  /** The rule that the test queried. */
  readonly requested: "pass" | "reason";
  readonly value: unknown;
  /** Ids of the candidates of the test's input. */
  readonly candidates: readonly string[];
}

/** A policy with its source and the facts of the checker. */
interface WatchedPolicy {
  readonly policy: CompiledPolicy;
  readonly source: Source;
  readonly facts: ModuleFacts;
}

/**
 * Instruments a policy: OPA's test runner reports covered lines, but no values of rules. In a copy
 * of the policy `pass.<constraint>` and `reason.<constraint>` are renamed. New rules of the old
 * names print the values of the renamed ones, under the test's own input, data and replacements,
 * and return them.
 *
 * The policy's own references are renamed too, so that only queries of a test are recorded and a
 * reason rule that reads `pass` does not recurse.
 *
 * @param mark a string that does not occur in the sources, of letters and digits; it begins every
 * line that is printed.
 */
export function watchedSources(
  { policy, source, facts }: WatchedPolicy,
  mark: string,
): readonly Source[] {
  return [
    { path: source.path, text: renamed(source.text, facts, mark) },
    { path: source.path.replace(/\.rego$/, `.${mark}.rego`), text: watchers(policy, mark) },
  ];
}

/** The recorded values in a test's output; lines of its author have no mark. */
export function readSightings(lines: readonly string[], mark: string): readonly Sighting[] {
  return lines.flatMap((line) => {
    if (!line.startsWith(`${mark} `)) return [];
    // Printed by the rules below, under a random mark.
    const sighting: Sighting = JSON.parse(line.slice(mark.length + 1));
    return [sighting];
  });
}

/**
 * The rule name at a location, with its prefix: `pass` of `default pass.c`, of
 * `data.signalbox.policy.x.pass.c`, of `own.pass.c`. A constraint may be called `pass` too, so the
 * name without a prefix is tried first.
 */
const RULE_NAMES =
  /(?:(?:default\s+)?|data\.signalbox\.policy\.\w+\.|[A-Za-z_]\w*\.)(?:pass|reason)(?!\w)/y;

function renamed(text: string, facts: ModuleFacts, mark: string): string {
  const depth = facts.package.length;
  const heads = facts.rules.filter(({ path }) => isWatched(path[0]));
  const references = facts.references.filter(
    ({ root, path }) =>
      root === "data" &&
      facts.package.every((name, index) => path[index] === name) &&
      isWatched(path[depth]),
  );
  const ends = new Set<number>();
  for (const location of [...heads, ...references]) {
    RULE_NAMES.lastIndex = offsetOf(text, location);
    // Further bodies of a rule have a location, but no name: the first head has it.
    if (RULE_NAMES.test(text)) ends.add(RULE_NAMES.lastIndex);
  }
  let result = text;
  for (const end of [...ends].toSorted((left, right) => right - left)) {
    result = `${result.slice(0, end)}_${mark}${result.slice(end)}`;
  }
  return result;
}

function isWatched(name: string | null | undefined) {
  return name === "pass" || name === "reason";
}

/** Columns count characters of Unicode, from 1. */
function offsetOf(text: string, { row, col }: Position): number {
  let start = 0;
  for (let line = 1; line < row; line += 1) start = text.indexOf("\n", start) + 1;
  const before = Array.from(text.slice(start, start + 2 * col)).slice(0, col - 1);
  return start + before.join("").length;
}

/** A package in two files is one package to OPA. */
function watchers({ contract, reasoned }: CompiledPolicy, mark: string): string {
  const rules = contract.constraints.flatMap(({ name, effect }) => {
    const constraint = JSON.stringify(name);
    const hasReason = reasoned.includes(name);
    const list = (rule: string) =>
      `{${constraint}: [value | value := ${rule}_${mark}[${constraint}]]}`;
    const printed = (requested: Sighting["requested"]) =>
      `print(${JSON.stringify(mark)}, json.marshal({
		"policy": ${JSON.stringify(contract.id)},
		"constraint": ${constraint},
		"requested": ${JSON.stringify(requested)},
		"value": {"pass": ${list("pass")}, "reason": ${hasReason ? list("reason") : "{}"}},
		"candidates": [candidate.id | some candidate in input.candidates; is_string(candidate.id)],
	}))`;
    const passes =
      effect === "gate"
        ? `pass[${constraint}] := value if {\n\t${printed("pass")}\n\tvalue := pass_${mark}[${constraint}]\n}`
        : `pass[${constraint}] contains id if {\n\t${printed("pass")}\n\tsome id in pass_${mark}[${constraint}]\n}`;
    return hasReason
      ? [
          passes,
          `reason[${constraint}] := value if {\n\t${printed("reason")}\n\tvalue := reason_${mark}[${constraint}]\n}`,
        ]
      : [passes];
  });
  return `package signalbox.policy[${JSON.stringify(contract.id.replaceAll("-", "_"))}]\n\n${rules.join("\n\n")}\n`;
}

/**
 * Verdicts and reasons of every constraint that tests cover, derived as for a request.
 *
 * A verdict counts where a test queries `pass`. A reason counts where a test queries either rule
 * while the constraint fails: without a rule, the first reason of the list applies.
 *
 * @param tests the recorded values of each test.
 */
export function coveredConstraints(
  policies: readonly CompiledPolicy[],
  tests: readonly (readonly Sighting[])[],
): readonly CoveredConstraint[] {
  return policies.flatMap((policy) => {
    const { contract } = policy;
    return contract.constraints.map(({ name, effect, reasons }): CoveredConstraint => {
      const verdictsByTest = tests.map((sightings) =>
        sightings
          .filter((sighting) => sighting.policy === contract.id && sighting.constraint === name)
          .flatMap((sighting) => judge(policy, sighting)),
      );
      const amount = (verdict: Verdict) =>
        verdictsByTest.filter((judged) =>
          judged.some((one) => one.requested === "pass" && one.verdict === verdict),
        ).length;
      return {
        policy: contract.id,
        constraint: name,
        effect,
        verdicts: {
          pass: amount("pass"),
          fail: amount("fail"),
          indeterminate: amount("indeterminate"),
        },
        reasons: reasons.map((reason) => ({
          reason,
          tests: verdictsByTest.filter((judged) => judged.some((one) => one.reason === reason))
            .length,
        })),
      };
    });
  });
}

/** None for a set constraint without candidates, which no request has. */
function judge({ contract, digest }: CompiledPolicy, sighting: Sighting) {
  const identity: PolicyIdentity = { id: contract.id, revision: 0, digest, slot: "candidate" };
  const constraints = contract.constraints.filter(
    ({ name, effect }) =>
      name === sighting.constraint && (effect === "gate" || sighting.candidates.length > 0),
  );
  return deriveVerdicts(
    identity,
    { ...contract, constraints },
    sighting.value,
    sighting.candidates,
  ).map(({ verdict, reason }) => ({ requested: sighting.requested, verdict, reason }));
}

/**
 * Verdicts that tests have to cover, with the input for each, of a gate and of a set constraint.
 */
const VERDICT_GAPS = [
  ["pass", "CONSTRAINT_NEVER_SEEN_PASSING", "which it passes", "of which every candidate passes"],
  [
    "fail",
    "CONSTRAINT_NEVER_SEEN_FAILING",
    "which it does not pass",
    "of which a candidate does not pass",
  ],
] as const;

/** Where the gaps of a policy are shown. */
export interface GapLocations {
  readonly policy: Location;
  readonly constraintAt: (name: string) => Location;
}

/**
 * Gaps of the tests. Each gap is at the line of METADATA that declares the uncovered
 * part.
 *
 * @param untested ids of the policies without any test; their constraints are not listed one by
 * one.
 */
export function gapsOf(
  constraints: readonly CoveredConstraint[],
  untested: readonly string[],
  locations: ReadonlyMap<string, GapLocations>,
): readonly Diagnostic<GapCode>[] {
  const gaps: Diagnostic<GapCode>[] = [];
  const report = (code: GapCode, location: Location | undefined, message: string, hint: string) => {
    if (location === undefined) throw new Error("gapsOf: a policy has no location");
    gaps.push({ code, severity: "warning", ...location, message, hint });
  };
  for (const id of untested) {
    report(
      "POLICY_NOT_TESTED",
      locations.get(id)?.policy,
      `the policy ${id} has no tests`,
      `Write ${id}_test.rego.`,
    );
  }
  for (const { policy, constraint, effect, verdicts, reasons } of constraints) {
    if (untested.includes(policy)) continue;
    const location = locations.get(policy)?.constraintAt(constraint);
    for (const [verdict, code, gateInput, setInput] of VERDICT_GAPS) {
      if (verdicts[verdict] > 0) continue;
      const input = effect === "gate" ? gateInput : setInput;
      report(
        code,
        location,
        `no test has seen ${constraint} ${verdict}`,
        `Query pass.${constraint} with an input ${input}.`,
      );
    }
    for (const { reason } of reasons.filter(({ tests }) => tests === 0)) {
      report(
        "REASON_NEVER_SEEN",
        location,
        `no test has seen ${constraint} give the reason ${reason}`,
        "Test an input that fails for this reason, or remove the reason from METADATA.",
      );
    }
  }
  return gaps.toSorted(compareDiagnostics);
}

/**
 * The finding of a run whose tests reach too few lines; at the first missed line of the file that
 * misses most.
 */
export function thresholdGap(
  files: readonly FileCoverage[],
  threshold: number,
): Diagnostic<GapCode> | null {
  const percentage = linePercentage(files);
  const [worst] = files.toSorted((left, right) => right.missed_lines - left.missed_lines);
  if (percentage >= threshold || worst === undefined) return null;
  return {
    code: "COVERAGE_BELOW_THRESHOLD",
    severity: "error",
    file: worst.path,
    line: worst.missed[0] ?? 1,
    column: 1,
    message: `the tests reach ${percentText(percentage)} % of the lines, fewer than the ${threshold} % that --threshold requires`,
    hint: "Write tests for the lines that are not reached, or remove them.",
  };
}
