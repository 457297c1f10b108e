import { ALWAYS_USED, type ProviderPreferences } from "../../canon/request.ts";
import {
  type ConfigNode,
  keyPosition,
  type Path,
  valuePosition,
} from "../../compile/authored/tree.ts";
import type { SampleRequest } from "../sample-request.ts";
import type { SourceLocation } from "../report/report.ts";
import {
  type Assertion,
  type Assertions,
  COVERAGE_MEASURES,
  type Demand,
  type SampleCase,
} from "./assertion.ts";
import type { CaseRequest } from "./schema-selectors.ts";
import type { AuthoredAssertion, AuthoredAssertions, AuthoredCase } from "./schema.ts";

/** The file with its defaults written out and the location of every row. */
export function normaliseAssertions(
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
export function coverageSubject(text: string): string {
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
      return { kind: assertion.kind, ...selection, to: assertion.to ?? {} };
    case "access_not_granted":
      return { kind: assertion.kind, ...selection, to: assertion.to };
    case "always_routable":
      return { kind: assertion.kind, ...selection, min_places: assertion.min_places ?? 1 };
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

function preferencesOf(request: CaseRequest): ProviderPreferences | null {
  const { order, only, ignore, allow_fallbacks, region, data_collection, zdr } = request;
  const preferences: ProviderPreferences = {
    ...(order === undefined ? {} : { order }),
    ...(only === undefined ? {} : { only }),
    ...(ignore === undefined ? {} : { ignore }),
    ...(allow_fallbacks === undefined ? {} : { allow_fallbacks }),
    ...(region === undefined ? {} : { region }),
    ...(data_collection === undefined ? {} : { data_collection }),
    ...(zdr === undefined ? {} : { zdr }),
  };
  return Object.keys(preferences).length === 0 ? null : preferences;
}
