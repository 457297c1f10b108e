import type { ErrorObject } from "ajv/dist/2020.js";
import { invalidRequest, type ServiceError } from "../canon/error.ts";
import type { JsonObject, JsonValue } from "../canon/json.ts";
import { isDeeperThan } from "../dialects/json.ts";
import { PARSER_RULES, PROVIDER_PREFERENCES_SCHEMA } from "../dialects/contract-schemas.ts";
import { Validator, type ValidatorOptions } from "../validation/validator.ts";
import { remember } from "../canon/remember.ts";

/** Schemas that bodies refer to; they stand in /openapi.json under the same path. */
export const COMPONENT_SCHEMAS = { ProviderPreferences: PROVIDER_PREFERENCES_SCHEMA } as const;

/** Deepest nesting of a request body. Tool schemas of real agents reach about twenty. */
const MAXIMUM_DEPTH = 100;

export type BodyValidator = (body: JsonValue) => ServiceError | null;

const validators = new WeakMap<JsonObject, BodyValidator>();

/**
 * A check that gives the first thing wrong with a body. One for each schema of the process,
 * compiled with the first body: ajv takes tens of milliseconds for a large one.
 */
export function bodyValidator(schema: JsonObject): BodyValidator {
  return remember(validators, schema, () => validatorOf(schema));
}

/** How the check of a body is compiled. */
export function bodyCheck(schema: JsonObject): ValidatorOptions {
  return {
    schema: { ...schema, components: { schemas: COMPONENT_SCHEMAS } },
    // The schema below it is for the contract; the parser of the surface refuses it with a code of
    // its own.
    annotations: ["components", PARSER_RULES],
  };
}

function validatorOf(schema: JsonObject): BodyValidator {
  const validator = new Validator<JsonValue>(() => bodyCheck(schema));
  return (body) => {
    if (isDeeperThan(body, MAXIMUM_DEPTH)) {
      return invalidRequest(
        "too_deeply_nested",
        `The body is nested more than ${MAXIMUM_DEPTH} levels deep`,
      );
    }
    return validator.accepts(body) ? null : describe(validator.errors);
  };
}

/** The error of a request: a path, and a rule of the schema. Values are never quoted. */
function describe(errors: readonly ErrorObject[]): ServiceError {
  const error = mostSpecific(errors);
  if (error === undefined)
    return invalidRequest("invalid_body", "The body does not match the contract");
  const path = memberPath(error.instancePath);
  const where = path === "" ? "The body" : path;
  const parameters = error.params as Readonly<Record<string, unknown>>;
  switch (error.keyword) {
    case "required": {
      const missing = joined(path, String(parameters.missingProperty));
      return invalidRequest("missing_field", `${missing} is required`, missing);
    }
    case "additionalProperties": {
      const name = String(parameters.additionalProperty);
      if (!/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name)) {
        return invalidRequest(
          "unknown_field",
          `${where} has a member that is not allowed`,
          path || undefined,
        );
      }
      return invalidRequest(
        "unknown_field",
        `Unknown field ${joined(path, name)}`,
        joined(path, name),
      );
    }
    case "enum": {
      const allowed = parameters.allowedValues;
      const values = Array.isArray(allowed) ? allowed.map((value) => String(value)).join(", ") : "";
      return invalidRequest(
        "invalid_value",
        `${where} must be one of ${values}`,
        path || undefined,
      );
    }
    case "anyOf": {
      return invalidRequest(
        "invalid_type",
        `${where} must be ${alternatives(errors, error)}`,
        path || undefined,
      );
    }
    case "not": {
      return invalidRequest(
        "invalid_value",
        `${where} has members that exclude each other`,
        path || undefined,
      );
    }
    case "type": {
      return invalidRequest(
        "invalid_type",
        `${where} must be ${typesOf(error).join(" or ")}`,
        path || undefined,
      );
    }
    default: {
      return invalidRequest(
        "invalid_value",
        `${where} ${error.message ?? "is not valid"}`,
        path || undefined,
      );
    }
  }
}

const WRAPPERS: ReadonlySet<string> = new Set(["anyOf", "oneOf", "if"]);

/**
 * A branch that got further into the value, or that the value entered, is more specific than
 * the alternatives around it.
 */
function mostSpecific(errors: readonly ErrorObject[]): ErrorObject | undefined {
  const outer = errors.at(-1);
  if (outer === undefined || !WRAPPERS.has(outer.keyword)) return outer;
  const inside = errors.filter(
    ({ keyword, instancePath }) =>
      !WRAPPERS.has(keyword) &&
      (keyword !== "type" || instancePath.length > outer.instancePath.length),
  );
  return (
    inside.toSorted((left, right) => left.instancePath.length - right.instancePath.length).at(-1) ??
    outer
  );
}

function alternatives(errors: readonly ErrorObject[], outer: ErrorObject): string {
  const types = errors
    .filter((error) => error.keyword === "type" && error.instancePath === outer.instancePath)
    .flatMap(typesOf);
  return types.length === 0 ? "of another type" : [...new Set(types)].join(" or ");
}

/** The types that a value may have. */
function typesOf({ params }: ErrorObject): readonly string[] {
  const types: unknown = (params as Readonly<Record<string, unknown>>).type;
  return Array.isArray(types) ? types.map(String) : [String(types)];
}

/**
 * `/messages/0/content` → `messages[0].content`. Names that do not look like one are not repeated.
 */
function memberPath(pointer: string): string {
  let path = "";
  for (const raw of pointer.split("/").slice(1)) {
    const name = raw.replaceAll("~1", "/").replaceAll("~0", "~");
    if (/^\d+$/.test(name)) path += `[${name}]`;
    else path = joined(path, /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(name) ? name : "*");
  }
  return path;
}

function joined(path: string, name: string) {
  return path === "" ? name : `${path}.${name}`;
}
