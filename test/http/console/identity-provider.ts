import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";
import { onTestFinished } from "vitest";

export const CLIENT = { id: "signalbox", secret: "provider-key" } as const;

export interface IdentityProvider {
  readonly issuer: string;
  /** Paths that were requested. */
  readonly calls: string[];
  /** Who signs in next; `null`: refuses. */
  account: {
    readonly subject: string;
    readonly groups: readonly string[];
    readonly name: string;
  } | null;
}

/**
 * A real provider of OpenID Connect, which requires no password and signs in the person that the
 * test names.
 */
export async function startIdentityProvider(callback: string): Promise<IdentityProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server has this address
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const idp: IdentityProvider = {
    issuer,
    calls: [],
    account: { subject: "248289", groups: ["sre", "everybody"], name: "Ada" },
  };
  const provider = new Provider(issuer, {
    clients: [{ client_id: CLIENT.id, client_secret: CLIENT.secret, redirect_uris: [callback] }],
    claims: { openid: ["sub", "groups", "name"] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    cookies: { keys: ["a key of the tests"] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: () => "/interaction" },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, groups: idp.account?.groups, name: idp.account?.name }),
    }),
  });
  const handle = provider.callback();
  server.on("request", (incoming, response) => {
    idp.calls.push(incoming.url ?? "");
    if (!(incoming.url ?? "").startsWith("/interaction")) return handle(incoming, response);
    interact(incoming, response).catch(() => response.destroy());
  });
  const interact = async (...exchange: Parameters<typeof handle>): Promise<void> => {
    const { prompt, session } = await provider.interactionDetails(...exchange);
    if (idp.account === null) {
      return provider.interactionFinished(...exchange, {
        error: "access_denied",
        error_description: "<b>no</b>",
      });
    }
    if (prompt.name === "login") {
      return provider.interactionFinished(...exchange, {
        login: { accountId: idp.account.subject },
      });
    }
    const grant = new provider.Grant({ accountId: session?.accountId ?? "", clientId: CLIENT.id });
    grant.addOIDCScope("openid");
    await provider.interactionFinished(...exchange, { consent: { grantId: await grant.save() } });
  };
  return idp;
}
