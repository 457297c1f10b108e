import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";

import { SCOPES, type Scope } from "../../../src/canon/identity.ts";
import { ENDPOINTS } from "../../../src/http/contract/endpoints.ts";
import { isTokenEndpoint, type Endpoint } from "../../../src/http/contract/endpoint.ts";
import { createKey, rotateKey } from "../../../src/keys/key-record.ts";
import { makeKeyText, parseKeyText } from "../../../src/keys/key-text.ts";
import { startTestServer } from "../../support/server.ts";

/**
 * Every endpoint × every scope × every state of a key (docs/keys.md#scopes). The rows come from the
 * table of endpoints, so a new endpoint is tested too.
 */
const { server } = await startTestServer();
const GUARDED = ENDPOINTS.filter(
  ({ listener, scopes }) => listener === "public" && scopes.length > 0,
);

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

async function makeKey(
  scopes: readonly Scope[],
  workspace = "acme-prod",
  expiresAt = Date.now() + 600_000,
) {
  const made = createKey(
    { workspace, scopes, owner: "test", expiresAt, createdBy: "test" },
    () => Math.min(Date.now(), expiresAt - 1_000),
    randomBytes,
  );
  await server.store.keys.create(made.record);
  return { text: made.text, id: made.record.id };
}

/** A well formed key with the public id of another: only its secret is wrong. */
function withOtherSecret(text: string): string {
  const id = parseKeyText(text)?.publicId ?? "";
  let requested = 0;
  const bytes = (size: number): Uint8Array =>
    (requested += 1) === 1
      ? Uint8Array.from(id, (digit) => BASE62.indexOf(digit))
      : randomBytes(size);
  const other = makeKeyText(bytes, "production").text;
  if (parseKeyText(other)?.publicId !== id || other === text)
    throw new Error("the test makes no such key");
  return other;
}

interface State {
  readonly name: string;
  /** Headers that carry the key; `scope` is the one that the endpoint requires. */
  readonly headers: (scope: Scope) => Promise<Record<string, string>> | Record<string, string>;
  /** `passes`, or the code of the 401. */
  readonly outcome: (endpoint: Endpoint) => "passes" | "invalid_api_key" | "expired_api_key";
}

const bearer = (text: string): Record<string, string> => ({ authorization: `Bearer ${text}` });
const isMessages = ({ path }: Endpoint): boolean => path.startsWith("/api/v1/");
const invalid = (): "invalid_api_key" => "invalid_api_key";
const expired = (): "expired_api_key" => "expired_api_key";
const passes = (): "passes" => "passes";

const rotated = async (scope: Scope, overlap: number): Promise<string> => {
  const { text, id } = await makeKey([scope]);
  await rotateKey(server.store.keys, id, { overlap, createdBy: "test" }, Date.now, randomBytes);
  return text;
};

const STATES: readonly State[] = [
  {
    name: "active",
    headers: async (scope) => bearer((await makeKey([scope])).text),
    outcome: passes,
  },
  {
    name: "active, with another scheme's case",
    headers: async (scope) => ({ authorization: `bEaReR ${(await makeKey([scope])).text}` }),
    outcome: passes,
  },
  {
    name: "expired",
    headers: async (scope) => bearer((await makeKey([scope], "acme-prod", Date.now() - 1)).text),
    outcome: expired,
  },
  {
    name: "revoked",
    headers: async (scope) => {
      const { text, id } = await makeKey([scope]);
      await server.store.keys.revoke(id, Date.now());
      return bearer(text);
    },
    outcome: invalid,
  },
  {
    name: "rotated, within the overlap",
    headers: async (scope) => bearer(await rotated(scope, 60_000)),
    outcome: passes,
  },
  {
    name: "rotated, after the overlap",
    headers: async (scope) => bearer(await rotated(scope, 0)),
    outcome: expired,
  },
  {
    name: "unknown",
    headers: () => bearer(makeKeyText(randomBytes, "production").text),
    outcome: invalid,
  },
  {
    name: "mistyped",
    headers: async (scope) => {
      const { text } = await makeKey([scope]);
      return bearer(text.slice(0, -1) + (text.endsWith("0") ? "1" : "0"));
    },
    outcome: invalid,
  },
  {
    name: "right id, wrong secret",
    headers: async (scope) => bearer(withOtherSecret((await makeKey([scope])).text)),
    outcome: invalid,
  },
  {
    name: "right id, wrong secret, expired",
    headers: async (scope) =>
      bearer(withOtherSecret((await makeKey([scope], "acme-prod", Date.now() - 1)).text)),
    outcome: invalid,
  },
  { name: "none", headers: () => ({}), outcome: invalid },
  { name: "empty", headers: () => ({ authorization: "Bearer " }), outcome: invalid },
  {
    name: "another scheme",
    headers: async (scope) => ({ authorization: `Basic ${(await makeKey([scope])).text}` }),
    outcome: invalid,
  },
  {
    name: "in x-api-key",
    headers: async (scope) => ({ "x-api-key": (await makeKey([scope])).text }),
    outcome: (endpoint) => (isMessages(endpoint) ? "passes" : "invalid_api_key"),
  },
  {
    name: "two different ones, both good",
    headers: async (scope) => ({
      ...bearer((await makeKey([scope])).text),
      "x-api-key": (await makeKey([scope])).text,
    }),
    // x-api-key is no credential elsewhere.
    outcome: (endpoint) => (isMessages(endpoint) ? "invalid_api_key" : "passes"),
  },
  {
    name: "the same twice",
    headers: async (scope) => {
      const { text } = await makeKey([scope]);
      return { ...bearer(text), "x-api-key": text };
    },
    outcome: passes,
  },
  {
    name: "of a workspace that the table does not have",
    headers: async (scope) => bearer((await makeKey([scope], "elsewhere")).text),
    outcome: passes,
  },
];

/** One for all endpoints, by its scopes or its state: no request of these changes a key. */
const made = new Map<string, unknown>();

function once<Made>(name: string, make: () => Made): Made {
  if (!made.has(name)) made.set(name, make());
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each name has one maker
  return made.get(name) as Made;
}

/** Its errors have the codes of RFC 6749. */
const isOAuth = ({ path }: Endpoint): boolean => isTokenEndpoint(path);

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly code: string;
  readonly text: string;
}

const NAMED = {
  scopes: ["inference"],
  owner: "test",
  expires_at: new Date(Date.now() + 86_400_000).toISOString(),
};

async function ask(endpoint: Endpoint, headers: Record<string, string>, id = "x"): Promise<Answer> {
  const path = endpoint.path.replace("{workspace}", "acme-prod").replace(/\{\w+\}/, id);
  const response = await fetch(`${server.url}${path}`, {
    method: endpoint.method,
    headers: { "content-type": "application/json", ...headers },
    ...(endpoint.method === "POST" && { body: "{}" }),
    ...(endpoint.method === "PUT" && { body: JSON.stringify(NAMED) }),
  });
  const text = await response.text();
  const { error, error_description: description } = JSON.parse(text);
  if (isOAuth(endpoint)) {
    const code = /\((\w+), request id \w+\)$/.exec(String(description))?.[1] ?? "";
    return { status: response.status, type: String(error), code, text };
  }
  return {
    status: response.status,
    type: error?.type ?? "",
    code: error?.code ?? error?.details?.error_code ?? "",
    text,
  };
}

/** Whatever it answers, it does not find fault with the caller. */
function isLetIn({ status, code }: Answer): boolean {
  return status !== 401 && code !== "insufficient_scope";
}

describe.each(
  GUARDED.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const),
)("%s", (_, endpoint) => {
  const { scopes: enough } = endpoint;
  const [scope] = enough;
  if (scope === undefined) throw new Error("the row is not guarded");

  it.each(SCOPES)(
    "a key with the scope %s is accepted only where that scope is enough",
    async (held) => {
      const { text } = await once(held, () => makeKey([held]));
      const answer = await ask(endpoint, bearer(text));
      expect(isLetIn(answer), JSON.stringify(answer)).toBe(enough.includes(held));
      if (enough.includes(held)) return;
      expect(answer).toMatchObject({
        status: isOAuth(endpoint) ? 400 : 403,
        code: "insufficient_scope",
        type: isOAuth(endpoint)
          ? "unauthorized_client"
          : isMessages(endpoint)
            ? "permission_error"
            : "insufficient_scope",
      });
    },
  );

  it("a key with every scope but the required ones is refused", async () => {
    const { text } = await makeKey(SCOPES.filter((held) => !enough.includes(held)));
    expect(await ask(endpoint, bearer(text))).toMatchObject({
      status: isOAuth(endpoint) ? 400 : 403,
      code: "insufficient_scope",
    });
  });

  it.each(STATES.map((state) => [state.name, state] as const))(
    "a key in this state has its outcome: %s",
    async (__, state) => {
      const headers = await once(`${state.name} ${scope}`, () => state.headers(scope));
      const answer = await ask(endpoint, headers);
      const outcome = state.outcome(endpoint);
      if (outcome === "passes") expect(isLetIn(answer), JSON.stringify(answer)).toBe(true);
      else {
        const type = isOAuth(endpoint) ? "invalid_client" : "authentication_error";
        expect(answer).toMatchObject({ status: 401, code: outcome, type });
      }
      for (const value of Object.values(headers)) {
        if (value.length > 20) expect(answer.text).not.toContain(value.slice(-20));
      }
    },
  );
});

describe("objects of another workspace", () => {
  let own = "";
  let ownId = "";
  const ofOneWorkspace = SCOPES.filter((scope) => scope !== "platform:manage");
  const ownName = "own-name";
  beforeAll(async () => {
    ({ text: own, id: ownId } = await makeKey(ofOneWorkspace));
    const put = GUARDED.find(({ id }) => id === "putNamedKey");
    if (put !== undefined) await ask(put, bearer(own), ownName);
  });

  // Policies are the fixture's, and no workspace's.
  const named = GUARDED.filter(
    ({ path }) => path.includes("{") && !path.startsWith("/v1/policies/"),
  );
  it.each(named.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const))(
    "%s answers as if it were not there",
    async (_, endpoint) => {
      const isKey = endpoint.path.startsWith("/v1/keys/");
      const id = isKey ? ownId : endpoint.path.endsWith("{name}") ? ownName : "chat-large-eu";
      const foreign = await makeKey(ofOneWorkspace, "elsewhere");
      const [there, nowhere] = [
        await ask(endpoint, bearer(foreign.text), id),
        await ask(
          endpoint,
          bearer(foreign.text),
          endpoint.path.endsWith("{name}") ? "nobodys-name" : "nobodysKey12",
        ),
      ];
      expect(there.status).toBe(404);
      const blank = ({ text }: Answer): string =>
        text.replaceAll(/(req|dec)_\w+/g, "").replaceAll(id, "");
      expect(blank(there)).toBe(blank(nowhere));
      if (isKey)
        expect(await server.store.keys.get(ownId)).toMatchObject({
          status: "active",
          rotatedFrom: null,
        });
    },
  );

  it("their ids exist: requests of their own workspace find them", async () => {
    const decided = await fetch(`${server.url}/v1/models`, { headers: bearer(own) });
    const requestId = decided.headers.get("x-request-id") ?? "";
    const realId = ({ path }: Endpoint): string =>
      path.startsWith("/v1/keys/")
        ? ownId
        : path.endsWith("{name}")
          ? ownName
          : path.startsWith("/v1/decisions/")
            ? requestId
            : "chat-large-eu";
    for (const endpoint of named.filter(({ method }) => method === "GET")) {
      expect((await ask(endpoint, bearer(own), realId(endpoint))).status, endpoint.path).toBe(200);
    }
  });
});
