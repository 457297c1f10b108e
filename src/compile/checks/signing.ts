import { quote } from "../authored/literal-secrets.ts";
import { awsHost } from "../normalised/aws-host.ts";
import type { CompileContext } from "../compile-context.ts";

/** What calls are signed for against what the host shows: a signature for another region or service is refused at every call. */
export function checkSigning({ file, normalised, report }: CompileContext): void {
  for (const { id, auth, baseUrl } of normalised.providers.values()) {
    if (auth.kind !== "aws_sigv4") continue;
    const path = ["providers", id, "auth", "aws_sigv4"];
    const where = `provider ${quote(id)}`;
    const host = awsHost(baseUrl);
    if (auth.region === "") {
      const message = `${where} signs its calls, but neither \`region\` nor the host of its base_url gives the region`;
      report.value("SIGNING_REGION_MISSING", path, message, "add `region`, such as `region: eu-west-1`");
    } else if (host !== null && host.region !== auth.region) {
      const message = `${where} would sign for ${quote(auth.region)}, but its host is in \`${host.region}\``;
      report.value("SIGNING_CONTRADICTED", [...path, "region"], message, "leave `region` out, or correct the host");
    }
    if (host !== null && host.service !== null && host.service !== auth.service) {
      const message = `${where} would sign for the service ${quote(auth.service)}, but its host expects \`${host.service}\``;
      report.value("SIGNING_CONTRADICTED", [...path, "service"], message, `write \`service: ${host.service}\``);
    }
    const authored = file.providers[id]?.auth;
    const profile = typeof authored === "object" ? authored.aws_sigv4?.profile : undefined;
    if (profile !== undefined && auth.credentials !== "shared_file") {
      const message = `${where} names a profile, but its credentials do not come from the shared files`;
      report.value("WRONG_VALUE", [...path, "profile"], message, "remove it, or write `credentials: shared_file`");
    }
  }
}
