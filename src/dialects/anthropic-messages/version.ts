import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { JsonObject, JsonValue } from "../../canon/json.ts";
import type { ProtocolHeaders } from "../../canon/request.ts";

/** Versions of the protocol that we speak, the older one first. A caller that names none speaks it. */
export const VERSIONS = ["2023-06-01", "2026-10-21"] as const;
export type Version = (typeof VERSIONS)[number];

/** The version that a caller speaks, or the 400 for one that we do not. */
export function readVersion({ version }: ProtocolHeaders): Version | ServiceError {
  const known = VERSIONS.find((one) => one === (version ?? VERSIONS[0]));
  if (known !== undefined) return known;
  return invalidRequest(
    "unsupported_version",
    `The header anthropic-version must be one of ${VERSIONS.join(", ")}`,
    "anthropic-version",
  );
}

const REMOVED = ["temperature", "top_p", "top_k"] as const;

/** The 400 for a member that the version does not have, default values included (docs/protocols.md#versions-of-messages). */
export function removedMember(body: JsonObject, version: Version): ServiceError | null {
  if (version === "2023-06-01") return null;
  const name = REMOVED.find((member) => isGiven(body[member]));
  return name === undefined ? null : goneUnder(version, name, "does not exist");
}

/** The 400 for what the newer version no longer takes. */
export function goneUnder(version: Version, path: string, why: string): ServiceError {
  return invalidRequest("removed_in_version", `${path} ${why} under anthropic-version ${version}`, path);
}

function isGiven(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null;
}
