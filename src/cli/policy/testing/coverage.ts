import { compareDiagnostics, type Diagnostic } from "../../../canon/diagnostic.ts";
import type { PolicyIdentity, Verdict } from "../../../canon/policy.ts";
import type { Location } from "../../../policy/codes.ts";
import type { CompiledPolicy } from "../../../policy/compiled.ts";
import type { FileCoverage } from "../../../policy/toolchain/protocol.ts";
import { deriveVerdicts } from "../../../policy/verdicts.ts";
import {
  linePercentage,
  percentText,
  type CoveredConstraint,
  type GapCode,
} from "./test-report.ts";
import type { Sighting } from "./watched-sources.ts";

/**
 * What the tests have seen of every constraint, in the router's terms: a verdict is derived as it
 * is for a request.
 *
 * A verdict counts where a test requests `pass`. A reason counts where a test requests either rule
 * while the constraint fails: the first of the list is given without any rule.
 *
 * @param tests the sightings of each test.
 */
export function coveredConstraints(
  policies: readonly CompiledPolicy[],
  tests: readonly (readonly Sighting[])[],
): readonly CoveredConstraint[] {
  return policies.flatMap((policy) => {
    const { contract } = policy;
    return contract.constraints.map(({ name, effect, reasons }): CoveredConstraint => {
      const seen = tests.map((sightings) =>
        sightings
          .filter((sighting) => sighting.policy === contract.id && sighting.constraint === name)
          .flatMap((sighting) => judge(policy, sighting)),
      );
      const amount = (verdict: Verdict): number =>
        seen.filter((judged) =>
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
          tests: seen.filter((judged) => judged.some((one) => one.reason === reason)).length,
        })),
      };
    });
  });
}

interface Judged {
  readonly requested: Sighting["requested"];
  readonly verdict: Verdict;
  readonly reason: string | null;
}

/** Nothing for a set without candidates: every set holds all of none, and no request has none. */
function judge({ contract, digest }: CompiledPolicy, sighting: Sighting): readonly Judged[] {
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

/** Where the gaps of a policy are shown. */
export interface GapLocations {
  readonly policy: Location;
  readonly constraintAt: (name: string) => Location;
}

/**
 * What the tests do not cover. Each gap is at the line of METADATA that declares the uncovered
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
  const report = (
    code: GapCode,
    location: Location | undefined,
    message: string,
    hint: string,
  ): void => {
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
    if (verdicts.pass === 0) {
      const input = effect === "gate" ? "which it passes" : "of which every candidate passes";
      const message = `no test has seen ${constraint} pass`;
      report(
        "CONSTRAINT_NEVER_SEEN_PASSING",
        location,
        message,
        `Query pass.${constraint} with an input ${input}.`,
      );
    }
    if (verdicts.fail === 0) {
      const input =
        effect === "gate" ? "which it does not pass" : "of which a candidate does not pass";
      const message = `no test has seen ${constraint} fail`;
      report(
        "CONSTRAINT_NEVER_SEEN_FAILING",
        location,
        message,
        `Query pass.${constraint} with an input ${input}.`,
      );
    }
    for (const { reason } of reasons.filter(({ tests }) => tests === 0)) {
      const hint = "Test an input that fails for this reason, or remove the reason from METADATA.";
      report(
        "REASON_NEVER_SEEN",
        location,
        `no test has seen ${constraint} give the reason ${reason}`,
        hint,
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
