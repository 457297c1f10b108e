import type { Source } from "../../canon/diagnostic.ts";
import { ALWAYS_USED, type ProviderPreferences } from "../../canon/request.ts";
import { normaliseText, readDocument } from "../../compile/authored/document.ts";
import { quote, reportLiteralSecrets } from "../../compile/authored/literal-secrets.ts";
import { pathOf, reportShapeError, type Complaints } from "../../compile/authored/shape.ts";
import {
  keyPosition,
  plainValue,
  valuePosition,
  type ConfigNode,
  type Path,
} from "../../compile/authored/tree.ts";
import { FindingsOf, type ReportOf } from "../../compile/findings/findings.ts";
import {
  COVERAGE_MEASURES,
  comparesSides,
  lastMoment,
  type Assertion,
  type AssertionSide,
  type Assertions,
  type Demand,
  type SampleCase,
  type CaseRequest,
  ASSERTIONS_SCHEMA,
  type AuthoredAssertion,
  type AuthoredAssertions,
  type AuthoredCase,
  type CaseExpectation,
} from "./schema.ts";
import { nameCheck } from "./check-names.ts";
import { ASSERTION_CODES, type AssertionCode } from "./codes.ts";
import type { SourceLocation } from "../report/report.ts";
import type { OfSides, SampleRequest } from "../sample-request.ts";
import { Validator, type ValidatorOptions } from "../../validation/validator.ts";

/** The file with its defaults written out and the location of every row. */
function normaliseAssertions(
  { assertions, coverage = {} }: AuthoredAssertions,
  file: string,
  tree: ConfigNode,
): Assertions {
  const locationOf = (path: Path, position = valuePosition): SourceLocation => ({
    file,
    ...position(tree, path),
  });
  return {
    assertions: assertions.map((assertion, index) =>
      normalise(assertion, locationOf(["assertions", index])),
    ),
    coverage: {
      gates: COVERAGE_MEASURES.flatMap((what) => {
        const required = coverage[what];
        return required === undefined
          ? []
          : [{ what, required, location: locationOf(["coverage", what], keyPosition) }];
      }),
      except: (coverage.except ?? []).map(coverageSubject),
    },
  };
}

/** `chat-large -> gpt-5-eu` is written more easily than the arrow of reports. */
function coverageSubject(text: string) {
  return text.replaceAll(/ *(?:->|→) */g, " → ");
}

function normalise(assertion: AuthoredAssertion, location: SourceLocation): Assertion {
  return {
    ...demandOf(assertion),
    id: assertion.id,
    title: assertion.title,
    view: assertion.view ?? "both",
    waiver: assertion.waiver ?? null,
    may_be_empty: assertion.kind !== "cases" && assertion.may_be_empty === true,
    location,
  };
}

function demandOf(assertion: AuthoredAssertion): Demand {
  if (assertion.kind === "cases")
    return { kind: "cases", cases: assertion.cases.map(normaliseCase) };
  const selection = { for: assertion.for ?? {}, except: assertion.except ?? null };
  switch (assertion.kind) {
    case "no_new_access":
    case "access_not_granted":
      return { kind: assertion.kind, ...selection, to: assertion.to ?? {} };
    case "always_routable":
      return { kind: assertion.kind, ...selection, min_endpoints: assertion.min_endpoints ?? 1 };
    case "implies":
      // oxlint-disable-next-line unicorn/no-thenable -- a key of the file; no code awaits an assertion
      return { kind: assertion.kind, ...selection, if: assertion.if, then: assertion.then };
    case "equivalent":
      return { kind: assertion.kind, ...selection, ignoring: assertion.ignoring ?? [] };
  }
}

function normaliseCase({ name, request, expect }: AuthoredCase, index: number): SampleCase {
  return { name: name ?? `case ${index + 1}`, sample: sampleOf(request), expect };
}

/** The request of a case, with defaults for the members that it leaves out. */
function sampleOf(request: CaseRequest): SampleRequest {
  return {
    workspace: request.workspace,
    model: request.model ?? "",
    operation: request.operation,
    key: {
      environment: request.environment ?? "other",
      workload: request.workload ?? "other",
      ...(request.owner !== undefined && { owner: request.owner }),
      labels: (request.key_labels ?? []).toSorted(),
    },
    needs: (request.needs ?? []).toSorted(),
    features: [
      ...new Set([...(request.features ?? []), ...(ALWAYS_USED[request.operation] ?? [])]),
    ].toSorted(),
    signatureFamilies: (request.signature_families ?? []).toSorted(),
    stream: request.stream ?? false,
    context: request.context ?? "to_1k",
    maxOutput: request.max_output ?? "unspecified",
    reasoningEffort: request.reasoning_effort ?? "unspecified",
    dimensions: request.dimensions ?? null,
    preferences: preferencesOf(request),
    time: { day: request.day ?? "weekday", hour: request.hour ?? "morning" },
    ...(request.budget !== undefined &&
      request.budget !== "unlimited" && { budget: request.budget }),
  };
}

const PREFERENCES = [
  "order",
  "only",
  "ignore",
  "allow_fallbacks",
  "region",
  "data_collection",
  "zdr",
] as const;

function preferencesOf(request: CaseRequest): ProviderPreferences | null {
  const stated = PREFERENCES.filter((member) => request[member] !== undefined);
  return stated.length === 0
    ? null
    : Object.fromEntries(stated.map((member) => [member, request[member]]));
}

/** Schema and options of the check of assertions. */
export const ASSERTIONS_CHECK: ValidatorOptions = {
  schema: ASSERTIONS_SCHEMA,
  options: { allErrors: true, verbose: true, discriminator: true },
  annotations: ["patternErrorMessage"],
};

const validator = new Validator<AuthoredAssertions>(() => ASSERTIONS_CHECK);

/**
 * Reads `policies/assertions.yaml`, or reports all its errors. No content of the file makes it
 * throw.
 *
 * @param sides where its names are looked up; the same side twice where nothing is compared.
 * @returns the assertions, `null` where the file has an error: none of it is then held against
 * anything; and the findings, sorted.
 */
export function parseAssertions(source: Source, sides: OfSides<AssertionSide>) {
  const findings = new FindingsOf(source.path, ASSERTION_CODES);
  const text = normaliseText(source.text);
  const tree = readDocument(text, findings);
  reportLiteralSecrets(text, tree, findings);
  const shape = tree && readShape(tree, findings);
  if (tree === null || shape === null) return { assertions: null, diagnostics: findings.list() };
  const { authored, wrong } = shape;
  checkAssertions(authored, wrong, sides, findings.on(tree));
  const assertions = findings.failed ? null : normaliseAssertions(authored, source.path, tree);
  return { assertions, diagnostics: findings.list() };
}

/** Keys that files may still have, and today's. */
export const FORMER_KEYS = {
  every_place: "every_endpoint",
  min_places: "min_endpoints",
  some_place: "some_endpoint",
} as const;

/** Gives the former keys of a tree their names of today, in place. */
function renameKeys(node: ConfigNode, findings: FindingsOf<AssertionCode>) {
  if (node.kind === "list") for (const item of node.items) renameKeys(item, findings);
  if (node.kind !== "map") return;
  const { members } = node;
  for (const member of members.values()) renameKeys(member.node, findings);
  for (const [formerKey, name] of Object.entries(FORMER_KEYS)) {
    const member = members.get(formerKey);
    if (member === undefined) continue;
    members.delete(formerKey);
    if (members.has(name)) {
      const message = `\`${formerKey}\` is the former name of \`${name}\`, which this mapping has too`;
      findings.add("YAML_DUPLICATE_KEY", member.keyAt, message);
    } else members.set(name, { ...member, formerKey });
  }
}

/**
 * The part of the file that fits the schema. Rows that do not are reported and left out, so that
 * the names of the rest are checked in the same run.
 *
 * @returns `wrong`: the indices of those rows; a placeholder replaces each, so that indices stay.
 */
function readShape(tree: ConfigNode, findings: FindingsOf<AssertionCode>) {
  renameKeys(tree, findings);
  const value: unknown = plainValue(tree);
  const wrong = new Set<number>();
  if (validator.accepts(value)) return { authored: value, wrong };
  let coverageFits = true;
  for (const error of validator.errors) {
    reportShapeError(error, tree, findings, COMPLAINTS);
    const [section, row] = pathOf(error);
    if (section === "assertions" && typeof row === "number") wrong.add(row);
    if (section === "coverage") coverageFits = false;
  }
  if (typeof value !== "object" || value === null || !("assertions" in value)) return null;
  const { assertions } = value;
  if (!Array.isArray(assertions)) return null;
  const rest: unknown = {
    version: 1,
    assertions: assertions.map((row: unknown, index) => (wrong.has(index) ? PLACEHOLDER : row)),
    ...(coverageFits && "coverage" in value ? { coverage: value.coverage } : {}),
  };
  return validator.accepts(rest) ? { authored: rest, wrong } : null;
}

/** Replaces a row that does not fit the schema. */
const PLACEHOLDER = { kind: "equivalent", id: "left-out", title: "Left out" };

const COMPLAINTS: Complaints<AssertionCode> = {
  // The list of kinds and the missing key give better messages.
  discriminator: () => null,
  minProperties: ({ tree, path, where }) => [
    "WRONG_VALUE",
    keyPosition(tree, path),
    `${where} is empty`,
    "give at least one member, or remove the key",
  ],
};

type Report = ReportOf<AssertionCode>;
type NameCheck = ReturnType<typeof nameCheck>;

/**
 * Rules that a schema cannot express: names that exist, ids that are unique, dates of the calendar,
 * demands that can be met.
 *
 * @param wrong rows that have been reported already, by index.
 */
function checkAssertions(
  { assertions, coverage }: AuthoredAssertions,
  wrong: ReadonlySet<number>,
  sides: OfSides<AssertionSide>,
  report: Report,
) {
  const names = nameCheck(sides, report);
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
      report.value(
        "ASSERTION_DATE_INVALID",
        [...path, "waiver", "until"],
        message,
        "such as `2026-12-31`",
      );
    }
    checkDemand(assertion, path, names, report);
  }
  for (const [index, subject] of (coverage?.except ?? []).entries()) {
    names.covered(coverageSubject(subject), ["coverage", "except", index]);
  }
}

function checkDemand(assertion: AuthoredAssertion, path: Path, names: NameCheck, report: Report) {
  if (assertion.kind === "cases") {
    for (const [index, row] of assertion.cases.entries())
      checkCase(row, [...path, "cases", index], names, report);
    return;
  }
  const either = comparesSides(assertion.kind);
  names.row(assertion.for, [...path, "for"], either);
  names.row(assertion.except, [...path, "except"], either);
  if ("to" in assertion) names.row(assertion.to, [...path, "to"], either);
  if (assertion.kind === "implies") {
    const { if: condition, then: demand } = assertion;
    names.row(condition.reaches, [...path, "if", "reaches"]);
    names.denial(condition.denied_by, [...path, "if", "denied_by"]);
    for (const member of ["every_endpoint", "some_endpoint", "primary"] as const) {
      names.row(demand[member], [...path, "then", member]);
    }
    names.denial(demand.denied_by, [...path, "then", "denied_by"]);
    if (isContradiction(condition, condition.reaches !== undefined))
      contradict(report, [...path, "if"]);
    if (isContradiction(demand, (demand.some_endpoint ?? demand.primary) !== undefined))
      contradict(report, [...path, "then"]);
  }
}

function checkCase(
  { request, expect }: AuthoredCase,
  path: Path,
  names: NameCheck,
  report: Report,
) {
  names.row(request, [...path, "request"]);
  names.row(expect, [...path, "expect"]);
  names.denial(expect.denied_by, [...path, "expect", "denied_by"]);
  if (request.model === undefined && request.operation !== "moderations") {
    const message = "request lacks `model`, which only moderations may leave out";
    report.key("MISSING_KEY", [...path, "request"], message, "name a route");
  }
  const { outcome, plan, primary, contains = [], lacks = [] } = expect;
  const endpoints = [...(plan ?? []), ...contains, ...(primary === undefined ? [] : [primary])];
  if (
    isContradiction(expect, endpoints.length > 0) ||
    (outcome === "route" && plan?.length === 0) ||
    (plan !== undefined && primary !== undefined && plan[0] !== primary) ||
    (plan !== undefined && contains.some((endpoint) => !plan.includes(endpoint))) ||
    lacks.some((endpoint) => endpoints.includes(endpoint))
  )
    contradict(report, [...path, "expect"]);
}

/** Whether a denial is demanded together with endpoints, or with a routed request. */
function isContradiction(
  { outcome, denied_by: by }: Pick<CaseExpectation, "outcome" | "denied_by">,
  namesEndpoints: boolean,
): boolean {
  const denied = outcome === "deny" || by !== undefined;
  return (denied && namesEndpoints) || (outcome === "route" && by !== undefined);
}

function contradict(report: Report, path: Path) {
  const message = "no decision can meet both conditions";
  const hint = "a denial has no endpoints, and a routed request has no denial";
  report.key("ASSERTION_CONTRADICTION", path, message, hint);
}
