import type { ServiceError } from "../../../../canon/error.ts";
import { canonicalJson } from "../../../../canon/json.ts";
import type { ReportReference } from "../../../../lifecycle/records.ts";
import type { PolicyAdministration } from "../administration.ts";
import { simulationBusy, storeUnavailable } from "../policy-error.ts";

/**
 * An approver's report with the server's own finding about it. Only a report that this server makes itself, byte for byte, is verified: anybody can write
 * one that says that everything passed.
 */
export async function verifiedReport(
  { simulate }: Pick<PolicyAdministration, "simulate">,
  policy: string,
  digest: string,
  claimed: ReportReference,
): Promise<ReportReference | ServiceError> {
  const made = await simulate(policy, digest);
  if (made === "busy") return simulationBusy();
  if (made === "unavailable") return storeUnavailable();
  if (typeof made === "string") return { ...claimed, verification: { result: "not_computed" } };
  const { sha256, tableRevision, complete, assertions, enforced } = made;
  const isSame = canonicalJson({ ...claimed }) === canonicalJson({ sha256, tableRevision, complete, assertions });
  return { ...claimed, verification: isSame ? { result: "verified", enforced } : { result: "differs" } };
}
