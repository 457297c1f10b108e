import { randomBytes } from "node:crypto";
import { exportJWK, generateKeyPair } from "jose";
import { expect, it } from "vitest";
import { createSigningKeys, openIssuerRing } from "../../../src/keys/tokens/issuer-ring.ts";
import type { IssuerRecord, IssuerStore } from "../../../src/keys/key-store.ts";

const { publicKey } = await generateKeyPair("EdDSA", { crv: "Ed25519" });
const { x = "" } = await exportJWK(publicKey);

function silentStore() {
  const records: IssuerRecord[] = [];
  let reads = 0;
  const store: IssuerStore = {
    publish: (record) => Promise.resolve(void records.push(record)),
    list: () => {
      reads += 1;
      return Promise.resolve([...records]);
    },
    watch: () => Promise.resolve(() => undefined),
    prune: () => Promise.resolve(0),
  };
  return { store, reads: () => reads };
}

it("an issuer that was published a moment ago is found, also just after anonymous callers have requested others", async () => {
  const { store } = silentStore();
  const ring = await openIssuerRing(store, Date.now);
  expect(await ring.find("nobody")).toBeNull();
  await store.publish({ kid: "new", publicKey: x, expiresAt: Date.now() + 60_000 });
  expect(await ring.find("new")).not.toBeNull();
});

it("the store is read at most five times a second for anonymous callers, and never for a known one", async () => {
  const { store, reads } = silentStore();
  await store.publish({ kid: "known", publicKey: x, expiresAt: Date.now() + 60_000 });
  const ring = await openIssuerRing(store, Date.now);
  const before = reads();
  const end = performance.now() + 1_000;
  let requested = 0;
  while (performance.now() < end) {
    await Promise.all(Array.from({ length: 50 }, () => ring.find(`nobody-${(requested += 1)}`)));
    expect(await ring.find("known")).not.toBeNull();
  }
  expect(requested).toBeGreaterThan(100);
  expect(reads() - before).toBeLessThanOrEqual(7);
});

it("a key pair that could not be published is replaced by the next call, and kept once it is published", async () => {
  const { store } = silentStore();
  let failures = 1;
  const published: string[] = [];
  const keys = createSigningKeys(
    {
      ...store,
      publish: (record) => {
        failures -= 1;
        return failures >= 0 ? Promise.reject(new Error("store away")) : store.publish(record);
      },
    },
    Date.now,
    randomBytes,
    (record) => Promise.resolve(void published.push(record.kid)),
  );
  await expect(keys.current()).rejects.toThrow("store away");
  expect(published).toEqual([]);
  const { kid, privateKey } = await keys.current();
  expect(privateKey.extractable).toBe(false);
  expect(published).toEqual([kid]);
  expect((await keys.current()).kid).toBe(kid);
});
