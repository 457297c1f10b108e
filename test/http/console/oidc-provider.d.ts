/** The part of oidc-provider that the tests use; the package brings no types. */
declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  interface Details {
    readonly prompt: { readonly name: string };
    readonly params: Readonly<Record<string, unknown>>;
    readonly session?: { readonly accountId: string };
  }

  export class Provider {
    constructor(issuer: string, configuration: object);
    readonly Grant: new (of: { readonly accountId: string; readonly clientId: string }) => {
      addOIDCScope(scope: string): void;
      save(): Promise<string>;
    };
    callback(): (incoming: IncomingMessage, response: ServerResponse) => void;
    interactionDetails(incoming: IncomingMessage, response: ServerResponse): Promise<Details>;
    interactionFinished(
      incoming: IncomingMessage,
      response: ServerResponse,
      result: object,
    ): Promise<void>;
  }
}
