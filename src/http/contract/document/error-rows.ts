import type { ErrorKind } from "../../../canon/error.ts";
import { ERROR_ANSWERS, ERROR_GROUPS } from "../../../canon/error-codes.ts";
import { FAILURE_KINDS, FAILURES } from "../../../canon/failure.ts";
import { REASONS } from "../../../canon/reasons.ts";
import { READINGS } from "../../control/query.ts";
import type { Endpoint } from "../endpoint.ts";

/** An error of an endpoint, as the contract describes it. */
export interface DescribedError {
  /** HTTP status, 400 to 599. */
  readonly status: number;
  readonly kind: ErrorKind;
  /** The code, or a regular expression (ECMA-262) of codes that are not ours to list. */
  readonly code: string | { readonly pattern: string; readonly like: string };
  /** The event, as a sentence for readers. */
  readonly when: string;
  readonly isAnsweredBy: (endpoint: Endpoint) => boolean;
}

type Where = DescribedError["isAnsweredBy"];

const inference: Where = ({ kind }) => kind === "inference";
const inferenceOrSimulation: Where = (endpoint) =>
  inference(endpoint) || endpoint.id === "simulateRoute";

/** The classes of endpoints that rows of the catalogue name (`src/canon/*-errors.ts`). */
const CLASSES: Readonly<Record<string, Where>> = {
  everywhere: () => true,
  keyed: ({ scopes }) => scopes.length > 0,
  with_body: ({ body }) => body !== null,
  // A session never has the scope that an exchange needs.
  by_session: ({ kind, scopes, id }) =>
    kind === "control" && scopes.length > 0 && id !== "exchangeKey",
  keyed_body: ({ scopes, body }) => scopes.length > 0 && body !== null,
  inference,
  query: ({ query, optionalQuery = {} }) => Object.keys({ ...query, ...optionalQuery }).length > 0,
  reading: ({ tag, body }) => READINGS.has(tag) && body === null,
  path_parameter: ({ path }) => path.includes("{"),
  service_keys: ({ tag }) => tag === "Service keys",
  policies: ({ tag }) => tag === "Policies",
  one_key: ({ tag, path }) => tag === "Service keys" && path.includes("{"),
  one_policy: ({ tag, path }) => tag === "Policies" && path.includes("{"),
  policy_change: ({ conflicts }) => conflicts === true,
  if_match: ({ ifMatch }) => ifMatch !== undefined,
};

/** @param at classes, or ids of endpoints. */
function audience(at: readonly string[]): Where {
  return (endpoint) => at.some((name) => CLASSES[name]?.(endpoint) ?? endpoint.id === name);
}

/** The router's own errors, by their rows in the catalogue. */
function catalogueErrors(): readonly DescribedError[] {
  return Object.values(ERROR_GROUPS).flatMap((group) =>
    Object.entries(group).flatMap(([code, { status, kind, at, meaning }]) =>
      at.length === 0 ? [] : [{ status, kind, code, when: meaning, isAnsweredBy: audience(at) }],
    ),
  );
}

/** The reasons that the router itself denies for, each with its own status. */
function reasons(): readonly DescribedError[] {
  return Object.entries(REASONS).map(([code, { status, kind, meaning }]) => ({
    status,
    kind,
    code,
    when: meaning,
    // A simulation answers a denial with 200, and rejects a request that cannot be carried out as a
    // call would.
    isAnsweredBy:
      code === "model_not_found"
        ? audience(["inference", "retrieveModel", "retrieveAnthropicModel"])
        : status === 400
          ? inferenceOrSimulation
          : inference,
  }));
}

/** Failures of which a call can die; the others have codes of their own. */
const ENDS = FAILURE_KINDS.filter(
  (kind) =>
    !["rejected", "credentials_missing", "saturated", "server_stopping", "key_revoked"].includes(
      kind,
    ),
);

function failures(): readonly DescribedError[] {
  return ENDS.flatMap((kind) => {
    const code = `upstream_${kind}`;
    const answer = ERROR_ANSWERS.get(code);
    if (answer === undefined) throw new Error(`no answer for the code ${code}`);
    const when = `No endpoint of the plan answered; the last attempt: ${FAILURES[kind].sentence}.`;
    return [{ status: answer.status, kind: answer.kind, code, when, isAnsweredBy: inference }];
  });
}

/**
 * Everything that an endpoint can answer instead of a 200. A test holds the codes in the sources
 * against it.
 */
export const DESCRIBED_ERRORS: readonly DescribedError[] = [
  ...catalogueErrors(),
  ...reasons(),
  ...failures(),
  {
    status: 400,
    kind: "invalid_request",
    code: { pattern: "^[a-z][a-z0-9_]*$", like: "context_length_exceeded" },
    when: "The provider refused the request as invalid: its own code if the router knows it, else `upstream_rejected`.",
    isAnsweredBy: inference,
  },
  {
    status: 403,
    kind: "policy_denied",
    code: { pattern: "^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*$", like: "REGION_OUTSIDE_EU" },
    when: "Denied by a policy: the reason that its constraint declares, EVALUATION_INDETERMINATE if it could not be evaluated, or POLICY_TIMEOUT if the evaluation exceeded its work limit.",
    isAnsweredBy: inference,
  },
  {
    status: 413,
    kind: "too_large",
    code: { pattern: "^[a-z][a-z0-9_]*$", like: "upstream_rejected" },
    when: "The provider refused the request as too large.",
    isAnsweredBy: inference,
  },
  {
    status: 502,
    kind: "upstream",
    code: { pattern: "^[a-z][a-z0-9_]*$", like: "unknown_finish_reason" },
    when: "The provider's answer violates its protocol in a way that has its own code.",
    isAnsweredBy: inference,
  },
];
