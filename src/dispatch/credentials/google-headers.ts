import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type * as Library from "google-auth-library";
import type {
  AuthClient,
  AwsClientOptions,
  IdentityPoolClientOptions,
  JWTInput,
} from "google-auth-library";
import { applicationDefaultFile } from "../../network/credential-files.ts";
import type { GoogleOauth } from "../../canon/table.ts";
import type { Dated } from "./renewed.ts";

/**
 * Files of credentials by their `type`, as Google writes them. The library checks what it needs of
 * each.
 */
type CredentialsFile =
  | ({ readonly type: "service_account" | "authorized_user" } & JWTInput)
  | ({ readonly type: "external_account" } & (AwsClientOptions | IdentityPoolClientOptions))
  | {
      readonly type: "impersonated_service_account";
      readonly source_credentials: CredentialsFile;
      readonly service_account_impersonation_url: string;
      readonly delegates?: string[];
    };

/** The library would send an assertion, a refresh token or a client's secret after a redirect. */
const TRANSPORT = { transporterOptions: { redirect: "error" } } as const;

/** The scope that impersonation of a service account needs. */
const IMPERSONATION_SCOPE = "https://www.googleapis.com/auth/cloud-platform";

/**
 * The way to the headers that carry a token: `authorization`, and `x-goog-user-project` where the
 * credentials name who pays. A new client each time: it reads the file again, and requests a new
 * token instead of giving back one that it keeps.
 *
 * @param folder that a file of routes.yaml is relative to.
 */
export function googleHeadersFrom(
  { credentials, scopes }: GoogleOauth,
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): () => Promise<Dated<readonly string[]>> {
  return async () => {
    const client = await clientFor(credentials, environment, folder, [...scopes]);
    const headers = await client.getRequestHeaders();
    const list = [...headers].flat();
    // A line feed inside a header value would let a token write headers of its own.
    if (!headers.has("authorization") || !list.every((text) => /^[\x20-\x7e]+$/.test(text))) {
      throw new Error("no token that a header can carry");
    }
    return { value: list, expiresAt: client.credentials.expiry_date ?? null };
  };
}

async function clientFor(
  credentials: GoogleOauth["credentials"],
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
  scopes: string[],
): Promise<AuthClient> {
  // Loaded when it is first needed: most routers do not use it.
  const google = await import("google-auth-library");
  if (credentials === "metadata_server") return new google.Compute({ scopes });
  const path =
    credentials === "adc"
      ? resolve(applicationDefaultFile(environment))
      : resolve(folder, credentials.file);
  // The operator's own file: it may name any token service, as the deployment's environment may.
  const file: CredentialsFile = JSON.parse(await readFile(path, "utf8"));
  return clientOf(google, file, scopes);
}

function clientOf(google: typeof Library, file: CredentialsFile, scopes: string[]): AuthClient {
  switch (file.type) {
    case "service_account": {
      const client = new google.JWT({ scopes, ...TRANSPORT });
      client.fromJSON(file);
      return client;
    }
    case "authorized_user": {
      const client = new google.UserRefreshClient(TRANSPORT);
      client.fromJSON(file);
      return client;
    }
    case "external_account":
      return withOneTransport(
        isAwsIdentity(file)
          ? new google.AwsClient({ ...file, scopes, ...TRANSPORT })
          : new google.IdentityPoolClient({ ...file, scopes, ...TRANSPORT }),
      );
    case "impersonated_service_account": {
      const {
        source_credentials: source,
        service_account_impersonation_url: url,
        delegates,
      } = file;
      const principal = /([^/]+):generateAccessToken$/.exec(url)?.[1];
      if (principal === undefined)
        throw new Error("the credentials file names no account to impersonate");
      return new google.Impersonated({
        ...TRANSPORT,
        sourceClient: clientOf(google, source, [IMPERSONATION_SCOPE]),
        targetPrincipal: principal,
        targetScopes: scopes,
        ...(delegates === undefined ? {} : { delegates }),
      });
    }
    default:
      throw new Error("the credentials file is of a type that is not known");
  }
}

/**
 * The library gives the exchange of tokens a transport of its own, which would follow redirects.
 */
function withOneTransport(client: AuthClient): AuthClient {
  const exchange: unknown = Reflect.get(client, "stsCredential");
  if (typeof exchange !== "object" || exchange === null)
    throw new Error("the library exchanges tokens in another way");
  Reflect.set(exchange, "transporter", client.transporter);
  return client;
}

function isAwsIdentity(
  file: AwsClientOptions | IdentityPoolClientOptions,
): file is AwsClientOptions {
  return file.credential_source !== undefined && "environment_id" in file.credential_source;
}
