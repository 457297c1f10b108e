import { describe, expect, it } from "vitest";
import {
  type ControlEndpoint,
  type Endpoint,
  type InferenceEndpoint,
  TAGS,
} from "../../src/http/contract/endpoint.ts";
import { HANDLERS } from "../../src/http/control/handle.ts";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";
import { MESSAGE_STREAM } from "../../src/dialects/anthropic-messages/dialect.ts";
import { CHAT_STREAM } from "../../src/dialects/openai-chat/dialect.ts";
import { openApiDocument } from "../../src/http/contract/openapi.ts";

type Field = keyof InferenceEndpoint | keyof ControlEndpoint;

const { isBodyOptional, acceptsForm, uniqueMembers, conflicts, hasEntityTag, isNeverStored } = {
  isBodyOptional: true,
  acceptsForm: true,
  uniqueMembers: true,
  conflicts: true,
  hasEntityTag: true,
  isNeverStored: true,
} as const;

/** The row with a flag the other way round. */
function flipped(row: Endpoint, flag: Partial<Endpoint>): Endpoint {
  const [name = ""] = Object.keys(flag);
  const { [name]: known, ...others } = row as unknown as Record<string, unknown>;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a row without an optional member is a row
  return (known === undefined ? { ...row, ...flag } : others) as unknown as Endpoint;
}

const OTHER_SCHEMA = { type: "object", properties: { other: { type: "string" } } } as const;

/**
 * A change of each member of a row: `null` where the row has nothing to change, `internal` where
 * the member is how the server does it and no promise to anybody. A new member of rows does not
 * compile before it stands here.
 */
const CHANGES: Readonly<Record<Field, "internal" | ((row: Endpoint) => Endpoint | null)>> = {
  method: (row) => ({ ...row, method: row.method === "GET" ? "POST" : "GET" }),
  path: (row) => ({ ...row, path: `${row.path}/other` }),
  id: (row) => ({ ...row, id: `${row.id}Other` }),
  summary: (row) => ({ ...row, summary: `${row.summary}.` }),
  tag: (row) => {
    const others = Object.keys(TAGS).filter((tag): tag is Endpoint["tag"] => tag !== row.tag);
    return { ...row, tag: others[0] ?? row.tag };
  },
  listener: (row) => ({ ...row, listener: row.listener === "admin" ? "public" : "admin" }),
  scopes: (row) => ({
    ...row,
    scopes: row.scopes.length > 1 ? row.scopes.slice(1) : [...row.scopes, "policies:approve"],
  }),
  body: (row) => ({ ...row, body: row.body === null ? OTHER_SCHEMA : null }),
  isBodyOptional: (row) => (row.body === null ? null : flipped(row, { isBodyOptional })),
  acceptsForm: (row) => (row.body === null ? null : flipped(row, { acceptsForm })),
  uniqueMembers: (row) => (row.body === null ? null : flipped(row, { uniqueMembers })),
  query: (row) => ({ ...row, query: { ...row.query, other: { type: "string" } } }),
  optionalQuery: (row) => ({
    ...row,
    optionalQuery: { ...row.optionalQuery, other: { type: "string" } },
  }),
  answer: (row) => ({ ...row, answer: OTHER_SCHEMA }),
  ifMatch: (row) => ({ ...row, ifMatch: row.ifMatch === "always" ? "sometimes" : "always" }),
  conflicts: (row) => flipped(row, { conflicts }),
  hasEntityTag: (row) => flipped(row, { hasEntityTag }),
  isNeverStored: (row) => flipped(row, { isNeverStored }),
  answerType: (row) => ({ ...row, answerType: "text/other" }),
  otherAnswerType: (row) => ({ ...row, otherAnswerType: "text/other" }),
  stream: (row) => ({
    ...row,
    stream: row.stream === MESSAGE_STREAM ? CHAT_STREAM : MESSAGE_STREAM,
  }),
  operation: (row) => {
    if (row.kind !== "inference") return null;
    return { ...row, operation: row.operation === "responses" ? "messages" : "responses" };
  },
  kind: "internal",
  surface: "internal",
};

/** Another text is another hash (hash.test.ts), and takes a fourth of the time. */
const textOf = (row: Endpoint): string => JSON.stringify(openApiDocument([row]));

/** Of each row as it is, which every change is held against. */
const AS_IT_IS = new Map(ENDPOINTS.map((row) => [row, textOf(row)] as const));

describe("the endpoint table", () => {
  const fields = Object.entries(CHANGES).flatMap(([field, change]) =>
    change === "internal" ? [] : [{ field, change }],
  );
  it.each(fields)("a change of the $field of a row changes the contract", ({ change }) => {
    let changes = 0;
    for (const row of ENDPOINTS) {
      const other = change(row);
      if (other === null) continue;
      expect(textOf(other) === AS_IT_IS.get(row), row.id).toBe(false);
      changes += 1;
    }
    expect(changes).toBeGreaterThan(0);
  });

  it("every row has its operation in the contract", () => {
    const { paths } = openApiDocument();
    for (const { id, path, method } of ENDPOINTS)
      expect(paths, id).toHaveProperty([path, method.toLowerCase(), "operationId"], id);
  });

  it("every row that the router answers itself has a handler, and every handler a row", () => {
    const ids = ENDPOINTS.filter((row) => row.kind === "control").map(({ id }) => id);
    expect(Object.keys(HANDLERS).toSorted()).toEqual(ids.toSorted());
  });
});
