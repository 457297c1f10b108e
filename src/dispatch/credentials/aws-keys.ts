import { awsSharedFiles, variable } from "../../network/credential-files.ts";
import type { AwsSigning } from "../../canon/table.ts";
import type { FindProxy } from "../egress-proxy.ts";
import type { Dated } from "./renewed.ts";

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

/** The libraries' warnings would go to the console, with what they choke on. */
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
    // Without the last, a request past its time would only be complained of on the console, and
    // stay open.
    requestHandler: {
      connectionTimeout: timeout,
      requestTimeout: timeout,
      throwOnRequestTimeout: true,
      ...agents,
    },
    ...(endpoint === "" ? {} : { endpoint }),
  };
}
