import type { Diagnostic, Source } from "../../../canon/diagnostic.ts";
import { readDocument } from "../../../compile/authored/document.ts";
import { reportLiteralSecrets } from "../../../compile/authored/literal-secrets.ts";
import { type Complaints, pathOf, reportShapeError } from "../../../compile/authored/shape-errors.ts";
import { normaliseText } from "../../../compile/authored/text.ts";
import { type ConfigNode, keyPosition, plainValue } from "../../../compile/authored/tree.ts";
import type { Assertions, AssertionSide } from "../assertion.ts";
import type { OfSides } from "../../sample-request.ts";
import { checkAssertions } from "./check.ts";
import { AssertionFindings, type AssertionCode } from "./codes.ts";
import { normaliseAssertions } from "./normalise.ts";
import { ASSERTIONS_SCHEMA, type AuthoredAssertions } from "./schema.ts";
import { Validator, type ValidatorOptions } from "../../../validation/validator.ts";

export interface ParsedAssertions {
  /** `null` where the file has an error: none of it is then held against anything. */
  readonly assertions: Assertions | null;
  /** Sorted. */
  readonly diagnostics: readonly Diagnostic<AssertionCode>[];
}

/** How the check of assertions is compiled. */
export const ASSERTIONS_CHECK: ValidatorOptions = {
  schema: ASSERTIONS_SCHEMA,
  options: { allErrors: true, verbose: true, discriminator: true },
  annotations: ["patternErrorMessage"],
};

const validator = new Validator<AuthoredAssertions>(() => ASSERTIONS_CHECK);

/**
 * Reads `policies/assertions.yaml`, or reports all its errors. No content of the file makes it throw.
 *
 * @param sides where its names are looked up; the same side twice where nothing is compared.
 */
export function parseAssertions(source: Source, sides: OfSides<AssertionSide>): ParsedAssertions {
  const findings = new AssertionFindings(source.path);
  const text = normaliseText(source.text);
  const tree = readDocument(text, findings);
  reportLiteralSecrets(text, tree, findings);
  const shape = tree === null ? null : readShape(tree, findings);
  if (tree === null || shape === null) return { assertions: null, diagnostics: findings.list() };
  const { authored, wrong } = shape;
  checkAssertions(authored, wrong, sides, findings.on(tree));
  const assertions = findings.failed ? null : normaliseAssertions(authored, source.path, tree);
  return { assertions, diagnostics: findings.list() };
}

/** What of the file can be judged further. */
interface Shape {
  readonly authored: AuthoredAssertions;
  /** Rows that do not fit the schema, by index; an empty row replaces each, so that indices stay. */
  readonly wrong: ReadonlySet<number>;
}

/** Rows that do not fit the schema are reported and left out, so that the names of the rest are checked in the same run. */
function readShape(tree: ConfigNode, findings: AssertionFindings): Shape | null {
  const value: unknown = plainValue(tree);
  if (validator.accepts(value)) return { authored: value, wrong: new Set() };
  const wrong = new Set<number>();
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
    assertions: assertions.map((row: unknown, index) => (wrong.has(index) ? SAYS_NOTHING : row)),
    ...(coverageFits && "coverage" in value ? { coverage: value.coverage } : {}),
  };
  return validator.accepts(rest) ? { authored: rest, wrong } : null;
}

const SAYS_NOTHING = { kind: "equivalent", id: "left-out", title: "Left out" };

const COMPLAINTS: Complaints<AssertionCode> = {
  // The list of kinds and the missing key give better messages.
  discriminator: () => null,
  minProperties({ tree, path, where }) {
    const hint = "give at least one member, or remove the key";
    return { code: "WRONG_VALUE", at: keyPosition(tree, path), message: `${where} is empty`, hint };
  },
};
