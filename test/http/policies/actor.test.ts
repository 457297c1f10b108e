import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KeyFaultError, type ServiceKey } from "../../../src/canon/credentials/service-key.ts";
import { LONGEST_WAY, actorOf } from "../../../src/http/control/policies/policy-call.ts";
import { digestOf } from "../../lifecycle/lifecycle-context.ts";
import { keyRecord } from "../../store/records.ts";
import { Fixture, type MadeKey } from "./fixture.ts";
import { refusedOrResolved } from "../../support/refusals.ts";

/** Makes a key with another one over HTTP. */
async function makeWith(
  fixture: Fixture,
  maker: MadeKey,
  labels: readonly string[] = [],
): Promise<MadeKey> {
  const body = { scopes: ["operations:manage"], owner: "x", expires_in: 600, labels };
  const { status, json, text } = await fixture.post(maker, "/v1/keys", { body });
  expect(status, text).toBe(200);
  return { text: json.key, id: json.id };
}

async function rotateWith(fixture: Fixture, maker: MadeKey, rotated: MadeKey): Promise<MadeKey> {
  const { status, json, text } = await fixture.post(maker, `/v1/keys/${rotated.id}/rotate`, {
    body: {},
  });
  expect(status, text).toBe(200);
  return { text: json.key, id: json.id };
}

async function approve(
  fixture: Fixture,
  key: MadeKey,
): Promise<readonly { by: { origin: string; roles: string[] } }[]> {
  const { status, json, text } = await fixture.post(key, "/v1/policies/a/approvals", {
    body: { digest: digestOf("first") },
  });
  expect(status, text).toBe(200);
  return json.approvals;
}

async function open(
  promotion: object,
): Promise<{ readonly fixture: Fixture; readonly alice: MadeKey }> {
  const fixture = await Fixture.open({ promotion: { "*": promotion } });
  await fixture.observe({ a: "first" });
  return { fixture, alice: await fixture.key("acme", ["operations:manage"], ["dpo", "x"]) };
}

describe("a key that is created over HTTP", () => {
  it("acts as its maker: it gives no second approval", async () => {
    const { fixture, alice } = await open({ approvals: 1 });
    const second = await makeWith(fixture, alice);
    const third = await makeWith(fixture, second);
    expect(await approve(fixture, third)).toMatchObject([{ by: { origin: alice.id } }]);
    for (const promoter of [alice, second, third]) {
      const answer = await fixture.change(promoter, "a", "promotions");
      expect(answer).toMatchObject({
        status: 409,
        json: { error: { code: "approvals_required" } },
      });
    }
    expect((await fixture.change(await fixture.key(), "a", "promotions")).status).toBe(200);
  });

  it("does not approve any more once it is revoked", async () => {
    const { fixture, alice } = await open({ approvals: 1 });
    const approver = await fixture.key("office");
    expect((await approve(fixture, approver)).length).toBe(1);
    await fixture.post(await fixture.key("office"), `/v1/keys/${approver.id}/revoke`, {});
    const answer = await fixture.change(alice, "a", "promotions");
    expect(answer.json.error.missing).toMatchObject([
      { requirement: "approvals", have: 0, need: 1 },
    ]);
    expect((await fixture.get(alice, "/v1/policies/a")).json.missing).toEqual(
      answer.json.error.missing,
    );
  });

  it("counts once with all others of the maker", async () => {
    const { fixture, alice } = await open({ approvals: 2 });
    for (const key of [alice, await makeWith(fixture, alice), await makeWith(fixture, alice)]) {
      expect((await approve(fixture, key)).length).toBe(1);
    }
    const answer = await fixture.change(await fixture.key(), "a", "promotions");
    expect(answer.json.error.missing).toMatchObject([
      { requirement: "approvals", have: 1, need: 2 },
    ]);
    expect((await approve(fixture, await fixture.key("office"))).length).toBe(2);
    expect((await fixture.change(await fixture.key(), "a", "promotions")).status).toBe(200);
  });

  it("has no role that the maker does not have", async () => {
    const { fixture, alice } = await open({ approvals: 1, roles: ["security"] });
    const made = await makeWith(fixture, alice, ["security", "dpo"]);
    expect(await approve(fixture, made)).toMatchObject([{ by: { roles: ["dpo"] } }]);
    const answer = await fixture.change(await fixture.key(), "a", "promotions");
    expect(answer.json.error.missing).toMatchObject([
      { requirement: "roles", roles: ["security"] },
    ]);
  });
});

describe("a rotated key", () => {
  it("keeps its origin and its roles", async () => {
    const { fixture, alice } = await open({ approvals: 1 });
    const rotated = await rotateWith(fixture, alice, alice);
    const again = await rotateWith(fixture, rotated, rotated);
    expect(await approve(fixture, again)).toMatchObject([
      { by: { origin: alice.id, roles: ["dpo", "x"] } },
    ]);
    expect((await fixture.change(alice, "a", "promotions")).status).toBe(409);
  });

  it("is attributed to the key that rotated it, where that is another one: its owner has seen the text", async () => {
    const { fixture, alice } = await open({ approvals: 1 });
    const bob = await fixture.key("acme", ["operations:manage"], ["dpo"]);
    const stolen = await rotateWith(fixture, bob, alice);
    expect(await approve(fixture, stolen)).toMatchObject([
      { by: { origin: bob.id, roles: ["dpo"] } },
    ]);
    expect((await fixture.change(bob, "a", "promotions")).json.error.code).toBe(
      "approvals_required",
    );
  });
});

describe("the way from a key to its origin", () => {
  const id = (index: number): string => `key${String(index).padStart(9, "0")}`;
  const keysOf = (records: readonly Partial<ServiceKey>[]) => {
    const known = new Map(
      records.map((record, index) => [id(index), { ...keyRecord(id(index)), ...record }]),
    );
    return {
      get: (requested: string): Promise<ServiceKey | null> =>
        Promise.resolve(known.get(requested) ?? null),
    };
  };
  const from = (index: number, records: readonly Partial<ServiceKey>[]) =>
    refusedOrResolved(
      actorOf({ keyId: id(index), workspace: "w", labels: [] }, "req_1", keysOf(records)),
    );

  it("ends at one key for all keys of one tree, and no key has a role that the origin lacks", async () => {
    const labels = fc.subarray(["a", "b", "c"]);
    const step = fc.record({
      to: fc.nat(),
      how: fc.constantFrom("made", "rotated", "terminal"),
      labels,
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 12 }),
        labels,
        async (steps, first) => {
          const roots: number[] = [0];
          const records: Partial<ServiceKey>[] = [{ labels: first, createdBy: "cli" }];
          for (const { to, how, labels: own } of steps) {
            const parent = to % records.length;
            if (how === "terminal") {
              roots.push(records.length);
              records.push({ labels: own, createdBy: "cli" });
              continue;
            }
            roots.push(roots[parent] ?? 0);
            records.push(
              how === "made"
                ? { labels: own, createdBy: id(parent) }
                : {
                    labels: records[parent]?.labels ?? [],
                    createdBy: "cli",
                    rotatedFrom: id(parent),
                  },
            );
          }
          for (const index of records.keys()) {
            const actor = await from(index, records);
            if ("code" in actor) throw new Error(actor.code);
            const root = roots[index] ?? 0;
            expect(actor.origin).toBe(id(root));
            expect(actor.roles.every((role) => records[root]?.labels?.includes(role))).toBe(true);
            expect(actor.roles.every((role) => records[index]?.labels?.includes(role))).toBe(true);
            expect(actor.roles).toEqual(actor.roles.toSorted());
          }
        },
      ),
    );
  });

  it("treats a deleted key as a person without roles", async () => {
    expect(await from(0, [{ createdBy: "goneKey00000", labels: ["a"] }])).toMatchObject({
      origin: "goneKey00000",
      roles: [],
    });
  });

  it("ends at a maker that is no key, under any name", async () => {
    for (const createdBy of ["cli", "bootstrap", "demo", "signalbox keys", "constructor"]) {
      expect(await from(0, [{ createdBy, labels: ["a"] }])).toMatchObject({
        origin: id(0),
        roles: ["a"],
      });
    }
  });

  it("is refused where it is too long, so that one person never counts as two", async () => {
    const chain = (length: number) =>
      Array.from({ length }, (_, index) => ({
        createdBy: index === 0 ? "cli" : id(index - 1),
        labels: ["a"],
      }));
    expect(await from(LONGEST_WAY - 1, chain(LONGEST_WAY))).toMatchObject({
      origin: id(0),
      roles: ["a"],
    });
    expect(await from(LONGEST_WAY, chain(LONGEST_WAY + 1))).toMatchObject({
      status: 403,
      code: "origin_too_far",
    });
    // In a circle, which there cannot be.
    expect(await from(0, [{ createdBy: id(1) }, { createdBy: id(0) }])).toMatchObject({
      code: "origin_too_far",
    });
  });

  it("an actor is refused with 503 where the keys cannot be read", async () => {
    const keys = { get: () => Promise.reject(new KeyFaultError({ fault: "unavailable" })) };
    const reading = actorOf({ keyId: id(0), workspace: "w", labels: [] }, "req_1", keys);
    expect(await refusedOrResolved(reading)).toMatchObject({ status: 503 });
  });
});
