import { final, passing, type ErrorAnswer, type ErrorRow, type ServiceError } from "./error.ts";
import { CONTROL_ERRORS } from "./control-errors.ts";
import { REQUEST_ERRORS } from "./request-errors.ts";
import { LIMIT_ERRORS, PROVIDER_ERRORS, SERVICE_ERRORS, SESSION_ERRORS } from "./service-errors.ts";
import { FAILURE_KINDS, hasTrait, isTimeout, type FailureKind } from "./failure.ts";

function failureAnswer(kind: FailureKind): ErrorAnswer {
  const [status, code] =
    kind === "rate_limited"
      ? ([429, "rate_limit"] as const)
      : isTimeout(kind)
        ? ([504, "timeout"] as const)
        : ([kind === "overloaded" ? 503 : 502, "upstream"] as const);
  return hasTrait(kind, "lasting") ? final(status, code) : passing(status, code);
}

type FailureCode = `upstream_${FailureKind}`;

const FAILURE_ANSWERS: ReadonlyMap<string, ErrorAnswer> = new Map(
  FAILURE_KINDS.map((kind) => [`upstream_${kind}`, failureAnswer(kind)]),
);

/** Every error code of the router's own, by group, in the order of docs/troubleshooting.md. */
export const ERROR_GROUPS = {
  "The request": REQUEST_ERRORS,
  "The connection, keys and the server": { ...SERVICE_ERRORS, ...SESSION_ERRORS },
  Limits: LIMIT_ERRORS,
  "The provider": PROVIDER_ERRORS,
  "Keys, the catalogue and changes of policies": CONTROL_ERRORS,
} as const satisfies Readonly<Record<string, Readonly<Record<string, ErrorRow>>>>;

const OWN_ERRORS = {
  ...REQUEST_ERRORS,
  ...SERVICE_ERRORS,
  ...SESSION_ERRORS,
  ...LIMIT_ERRORS,
  ...PROVIDER_ERRORS,
  ...CONTROL_ERRORS,
};

type AnswerCode = keyof typeof OWN_ERRORS | FailureCode;

/** Status, kind and retry behaviour by code; {@link codedError} makes answers from it. */
export const ERROR_ANSWERS: ReadonlyMap<string, ErrorAnswer> = new Map<string, ErrorAnswer>([
  ...Object.entries(OWN_ERRORS),
  ...FAILURE_ANSWERS,
]);

/** Longest `retry-after` that is sent, milliseconds: agents wait through longer ones in silence. */
export const LONGEST_WAIT = 60_000;

/**
 * Makes the error that {@link ERROR_ANSWERS} has for a code.
 *
 * @example codedError("saturated", "Every endpoint is busy.").retryAfter // 1000
 *
 * @param more `code` where a more precise value of a closed list is known; `retryAfter` in
 * milliseconds: one beyond {@link LONGEST_WAIT} is not sent, and forbids retries instead. The
 * message must contain the time then.
 */
export function codedError(
  code: AnswerCode,
  message: string,
  more: Partial<Pick<ServiceError, "code" | "param" | "retryable" | "retryAfter" | "facts">> = {},
): ServiceError {
  const row = ERROR_ANSWERS.get(code);
  if (row === undefined) throw new Error(`no answer for the code ${code}`);
  const retryAfter = more.retryAfter ?? row.retryAfter;
  const retryable =
    (more.retryable ?? row.retryable) && (retryAfter === null || retryAfter <= LONGEST_WAIT);
  return {
    status: row.status,
    kind: row.kind,
    code: more.code ?? code,
    message,
    param: more.param ?? null,
    denial: null,
    retryable,
    retryAfter: retryable ? retryAfter : null,
    ...(more.facts !== undefined && { facts: more.facts }),
  };
}

/**
 * The error of an allowed request without a usable endpoint: 503, because a retry may succeed; it
 * is no denial.
 *
 * @example noHealthyEndpoint().status // 503
 */
export function noHealthyEndpoint(): ServiceError {
  return codedError(
    "no_healthy_endpoint",
    "The request is allowed, but no endpoint that may serve it is usable now.",
  );
}
