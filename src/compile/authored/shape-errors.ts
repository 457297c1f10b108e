import type { ErrorObject } from "ajv/dist/2020.js";
import type { RouteCode } from "../findings/codes.ts";
import type { FindingsOf } from "../findings/findings.ts";
import { suggest } from "../findings/suggest.ts";
import type { TextCode } from "../findings/text-codes.ts";
import { describeSafely, quote } from "./literal-secrets.ts";
import {
  type ConfigNode,
  keyPosition,
  nodeAt,
  type Path,
  type Position,
  valuePosition,
} from "./tree.ts";

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
 * @param own what a format says of keywords in another way than all others.
 */
export function reportShapeError<Code extends string>(
  error: ErrorObject,
  tree: ConfigNode,
  findings: FindingsOf<Code | TextCode>,
  own: Complaints<Code | TextCode>,
): void {
  // Both only repeat what the errors beside them say.
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
  // What has been taken for a credential is not judged a second time, and nothing about it is
  // repeated.
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
    const name = String(parameters["additionalProperty"]);
    const hint = suggest(name, Object.keys(objectOf(schemaOf(error)["properties"])));
    return {
      code: "UNKNOWN_KEY",
      at: keyPosition(tree, [...path, name]),
      message: `${where} has no key ${quote(name)}`,
      hint,
    };
  },
  required({ error, tree, path, where, parameters }) {
    const name = String(parameters["missingProperty"]);
    if (isLost(tree, path, name)) return null;
    return {
      code: "MISSING_KEY",
      at: keyPosition(tree, path),
      message: `${where} lacks \`${name}\``,
      hint: purposeOf(error, name),
    };
  },
  uniqueItems({ tree, path, where, parameters }) {
    const item = [...path, Math.max(Number(parameters["i"]), Number(parameters["j"]))];
    const message = `${where} names ${shown(tree, item)} twice`;
    return {
      code: "DUPLICATE_ITEM",
      at: valuePosition(tree, item),
      message,
      hint: "remove one of them",
    };
  },
  type({ tree, path, where, parameters }) {
    const message = `${where} must be ${typeName(parameters["type"])}, not ${foundType(tree, path)}`;
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
    const known = Array.isArray(parameters["allowedValues"])
      ? parameters["allowedValues"].map(String)
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
 * What only routes.yaml has: its two constants, credentials, and lists whose violation has a code
 * of its own.
 */
export const ROUTE_COMPLAINTS: Complaints<RouteCode> = {
  oneOf({ tree, path, where }) {
    const message = `${where} must be one of \`bearer\`, \`header\` with \`secret\`, \`aws_sigv4\` and \`google_oauth\``;
    return { code: "AUTH_INCOMPLETE", at: keyPosition(tree, path), message, hint: AUTH_HINT };
  },
  const(fault) {
    const { tree, path, where } = fault;
    // The schema has two constants: the version, at the top, and `auth: none`.
    if (path.length <= 1) return COMPLAINTS["const"]?.(fault) ?? null;
    const message = `${where} must be \`none\` or a mapping`;
    return { code: "WRONG_VALUE", at: valuePosition(tree, path), message, hint: AUTH_HINT };
  },
  enum(fault) {
    const complaint = COMPLAINTS["enum"]?.(fault) ?? null;
    const code = LIST_CODES[fault.error.schemaPath];
    return complaint === null || code === undefined ? complaint : { ...complaint, code };
  },
};

function otherwise({ error, tree, path, where, parameters }: Fault): Complaint<TextCode> {
  const message = `${where} must ${limit(error, parameters["limit"])}`;
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

function expectation(error: ErrorObject): string {
  return textOf(schemaOf(error)["patternErrorMessage"]);
}

function limit(error: ErrorObject, bound: unknown): string {
  const { keyword } = error;
  const comparison = LIMITS[keyword];
  if (comparison !== undefined) return `be ${comparison} ${String(bound)}`;
  if (keyword === "minItems") return "have at least one item";
  if (keyword === "maxLength") return `have at most ${String(bound)} characters`;
  // A mapping with names of its author's own.
  if (keyword.endsWith("Properties") && schemaOf(error)["properties"] === undefined) {
    return `have at ${keyword === "minProperties" ? "least" : "most"} ${String(bound)} member${bound === 1 ? "" : "s"}`;
  }
  // Only a budget has two members.
  if (keyword.endsWith("Properties") && bound === 2)
    return "have exactly one of `usd` and `tokens`";
  return "have exactly one of `env` and `file`";
}

/** A merge key may have been meant to bring any member. */
function isLost(tree: ConfigNode, path: Path, name: string): boolean {
  const node = nodeAt(tree, path);
  return node?.kind === "map" && (node.lost.has(name) || node.lost.has("<<"));
}

/** What the missing key would say: the first sentence of its description in the schema. */
function purposeOf(error: ErrorObject, name: string): string {
  const description = textOf(
    objectOf(objectOf(schemaOf(error)["properties"])[name])["description"],
  );
  const [sentence = ""] = description.split(/\.(?: |$)/);
  return sentence === "" ? "" : `it says: ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`;
}

function shown(tree: ConfigNode, path: Path): string {
  return quote(scalarText(tree, path));
}

function scalarText(tree: ConfigNode, path: Path): string {
  const node = nodeAt(tree, path);
  return node?.kind === "scalar" ? String(node.value) : "";
}

function typeName(type: unknown): string {
  if (Array.isArray(type)) return type.map(typeName).join(", or ");
  switch (type) {
    case "object":
      return "a mapping";
    case "array":
      return "a list";
    case "string":
      return "text";
    case "boolean":
      return "true or false";
    case "integer":
      return "a whole number";
    default:
      return "a number";
  }
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

function schemaOf(error: ErrorObject): Readonly<Record<string, unknown>> {
  return objectOf(error.parentSchema);
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
