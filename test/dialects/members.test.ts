import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/canon/json.ts";
import { Members, TranslationRecord } from "../../src/dialects/unary/members.ts";

function reading(body: JsonObject): {
  readonly members: Members;
  readonly record: TranslationRecord;
} {
  const record = new TranslationRecord();
  return { members: new Members(body, "", record), record };
}

describe("the record of a translation", () => {
  it("names a member that was not read, wherever it stands", () => {
    const { members, record } = reading({
      known: { inner: 1, other: 2 },
      list: [{ a: 1 }, { b: null }, { c: true }],
    });
    const known = members.object("known");
    known?.number("inner");
    known?.close();
    for (const item of members.objects("list")) {
      item.take("a");
      item.close();
    }
    members.close();
    expect(record.result("reject")).toMatchObject({
      code: "unknown_field",
      param: "known.other",
      status: 400,
    });
  });

  it("counts null as absent", () => {
    const { members, record } = reading({ a: null, b: null });
    expect(members.text("a")).toBeNull();
    members.close();
    expect(record.result("reject")).toBeNull();
  });

  it("records stripped members on a route that strips, and refuses what cannot be forwarded", () => {
    const { members, record } = reading({ surprise: 1 });
    members.close();
    expect(record.result("strip")).toBeNull();
    expect([...record.stripped]).toEqual(["unknown_field"]);
    expect(record.result("forward")).toMatchObject({ code: "unknown_field", param: "surprise" });
  });

  it.each([
    ["text", { a: 1 }, "must be a string"],
    ["number", { a: "1" }, "must be a number"],
    ["flag", { a: "true" }, "must be a boolean"],
    ["object", { a: [] }, "must be an object"],
    ["list", { a: {} }, "must be a list"],
  ] as const)("refuses a %s of another type by its name", (kind, body, sentence) => {
    const { members, record } = reading(body);
    members[kind]("a");
    const error = record.result("reject");
    expect(error).toMatchObject({ code: "invalid_type", param: "a" });
    expect(error?.message).toContain(sentence);
  });

  it("refuses an item of a list that is not an object, and a value outside its list", () => {
    const { members, record } = reading({ list: [{}, 7], mode: "maybe" });
    expect(members.objects("list")).toHaveLength(1);
    expect(record.result("reject")).toMatchObject({ param: "list[1]" });
    const other = reading({ mode: "maybe" });
    expect(other.members.oneOf("mode", ["yes", "no"])).toBeNull();
    expect(other.record.result("reject")?.message).toBe("mode must be one of yes, no");
  });

  it("never repeats a name that does not look like one", () => {
    const { members, record } = reading({ "a secret sentence": 1 });
    members.close();
    expect(JSON.stringify(record.result("reject"))).not.toContain("secret");
  });

  it("reports the first refusal, and every dropped field once", () => {
    const { members, record } = reading({ a: 1, b: 2, c: 3 });
    members.refuseMember("a", "first", "is wrong");
    members.refuseMember("b", "second", "is wrong");
    members.drop(["c", "d"], "hint_dropped");
    members.drop(["c"], "hint_dropped");
    expect(record.result("strip")).toMatchObject({ code: "first", param: "a" });
    expect([...record.dropped]).toEqual(["hint_dropped"]);
  });
});
