import type { JsonObject } from "../../../canon/json.ts";
import { SCOPES } from "../../../canon/scope.ts";
import { takesTokens, type Endpoint } from "../endpoint.ts";

const scopes = SCOPES.join(", ");

export const SECURITY_SCHEMES: JsonObject = {
  serviceKey: {
    type: "http",
    scheme: "bearer",
    description: `A workspace service key, \`sbx_…\`. Each endpoint names the scope that the key needs; there are ${scopes}.`,
  },
  apiKey: {
    type: "apiKey",
    in: "header",
    name: "x-api-key",
    description:
      "The same service key, or the same token, as clients of the messages protocol send it. Under `/api/v1/` only; if Authorization is sent too, both must be the same.",
  },
  exchangedToken: {
    type: "http",
    scheme: "bearer",
    description:
      "A token of minutes from POST /v1/credentials/exchange. It has fewer rights than its key: some operations, some routes, from one web origin.",
  },
};

/** Of the rows of the list one is enough; an empty list: no key is required. */
export function securityOf(endpoint: Endpoint): readonly JsonObject[] {
  const schemes = [
    "serviceKey",
    ...(endpoint.path.startsWith("/api/v1/") ? ["apiKey"] : []),
    ...(takesTokens(endpoint) ? ["exchangedToken"] : []),
  ];
  return schemes.flatMap((scheme) => endpoint.scopes.map((scope) => ({ [scheme]: [scope] })));
}
