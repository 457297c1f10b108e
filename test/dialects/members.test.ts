import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/canon/json.ts";
import type { UnknownFields } from "../../src/canon/table.ts";
import type { Members } from "../../src/dialects/json.ts";
import { RequestReading } from "../../src/dialects/request-reading.ts";
import { keptMembers } from "../../src/dialects/translate-request.ts";
import { NO_EDITS } from "../support/dialects.ts";

const REGISTRY = { input: {}, user: { class: "identity" } } as const;

function reading(body: JsonObject, mode: UnknownFields, forwarded?: Members): RequestReading {
  const made = new RequestReading("native_chat", mode);
  keptMembers(REGISTRY, body, NO_EDITS, made, forwarded);
  return made;
}

describe("the members of a body that is translated", () => {
  it("null counts as absent", () => {
    const { refusal, stripped, dropped } = reading({ a: null, user: null }, "reject");
    expect({ refusal, stripped, dropped: [...dropped] }).toEqual({
      refusal: null,
      stripped: [],
      dropped: [],
    });
  });

  it("an unknown member is recorded on a route that strips, and refused by name elsewhere", () => {
    const body = { surprise: 1, other: 2 };
    expect(reading(body, "strip")).toMatchObject({ refusal: null, stripped: ["unknown_field"] });
    for (const mode of ["reject", "forward"] as const)
      expect(reading(body, mode).refusal).toMatchObject({
        code: "unknown_field",
        param: "surprise",
        status: 400,
      });
  });

  it("an unknown member is forwarded only where the surface can, `__proto__` too", () => {
    const forwarded: Members = Object.create(null);
    const body: JsonObject = JSON.parse('{"__proto__": 1, "empty": []}');
    expect(reading(body, "forward", forwarded).refusal).toBeNull();
    expect(Object.entries(forwarded)).toEqual([
      ["__proto__", 1],
      ["empty", []],
    ]);
    expect(reading(body, "reject", forwarded).refusal).not.toBeNull();
  });

  it("an identity member is taken out and recorded on every route", () => {
    for (const mode of ["reject", "strip", "forward"] as const) {
      const made = new RequestReading("native_chat", mode);
      const kept = keptMembers(REGISTRY, { input: "a", user: "b" }, NO_EDITS, made);
      expect(kept).toEqual({ input: "a", user: null });
      expect(made.stripped).toEqual(["user"]);
    }
  });

  it("an empty unknown member is dropped and recorded once", () => {
    const { refusal, dropped } = reading({ a: [], b: { c: null } }, "reject");
    expect({ refusal, dropped: [...dropped] }).toEqual({
      refusal: null,
      dropped: ["empty_member_dropped"],
    });
  });

  it("a refusal never repeats a name that does not look like one", () => {
    const { refusal } = reading({ "a secret sentence": 1 }, "reject");
    expect(refusal).not.toBeNull();
    expect(JSON.stringify(refusal)).not.toContain("secret");
  });

  it("only the first refusal counts", () => {
    const made = new RequestReading("native_chat", "reject");
    made.refuseMember("first", "a", "is wrong");
    made.refuseMember("second", "b", "is wrong");
    expect(made.refusal).toMatchObject({ code: "first", message: "a is wrong", param: "a" });
  });
});
