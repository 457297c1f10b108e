import { resolve } from "node:path";
import { applicationDefaultFile, awsSharedFiles, variable } from "../network/credential-files.ts";
import type { SecretReference } from "../canon/secret-reference.ts";
import type { AwsSigning, GoogleOauth } from "../canon/table.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The first thing that credentials made per call would lack, or hold and could not use. */
interface CredentialGap {
  readonly reference: SecretReference;
  readonly gap: "missing" | "unusable";
}

/**
 * Looks whether the source of credentials is there, as far as that can be seen without a network call: a container's or a machine's own
 * service is called with the first request. `null`: nothing is known to be missing.
 *
 * @param readFile gives the text of a file and may throw.
 */
export function findCredentialGap(
  auth: AwsSigning | GoogleOauth,
  environment: Environment,
  readFile: (path: string) => string,
): CredentialGap | null {
  const variables = (names: readonly string[]) => firstGap(names.map((name) => variableGap(environment, name)));
  // Paths in variables start from the process's folder, as everywhere; those of routes.yaml from its own.
  const fileOf = (name: string) => () => fileGap(resolve(variable(environment, name)), readFile);
  if (auth.kind === "google_oauth") {
    if (auth.credentials === "metadata_server") return null;
    const path = auth.credentials === "adc" ? resolve(applicationDefaultFile(environment)) : auth.credentials.file;
    return fileGap(path, readFile);
  }
  switch (auth.credentials) {
    case "env":
      return variables(["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]) ?? unprintable(environment, "AWS_SESSION_TOKEN");
    case "web_identity":
      return variables(["AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE"]) ?? fileOf("AWS_WEB_IDENTITY_TOKEN_FILE")();
    case "shared_file":
      return profileGap(environment, auth.profile, readFile);
    case "container":
      return variable(environment, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") === ""
        ? variableGap(environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI")
        : null;
    case "instance":
      return null;
  }
}

function firstGap(gaps: readonly (CredentialGap | null)[]): CredentialGap | null {
  return gaps.find((gap) => gap !== null) ?? null;
}

function variableGap(environment: Environment, name: string): CredentialGap | null {
  if (variable(environment, name) === "") return { reference: { env: name }, gap: "missing" };
  return unprintable(environment, name);
}

/** What stands in a signed request's headers must fit into a header. */
function unprintable(environment: Environment, name: string): CredentialGap | null {
  return /[^\x20-\x7e]/.test(variable(environment, name)) ? { reference: { env: name }, gap: "unusable" } : null;
}

function fileGap(path: string, readFile: (path: string) => string): CredentialGap | null {
  return textOf(path, readFile).trim() === "" ? { reference: { file: path }, gap: "missing" } : null;
}

/** Either file may hold the profile: the credentials file as `[name]`, the configuration file as `[profile name]`. */
function profileGap(
  environment: Environment,
  profile: string,
  readFile: (path: string) => string,
): CredentialGap | null {
  const { credentials, config } = awsSharedFiles(environment);
  const held = [credentials, config].some((path) =>
    textOf(resolve(path), readFile)
      .split("\n")
      .some((line) => /^\s*\[\s*(?:profile\s+)?["']?([^"'\]]+?)["']?\s*\]/.exec(line)?.[1] === profile),
  );
  return held ? null : { reference: { file: credentials }, gap: "missing" };
}

function textOf(path: string, readFile: (path: string) => string): string {
  try {
    return readFile(path);
  } catch {
    return "";
  }
}
