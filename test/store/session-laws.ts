import { expect, it } from "vitest";
import type { SessionRecord } from "../../src/keys/key-store.ts";
import type { Store } from "../../src/store/port.ts";

export const PERSON = {
  issuer: "https://idp.example",
  subject: "248289",
  name: null,
  groups: ["sre", "<script>"],
};

export function sessionRecord(digest: string, members: Partial<SessionRecord> = {}): SessionRecord {
  return {
    digest,
    holder: { key: "aaaaaaaaaaaa" },
    createdAt: 1_000,
    seenAt: 1_000,
    endsAt: 50_000,
    ...members,
  };
}

export function sessionLaws(store: () => Store): void {
  it("created sessions of keys and persons are found, and no others", async () => {
    const [ofKey, ofPerson] = [sessionRecord("a"), sessionRecord("b", { holder: PERSON })];
    const named = sessionRecord("c", { holder: { ...PERSON, name: "Ada", groups: [] } });
    for (const record of [ofKey, ofPerson, named]) await store().sessions.create(record);
    for (const record of [ofKey, ofPerson, named]) {
      expect(await store().sessions.find(record.digest)).toEqual(record);
    }
    expect(await store().sessions.find("d")).toBeNull();
  });

  it("the time of the last use moves forward only", async () => {
    await store().sessions.create(sessionRecord("a"));
    await store().sessions.touch("a", 3_000);
    await store().sessions.touch("a", 2_000);
    await store().sessions.touch("unknown", 9_000);
    expect(await store().sessions.find("a")).toEqual(sessionRecord("a", { seenAt: 3_000 }));
    expect(await store().sessions.find("unknown")).toBeNull();
  });

  it("a session that ends is removed, and no other", async () => {
    await store().sessions.create(sessionRecord("a"));
    await store().sessions.create(sessionRecord("b"));
    await store().sessions.endSession("a");
    await store().sessions.endSession("a");
    expect(await store().sessions.find("a")).toBeNull();
    expect(await store().sessions.find("b")).toEqual(sessionRecord("b"));
  });

  it("a prune removes ended and long unused sessions, and no others", async () => {
    await store().sessions.create(sessionRecord("ended", { endsAt: 5_000, seenAt: 4_000 }));
    await store().sessions.create(sessionRecord("idle", { seenAt: 2_000 }));
    await store().sessions.create(sessionRecord("good", { seenAt: 4_000 }));
    expect(await store().sessions.prune(4_999, 1_999)).toBe(0);
    expect(await store().sessions.prune(5_000, 2_000)).toBe(2);
    expect(await store().sessions.find("good")).not.toBeNull();
  });
}
