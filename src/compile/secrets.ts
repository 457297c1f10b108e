import { variable, applicationDefaultFile, awsSharedFiles } from "../network/credential-files.ts";
import type {
  AwsSigning,
  GoogleOauth,
  OnMissingSecret,
  RoutingTable,
  SecretReference,
} from "../canon/table.ts";
import { resolve } from "node:path";

export interface MissingSecret {
  readonly provider: string;
  readonly reference: SecretReference;
  readonly onMissing: OnMissingSecret;
}

interface ResolvedSecrets {
  /**
   * Provider id → secret, for providers whose header never changes. The only object that holds
   * secrets after start; never log it, never put it into the table.
   */
  readonly secrets: ReadonlyMap<string, string>;
  /** Not set, empty, or in a file that cannot be read. The caller obeys `onMissing`. */
  readonly missing: readonly MissingSecret[];
  /**
   * Set, but with characters that a header cannot carry. Never a case for `onMissing`: the variable
   * was set on purpose.
   */
  readonly invalid: readonly { readonly provider: string; readonly reference: SecretReference }[];
}

/**
 * Follows the references of the table's providers, in the order of their ids. One line feed (or CR
 * LF) at the end of a file is not part of the secret, because editors and mounted volumes add it.
 *
 * @param readFile gives the text of a file and may throw; its error is dropped, since it could hold
 * the path's content.
 */
export function resolveSecrets(
  table: RoutingTable,
  environment: Environment,
  readFile: (path: string) => string,
): ResolvedSecrets {
  const textOf = (path: string) => {
    try {
      return readFile(path);
    } catch {
      return "";
    }
  };
  const secrets = new Map<string, string>();
  const missing: MissingSecret[] = [];
  const invalid: { provider: string; reference: SecretReference }[] = [];
  for (const { id: provider, auth } of Object.values(table.providers)) {
    if (auth.kind === "none") continue;
    let found: CredentialGap | null;
    if (auth.kind === "header") {
      const { secret: reference } = auth;
      const secret =
        "env" in reference
          ? variable(environment, reference.env)
          : textOf(reference.file).replace(/\r?\n$/, "");
      found = gapIn(reference, secret);
      if (found === null) secrets.set(provider, secret);
    } else found = callGap(auth, environment, textOf);
    if (found === null) continue;
    const { gap, reference } = found;
    if (gap === "missing") missing.push({ provider, reference, onMissing: auth.onMissing });
    else invalid.push({ provider, reference });
  }
  return { secrets, missing, invalid };
}

/**
 * Paths of files that headers of providers are read from, as the table has them. Files of clouds
 * are left to their libraries, which read them again.
 */
export function secretFiles(table: RoutingTable): readonly string[] {
  return Object.values(table.providers).flatMap(({ auth }) =>
    auth.kind === "header" && "file" in auth.secret ? [auth.secret.file] : [],
  );
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The first part of a provider's credentials that is missing or unusable. */
interface CredentialGap {
  readonly reference: SecretReference;
  readonly gap: "missing" | "unusable";
}

/**
 * Secrets become header values, also those of signed requests: a line feed inside one would let it
 * write headers of its own.
 */
function gapIn(reference: SecretReference, value: string): CredentialGap | null {
  if (value === "") return { reference, gap: "missing" };
  return /[^\x20-\x7e]/.test(value) ? { reference, gap: "unusable" } : null;
}

/**
 * Checks that the source of per-call credentials exists, without a network call: a metadata service
 * is called with the first request. `null`: nothing is known to be missing.
 *
 * @param textOf text of a file; empty where it cannot be read.
 */
function callGap(
  auth: AwsSigning | GoogleOauth,
  environment: Environment,
  textOf: (path: string) => string,
): CredentialGap | null {
  const valueOf = (name: string) => variable(environment, name);
  const variableGap = (name: string) => gapIn({ env: name }, valueOf(name));
  const missingFile = (file: string): CredentialGap => ({ reference: { file }, gap: "missing" });
  const fileGap = (file: string) => (textOf(file).trim() === "" ? missingFile(file) : null);
  if (auth.kind === "google_oauth") {
    if (auth.credentials === "metadata_server") return null;
    // Paths in variables start from the process's folder, as everywhere; those of routes.yaml from
    // its own.
    return fileGap(
      auth.credentials === "adc"
        ? resolve(applicationDefaultFile(environment))
        : auth.credentials.file,
    );
  }
  switch (auth.credentials) {
    case "env":
      return (
        variableGap("AWS_ACCESS_KEY_ID") ??
        variableGap("AWS_SECRET_ACCESS_KEY") ??
        (valueOf("AWS_SESSION_TOKEN") === "" ? null : variableGap("AWS_SESSION_TOKEN"))
      );
    case "web_identity":
      return (
        variableGap("AWS_ROLE_ARN") ??
        variableGap("AWS_WEB_IDENTITY_TOKEN_FILE") ??
        fileGap(resolve(valueOf("AWS_WEB_IDENTITY_TOKEN_FILE")))
      );
    case "shared_file": {
      // The credentials file has a profile as `[name]`, the configuration file as `[profile name]`.
      const { credentials, config } = awsSharedFiles(environment);
      const profiles = [credentials, config].flatMap((path) =>
        textOf(resolve(path))
          .split("\n")
          .map((line) => /^\s*\[\s*(?:profile\s+)?["']?([^"'\]]+?)["']?\s*\]/.exec(line)?.[1]),
      );
      return profiles.includes(auth.profile) ? null : missingFile(credentials);
    }
    case "container":
      return valueOf("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") === ""
        ? variableGap("AWS_CONTAINER_CREDENTIALS_FULL_URI")
        : null;
    case "instance":
      return null;
  }
}
