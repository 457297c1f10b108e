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
  readonly refused: readonly { readonly provider: string; readonly reference: SecretReference }[];
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
  environment: Readonly<Record<string, string | undefined>>,
  readFile: (path: string) => string,
): ResolvedSecrets {
  const secrets = new Map<string, string>();
  const missing: MissingSecret[] = [];
  const refused: { provider: string; reference: SecretReference }[] = [];
  for (const { id: provider, auth } of Object.values(table.providers)) {
    if (auth.kind === "none") continue;
    if (auth.kind !== "header") {
      const found = findCredentialGap(auth, environment, readFile);
      if (found?.gap === "missing")
        missing.push({ provider, reference: found.reference, onMissing: auth.onMissing });
      if (found?.gap === "unusable") refused.push({ provider, reference: found.reference });
      continue;
    }
    const { secret: reference, onMissing } = auth;
    const value =
      "env" in reference
        ? variable(environment, reference.env)
        : fromFile(readFile, reference.file);
    if (value === "") missing.push({ provider, reference, onMissing });
    // A line feed inside a header value would let a secret write headers of its own.
    else if (/[^\x20-\x7e]/.test(value)) refused.push({ provider, reference });
    else secrets.set(provider, value);
  }
  return { secrets, missing, refused };
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

function fromFile(readFile: (path: string) => string, path: string): string {
  try {
    return readFile(path).replace(/\r?\n$/, "");
  } catch {
    return "";
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The first part of per-call credentials that is missing or unusable. */
interface CredentialGap {
  readonly reference: SecretReference;
  readonly gap: "missing" | "unusable";
}

/**
 * Checks that the source of credentials exists, without a network call: a metadata service is
 * called with the first request. `null`: nothing is known to be missing.
 *
 * @param readFile gives the text of a file and may throw.
 */
function findCredentialGap(
  auth: AwsSigning | GoogleOauth,
  environment: Environment,
  readFile: (path: string) => string,
): CredentialGap | null {
  const variables = (names: readonly string[]) =>
    firstGap(names.map((name) => variableGap(environment, name)));
  // Paths in variables start from the process's folder, as everywhere; those of routes.yaml from
  // its own.
  const fileOf = (name: string) => () => fileGap(resolve(variable(environment, name)), readFile);
  if (auth.kind === "google_oauth") {
    if (auth.credentials === "metadata_server") return null;
    const path =
      auth.credentials === "adc"
        ? resolve(applicationDefaultFile(environment))
        : auth.credentials.file;
    return fileGap(path, readFile);
  }
  switch (auth.credentials) {
    case "env":
      return (
        variables(["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]) ??
        unprintable(environment, "AWS_SESSION_TOKEN")
      );
    case "web_identity":
      return (
        variables(["AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE"]) ??
        fileOf("AWS_WEB_IDENTITY_TOKEN_FILE")()
      );
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

function firstGap(gaps: readonly (CredentialGap | null)[]) {
  return gaps.find((gap) => gap !== null) ?? null;
}

function variableGap(environment: Environment, name: string): CredentialGap | null {
  if (variable(environment, name) === "") return { reference: { env: name }, gap: "missing" };
  return unprintable(environment, name);
}

/** Secrets of signed requests become header values. */
function unprintable(environment: Environment, name: string): CredentialGap | null {
  return /[^\x20-\x7e]/.test(variable(environment, name))
    ? { reference: { env: name }, gap: "unusable" }
    : null;
}

function fileGap(path: string, readFile: (path: string) => string): CredentialGap | null {
  return textOf(path, readFile).trim() === ""
    ? { reference: { file: path }, gap: "missing" }
    : null;
}

/**
 * Either file may hold the profile: the credentials file as `[name]`, the configuration file as
 * `[profile name]`.
 */
function profileGap(
  environment: Environment,
  profile: string,
  readFile: (path: string) => string,
): CredentialGap | null {
  const { credentials, config } = awsSharedFiles(environment);
  const held = [credentials, config].some((path) =>
    textOf(resolve(path), readFile)
      .split("\n")
      .some(
        (line) => /^\s*\[\s*(?:profile\s+)?["']?([^"'\]]+?)["']?\s*\]/.exec(line)?.[1] === profile,
      ),
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
