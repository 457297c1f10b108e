import standaloneCode from "ajv/dist/standalone/index.js";
import { routesCheck } from "../../src/compile/authored/shape.ts";
import { DIALECTS } from "../../src/dialects/table.ts";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";
import { bodyCheck } from "../../src/http/validate-body.ts";
import { CONTRACT_CHECK } from "../../src/policy/contract/contract.ts";
import { DESCRIPTION_CHECK } from "../../src/policy/kept-content.ts";
import { MANIFEST_CHECK } from "../../src/policy/toolchain/artefact.ts";
import { ASSERTIONS_CHECK } from "../../src/simulate/assertions/parse.ts";
import { compilerOf, type ValidatorOptions } from "../../src/validation/validator.ts";

/** The bodies of requests, by endpoint. */
export const BODY_CHECKS: Readonly<Record<string, ValidatorOptions>> = Object.fromEntries(
  ENDPOINTS.flatMap(({ id, body }) => (body === null ? [] : [[id, bodyCheck(body)]])),
);

/** What else is checked against a schema of ours. */
export const FILE_CHECKS: Readonly<Record<string, ValidatorOptions>> = {
  "routes.yaml": routesCheck(Object.keys(DIALECTS).toSorted()),
  assertions: ASSERTIONS_CHECK,
  "a policy's contract": CONTRACT_CHECK,
  "a kept content": DESCRIPTION_CHECK,
  "the toolchain's manifest": MANIFEST_CHECK,
};

/** A check as a module of CommonJS: ajv compiles it to what it would run itself. */
export function codeOf(given: ValidatorOptions): string {
  const ajv = compilerOf(given, { source: true });
  return standaloneCode.default(ajv, ajv.compile(given.schema));
}
