import { expect, it } from "vitest";
import type { IssuerRecord } from "../../src/keys/key-store.ts";
import type { Store } from "../../src/store/port.ts";

const HOUR = 3_600_000;

export function issuerRecord(kid: string, members: Partial<IssuerRecord> = {}): IssuerRecord {
  return {
    kid,
    publicKey: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
    expiresAt: Date.now() + HOUR,
    ...members,
  };
}

export function issuerLaws(store: () => Store): void {
  it("published keys that have not expired are listed by kid", async () => {
    const [b, a] = [issuerRecord("b"), issuerRecord("a", { expiresAt: Date.now() + 2 * HOUR })];
    await store().issuers.publish(b);
    await store().issuers.publish(a);
    expect(await store().issuers.list(Date.now())).toEqual([a, b]);
    expect(await store().issuers.list(b.expiresAt)).toEqual([a]);
    expect(await store().issuers.list(a.expiresAt)).toEqual([]);
  });

  it("the first record of a kid is kept", async () => {
    const first = issuerRecord("a");
    await store().issuers.publish(first);
    await store().issuers.publish(
      issuerRecord("a", { publicKey: "another", expiresAt: first.expiresAt + HOUR }),
    );
    expect(await store().issuers.list(0)).toEqual([first]);
  });

  it("a prune removes expired keys, and no others", async () => {
    const [old, young] = [issuerRecord("old", { expiresAt: 1_000 }), issuerRecord("young")];
    await store().issuers.publish(old);
    await store().issuers.publish(young);
    expect(await store().issuers.prune(999)).toBe(0);
    expect(await store().issuers.prune(1_000)).toBe(1);
    expect(await store().issuers.list(0)).toEqual([young]);
  });

  it("a watcher gets everything at once, then each publication within a second, until it has ended", async () => {
    await store().issuers.publish(issuerRecord("a"));
    await store().issuers.publish(issuerRecord("expired", { expiresAt: 1 }));
    const calls: string[][] = [];
    const end = await store().issuers.watch((records) => calls.push(records.map(({ kid }) => kid)));
    expect(calls).toEqual([["a"]]);
    await store().issuers.publish(issuerRecord("b"));
    await expect.poll(() => calls.at(-1), { timeout: 5_000, interval: 20 }).toEqual(["a", "b"]);
    end();
    await store().issuers.publish(issuerRecord("c"));
    await new Promise((resolve) => {
      setTimeout(resolve, 600);
    });
    expect(calls).toHaveLength(2);
  });
}
