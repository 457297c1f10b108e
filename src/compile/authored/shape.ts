import type { ErrorObject } from "ajv/dist/2020.js";
import { describeSafely, quote, suggest } from "./literal-secrets.ts";
import {
  keyPosition,
  nodeAt,
  plainValue,
  removeNode,
  valuePosition,
  type ConfigNode,
  type MapNode,
  type Path,
  type Position,
} from "./tree.ts";
import type { Findings, FindingsOf } from "../findings/findings.ts";
import type { RouteCode, TextCode } from "../findings/codes.ts";
import { routesSchema, type RoutesFile } from "../routes-schema.ts";
import { Validator, type ValidatorOptions } from "../../validation/validator.ts";

/** Closed lists of routes.yaml whose violation has a code of its own. */
const LIST_CODES: Readonly<Partial<Record<string, RouteCode>>> = {
  "#/$defs/capability/enum": "UNKNOWN_CAPABILITY",
  "#/$defs/dialect/enum": "UNKNOWN_DIALECT",
  "#/$defs/preset/enum": "UNKNOWN_PRESET",
};

const LIMITS: Readonly<Partial<Record<string, string>>> = {
  minimum: "at least",
  maximum: "at most",
  exclusiveMinimum: "more than",
};

/** The path that an error of ajv points at; a name of digits counts as the index of a list. */
export function pathOf(error: ErrorObject): Path {
  return error.instancePath
    .split("/")
    .slice(1)
    .map((name) =>
      /^\d+$/.test(name) ? Number(name) : name.replaceAll("~1", "/").replaceAll("~0", "~"),
    );
}

const AUTH_HINT =
  "write `auth: none`, or one of `bearer: {env: NAME}`, `header: x-api-key` with `secret: {env: NAME}`, `aws_sigv4` and `google_oauth` under it";

/** One error of the schema with what its sentence needs. */
interface Fault {
  readonly error: ErrorObject;
  readonly tree: ConfigNode;
  readonly path: Path;
  /** The path as messages show it. */
  readonly where: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

interface Complaint<Code> {
  readonly code: Code;
  readonly at: Position;
  readonly message: string;
  readonly hint?: string;
}

/** By keyword of JSON Schema. `null`: the same mistake has been reported already. */
export type Complaints<Code> = Readonly<
  Partial<Record<string, (fault: Fault) => Complaint<Code> | null>>
>;

/**
 * One error of the schema as a finding, at the location of the key or value concerned.
 *
 * @param own complaints of a format that differ from the common ones.
 */
export function reportShapeError<Code extends string>(
  error: ErrorObject,
  tree: ConfigNode,
  findings: FindingsOf<Code | TextCode>,
  own: Complaints<Code | TextCode>,
): void {
  // Both only repeat the errors beside them.
  if (
    error.keyword === "if" ||
    error.keyword === "propertyNames" ||
    error.schemaPath.includes("/oneOf/")
  )
    return;
  const path = pathOf(error);
  const fault = {
    error,
    tree,
    path,
    where: describeSafely(path),
    parameters: objectOf(error.params),
  };
  // A value that looks like a credential was reported already and must not be repeated.
  if (error.propertyName === undefined && findings.has("LITERAL_SECRET", valuePosition(tree, path)))
    return;
  const complain =
    error.propertyName === undefined
      ? (own[error.keyword] ?? COMPLAINTS[error.keyword] ?? otherwise)
      : wrongName;
  const complaint = complain(fault);
  if (complaint !== null)
    findings.add(complaint.code, complaint.at, complaint.message, complaint.hint ?? "");
}

const COMPLAINTS: Complaints<TextCode> = {
  additionalProperties({ error, tree, path, where, parameters }) {
    const name = String(parameters.additionalProperty);
    const hint = suggest(name, Object.keys(objectOf(schemaOf(error).properties)));
    return {
      code: "UNKNOWN_KEY",
      at: keyPosition(tree, [...path, name]),
      message: `${where} has no key ${quote(name)}`,
      hint,
    };
  },
  required({ error, tree, path, where, parameters }) {
    const name = String(parameters.missingProperty);
    if (isLost(tree, path, name)) return null;
    return {
      code: "MISSING_KEY",
      at: keyPosition(tree, path),
      message: `${where} lacks \`${name}\``,
      hint: purposeOf(error, name),
    };
  },
  uniqueItems({ tree, path, where, parameters }) {
    const item = [...path, Math.max(Number(parameters.i), Number(parameters.j))];
    const message = `${where} names ${shown(tree, item)} twice`;
    return {
      code: "DUPLICATE_ITEM",
      at: valuePosition(tree, item),
      message,
      hint: "remove one of them",
    };
  },
  type({ tree, path, where, parameters }) {
    const message = `${where} must be ${typeName(parameters.type)}, not ${foundType(tree, path)}`;
    return { code: "WRONG_TYPE", at: valuePosition(tree, path), message };
  },
  const({ tree, path }) {
    const hint = "write `version: 1`, or use the release that supports this version";
    return {
      code: "VERSION_UNSUPPORTED",
      at: valuePosition(tree, path),
      message: "`version` must be 1",
      hint,
    };
  },
  enum({ tree, path, where, parameters }) {
    const known = Array.isArray(parameters.allowedValues)
      ? parameters.allowedValues.map(String)
      : [];
    const message = `${where} cannot be ${shown(tree, path)}`;
    const hint = suggest(scalarText(tree, path), known);
    return { code: "WRONG_VALUE", at: valuePosition(tree, path), message, hint };
  },
  pattern({ error, tree, path, where }) {
    return {
      code: "WRONG_VALUE",
      at: valuePosition(tree, path),
      message: `${where} must be ${expectation(error)}`,
    };
  },
};

/**
 * Complaints of routes.yaml only: its two constants, credentials, and lists with their own codes.
 */
const ROUTE_COMPLAINTS: Complaints<RouteCode> = {
  oneOf({ tree, path, where }) {
    if (path.at(-1) === "budget") {
      const message = `${where} must have exactly one of \`usd\` and \`tokens\``;
      return { code: "WRONG_VALUE", at: valuePosition(tree, path), message };
    }
    const message = `${where} must be one of \`bearer\`, \`header\` with \`secret\`, \`aws_sigv4\` and \`google_oauth\``;
    return { code: "AUTH_INCOMPLETE", at: keyPosition(tree, path), message, hint: AUTH_HINT };
  },
  const(fault) {
    const { tree, path, where } = fault;
    // The schema has two constants: the version, at the top, and `auth: none`.
    if (path.length <= 1) return COMPLAINTS.const?.(fault) ?? null;
    const message = `${where} must be \`none\` or a mapping`;
    return { code: "WRONG_VALUE", at: valuePosition(tree, path), message, hint: AUTH_HINT };
  },
  enum(fault) {
    const complaint = COMPLAINTS.enum?.(fault) ?? null;
    const code = LIST_CODES[fault.error.schemaPath];
    return complaint === null || code === undefined ? complaint : { ...complaint, code };
  },
};

function otherwise({ error, tree, path, where, parameters }: Fault): Complaint<TextCode> {
  const message = `${where} must ${limit(error, parameters.limit)}`;
  return { code: "WRONG_VALUE", at: valuePosition(tree, path), message };
}

function wrongName({ error, tree, path, where }: Fault): Complaint<TextCode> {
  const name = error.propertyName ?? "";
  const message = `${quote(name)} cannot be a name in ${where}`;
  return {
    code: "WRONG_VALUE",
    at: keyPosition(tree, [...path, name]),
    message,
    hint: `use ${expectation(error)}`,
  };
}

function expectation(error: ErrorObject) {
  return textOf(schemaOf(error).patternErrorMessage);
}

function limit(error: ErrorObject, bound: unknown): string {
  const { keyword } = error;
  const comparison = LIMITS[keyword];
  if (comparison !== undefined) return `be ${comparison} ${String(bound)}`;
  if (keyword === "minItems") return "have at least one item";
  if (keyword === "maxLength") return `have at most ${String(bound)} characters`;
  // A mapping with names of its author's own.
  if (keyword.endsWith("Properties") && schemaOf(error).properties === undefined) {
    return `have at ${keyword === "minProperties" ? "least" : "most"} ${String(bound)} member${bound === 1 ? "" : "s"}`;
  }
  return "have exactly one of `env` and `file`";
}

/** A merge key may have been meant to bring any member. */
function isLost(tree: ConfigNode, path: Path, name: string): boolean {
  const node = nodeAt(tree, path);
  return node?.kind === "map" && (node.lost.has(name) || node.lost.has("<<"));
}

/** Purpose of the missing key: the first sentence of its description in the schema. */
function purposeOf(error: ErrorObject, name: string): string {
  const description = textOf(objectOf(objectOf(schemaOf(error).properties)[name]).description);
  const [sentence = ""] = description.split(/\.(?: |$)/);
  return sentence === "" ? "" : `it says: ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`;
}

function shown(tree: ConfigNode, path: Path) {
  return quote(scalarText(tree, path));
}

function scalarText(tree: ConfigNode, path: Path): string {
  const node = nodeAt(tree, path);
  return node?.kind === "scalar" ? String(node.value) : "";
}

const TYPE_NAMES: Readonly<Partial<Record<string, string>>> = {
  object: "a mapping",
  array: "a list",
  string: "text",
  boolean: "true or false",
  integer: "a whole number",
};

function typeName(type: unknown): string {
  if (Array.isArray(type)) return type.map(typeName).join(", or ");
  return TYPE_NAMES[String(type)] ?? "a number";
}

function foundType(tree: ConfigNode, path: Path): string {
  const node = nodeAt(tree, path);
  if (node === null || node.kind === "map") return "a mapping";
  if (node.kind === "list") return "a list";
  if (node.value === null) return "empty";
  if (typeof node.value === "string") return "text";
  if (typeof node.value === "boolean") return "true or false";
  return Number.isInteger(node.value) ? "a number" : "a number with a fraction";
}

function schemaOf(error: ErrorObject) {
  return objectOf(error.parentSchema);
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function textOf(value: unknown) {
  return typeof value === "string" ? value : "";
}

/**
 * More rounds than a file of our depth can need: each removes at least the innermost value at
 * fault.
 */
const MOST_ROUNDS = 40;

const validators = new Map<string, Validator<RoutesFile>>();

/**
 * Compiling the schema takes some ten milliseconds; the set of dialects of one process never
 * changes.
 */
function validatorFor(dialects: readonly string[]): Validator<RoutesFile> {
  const key = dialects.join(" ");
  const known = validators.get(key);
  if (known !== undefined) return known;
  const validator = new Validator<RoutesFile>(() => routesCheck(dialects));
  validators.set(key, validator);
  return validator;
}

/** How the check of routes.yaml is compiled. */
export function routesCheck(dialects: readonly string[]): ValidatorOptions {
  return {
    schema: routesSchema(dialects),
    options: { allErrors: true, verbose: true },
    annotations: ["patternErrorMessage"],
  };
}

/**
 * The file in its authored type. What does not fit the schema is reported and taken out of `tree`,
 * so that the checks that follow can judge the rest and an author sees every mistake in one run.
 *
 * @returns `null` where nothing is left to judge.
 */
export function readShape(
  tree: ConfigNode,
  dialects: readonly string[],
  findings: Findings,
): RoutesFile | null {
  const validator = validatorFor(dialects);
  const original = plainValue(tree);
  if (!validator.accepts(original))
    for (const error of validator.errors) reportShapeError(error, tree, findings, ROUTE_COMPLAINTS);
  if (tree.kind !== "map") return null;
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const value: unknown = plainValue(tree);
    if (validator.accepts(value)) return value;
    // One value can be at fault twice; taking it out twice would take its neighbour in a list as
    // well.
    const faults = new Map(
      validator.errors.map(faultPath).map((path) => [JSON.stringify(path), path]),
    );
    for (const path of [...faults.values()].toSorted(deepestLast).toReversed())
      removeFault(tree, path);
  }
  return null;
}

/** The innermost value without which the error would not exist. */
function faultPath(error: ErrorObject): Path {
  const path = pathOf(error);
  const parameters: Readonly<Record<string, unknown>> = error.params;
  if (error.propertyName !== undefined) return [...path, error.propertyName];
  if (error.keyword === "additionalProperties")
    return [...path, String(parameters.additionalProperty)];
  if (error.keyword === "propertyNames") return [...path, String(parameters.propertyName)];
  if (error.keyword === "uniqueItems")
    return [...path, Math.max(Number(parameters.i), Number(parameters.j))];
  return path;
}

/** A later item of a list is removed before an earlier one, whose removal would renumber it. */
function deepestLast(left: Path, right: Path): number {
  for (const [index, name] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    if (String(name) === String(other)) continue;
    const numeric = Number(name) - Number(other);
    return Number.isNaN(numeric) ? (String(name) < String(other) ? -1 : 1) : numeric;
  }
  return left.length - right.length;
}

function removeFault(tree: MapNode, path: Path) {
  if (path.length > 0) {
    if (nodeAt(tree, path) !== null) removeNode(tree, path);
    return;
  }
  // Only a missing section has its fault at the root: an empty one lets the other sections be
  // judged.
  const at = tree.at;
  const empty = (node: ConfigNode) => ({ keyAt: at, node });
  const sections = new Map<string, ConfigNode>([
    ["version", { kind: "scalar", at, value: 1 }],
    ["endpoints", { kind: "list", at, items: [] }],
    ...["regions", "providers", "models", "routes", "workspaces"].map(
      (name): [string, ConfigNode] => [
        name,
        { kind: "map", at, members: new Map(), lost: new Set() },
      ],
    ),
  ]);
  for (const [name, node] of sections)
    if (!tree.members.has(name)) tree.members.set(name, empty(node));
}
