import type { OnMissingSecret, ProviderAuth } from "../../canon/table.ts";
import type { AuthoredAuth, AuthoredProvider } from "../routes-schema.ts";
import { awsHost } from "./aws-host.ts";
import * as defaults from "./defaults.ts";

/** Authentication at a provider, with every default written out. */
export function normaliseAuth({ auth, base_url: baseUrl }: AuthoredProvider): ProviderAuth {
  if (auth === "none") return { kind: "none" };
  const onMissing = auth.on_missing_secret ?? "fail";
  return headerOf(auth, onMissing) ?? madePerCall(auth, baseUrl, onMissing);
}

function headerOf({ bearer, header, prefix, secret }: AuthoredAuth, onMissing: OnMissingSecret): ProviderAuth | null {
  if (bearer !== undefined) {
    return { kind: "header", header: "authorization", prefix: "Bearer ", secret: bearer, onMissing };
  }
  if (header === undefined || secret === undefined) return null;
  return { kind: "header", header: header.toLowerCase(), prefix: prefix ?? "", secret, onMissing };
}

function madePerCall(
  { aws_sigv4: aws, google_oauth: google }: AuthoredAuth,
  baseUrl: string,
  onMissing: OnMissingSecret,
): ProviderAuth {
  if (aws !== undefined) {
    return {
      kind: "aws_sigv4",
      service: aws.service,
      // Empty only until `checks/signing.ts` has refused a row that neither names a region nor has a host that does.
      region: aws.region ?? awsHost(baseUrl)?.region ?? "",
      credentials: aws.credentials,
      profile: aws.profile ?? defaults.DEFAULT_AWS_PROFILE,
      onMissing,
    };
  }
  if (google !== undefined) {
    const scopes = [...new Set(google.scopes ?? defaults.DEFAULT_GOOGLE_SCOPES)].toSorted();
    return { kind: "google_oauth", scopes, credentials: google.credentials, onMissing };
  }
  throw new TypeError("normaliseAuth: the schema let an `auth` pass that has none of its forms");
}
