import { whole } from "../../canon/json/schema.ts";
import { OPERATIONS, type Operation } from "../../canon/operation.ts";
import { CONSTRAINT_EFFECTS, type ConstraintEffect } from "../../canon/policy.ts";

/** `custom.signalbox` of a METADATA block, as authors write it. */
export interface AuthoredContract {
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

/** What a value may be depends on the kind: `obligations.ts` holds them together. */
export interface AuthoredObligation {
  readonly kind: unknown;
  readonly value: unknown;
}

const NAME_PATTERN = "^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$";

/**
 * JSON Schema (draft 2020-12). A `pattern` has a `description` beside it, which is what a report
 * says is expected.
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
