import { describe, expect, it } from "vitest";

import { readEntry } from "../../src/store/stored-evidence.ts";
import { decisionRecord, outcomeRecord } from "../store/records.ts";

const DECISION = JSON.stringify(decisionRecord("r1"));
const OUTCOME = JSON.stringify(outcomeRecord("r1"));

/** Every single member replaced by something of another type, at every depth. */
function* damaged(value: unknown): Generator {
  yield typeof value === "object" || typeof value === "number" ? "canary text" : { canary: "text" };
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      for (const bad of damaged(item)) yield value.with(index, bad);
  } else if (typeof value === "object" && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      // Members that may be null hold any text: `Identifier` cannot be distinguished from other
      // text by looking at it.
      const alternatives = member === null ? [{ canary: "text" }] : damaged(member);
      for (const bad of alternatives) yield { ...value, [name]: bad };
      yield Object.fromEntries(Object.entries(value).filter(([other]) => other !== name));
    }
  }
}

describe("readEntry", () => {
  it("returns whole records", () => {
    expect(readEntry(7, DECISION, OUTCOME, null)).toEqual({
      sequence: 7,
      decision: decisionRecord("r1"),
      outcome: outcomeRecord("r1"),
    });
  });

  it("distinguishes running, died and ended", () => {
    expect(readEntry(7, DECISION, null, null).outcome).toBeNull();
    expect(readEntry(7, DECISION, null, 42).outcome).toMatchObject({
      terminal: "unknown",
      at: 42,
      requestId: "r1",
    });
    expect(readEntry(7, DECISION, OUTCOME, 42).outcome).toMatchObject({ terminal: "completed" });
  });

  it.each(["decision", "outcome"])(
    "refuses a %s with any member missing or of another type, without quoting it",
    (part) => {
      const whole: unknown = part === "decision" ? decisionRecord("r1") : outcomeRecord("r1");
      let count = 0;
      for (const bad of damaged(whole)) {
        const text = JSON.stringify(bad);
        const read = () =>
          part === "decision" ? readEntry(7, text, null, null) : readEntry(7, DECISION, text, null);
        expect(read, text).toThrow("evidence entry 7 is not a record that this version supports");
        count += 1;
      }
      expect(count).toBeGreaterThan(40);
    },
  );

  it.each(["", "null", "[]", "{", '"canary"'])("refuses the text %j without quoting it", (text) => {
    expect(() => readEntry(7, text, null, null)).toThrow(/^evidence entry 7 is not a record/);
    expect(() => readEntry(7, DECISION, text, null)).toThrow(/^evidence entry 7 is not a record/);
  });
});
