import type { IncomingMessage } from "node:http";
import { serviceError, type ServiceError } from "../../../canon/error.ts";
import { codedError } from "../../../canon/errors/coded-error.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { AdmittedWorkload } from "../../../canon/workload-identity.ts";
import type { Runtime } from "../../runtime.ts";
import type { Snapshot } from "../../snapshot.ts";

/** `subject_token_type` of a JWT (RFC 8693 §3). */
export const JWT_TYPE = "urn:ietf:params:oauth:token-type:jwt";

/** Bytes of the body of a caller without a key: a JWT is 16,384 characters at most, and a form writes none of them longer. */
export const ANONYMOUS_BODY = 32 * 1024;

/** Whether the caller of the token endpoint may be a workload: it shows no key, and there are rules for workloads. */
export function mayBeWorkload(runtime: Runtime, { decider }: Snapshot, { headers }: IncomingMessage): boolean {
  return (
    headers.authorization === undefined &&
    runtime.workloads !== undefined &&
    decider.table.workloadIdentity !== undefined
  );
}

/** The workload whose JWT the body has. */
export async function admitWorkload(
  { workloads }: Runtime,
  { decider }: Snapshot,
  body: JsonObject,
): Promise<AdmittedWorkload | ServiceError> {
  const { workloadIdentity } = decider.table;
  const { subject_token: jwt, subject_token_type: type } = body;
  if (workloads === undefined || workloadIdentity === undefined || type !== JWT_TYPE || typeof jwt !== "string") {
    return serviceError(
      401,
      "authentication",
      "invalid_api_key",
      `No service key: send it as \`Authorization: Bearer sbx_…\`, or a JWT in subject_token with subject_token_type=${JWT_TYPE}.`,
    );
  }
  const admitted = await workloads.admit(jwt, workloadIdentity);
  if (!("fault" in admitted)) return admitted;
  switch (admitted.fault) {
    case "invalid":
      return codedError(
        "subject_token_invalid",
        "subject_token is malformed, its issuer is none of routes.yaml, or its issuer has not signed it.",
      );
    case "expired":
      return codedError("subject_token_expired", "subject_token has expired, or is not valid yet; send a new one.");
    case "not_granted":
      return codedError(
        "workload_not_granted",
        "No rule of `workload_identity` in routes.yaml has the audience and the claims of subject_token.",
      );
    case "ambiguous":
      return codedError(
        "workload_ambiguous",
        `Several rules of \`workload_identity\` match subject_token: ${admitted.rules.join(", ")}. Their claims have to exclude each other.`,
      );
    case "unavailable":
      return codedError("issuer_unavailable", "The keys of the issuer of subject_token cannot be fetched now.");
  }
}
