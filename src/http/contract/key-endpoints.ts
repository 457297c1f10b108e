import { KEY_PAGE_QUERY } from "../control/service-keys/key-page.ts";
import type { ControlEndpoint } from "./endpoint.ts";
import { EXCHANGE_SCHEMA, EXCHANGED_TOKEN } from "./exchange-schema.ts";
import {
  CREATE_KEY_SCHEMA,
  CREATED_KEY,
  KEY_LIST,
  ROTATE_KEY_SCHEMA,
  ROTATED_KEY,
  SERVICE_KEY,
} from "./key-schemas.ts";

const MANAGED = {
  kind: "control",
  listener: "public",
  scope: "operations:manage",
  query: {},
  body: null,
  uniqueMembers: true,
  tag: "Service keys",
  isNeverStored: true,
} as const;

/** Service keys of the caller's own workspace (docs/keys.md#over-http). */
export const KEY_ENDPOINTS: readonly ControlEndpoint[] = [
  {
    ...MANAGED,
    method: "POST",
    path: "/v1/keys",
    id: "createKey",
    summary: "Makes a service key and shows it, once",
    handler: "createKey",
    body: CREATE_KEY_SCHEMA,
    answer: CREATED_KEY,
  },
  {
    ...MANAGED,
    method: "GET",
    path: "/v1/keys",
    id: "listKeys",
    summary: "The workspace's keys, newest first, in pages; never a secret",
    handler: "listKeys",
    optionalQuery: KEY_PAGE_QUERY,
    answer: KEY_LIST,
  },
  {
    ...MANAGED,
    method: "GET",
    path: "/v1/keys/{id}",
    id: "retrieveKey",
    summary: "One of them, by its public id",
    handler: "getKey",
    answer: SERVICE_KEY,
  },
  {
    ...MANAGED,
    method: "POST",
    path: "/v1/keys/{id}/rotate",
    id: "rotateKey",
    summary: "Makes a key with the same grants; the old one works until the overlap ends",
    handler: "rotateKey",
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
    handler: "revokeKey",
    answer: SERVICE_KEY,
  },
  {
    ...MANAGED,
    method: "POST",
    path: "/v1/credentials/exchange",
    id: "exchangeKey",
    summary: "A token of minutes that can do less than the key (RFC 8693), for keys with an exchange grant",
    scope: "inference",
    handler: "exchangeKey",
    body: EXCHANGE_SCHEMA,
    acceptsForm: true,
    answer: EXCHANGED_TOKEN,
  },
];
