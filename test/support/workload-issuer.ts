import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from "jose";
import { Provider } from "oidc-provider";
import { whenFileEnds } from "./file-end.ts";

/** A key pair of an issuer. */
export interface IssuerKey {
  readonly privateKey: CryptoKey;
  readonly privateJwk: JWK;
  readonly publicJwk: JWK;
}

export async function makeIssuerKey(kid: string, alg = "ES256"): Promise<IssuerKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const more = { kid, alg, use: "sig" };
  return {
    privateKey,
    privateJwk: { ...(await exportJWK(privateKey)), ...more },
    publicJwk: { ...(await exportJWK(publicKey)), ...more },
  };
}

/**
 * A real provider of OpenID Connect: its discovery document and its keys are fetched over a socket.
 */
export interface WorkloadIssuer {
  readonly issuer: string;
  /** Paths that were requested, in order. */
  readonly requests: string[];
  /** Answers with other keys from now on. */
  rotate(keys: readonly IssuerKey[]): void;
  /** Answers each request like this; `null`: as the provider does. */
  interfere: RequestListener | null;
  /** Takes no connection any more. */
  stop(): Promise<void>;
}

export async function startWorkloadIssuer(keys: readonly IssuerKey[]): Promise<WorkloadIssuer> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server has this address
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const handlerOf = (own: readonly IssuerKey[]) =>
    new Provider(issuer, {
      clients: [
        {
          client_id: "batch",
          client_secret: "a secret of the tests",
          grant_types: ["client_credentials"],
          redirect_uris: [],
          response_types: [],
          id_token_signed_response_alg: own[0]?.publicJwk.alg,
        },
      ],
      jwks: { keys: own.map(({ privateJwk }) => privateJwk) },
      cookies: { keys: ["a key of the tests"] },
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => "urn:signalbox",
          getResourceServerInfo: () => ({
            scope: "",
            audience: "signalbox",
            accessTokenFormat: "jwt",
            jwt: { sign: { alg: own[0]?.publicJwk.alg } },
          }),
        },
      },
    }).callback();
  let handle = handlerOf(keys);
  const requests: string[] = [];
  const made: WorkloadIssuer = {
    issuer,
    requests,
    interfere: null,
    rotate: (next) => {
      handle = handlerOf(next);
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
  server.on("request", (incoming, response) => {
    requests.push(incoming.url ?? "");
    if (made.interfere === null) handle(incoming, response);
    else made.interfere(incoming, response);
  });
  whenFileEnds(() => made.stop());
  return made;
}

export interface JwtParts {
  /** Instead of the usual ones; `undefined` omits one. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  /** Seconds from now. */
  readonly expires?: number;
  readonly notBefore?: number;
}

/** A JWT like that of a service account of Kubernetes. */
export function workloadJwt(issuer: string, key: IssuerKey, parts: JwtParts = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1_000);
  const { claims = {}, header = {}, expires = 600, notBefore = 0 } = parts;
  return new SignJWT({
    iss: issuer,
    sub: "system:serviceaccount:shop:checkout",
    aud: ["signalbox"],
    iat: now + notBefore,
    nbf: now + notBefore,
    exp: now + expires,
    "kubernetes.io": { namespace: "shop", serviceaccount: { name: "checkout" } },
    ...claims,
  })
    .setProtectedHeader({
      alg: key.publicJwk.alg ?? "ES256",
      kid: key.publicJwk.kid ?? "",
      ...header,
    })
    .sign(key.privateKey);
}

/** A JWT without a signature (RFC 7515 Appendix A.5), or with one that somebody has written. */
export function forgedJwt(header: object, claims: object, signature = ""): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part(header)}.${part(claims)}.${signature}`;
}
