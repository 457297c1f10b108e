import { callerOf } from "../query.ts";
import type { Identity } from "../../../canon/identity.ts";
import type { JsonObject, JsonValue } from "../../../canon/json.ts";
import { ruleOfCaller, type AdmittedWorkload } from "../../../canon/workload-identity.ts";
import { asIdentifier } from "../../../evidence/record.ts";
import type { ExchangeFault, TokenRequest } from "../../../canon/credentials/narrowing.ts";
import type { ControlAnswer, ControlCall } from "../control-call.ts";
import type { IncomingMessage } from "node:http";
import type { Snapshot } from "../../snapshot.ts";
import { badRequest, refusal, type RefusalError } from "../../refusal.ts";
import type { Runtime } from "../../runtime.ts";

const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";

/**
 * POST /v1/credentials/exchange (RFC 8693): the caller's own key, which it has shown as its bearer,
 * or the JWT of a workload, for a token that can do less.
 */
export async function exchangeKey(call: ControlCall): Promise<ControlAnswer> {
  const { runtime, recordChange } = call;
  const identity = callerOf(call);
  const members: JsonObject = call.body?.value ?? {};
  if ((identity.narrowed ?? null) !== null) {
    throw refusal("insufficient_scope", "A token cannot be exchanged; send the service key.");
  }
  const isWorkload = ruleOfCaller(identity.keyId) !== null;
  const { subject_token: subject, subject_token_type: type } = members;
  if (type === JWT_TYPE && !isWorkload) {
    throw badRequest(
      "invalid_value",
      "subject_token_type: a JWT is exchanged without an Authorization header, by a rule of routes.yaml",
      "subject_token_type",
    );
  }
  if (!isWorkload && typeof subject === "string" && !isOwnKey(runtime, subject, identity)) {
    throw badRequest(
      "invalid_value",
      "subject_token must be the key in the Authorization header of the request",
      "subject_token",
    );
  }
  const prepared = runtime.tokens.prepare(identity, readTokenRequest(members));
  if ("fault" in prepared) throw faultError(prepared);
  await recordChange({ what: "token_issued", id: asIdentifier(prepared.id) });
  const signed = await prepared.sign();
  if ("fault" in signed) throw faultError(signed);
  return {
    json: {
      access_token: signed.token,
      issued_token_type: ACCESS_TOKEN,
      token_type: "Bearer",
      expires_in: prepared.lifetime,
      scope: prepared.scopes.join(" "),
      token_id: prepared.id,
    },
  };
}

/** Only the holder of a key may exchange it, never another on its behalf. */
function isOwnKey(runtime: Runtime, subject: string, { keyId }: Identity): boolean {
  const verified = runtime.verify(subject, Date.now());
  return verified.ok && verified.identity.keyId === keyId;
}

/** Reads a body that matches `EXCHANGE_SCHEMA`: lists and numbers are text in a form. */
function readTokenRequest(body: JsonObject): TokenRequest {
  const { origin } = body;
  return {
    scopes: readList(body.scope),
    operations: readList(body.operations),
    routes: readList(body.routes),
    origin: typeof origin === "string" ? origin : null,
    lifetime: readNumber(body, "lifetime"),
    ceilings: {
      requests: readNumber(body, "max_requests"),
      tokens: readNumber(body, "max_tokens"),
    },
  };
}

/** @throws {RefusalError} */
function readNumber(body: JsonObject, name: string): number | null {
  const value = body[name];
  if (value === undefined) return null;
  if (typeof value === "number") return value;
  if (typeof value === "string" && /^\d{1,12}$/.test(value)) return Number(value);
  throw badRequest("invalid_type", `${name} must be a whole number`, name);
}

/**
 * Names between spaces, as OAuth writes lists (RFC 6749 §3.3), or a list. An empty one requests
 * nothing and is rejected.
 */
function readList(value: JsonValue | undefined): readonly string[] | null {
  if (Array.isArray(value)) return value.map(String);
  return typeof value === "string" ? value.split(" ").filter((item) => item !== "") : null;
}

function faultError(fault: ExchangeFault): RefusalError {
  switch (fault.fault) {
    case "option":
      return badRequest("invalid_value", `${fault.field}: ${fault.fix}`, fault.field);
    case "too_large":
      return badRequest("invalid_value", "routes: too many for one token; request fewer", "routes");
    case "not_granted":
      return refusal(
        "exchange_not_granted",
        "The key may not be exchanged; make one with an exchange grant.",
      );
    case "unavailable":
      return refusal(
        "store_unavailable",
        "The public key of new tokens cannot be published now. Try again later.",
      );
  }
}

/** `subject_token_type` of a JWT (RFC 8693 §3). */
const JWT_TYPE = "urn:ietf:params:oauth:token-type:jwt";

/**
 * Bytes of the body of a caller without a key: a JWT is 16,384 characters at most, and a form
 * writes none of them longer.
 */
export const ANONYMOUS_BODY = 32 * 1024;

/**
 * Whether the caller of the token endpoint may be a workload: it shows no key, and there are rules
 * for workloads.
 */
export function mayBeWorkload({ decider }: Snapshot, { headers }: IncomingMessage): boolean {
  return headers.authorization === undefined && decider.table.workloadIdentity !== undefined;
}

/** The workload whose JWT the body has. @throws {RefusalError} */
export async function admitWorkload(
  { workloads }: Runtime,
  { decider }: Snapshot,
  body: JsonObject,
): Promise<AdmittedWorkload> {
  const { workloadIdentity } = decider.table;
  const { subject_token: jwt, subject_token_type: type } = body;
  if (workloadIdentity === undefined || type !== JWT_TYPE || typeof jwt !== "string") {
    throw refusal(
      "invalid_api_key",
      `No service key: send it as \`Authorization: Bearer sbx_…\`, or a JWT in subject_token with subject_token_type=${JWT_TYPE}.`,
    );
  }
  const admitted = await workloads.admit(jwt, workloadIdentity);
  if (!("fault" in admitted)) return admitted;
  if (admitted.fault !== "ambiguous") {
    const [code, message] = WORKLOAD_ERRORS[admitted.fault];
    throw refusal(code, message);
  }
  throw refusal(
    "workload_ambiguous",
    `Several rules of \`workload_identity\` match subject_token: ${admitted.rules.join(", ")}. Their claims have to exclude each other.`,
  );
}

const WORKLOAD_ERRORS = {
  invalid: [
    "subject_token_invalid",
    "subject_token is malformed, its issuer is none of routes.yaml, or its issuer has not signed it.",
  ],
  expired: [
    "subject_token_expired",
    "subject_token has expired, or is not valid yet; send a new one.",
  ],
  not_granted: [
    "workload_not_granted",
    "No rule of `workload_identity` in routes.yaml has the audience and the claims of subject_token.",
  ],
  unavailable: [
    "issuer_unavailable",
    "The keys of the issuer of subject_token cannot be fetched now.",
  ],
} as const;
