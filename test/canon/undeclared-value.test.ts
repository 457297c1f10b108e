import { describe, expect, it } from "vitest";
import { undeclaredValue } from "../../src/canon/credentials/undeclared-value.ts";

const vocabulary = { environments: ["production"], workloads: ["nightly"], labels: ["eu", "us"] };

describe("values of a new key that nothing declares", () => {
  it.each([
    ["none given", {}, null],
    ["all declared", { environment: "production", workload: "nightly", labels: ["eu"] }, null],
    ["no workload", { workload: "" }, null],
    ["an environment", { environment: "prodution" }, "environment"],
    ["a workload", { workload: "nightli" }, "workload"],
    ["the second label", { labels: ["eu", "xx"] }, "labels"],
  ])("%s", (_, key, field) => {
    expect(undeclaredValue(key, vocabulary)?.field ?? null).toBe(field);
  });

  it("are never repeated, because a secret may have been pasted", () => {
    for (const key of [{ environment: "sk-1" }, { workload: "sk-1" }, { labels: ["sk-1"] }]) {
      expect(undeclaredValue(key, vocabulary)?.fix).not.toContain("sk-1");
    }
  });

  it("are only labels where the file has no lists", () => {
    const none = { environments: [], workloads: [], labels: [] };
    expect(undeclaredValue({ environment: "x", workload: "y" }, none)).toBeNull();
    expect(undeclaredValue({ labels: ["z"] }, none)?.field).toBe("labels");
  });
});
