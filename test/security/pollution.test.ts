import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { SCOPES } from "../../src/canon/identity.ts";
import { compileTable } from "../../src/compile/compile-table.ts";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";
import { CLEAN } from "../compile/base.ts";
import { startTestServer } from "../support/server.ts";

/**
 * Names that every object has already. None of them, in any member that a caller fills, changes
 * what other requests see.
 */

const NAMES = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "valueOf",
  "hasOwnProperty",
  "__defineGetter__",
];
const POLLUTED = {
  polluted: "yes",
  scopes: ["operations:manage"],
  workspace: "other",
  stream: true,
  toString: null,
};

/** All that there is on the prototypes that objects of JSON have. */
function prototypes(): unknown {
  return [Object.prototype, Array.prototype, Function.prototype, String.prototype].map(
    (prototype) =>
      Reflect.ownKeys(prototype).map((name) => [
        name,
        Object.getOwnPropertyDescriptor(prototype, name),
      ]),
  );
}

const before = prototypes();
const untouched = (): void => {
  expect(prototypes()).toEqual(before);
  expect(Reflect.get({}, "polluted")).toBeUndefined();
};

let base = "";
let admin = "";
let key = "";
beforeAll(async () => {
  const made = await startTestServer();
  const { server } = made;
  base = server.url;
  admin = server.adminUrl;
  const [workspace = ""] = Object.keys(server.built.snapshot.decider.table.workspaces);
  key = await made.key(workspace, SCOPES);
});

/** A member of that name, written out: JavaScript would take `__proto__` for the prototype. */
const member = (name: string, value: string): string => `${JSON.stringify(name)}:${value}`;
const value = fc.constantFrom(
  JSON.stringify(POLLUTED),
  "null",
  "1",
  '"text"',
  "[]",
  `{"prototype":${JSON.stringify(POLLUTED)}}`,
);
const name = fc.constantFrom(...NAMES);

/** Bodies that are nearly right, with such a name somewhere. */
const body = fc
  .tuple(name, value, fc.integer({ min: 0, max: 9 }))
  .map(([used, content, position]) => {
    const extra = member(used, content);
    const message = (inner = ""): string => `{"role":"user","content":"hello"${inner}}`;
    const shapes = [
      `{"model":"chat-small","messages":[${message()}],"max_tokens":5,${extra}}`,
      `{"model":"chat-small","messages":[${message(`,${extra}`)}],"max_tokens":5}`,
      `{"model":${JSON.stringify(used)},"messages":[${message()}],"max_tokens":5}`,
      `{"model":"chat-small","messages":[${message()}],"max_tokens":5,"tools":[{"type":"function","function":{"name":${JSON.stringify(used)},"parameters":{"type":"object","properties":{${extra}}}}}]}`,
      `{"model":"chat-small","messages":[${message()}],"max_tokens":5,"tools":[{"name":${JSON.stringify(used)},"input_schema":{"type":"object","properties":{${extra}}}}]}`,
      `{"model":"chat-small","messages":[${message()}],"max_tokens":5,"metadata":{${extra}}}`,
      `{"model":"chat-small","messages":[${message()}],"max_tokens":5,"provider":{${extra}}}`,
      `{"model":"chat-small","messages":[${message()}],"max_tokens":5,"provider":{"order":[${JSON.stringify(used)}],"only":[${JSON.stringify(used)}]}}`,
      `{"model":"chat-small","input":"hello","query":"q","documents":["d"],${extra}}`,
      `{${extra}}`,
    ];
    return shapes[position] ?? "{}";
  });

describe("names that every object has", () => {
  const posts = ENDPOINTS.filter(({ method }) => method === "POST");
  it.each(posts.map(({ path }) => path))(
    "such a name has no effect in a body of %s",
    async (path) => {
      await fc.assert(
        fc.asyncProperty(body, name, async (text, id) => {
          const response = await fetch(`${base}${path.replaceAll(/\{\w+\}/g, id)}`, {
            method: "POST",
            headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
            body: text,
          });
          const answer = await response.text();
          expect(response.status).not.toBe(500);
          expect(answer).not.toContain('"polluted"');
        }),
        { numRuns: 40 },
      );
      untouched();
    },
  );

  const gets = ENDPOINTS.filter(({ method }) => method === "GET");
  it.each(gets.map(({ path, listener }) => [path, listener] as const))(
    "such a name has no effect in path and query of %s",
    async (path, listener) => {
      for (const polluting of NAMES) {
        const query = `${polluting}=1&${polluting}[polluted]=yes&group_by=${polluting}&start=${polluting}&constructor[prototype][polluted]=yes`;
        for (const target of [
          path.replaceAll(/\{\w+\}/g, polluting),
          `${path.replaceAll(/\{\w+\}/g, polluting)}?${query}`,
        ]) {
          const response = await fetch(`${listener === "admin" ? admin : base}${target}`, {
            headers: { authorization: `Bearer ${key}` },
          });
          await response.text();
          expect(response.status).not.toBe(500);
        }
      }
      untouched();
    },
  );

  it("such a name has no effect in headers", async () => {
    for (const polluting of NAMES) {
      const response = await fetch(`${base}/v1/chat/completions`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${key}`,
          "content-type": "application/json",
          [polluting.replaceAll("__", "x")]: "1",
          "x-session-id": polluting,
          "idempotency-key": polluting,
          "x-client-request-id": polluting,
          "anthropic-beta": polluting,
        },
        body: JSON.stringify({
          model: "chat-small",
          messages: [{ role: "user", content: "hello" }],
        }),
      });
      expect(response.status).toBeLessThan(500);
      await response.text();
      untouched();
    }
  });

  it("such a name has no effect in a form", async () => {
    for (const polluting of NAMES) {
      const response = await fetch(`${base}/v1/credentials/exchange`, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: `grant_type=urn:ietf:params:oauth:grant-type:token-exchange&${polluting}=1&${polluting}[polluted]=yes`,
      });
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(response.status).toBeLessThan(500);
      await response.text();
      untouched();
    }
  });

  it("such a name as the model is answered with 404", async () => {
    for (const polluting of NAMES) {
      const response = await fetch(`${base}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: polluting, messages: [{ role: "user", content: "hello" }] }),
      });
      expect(response.status).toBe(404);
      await response.text();
    }
  });

  it("such a name as a row of routes.yaml is refused", () => {
    const rows = ["regions", "providers", "models", "routes", "workspaces"];
    fc.assert(
      fc.property(name, fc.constantFrom(...rows), (polluting, row) => {
        const text = CLEAN.replace(`\n${row}:\n`, `\n${row}:\n  ${polluting}: { polluted: yes }\n`);
        expect(text).not.toBe(CLEAN);
        const { table, diagnostics } = compileTable({ path: "routes.yaml", text });
        expect(table).toBeNull();
        expect(diagnostics.length).toBeGreaterThan(0);
        untouched();
      }),
    );
  });
});
