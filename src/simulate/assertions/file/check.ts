import type { ReportOf } from "../../../compile/findings/findings.ts";
import type { Path } from "../../../compile/authored/tree.ts";
import { quote } from "../../../compile/authored/literal-secrets.ts";
import type { AssertionSide } from "../assertion.ts";
import type { OfSides } from "../../sample-request.ts";
import type { CaseExpectation, DecisionDemand, AuthoredAssertion, AuthoredAssertions, AuthoredCase } from "./schema.ts";
import { lastMoment } from "../waiver.ts";
import { NameCheck } from "./check-names.ts";
import type { AssertionCode } from "./codes.ts";
import { KnownNames } from "./known-names.ts";
import { coverageSubject } from "./normalise.ts";

type Report = ReportOf<AssertionCode>;

/**
 * Rules that a schema cannot express: names that exist, ids that are unique, dates of the calendar, demands that can be met.
 *
 * @param wrong rows that have been reported already, by index.
 */
export function checkAssertions(
  { assertions, coverage }: AuthoredAssertions,
  wrong: ReadonlySet<number>,
  sides: OfSides<AssertionSide>,
  report: Report,
): void {
  const names = new NameCheck({ base: new KnownNames(sides.base), head: new KnownNames(sides.head) }, report);
  const ids = new Set<string>();
  for (const [index, assertion] of assertions.entries()) {
    if (wrong.has(index)) continue;
    const path = ["assertions", index];
    if (ids.has(assertion.id)) {
      const message = `another assertion has the id ${quote(assertion.id)}`;
      report.value("DUPLICATE_ID", [...path, "id"], message, "choose another id");
    }
    ids.add(assertion.id);
    if (assertion.waiver !== undefined && lastMoment(assertion.waiver.until) === null) {
      const message = "waiver.until is not a date that exists";
      report.value("ASSERTION_DATE_INVALID", [...path, "waiver", "until"], message, "such as `2026-12-31`");
    }
    checkDemand(assertion, path, names, report);
  }
  for (const [index, subject] of (coverage?.except ?? []).entries()) {
    names.covered(coverageSubject(subject), ["coverage", "except", index]);
  }
}

function checkDemand(assertion: AuthoredAssertion, path: Path, names: NameCheck, report: Report): void {
  if (assertion.kind === "cases") {
    for (const [index, row] of assertion.cases.entries()) checkCase(row, [...path, "cases", index], names, report);
    return;
  }
  // These two compare both sides, so names of base alone are valid.
  const either = assertion.kind === "no_new_access" || assertion.kind === "equivalent";
  names.selector(assertion.for, [...path, "for"], either);
  names.selector(assertion.except, [...path, "except"], either);
  if (assertion.kind === "no_new_access" || assertion.kind === "access_not_granted") {
    names.selector(assertion.to, [...path, "to"], either);
  } else if (assertion.kind === "implies") {
    const { if: condition, then: demand } = assertion;
    names.selector(condition.reaches, [...path, "if", "reaches"], false);
    names.denial(condition.denied_by, [...path, "if", "denied_by"]);
    for (const member of ["every_place", "some_place", "primary"] as const) {
      names.selector(demand[member], [...path, "then", member], false);
    }
    names.denial(demand.denied_by, [...path, "then", "denied_by"]);
    if (isDenial(condition) && condition.reaches !== undefined) contradict(report, [...path, "if"]);
    if (condition.outcome === "route" && condition.denied_by !== undefined) contradict(report, [...path, "if"]);
    checkDemanded(demand, [...path, "then"], report);
  }
}

function checkCase({ request, expect }: AuthoredCase, path: Path, names: NameCheck, report: Report): void {
  names.request(request, [...path, "request"]);
  names.expectation(expect, [...path, "expect"]);
  if (request.model === undefined && request.operation !== "moderations") {
    const message = "request lacks `model`, which only moderations may leave out";
    report.key("MISSING_KEY", [...path, "request"], message, "name a route");
  }
  const { outcome, plan, primary, contains } = expect;
  const denied = isDenial(expect);
  const unlike = plan !== undefined && primary !== undefined && plan[0] !== primary;
  const missing = plan !== undefined && contains?.some((endpoint) => !plan.includes(endpoint)) === true;
  const held = [...(plan ?? []), ...(contains ?? []), ...(primary === undefined ? [] : [primary])];
  const lacking = expect.lacks?.some((endpoint) => held.includes(endpoint)) === true;
  const routed = outcome === "route" && (expect.denied_by !== undefined || plan?.length === 0);
  if ((denied && held.length > 0) || routed || unlike || missing || lacking) contradict(report, [...path, "expect"]);
}

function checkDemanded(demand: DecisionDemand, path: Path, report: Report): void {
  const namesEndpoints = demand.some_place !== undefined || demand.primary !== undefined;
  const routed = demand.outcome === "route" && demand.denied_by !== undefined;
  if ((isDenial(demand) && namesEndpoints) || routed) contradict(report, path);
}

function isDenial({ outcome, denied_by }: Pick<CaseExpectation, "outcome" | "denied_by">): boolean {
  return outcome === "deny" || denied_by !== undefined;
}

function contradict(report: Report, path: Path): void {
  const message = "no decision can meet both conditions";
  report.key("ASSERTION_CONTRADICTION", path, message, "a denial has no endpoints, and a routed request has no denial");
}
