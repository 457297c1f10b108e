/** What a host of AWS's own says of itself. */
interface AwsHost {
  readonly region: string;
  /** The service's name in signatures; `null` where it is not known to follow from the host. */
  readonly service: string | null;
}

/**
 * `{service}.{region}.amazonaws.com` and its kin: dual-stack hosts (`api.aws`), interface endpoints
 * (`vpce`), the partitions of China and of the European sovereign cloud. AWS's page "AWS service
 * endpoints" documents the forms.
 */
const FORM =
  /^(?:[a-z0-9-]+\.)*?(?<name>[a-z][a-z0-9-]*)\.(?<region>[a-z]{2,4}(?:-[a-z]+)+-\d+)\.(?:vpce\.)?(?:amazonaws\.(?:com|com\.cn|eu)|api\.(?:aws|amazonwebservices\.com\.cn))$/;

/**
 * Hosts that sign under another name than their own. Data about endpoints, from their service
 * models.
 */
const SIGNED_AS: ReadonlyMap<string, string> = new Map([
  ["bedrock", "bedrock"],
  ["bedrock-runtime", "bedrock"],
  ["bedrock-agent-runtime", "bedrock"],
]);

/** `null` for a URL that is none and for hosts that are not AWS's own, such as a proxy's. */
export function awsHost(baseUrl: string): AwsHost | null {
  if (!URL.canParse(baseUrl)) return null;
  const found = FORM.exec(new URL(baseUrl).hostname)?.groups;
  const region = found?.["region"];
  if (region === undefined) return null;
  const name = (found?.["name"] ?? "").replace(/-fips$/, "");
  return { region, service: SIGNED_AS.get(name) ?? null };
}
