import type * as Library from "google-auth-library";
import type { AwsSigning, GoogleOauth, ProviderRow } from "../../canon/table.ts";
import { type Dated, Renewed } from "./renewed.ts";
import type { FindProxy } from "../egress-proxy.ts";
import type { Authorize, OutgoingRequest } from "../connections.ts";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type {
  AuthClient,
  AwsClientOptions,
  IdentityPoolClientOptions,
  JWTInput,
} from "google-auth-library";
import {
  applicationDefaultFile,
  awsSharedFiles,
  variable,
} from "../../network/credential-files.ts";
import type { SignatureV4 } from "@smithy/signature-v4";
import { createHash, createHmac, type Hash, type Hmac } from "node:crypto";

/** Inputs of a credential's look-up. */
interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Folder that paths of routes.yaml start from. */
  readonly folder: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /**
   * Forward proxies of calls to token services; absent: none. Metadata services of machines and
   * containers are called directly.
   */
  readonly findProxy?: FindProxy | null | undefined;
}

/**
 * The way to credentials that are made for each call; `null` for a provider whose headers never
 * change. No request is made before the first call.
 */
export function createAuthorize(
  provider: ProviderRow,
  surroundings: Surroundings,
): Authorize | null {
  const { auth, timeouts, baseUrl } = provider;
  const { environment, folder, now, findProxy } = surroundings;
  // Credentials are part of reaching the provider, and must not cost a call more than that may.
  const patience = timeouts.connect;
  switch (auth.kind) {
    case "none":
    case "header":
      return null;
    case "aws_sigv4": {
      const keys = new Renewed({
        fetch: awsKeysFrom(auth, environment, patience, findProxy),
        patience,
        now,
      });
      return createAwsSigner({
        service: auth.service,
        region: auth.region,
        host: new URL(baseUrl).host,
        keys,
        now,
      });
    }
    case "google_oauth": {
      const headers = new Renewed({
        fetch: googleHeadersFrom(auth, environment, folder),
        patience,
        now,
      });
      return () => headers.get();
    }
  }
}

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

/** Keys that requests are signed with. */
export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;
type TokenService = ReturnType<typeof tokenService>;
type Source = () => Promise<AwsKeys & { readonly expiration?: Date }>;

/** Retries of a source's own. Its calls wait no longer than a connection may take anyway. */
const RETRIES = 1;

/** By default the libraries log warnings to the console, and quote the faulty value. */
const SILENT = { trace() {}, debug() {}, info() {}, warn() {}, error() {} };

/**
 * The way to the keys of the source that routes.yaml names. Libraries are loaded when they are
 * first needed: most routers sign nothing.
 *
 * @param timeout for one connection to a source, milliseconds.
 */
export function awsKeysFrom(
  { credentials, profile, region }: AwsSigning,
  environment: Environment,
  timeout: number,
  findProxy: FindProxy | null = null,
): () => Promise<Dated<AwsKeys>> {
  const service = tokenService(environment, region, timeout, findProxy);
  const sources: Readonly<Record<AwsSigning["credentials"], () => Source | Promise<Source>>> = {
    env: () => () => Promise.resolve(fromEnvironment(environment)),
    web_identity: () => fromWebIdentity(environment, service),
    shared_file: () => fromSharedFiles(environment, profile, service),
    container: () => fromContainer(environment, timeout),
    instance: () => fromInstance(timeout),
  };
  let source: Source | null = null;
  return async () => {
    source ??= await sources[credentials]();
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = await source();
    const value = {
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
    };
    return { value, expiresAt: expiration?.getTime() ?? null };
  };
}

function fromEnvironment(environment: Environment): AwsKeys {
  const accessKeyId = variable(environment, "AWS_ACCESS_KEY_ID");
  const secretAccessKey = variable(environment, "AWS_SECRET_ACCESS_KEY");
  const sessionToken = variable(environment, "AWS_SESSION_TOKEN");
  if (accessKeyId === "" || secretAccessKey === "") throw new Error("AWS keys are not set");
  return { accessKeyId, secretAccessKey, ...(sessionToken === "" ? {} : { sessionToken }) };
}

/**
 * A role taken on with a token that the platform writes to a file and exchanges from time to time;
 * it is read at every renewal.
 */
async function fromWebIdentity(
  environment: Environment,
  clientConfig: TokenService,
): Promise<Source> {
  const { fromTokenFile } = await import("@aws-sdk/credential-provider-web-identity");
  const sessionName = variable(environment, "AWS_ROLE_SESSION_NAME");
  return fromTokenFile({
    roleArn: variable(environment, "AWS_ROLE_ARN"),
    webIdentityTokenFile: variable(environment, "AWS_WEB_IDENTITY_TOKEN_FILE"),
    roleSessionName: sessionName === "" ? "signalbox" : sessionName,
    clientConfig,
  });
}

async function fromSharedFiles(
  environment: Environment,
  profile: string,
  clientConfig: TokenService,
): Promise<Source> {
  const { fromIni } = await import("@aws-sdk/credential-provider-ini");
  const { credentials, config } = awsSharedFiles(environment);
  return fromIni({
    profile,
    filepath: credentials,
    configFilepath: config,
    // Files are read again at every renewal: a key exchanged in them is found without a restart.
    ignoreCache: true,
    clientConfig,
  });
}

/**
 * Amazon ECS and EKS. Empty texts keep the library from looking into the process's own environment.
 */
async function fromContainer(environment: Environment, timeout: number): Promise<Source> {
  const { fromHttp } = await import("@aws-sdk/credential-provider-http");
  const relative = variable(environment, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const tokenFile = variable(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  return () =>
    fromHttp({
      awsContainerCredentialsRelativeUri: relative,
      awsContainerCredentialsFullUri:
        relative === "" ? variable(environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI") : "",
      awsContainerAuthorizationTokenFile: tokenFile,
      awsContainerAuthorizationToken:
        tokenFile === "" ? variable(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN") : "",
      timeout,
      maxRetries: RETRIES,
      logger: SILENT,
    })();
}

/**
 * Amazon EC2. Version 1 of its metadata service also answers requests that were forged through this
 * machine, so only version 2 is used.
 */
async function fromInstance(timeout: number): Promise<Source> {
  const { fromInstanceMetadata } = await import("@smithy/credential-provider-imds");
  return fromInstanceMetadata({
    timeout,
    maxRetries: RETRIES,
    ec2MetadataV1Disabled: true,
    logger: SILENT,
  });
}

/**
 * How the service that exchanges tokens for keys is reached: in the region that is signed for,
 * unless the environment names another address.
 */
function tokenService(
  environment: Environment,
  region: string,
  timeout: number,
  findProxy: FindProxy | null,
) {
  const endpoint = variable(environment, "AWS_ENDPOINT_URL_STS");
  const agent = findProxy === null ? null : { keepAlive: true, proxyEnv: findProxy.variables };
  const agents = agent === null ? {} : { httpAgent: agent, httpsAgent: agent };
  return {
    region,
    maxAttempts: RETRIES + 1,
    // Without `throwOnRequestTimeout`, the SDK only logs a request that timed out, and leaves it
    // open.
    requestHandler: {
      connectionTimeout: timeout,
      requestTimeout: timeout,
      throwOnRequestTimeout: true,
      ...agents,
    },
    ...(endpoint === "" ? {} : { endpoint }),
  };
}

interface AwsSignerOptions {
  /** The service's name in signatures, such as `bedrock`. */
  readonly service: string;
  readonly region: string;
  /** As in the `host` header, with a port that is not the scheme's own. */
  readonly host: string;
  readonly keys: Renewed<AwsKeys>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Headers of a signed request that were not there before. */
const ADDED = [
  "authorization",
  "x-amz-date",
  "x-amz-content-sha256",
  "x-amz-security-token",
] as const;

/** A proxy may change it without changing the request. */
const UNSIGNED: ReadonlySet<string> = new Set(["accept-encoding"]);

/**
 * Signs calls with AWS Signature Version 4. The canonical path encodes what the request line has
 * encoded once more (`:` is sent as `%3A` and signed as `%253A`), as all services but S3 want it.
 */
export function createAwsSigner({ service, region, host, keys, now }: AwsSignerOptions): Authorize {
  // Loaded when it is first needed: most routers sign nothing.
  let signer: Promise<SignatureV4> | null = null;
  const load = async () => {
    const library = await import("@smithy/signature-v4");
    return new library.SignatureV4({
      service,
      region,
      credentials: async () => keys.get(),
      sha256: Sha256,
    });
  };
  const { hostname, port, protocol } = new URL(`https://${host}`);
  return async (request) => {
    const { path, query } = splitPath(request.path);
    signer ??= load();
    const signed = await (
      await signer
    ).sign(
      {
        method: request.method,
        protocol,
        hostname,
        ...(port === "" ? {} : { port: Number(port) }),
        path,
        query,
        headers: { ...headersOf(request), host },
        body: request.body,
      },
      { signingDate: new Date(now()), unsignableHeaders: new Set(UNSIGNED) },
    );
    return ADDED.flatMap((name) => {
      const value = signed.headers[name];
      return value === undefined ? [] : [name, value];
    });
  };
}

function headersOf({ headers }: OutgoingRequest): Record<string, string> {
  const headersByName: Record<string, string> = {};
  for (let index = 0; index + 1 < headers.length; index += 2) {
    headersByName[(headers[index] ?? "").toLowerCase()] = headers[index + 1] ?? "";
  }
  return headersByName;
}

/** Path and query apart. A name that is given twice keeps all its values. */
function splitPath(path: string): {
  readonly path: string;
  readonly query: Record<string, string[]>;
} {
  const mark = path.indexOf("?");
  if (mark === -1) return { path, query: {} };
  const query: Record<string, string[]> = Object.create(null);
  for (const [name, value] of new URLSearchParams(path.slice(mark + 1)))
    (query[name] ??= []).push(value);
  return { path: path.slice(0, mark), query };
}

type Bytes = string | ArrayBuffer | ArrayBufferView;

/** SHA-256, or its HMAC where there is a key, in the shape that the signer wants. */
class Sha256 {
  readonly #secret: Bytes | undefined;
  #hash: Hash | Hmac;

  constructor(secret?: Bytes) {
    this.#secret = secret;
    this.#hash = begin(secret);
  }

  update(data: Uint8Array): void {
    this.#hash.update(data);
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }

  reset(): void {
    this.#hash = begin(this.#secret);
  }
}

function begin(secret: Bytes | undefined): Hash | Hmac {
  if (secret === undefined) return createHash("sha256");
  if (typeof secret === "string") return createHmac("sha256", secret);
  const bytes = ArrayBuffer.isView(secret)
    ? Buffer.from(secret.buffer, secret.byteOffset, secret.byteLength)
    : Buffer.from(secret);
  return createHmac("sha256", bytes);
}
