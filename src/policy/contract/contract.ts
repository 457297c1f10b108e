import type { ErrorObject } from "ajv/dist/2020.js";
import type { Source } from "../../canon/diagnostic.ts";
import { isJsonObject } from "../../canon/json.ts";
import { whole } from "../../canon/json/schema.ts";
import { OPERATIONS, type Operation } from "../../canon/operation.ts";
import {
  CONSTRAINT_EFFECTS,
  OBLIGATION_KINDS,
  STRIPPABLE_FIELDS,
  type ConstraintContract,
  type ConstraintEffect,
  type ObligationContract,
  type PolicyContract,
} from "../../canon/policy.ts";
import { finding, locationOf, type Location, type PolicyDiagnostic } from "../codes.ts";
import type { PolicyFile } from "./sources.ts";
import type { AnnotationFacts, ModuleFacts } from "../toolchain/protocol.ts";
import { Validator, type ValidatorOptions } from "../../validation/validator.ts";
import { LineCounter, isMap, isNode, isScalar, isSeq, parseDocument, type Node } from "yaml";

/** `custom.signalbox` of a METADATA block, as authors write it. */
interface AuthoredContract {
  readonly contract: 1;
  readonly id: string;
  readonly owners: readonly string[];
  readonly applies_to?: { readonly operations?: readonly Operation[] };
  readonly constraints?: Readonly<
    Record<
      string,
      { readonly effect: ConstraintEffect; readonly reasons: readonly [string, ...string[]] }
    >
  >;
  readonly obligations?: Readonly<Record<string, AuthoredObligation>>;
}

/** The kind determines the values; `obligationOf` checks them together. */
interface AuthoredObligation {
  readonly kind: unknown;
  readonly value: unknown;
}

const NAME_PATTERN = "^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$";

/**
 * JSON Schema (draft 2020-12). Reports quote the `description` beside a `pattern` as the
 * expectation.
 */
export const CONTRACT_SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Contract of a Signalbox policy (custom.signalbox in its METADATA)",
  type: "object",
  additionalProperties: false,
  required: ["contract", "id", "owners"],
  properties: {
    contract: { const: 1 },
    id: { type: "string" },
    owners: {
      type: "array",
      minItems: 1,
      uniqueItems: true,
      items: {
        type: "string",
        pattern: "^[a-z]+:[A-Za-z0-9][A-Za-z0-9._@/-]{0,127}$",
        description: "an owner such as group:privacy or user:ada@example.org",
      },
    },
    applies_to: {
      type: "object",
      additionalProperties: false,
      properties: {
        operations: {
          type: "array",
          minItems: 1,
          uniqueItems: true,
          items: { enum: [...OPERATIONS] },
        },
      },
    },
    constraints: {
      type: "object",
      minProperties: 1,
      propertyNames: {
        pattern: NAME_PATTERN,
        maxLength: 64,
      },
      additionalProperties: whole({
        effect: { enum: [...CONSTRAINT_EFFECTS] },
        reasons: {
          type: "array",
          minItems: 1,
          uniqueItems: true,
          items: {
            type: "string",
            pattern:
              "^(?!EVALUATION_INDETERMINATE$|NO_CANDIDATE_PASSES$|POLICY_TIMEOUT$)[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*$",
            maxLength: 64,
            description: "a reason in UPPER_SNAKE case that the router does not use itself",
          },
        },
      }),
    },
    obligations: {
      type: "object",
      minProperties: 1,
      propertyNames: { pattern: NAME_PATTERN, maxLength: 64 },
      additionalProperties: whole({ kind: {}, value: {} }),
    },
  },
} as const;

/** One step into a document: a member's name or an item's index. */
type Step = string | number;

/**
 * Finds members of a METADATA block in the file. OPA reads the values but drops their positions; so
 * the same lines are read again for their positions only.
 */
class MetadataPositions {
  readonly #file: string;
  readonly #block: Location;
  readonly #contents: Node | null;
  readonly #lines = new LineCounter();
  /** For each line of the block, the number of characters before its YAML. */
  readonly #margins: readonly number[];
  readonly #firstLine: number;

  constructor(source: Source, block: AnnotationFacts) {
    this.#file = source.path;
    this.#block = { file: source.path, line: block.row, column: block.col };
    this.#firstLine = block.row + 1;
    const lines = source.text.split("\n").slice(block.row, block.end_row);
    this.#margins = lines.map((line) => line.indexOf("#") + 1);
    const text = lines.map((line, index) => line.slice(this.#margins[index])).join("\n");
    this.#contents = parseDocument(text, {
      lineCounter: this.#lines,
      logLevel: "silent",
      // Rego's parser has refused them; comparing each key with all before it takes minutes for a
      // block that fills the file.
      uniqueKeys: false,
    }).contents;
  }

  /**
   * The position of the member, or of the nearest existing one around it; at worst of the block.
   */
  of(path: readonly Step[]): Location {
    let node: unknown = this.#contents;
    let offset: number | null = null;
    for (const step of path) {
      const next = child(node, step);
      if (next === null) break;
      offset = next.start?.range?.[0] ?? offset;
      node = next.value;
    }
    if (offset === null) return this.#block;
    const { line, col } = this.#lines.linePos(offset);
    return {
      file: this.#file,
      line: this.#firstLine + line - 1,
      column: col + (this.#margins[line - 1] ?? 0),
    };
  }
}

/** The member or item, and the node that it begins at: a member at its key. */
function child(
  node: unknown,
  step: Step,
): { readonly value: unknown; readonly start: Node | null } | null {
  if (isMap(node)) {
    const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step));
    return isScalar(pair?.key) ? { value: pair.value, start: pair.key } : null;
  }
  const item = isSeq(node) && typeof step === "number" ? node.items[step] : undefined;
  return isNode(item) ? { value: item, start: item } : null;
}

/** A policy's contract with the positions that its findings point to. */
export interface LocatedContract {
  readonly contract: PolicyContract;
  /** Where METADATA declares the constraint. */
  readonly constraintAt: (name: string) => Location;
}

interface ContractReading {
  /** `null` when the contract cannot be relied on. */
  readonly located: LocatedContract | null;
  readonly diagnostics: readonly PolicyDiagnostic[];
}

/** Most characters of a title: it appears in lists. */
const LONGEST_TITLE = 200;

// One branch at a time is reported, and every problem in it: allErrors without unions in the schema
// gives exactly that.
export const CONTRACT_CHECK: ValidatorOptions = {
  schema: CONTRACT_SCHEMA,
  options: { allErrors: true, verbose: true },
};
const contracts = new Validator<AuthoredContract>(() => CONTRACT_CHECK);

/**
 * Reads the METADATA block of a policy's package and checks it against the schema and the file's
 * name (docs/policies.md#a-policy).
 */
export function readContract(file: PolicyFile, facts: ModuleFacts): ContractReading {
  const block = facts.annotations.find(
    ({ scope, custom }) =>
      scope === "package" && custom !== null && Object.hasOwn(custom, "signalbox"),
  );
  if (block === undefined || block.custom === null) {
    const position = facts.annotations.find(({ scope }) => scope === "package") ?? facts.package_at;
    const location = locationOf(facts.path, position);
    return {
      located: null,
      diagnostics: [
        finding(
          "POLICY_METADATA_MISSING",
          location,
          "the package has no METADATA with custom.signalbox",
        ),
      ],
    };
  }
  const positions = new MetadataPositions(file.source, block);
  const authored: unknown = block.custom.signalbox;
  const diagnostics = [
    ...titleFindings(block, positions),
    ...emptinessFindings(authored, positions),
    ...obligationFindings(authored, (steps) => positions.of(["custom", "signalbox", ...steps])),
  ];
  if (!contracts.accepts(authored)) {
    // A wrong name of a member is reported a second time, without the name.
    const errors = contracts.errors.filter(({ propertyName }) => propertyName === undefined);
    diagnostics.push(...errors.map((error) => schemaFinding(error, positions)));
    return { located: null, diagnostics };
  }
  if (authored.id !== file.name) {
    const location = positions.of(["custom", "signalbox", "id"]);
    diagnostics.push(
      finding("POLICY_ID", location, `the id is not the file's name: expected ${file.name}`),
    );
  }
  if (diagnostics.length > 0) return { located: null, diagnostics };
  return {
    located: {
      contract: contractOf(authored, block.title),
      constraintAt: (name) => positions.of(["custom", "signalbox", "constraints", name]),
    },
    diagnostics,
  };
}

/** Every list in one order, so that two spellings of one contract have one digest. */
function contractOf(
  { id, owners, applies_to, constraints, obligations }: AuthoredContract,
  title: string,
): PolicyContract {
  return {
    contract: 1,
    id,
    title,
    owners,
    operations: [...(applies_to?.operations ?? OPERATIONS)].toSorted(),
    constraints: Object.entries(constraints ?? {})
      .map(([name, { effect, reasons }]): ConstraintContract => ({ name, effect, reasons }))
      .toSorted(byName),
    // The valid ones: a contract with others is not used.
    obligations: Object.entries(obligations ?? {})
      .flatMap(([name, obligation]) => obligationOf(name, obligation) ?? [])
      .toSorted(byName),
  };
}

function byName(left: { readonly name: string }, right: { readonly name: string }): number {
  return left.name < right.name ? -1 : 1;
}

/** A policy without requirements would look as if it enforced something. */
function emptinessFindings(authored: unknown, positions: MetadataPositions): PolicyDiagnostic[] {
  if (!isJsonObject(authored)) return [];
  if (authored.constraints !== undefined || authored.obligations !== undefined) return [];
  const location = positions.of(["custom", "signalbox"]);
  const hint = "Declare constraints, obligations, or both.";
  return [finding("POLICY_METADATA", location, "custom.signalbox lacks constraints", hint)];
}

function titleFindings(block: AnnotationFacts, positions: MetadataPositions): PolicyDiagnostic[] {
  if (block.title.trim() === "") {
    const hint = "Add a title: one line with what the policy requires.";
    return [finding("POLICY_METADATA", positions.of([]), "title is missing", hint)];
  }
  if (block.title.length <= LONGEST_TITLE) return [];
  return [
    finding(
      "POLICY_METADATA",
      positions.of(["title"]),
      `title has more than ${LONGEST_TITLE} characters`,
    ),
  ];
}

function schemaFinding(error: ErrorObject, positions: MetadataPositions): PolicyDiagnostic {
  const inside = error.instancePath.split("/").slice(1).map(unescapePointer);
  const steps: Step[] = ["custom", "signalbox", ...inside];
  const subject = steps.join(".");
  const report = (at: readonly Step[], message: string, hint?: string) =>
    finding("POLICY_METADATA", positions.of(at.map(asStep)), message, hint);
  switch (error.keyword) {
    case "required":
      return report(steps, `${subject} lacks ${paramText(error, "missingProperty")}`);
    case "additionalProperties": {
      const name = paramText(error, "additionalProperty");
      const hint = `Members are ${memberNames(error.parentSchema)}.`;
      return report([...steps, name], `${subject} has no member ${name}`, hint);
    }
    case "propertyNames": {
      const name = paramText(error, "propertyName");
      const message = `${subject}.${name} is not ${inside[0] === "obligations" ? "an obligation" : "a constraint"} name`;
      return report([...steps, name], message, "Write it in snake_case, at most 64 characters.");
    }
    case "enum":
      return report(
        steps,
        `${subject} is not a known value`,
        `Use one of ${paramText(error, "allowedValues")}.`,
      );
    case "const":
      return report(steps, `${subject} is not ${paramText(error, "allowedValue")}`);
    case "type":
      return report(
        steps,
        `${subject} must be ${ARTICLES[paramText(error, "type")] ?? paramText(error, "type")}`,
      );
    case "minItems":
    case "minProperties":
      return report(steps, `${subject} is empty`, "At least one is needed.");
    case "uniqueItems":
      return report([...steps, paramText(error, "i")], `${subject} has the same value twice`);
    case "pattern":
    case "maxLength":
      return report(steps, `${subject} is not ${descriptionOf(error.parentSchema)}`);
    default:
      return report(steps, `${subject} is not valid`);
  }
}

/** A parameter of ajv's failure: a name, or a list of allowed values. */
function paramText({ params }: ErrorObject, name: string): string {
  const value: unknown = params[name];
  return Array.isArray(value) ? value.map(String).join(", ") : String(value);
}

const ARTICLES: Readonly<Record<string, string>> = {
  array: "a list",
  object: "a mapping",
  string: "text",
};

function descriptionOf(schema: unknown) {
  return isJsonObject(schema) && typeof schema.description === "string"
    ? schema.description
    : "valid";
}

function memberNames(schema: unknown): string {
  if (!isJsonObject(schema) || !isJsonObject(schema.properties)) return "none";
  return Object.keys(schema.properties).join(", ");
}

function unescapePointer(step: string) {
  return step.replaceAll("~1", "/").replaceAll("~0", "~");
}

function asStep(step: Step) {
  return typeof step === "string" && /^\d+$/.test(step) ? Number(step) : step;
}

/** Longest name of a region or a group. */
const LONGEST_REGION = 64;

function obligationOf(
  name: string,
  { kind, value }: AuthoredObligation,
): ObligationContract | null {
  switch (OBLIGATION_KINDS.find((each) => each === kind)) {
    case "max_output_tokens":
      if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 1) return null;
      return { name, kind: "max_output_tokens", value };
    case "strip_field": {
      const field = STRIPPABLE_FIELDS.find((each) => each === value);
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
 * @param authored `custom.signalbox` as YAML gives it; members that are no obligations are the
 * schema's to report.
 */
function obligationFindings(
  authored: unknown,
  at: (steps: readonly string[]) => Location,
): readonly PolicyDiagnostic[] {
  const obligations = isJsonObject(authored) ? authored.obligations : undefined;
  if (!isJsonObject(obligations)) return [];
  return Object.entries(obligations).flatMap(([name, obligation]) => {
    if (
      !isJsonObject(obligation) ||
      obligation.kind === undefined ||
      obligation.value === undefined
    )
      return [];
    const subject = `custom.signalbox.obligations.${name}`;
    const kind = OBLIGATION_KINDS.find((each) => each === obligation.kind);
    if (kind === undefined) {
      const location = at(["obligations", name, "kind"]);
      return [finding("POLICY_OBLIGATION_KIND", location, `${subject}.kind is not a known kind`)];
    }
    if (obligationOf(name, { kind, value: obligation.value }) !== null) return [];
    const location = at(["obligations", name, "value"]);
    const message = `${subject}.value does not fit the kind ${kind}`;
    return [finding("POLICY_OBLIGATION_VALUE", location, message, VALUE_HINTS[kind])];
  });
}
