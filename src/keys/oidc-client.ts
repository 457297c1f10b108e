import * as client from "openid-client";

import type { OidcSettings } from "../canon/table.ts";
import type { Person, SignInCheck, SignInFault } from "../canon/identity.ts";

/** Longest call of the provider, seconds. */
const TIMEOUT = 10;

/** The part of `fetch` that is used. */
type Fetch = (
  url: string,
  options: Omit<client.CustomFetchOptions, "body"> & {
    readonly body?: Exclude<client.CustomFetchOptions["body"], undefined>;
  },
) => Promise<{
  readonly status: number;
  readonly headers: Iterable<[string, string]>;
  readonly body: AsyncIterable<Uint8Array> | null;
}>;

/**
 * At most 255 ASCII characters (OpenID Connect Core §2); those of control would reach terminals.
 */
const SUBJECT = /^[ -~]{1,255}$/;

/** Groups of one person that are looked at, at most. */
const MOST_GROUPS = 1_000;

/**
 * Largest answer of the provider that is read, bytes; discovery documents and key sets have a few
 * kilobytes.
 */
const LARGEST_ANSWER = 1024 * 1024;

/**
 * Returns of browsers under way at once; more are 503. Each may wait for the provider for
 * {@link TIMEOUT}.
 */
const MOST_RETURNS = 50;

/** How far the provider's clock and ours may be apart, seconds. */
const CLOCK_SKEW = 30;

/**
 * Sign-in at one provider of OpenID Connect: authorization code with PKCE, state and nonce. The ID
 * token is verified with the provider's public keys (OpenID Connect Core §3.1.3.7, points 2 to 10).
 */
export function createOidcClient(
  settings: OidcSettings,
  secret: string | null,
  call: Fetch = fetch,
) {
  let configuration: Promise<client.Configuration> | null = null;
  let returns = 0;

  /** Where to send the browser. @param redirectUri where it returns to. */
  async function begin(
    redirectUri: string,
  ): Promise<{ readonly url: string; readonly check: SignInCheck } | SignInFault> {
    const check: SignInCheck = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
    };
    try {
      const url = client.buildAuthorizationUrl(await discovered(), {
        redirect_uri: redirectUri,
        scope: ["openid", ...settings.scopes].join(" "),
        state: check.state,
        nonce: check.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(check.verifier),
        code_challenge_method: "S256",
      });
      return { url: url.href, check };
    } catch {
      return { fault: "unavailable" };
    }
  }

  /**
   * Who has signed in. @param returned the address to which the provider sent the browser, with its
   * query.
   */
  async function finish(returned: URL, check: SignInCheck): Promise<Person | SignInFault> {
    if (returned.searchParams.get("state") !== check.state) return { fault: "invalid" };
    if (returns >= MOST_RETURNS) return { fault: "unavailable" };
    returns += 1;
    try {
      return await redeem(returned, check);
    } catch (error) {
      return { fault: faultOf(error) };
    } finally {
      returns -= 1;
    }
  }

  async function redeem(returned: URL, check: SignInCheck): Promise<Person | SignInFault> {
    const provider = await discovered().catch((cause: unknown) => {
      throw new ProviderUnavailableError("oidc: no discovery", { cause });
    });
    const tokens = await client.authorizationCodeGrant(provider, returned, {
      expectedState: check.state,
      expectedNonce: check.nonce,
      pkceCodeVerifier: check.verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    const isValid = claims !== undefined && isIssuedForUs(claims, settings.clientId);
    return isValid ? person(claims) : { fault: "unverified" };
  }

  function person(claims: client.IDToken): Person {
    const { groupsClaim, nameClaim, issuer } = settings;
    const name = nameClaim === null ? null : claims[nameClaim];
    const groups = claims[groupsClaim];
    const groupList = typeof groups === "string" ? [groups] : Array.isArray(groups) ? groups : [];
    return {
      issuer,
      subject: claims.sub,
      name: typeof name === "string" ? name.replaceAll(/[\p{Cc}\p{Cf}]/gu, "").slice(0, 200) : null,
      groups: groupList.slice(0, MOST_GROUPS).filter((group) => typeof group === "string"),
    };
  }

  function discovered(): Promise<client.Configuration> {
    if (configuration !== null) return configuration;
    const found = discover();
    configuration = found;
    // The next sign-in tries again.
    found.catch(() => {
      configuration = null;
    });
    return found;
  }

  async function discover(): Promise<client.Configuration> {
    const { issuer, clientId } = settings;
    const execute = [client.enableNonRepudiationChecks];
    if (issuer.startsWith("http://")) execute.push(client.allowInsecureRequests);
    return client.discovery(new URL(issuer), clientId, undefined, authentication(), {
      execute,
      timeout: TIMEOUT,
      [client.customFetch]: (url, options) => boundedFetch(call, url, options),
    });
  }

  /** Basic is the default of a provider that lists no method (OpenID Connect Discovery §3). */
  function authentication(): client.ClientAuth {
    if (secret === null) return client.None();
    const [basic, post] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)];
    return (server, ...request) => {
      const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
      (methods.includes("client_secret_basic") ? basic : post)(server, ...request);
    };
  }

  return { begin, finish };
}

/** `azp` must be this client wherever it is present, and times must be numbers in range. */
function isIssuedForUs({ sub, azp, iat, exp }: client.IDToken, clientId: string): boolean {
  const now = Date.now() / 1_000;
  const isTimely = Number.isSafeInteger(exp) && iat > 0 && iat <= now + CLOCK_SKEW && iat < exp;
  return SUBJECT.test(sub) && (azp === undefined || azp === clientId) && isTimely;
}

/** The provider cannot be reached, fails or answers without end. */
class ProviderUnavailableError extends Error {
  override readonly name = "ProviderUnavailableError";
}

/**
 * Reads at most {@link LARGEST_ANSWER}. @throws {ProviderUnavailableError} also where the provider
 * answers 429 or 5xx.
 */
async function boundedFetch(
  call: Fetch,
  url: string,
  options: client.CustomFetchOptions,
): Promise<Response> {
  try {
    const { body, ...others } = options;
    const response = await call(url, { ...others, ...(body !== undefined && { body }) });
    const { status, headers } = response;
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of response.body ?? []) {
      length += chunk.byteLength;
      if (length > LARGEST_ANSWER) throw new RangeError("oidc: too large an answer");
      chunks.push(chunk);
    }
    if (status === 429 || status >= 500) throw new RangeError(`oidc: status ${status}`);
    return new Response(length === 0 ? null : Buffer.concat(chunks), {
      status,
      headers: [...headers],
    });
  } catch (cause) {
    throw new ProviderUnavailableError("oidc: no answer", { cause });
  }
}

function faultOf(error: unknown): SignInFault["fault"] {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof ProviderUnavailableError) return "unavailable";
  }
  if (error instanceof client.AuthorizationResponseError) return "refused";
  // The token endpoint refused the code: used, too old, or of another sign-in.
  if (error instanceof client.ResponseBodyError) return "invalid";
  return "unverified";
}
