import {
  CREATE_KEY_SCHEMA,
  PUT_KEY_SCHEMA,
  ROTATE_KEY_SCHEMA,
  SERVICE_KEY,
  CREATED_KEY,
  ROTATED_KEY,
  KEY_LIST,
  PUT_KEY,
  EXCHANGE_SCHEMA,
  EXCHANGED_TOKEN,
} from "./key-schemas.ts";
import type { ControlEndpoint } from "./endpoint.ts";
import { KEY_PAGE_QUERY } from "../control/service-keys/key-page.ts";

const NAMED_KEY = "/v1/workspaces/{workspace}/keys/{name}";

const SERVICE_KEYS = {
  kind: "control",
  listener: "public",
  query: {},
  body: null,
  uniqueMembers: true,
  tag: "Service keys",
  isNeverStored: true,
} as const;

const MANAGED = { ...SERVICE_KEYS, scopes: ["operations:manage", "platform:manage"] } as const;

/**
 * Service keys of the caller's own workspace, or of all with `platform:manage`
 * (docs/keys.md#over-http).
 */
export const KEY_ENDPOINTS: readonly ControlEndpoint[] = [
  {
    ...MANAGED,
    method: "POST",
    path: "/v1/keys",
    id: "createKey",
    summary: "Makes a service key and shows it, once",
    body: CREATE_KEY_SCHEMA,
    answer: CREATED_KEY,
  },
  {
    ...MANAGED,
    method: "GET",
    path: "/v1/keys",
    id: "listKeys",
    summary: "The workspace's keys, newest first, in pages; never a secret",
    optionalQuery: KEY_PAGE_QUERY,
    answer: KEY_LIST,
  },
  {
    ...MANAGED,
    method: "GET",
    path: "/v1/keys/{id}",
    id: "retrieveKey",
    summary: "One of them, by its public id",
    answer: SERVICE_KEY,
  },
  {
    ...MANAGED,
    method: "POST",
    path: "/v1/keys/{id}/rotate",
    id: "rotateKey",
    summary: "Makes a key with the same grants; the old one works until the overlap ends",
    body: ROTATE_KEY_SCHEMA,
    isBodyOptional: true,
    answer: ROTATED_KEY,
  },
  {
    ...MANAGED,
    method: "POST",
    path: "/v1/keys/{id}/revoke",
    id: "revokeKey",
    summary: "Ends a key at once and for good",
    answer: SERVICE_KEY,
  },
  {
    ...MANAGED,
    method: "PUT",
    path: NAMED_KEY,
    id: "putNamedKey",
    summary: "Makes the key of a name, or answers the one that is there; shows a new key, once",
    body: PUT_KEY_SCHEMA,
    answer: PUT_KEY,
  },
  {
    ...MANAGED,
    method: "GET",
    path: NAMED_KEY,
    id: "retrieveNamedKey",
    summary: "The key of a name; never a secret",
    answer: SERVICE_KEY,
  },
  {
    ...MANAGED,
    method: "DELETE",
    path: NAMED_KEY,
    id: "deleteNamedKey",
    summary: "Revokes the key of a name, at once and for good; the name is free again",
    answer: SERVICE_KEY,
  },
  {
    ...SERVICE_KEYS,
    method: "POST",
    path: "/v1/credentials/exchange",
    id: "exchangeKey",
    summary:
      "A token of minutes that can do less than the key (RFC 8693), for keys with an exchange grant",
    scopes: ["inference"],
    body: EXCHANGE_SCHEMA,
    acceptsForm: true,
    answer: EXCHANGED_TOKEN,
  },
];
