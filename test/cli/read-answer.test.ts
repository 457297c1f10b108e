import { describe, expect, expectTypeOf, test } from "vitest";
import { readAnswer } from "../../src/cli/terminal/call-server.ts";

const SCHEMA = {
  type: "object",
  required: ["name", "amount", "held", "items", "slot", "state", "value"],
  properties: {
    name: { type: "string" },
    amount: { type: "integer" },
    held: { type: "boolean" },
    items: {
      type: "array",
      items: { type: "object", required: ["id"], properties: { id: { type: "string" } } },
    },
    slot: {
      type: ["object", "null"],
      required: ["revision"],
      properties: { revision: { type: "string", pattern: "^r\\d$" } },
    },
    state: { enum: ["on", "off", null] },
    value: { type: ["string", "integer"] },
    note: { type: "string" },
  },
} as const;

const NOTHING = { name: "", amount: 0, held: false, items: [], slot: null, state: null, value: "" };

describe("an answer that is read by its schema", () => {
  test("accepts an answer that matches the schema, without unknown members", () => {
    const answer = {
      ...NOTHING,
      name: "a",
      amount: 2,
      items: [{ id: "b" }],
      slot: { revision: "r1" },
      value: 7,
      note: "c",
    };
    const read = readAnswer(SCHEMA, { ...answer, newer: true });
    expect(read).toEqual(answer);
    expectTypeOf(read.state).toEqualTypeOf<string | null>();
    expectTypeOf(read.note).toEqualTypeOf<string | undefined>();
    expectTypeOf(read.items[0]?.id).toEqualTypeOf<string | undefined>();
  });

  test("members that are missing or of another type become empty", () => {
    expect(readAnswer(SCHEMA, {})).toEqual(NOTHING);
    expect(
      readAnswer(SCHEMA, {
        name: {},
        amount: "3",
        held: "true",
        items: ["x", null],
        slot: [],
        state: 1n,
        value: true,
      }),
    ).toEqual(NOTHING);
  });

  test("keeps a value unknown to this version, and replaces control characters", () => {
    expect(readAnswer(SCHEMA, { state: "paused" }).state).toBe("paused");
    expect(readAnswer(SCHEMA, { name: "\u001b[31mred" }).name).not.toContain("\u001b");
  });

  test("a text without the form that it must have is refused", () => {
    for (const revision of ["r1; rm -rf /", "r12", undefined, null]) {
      expect(() => readAnswer(SCHEMA, { slot: { revision } })).toThrow("is not one of Signalbox");
    }
  });
});
