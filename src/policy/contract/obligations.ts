import { isJsonObject } from "../../canon/json.ts";
import { OBLIGATION_KINDS, STRIPPABLE_FIELDS, type ObligationContract } from "../../canon/policy.ts";
import { finding, type Location, type PolicyDiagnostic } from "../codes.ts";
import type { AuthoredObligation } from "./contract-schema.ts";

/** Longest name of a region or a group. */
const LONGEST_REGION = 64;

/** In the order of their names. For obligations in which {@link obligationFindings} has found nothing. */
export function obligationsOf(authored: Readonly<Record<string, AuthoredObligation>>): readonly ObligationContract[] {
  return Object.entries(authored)
    .flatMap(([name, obligation]) => obligationOf(name, obligation) ?? [])
    .toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

function obligationOf(name: string, { kind, value }: AuthoredObligation): ObligationContract | null {
  switch (OBLIGATION_KINDS.find((known) => known === kind)) {
    case "max_output_tokens":
      if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 1) return null;
      return { name, kind: "max_output_tokens", value };
    case "strip_field": {
      const field = STRIPPABLE_FIELDS.find((known) => known === value);
      return field === undefined ? null : { name, kind: "strip_field", value: field };
    }
    case "prefer_region":
      if (typeof value !== "string" || value === "" || value.length > LONGEST_REGION) return null;
      return { name, kind: "prefer_region", value };
    case undefined:
      return null;
  }
}

const VALUE_HINTS = {
  max_output_tokens: "Write a whole number from 1.",
  strip_field: `Use one of ${STRIPPABLE_FIELDS.join(", ")}.`,
  prefer_region: "Write the name of a region or of a region group.",
} as const satisfies Record<ObligationContract["kind"], string>;

/**
 * Unknown kinds and invalid values, also in a contract with other errors.
 *
 * @param authored `custom.signalbox` as YAML gives it; members that are no obligations are the schema's to report.
 */
export function obligationFindings(
  authored: unknown,
  locationOf: (steps: readonly string[]) => Location,
): readonly PolicyDiagnostic[] {
  const obligations = isJsonObject(authored) ? authored["obligations"] : undefined;
  if (!isJsonObject(obligations)) return [];
  return Object.entries(obligations).flatMap(([name, obligation]) => {
    if (!isJsonObject(obligation) || obligation["kind"] === undefined || obligation["value"] === undefined) return [];
    const subject = `custom.signalbox.obligations.${name}`;
    const kind = OBLIGATION_KINDS.find((known) => known === obligation["kind"]);
    if (kind === undefined) {
      const location = locationOf(["obligations", name, "kind"]);
      return [finding("POLICY_OBLIGATION_KIND", location, `${subject}.kind is not a known kind`)];
    }
    if (obligationOf(name, { kind, value: obligation["value"] }) !== null) return [];
    const location = locationOf(["obligations", name, "value"]);
    const message = `${subject}.value does not fit the kind ${kind}`;
    return [finding("POLICY_OBLIGATION_VALUE", location, message, VALUE_HINTS[kind])];
  });
}
