import type { ErrorObject } from "ajv/dist/2020.js";
import { remember } from "../../canon/remember.ts";
import { describeSafely, quote, suggest } from "./literal-secrets.ts";
import {
  emptyMap,
  keyPosition,
  nodeAt,
  plainValue,
  removeNode,
  valuePosition,
  writtenPath,
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
  /** Of the value at fault. */
  readonly at: Position;
  /** The path as messages show it. */
  readonly where: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The part of the schema that has the rule. */
  readonly schema: Readonly<Record<string, unknown>>;
}

type Complaint<Code> = readonly [code: Code, at: Position, message: string, hint?: string];

/** By keyword of JSON Schema. `null`: the same mistake has been reported already. */
export type Complaints<Code> = Readonly<
  Partial<Record<string, (fault: Fault) => Complaint<Code> | null>>
>;

/**
 * One error of the schema as a finding, at the location of the key or value concerned.
 *
 * @param formatComplaints complaints of a format that differ from the common ones.
 */
export function reportShapeError<Code extends string>(
  error: ErrorObject,
  tree: ConfigNode,
  findings: FindingsOf<Code | TextCode>,
  formatComplaints: Complaints<Code | TextCode>,
): void {
  const { keyword, propertyName } = error;
  // Both only repeat the errors beside them.
  if (keyword === "if" || keyword === "propertyNames" || error.schemaPath.includes("/oneOf/"))
    return;
  const path = pathOf(error);
  const at = valuePosition(tree, path);
  // A value that looks like a credential was reported already and must not be repeated.
  if (propertyName === undefined && findings.has("LITERAL_SECRET", at)) return;
  const complain =
    propertyName === undefined
      ? (formatComplaints[keyword] ?? COMPLAINTS[keyword] ?? otherwise)
      : wrongName;
  const complaint = complain({
    error,
    tree,
    path,
    at,
    where: describeSafely(writtenPath(tree, path)),
    parameters: error.params,
    schema: objectOf(error.parentSchema),
  });
  if (complaint === null) return;
  const [code, position, message, hint = ""] = complaint;
  findings.add(code, position, message, hint);
}

const COMPLAINTS: Complaints<TextCode> = {
  additionalProperties({ schema, tree, path, where, parameters }) {
    const key = [...path, String(parameters.additionalProperty)];
    const name = String(writtenPath(tree, key).at(-1));
    return [
      "UNKNOWN_KEY",
      keyPosition(tree, key),
      `${where} has no key ${quote(name)}`,
      suggest(name, Object.keys(objectOf(schema.properties))),
    ];
  },
  required({ schema, tree, path, where, parameters }) {
    const name = String(parameters.missingProperty);
    return isUnread(tree, path, name)
      ? null
      : [
          "MISSING_KEY",
          keyPosition(tree, path),
          `${where} lacks \`${name}\``,
          purposeOf(schema, name),
        ];
  },
  uniqueItems({ error, tree, where }) {
    const item = faultPath(error);
    return [
      "DUPLICATE_ITEM",
      valuePosition(tree, item),
      `${where} names ${quote(scalarText(tree, item))} twice`,
      "remove one of them",
    ];
  },
  type: ({ tree, path, at, where, parameters }) => [
    "WRONG_TYPE",
    at,
    `${where} must be ${typeName(parameters.type)}, not ${foundType(tree, path)}`,
  ],
  const: ({ at }) => [
    "VERSION_UNSUPPORTED",
    at,
    "`version` must be 1",
    "write `version: 1`, or use the release that supports this version",
  ],
  enum({ tree, path, at, where, parameters }) {
    const { allowedValues: allowed } = parameters;
    const value = scalarText(tree, path);
    const hint = suggest(value, Array.isArray(allowed) ? allowed.map(String) : []);
    return ["WRONG_VALUE", at, `${where} cannot be ${quote(value)}`, hint];
  },
  pattern: ({ schema, at, where }) => [
    "WRONG_VALUE",
    at,
    `${where} must be ${expectation(schema)}`,
  ],
};

/**
 * Complaints of routes.yaml only: its two constants, credentials, and lists with their own codes.
 */
const ROUTE_COMPLAINTS: Complaints<RouteCode> = {
  oneOf: ({ tree, path, at, where }) =>
    path.at(-1) === "budget"
      ? ["WRONG_VALUE", at, `${where} must have exactly one of \`usd\` and \`tokens\``]
      : [
          "AUTH_INCOMPLETE",
          keyPosition(tree, path),
          `${where} must be one of \`bearer\`, \`header\` with \`secret\`, \`aws_sigv4\` and \`google_oauth\``,
          AUTH_HINT,
        ],
  const(fault) {
    const { path, at, where } = fault;
    // The schema has two constants: the version, at the top, and `auth: none`.
    if (path.length <= 1) return COMPLAINTS.const?.(fault) ?? null;
    return ["WRONG_VALUE", at, `${where} must be \`none\` or a mapping`, AUTH_HINT];
  },
  enum(fault) {
    const complaint = COMPLAINTS.enum?.(fault) ?? null;
    if (complaint === null) return null;
    const [code, ...rest] = complaint;
    return [LIST_CODES[fault.error.schemaPath] ?? code, ...rest];
  },
};

function otherwise({ error, schema, at, where, parameters }: Fault): Complaint<TextCode> {
  return ["WRONG_VALUE", at, `${where} must ${limit(error.keyword, schema, parameters.limit)}`];
}

function wrongName({ error, schema, tree, path, where }: Fault): Complaint<TextCode> {
  const { propertyName: name = "" } = error;
  return [
    "WRONG_VALUE",
    keyPosition(tree, [...path, name]),
    `${quote(name)} cannot be a name in ${where}`,
    `use ${expectation(schema)}`,
  ];
}

function expectation({ patternErrorMessage }: Fault["schema"]) {
  return textOf(patternErrorMessage);
}

function limit(keyword: string, { properties }: Fault["schema"], bound: unknown): string {
  const comparison = LIMITS[keyword];
  if (comparison !== undefined) return `be ${comparison} ${String(bound)}`;
  if (keyword === "minItems") return "have at least one item";
  if (keyword === "maxLength") return `have at most ${String(bound)} characters`;
  // A mapping with names of its author's own.
  return keyword.endsWith("Properties") && properties === undefined
    ? `have at ${keyword === "minProperties" ? "least" : "most"} ${String(bound)} member${bound === 1 ? "" : "s"}`
    : "have exactly one of `env` and `file`";
}

/** A merge key may have been meant to bring any member. */
function isUnread(tree: ConfigNode, path: Path, name: string): boolean {
  const node = nodeAt(tree, path);
  return node?.kind === "map" && (node.unread.has(name) || node.unread.has("<<"));
}

/** Purpose of the missing key: the first sentence of its description in the schema. */
function purposeOf({ properties }: Fault["schema"], name: string): string {
  const description = textOf(objectOf(objectOf(properties)[name]).description);
  const [sentence = ""] = description.split(/\.(?: |$)/);
  return sentence === "" ? "" : `it says: ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`;
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

/**
 * By names of dialects: compiling the schema takes some ten milliseconds, and the set of dialects
 * of one process never changes.
 */
const validators = new Map<string, Validator<RoutesFile>>();

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
  const validator = remember(
    validators,
    dialects.join(" "),
    () => new Validator<RoutesFile>(() => routesCheck(dialects)),
  );
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const value: unknown = plainValue(tree);
    if (validator.accepts(value)) return value;
    const { errors } = validator;
    if (round === 0)
      for (const error of errors) reportShapeError(error, tree, findings, ROUTE_COMPLAINTS);
    if (tree.kind !== "map") return null;
    // One value can be at fault twice; taking it out twice would take its neighbour in a list as
    // well.
    const faults = new Map(errors.map(faultPath).map((path) => [JSON.stringify(path), path]));
    for (const path of [...faults.values()].toSorted(deepestLast).toReversed())
      removeFault(tree, path);
  }
  return null;
}

/** The innermost value without which the error would not exist. */
function faultPath(error: ErrorObject): Path {
  const path = pathOf(error);
  const { additionalProperty, propertyName, i, j }: Fault["parameters"] = error.params;
  const name = error.propertyName ?? additionalProperty ?? propertyName;
  if (typeof name === "string") return [...path, name];
  return error.keyword === "uniqueItems" ? [...path, Math.max(Number(i), Number(j))] : path;
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
  if (path.length > 0) return removeNode(tree, path);
  // Only a missing section has its fault at the root: an empty one lets the other sections be
  // judged.
  const { at, members } = tree;
  const sections = new Map<string, ConfigNode>([
    ["version", { kind: "scalar", at, value: 1 }],
    ["endpoints", { kind: "list", at, items: [] }],
  ]);
  for (const name of ["regions", "providers", "models", "routes", "workspaces"])
    sections.set(name, emptyMap(at));
  for (const [name, node] of sections)
    if (!members.has(name)) members.set(name, { keyAt: at, node });
}
