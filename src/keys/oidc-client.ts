import * as client from "openid-client";

import type { OidcSettings } from "../canon/console.ts";
import type { Person, SignInCheck, SignInFault } from "../canon/credentials/session.ts";

/** Longest call of the provider, seconds. */
const TIMEOUT = 10;

/** At most 255 ASCII characters (OpenID Connect Core §2); those of control would reach terminals. */
const SUBJECT = /^[ -~]{1,255}$/;

/** Groups of one person that are looked at, at most. */
const MOST_GROUPS = 1_000;

/** Sign-in at one provider of OpenID Connect: authorization code with PKCE, state and nonce. */
export class OidcClient {
  readonly #settings: OidcSettings;
  readonly #secret: string | null;
  #configuration: Promise<client.Configuration> | null = null;

  /** @param secret of this client; `null` for a public one. */
  constructor(settings: OidcSettings, secret: string | null) {
    this.#settings = settings;
    this.#secret = secret;
  }

  /** Where to send the browser. @param redirectUri where it returns to. */
  async begin(redirectUri: string): Promise<{ readonly url: string; readonly check: SignInCheck } | SignInFault> {
    const check: SignInCheck = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
    };
    try {
      const url = client.buildAuthorizationUrl(await this.#discovered(), {
        redirect_uri: redirectUri,
        scope: ["openid", ...this.#settings.scopes].join(" "),
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

  /** Who has signed in. @param returned the address to which the provider sent the browser, with its query. */
  async finish(returned: URL, check: SignInCheck): Promise<Person | SignInFault> {
    let configuration: client.Configuration;
    try {
      configuration = await this.#discovered();
    } catch {
      return { fault: "unavailable" };
    }
    try {
      const tokens = await client.authorizationCodeGrant(configuration, returned, {
        expectedState: check.state,
        expectedNonce: check.nonce,
        pkceCodeVerifier: check.verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      return claims === undefined || !SUBJECT.test(claims.sub) ? { fault: "invalid" } : this.#person(claims);
    } catch (error) {
      return { fault: error instanceof client.AuthorizationResponseError ? "refused" : "invalid" };
    }
  }

  #person(claims: client.IDToken): Person {
    const { groupsClaim, nameClaim, issuer } = this.#settings;
    const name = nameClaim === null ? null : claims[nameClaim];
    const groups = claims[groupsClaim];
    const listed = typeof groups === "string" ? [groups] : Array.isArray(groups) ? groups : [];
    return {
      issuer,
      subject: claims.sub,
      name: typeof name === "string" ? name.replaceAll(/[\p{Cc}\p{Cf}]/gu, "").slice(0, 200) : null,
      groups: listed.slice(0, MOST_GROUPS).filter((group) => typeof group === "string"),
    };
  }

  #discovered(): Promise<client.Configuration> {
    if (this.#configuration !== null) return this.#configuration;
    const found = this.#discover();
    this.#configuration = found;
    // The next sign-in tries again.
    found.catch(() => {
      this.#configuration = null;
    });
    return found;
  }

  async #discover(): Promise<client.Configuration> {
    const { issuer, clientId } = this.#settings;
    const isPlain = issuer.startsWith("http://");
    const execute = isPlain ? [client.allowInsecureRequests] : [];
    const found = await client.discovery(new URL(issuer), clientId, undefined, client.None(), {
      execute,
      timeout: TIMEOUT,
    });
    if (this.#secret === null) return found;
    const server = found.serverMetadata();
    // Basic is the default of providers that say nothing (OpenID Connect Discovery §3).
    const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    const auth = methods.includes("client_secret_basic")
      ? client.ClientSecretBasic(this.#secret)
      : client.ClientSecretPost(this.#secret);
    const configuration = new client.Configuration(server, clientId, undefined, auth);
    configuration.timeout = TIMEOUT;
    if (isPlain) client.allowInsecureRequests(configuration);
    return configuration;
  }
}
