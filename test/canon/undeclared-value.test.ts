import { describe, expect, it } from "vitest";
import { undeclaredValue } from "../../src/canon/credentials/service-key.ts";
import { route } from "../support/table.ts";

const vocabulary = {
  environments: ["production"],
  workloads: ["nightly"],
  owners: ["group:payments"],
  labels: ["eu", "us"],
};
const table = {
  vocabulary,
  routes: { chat: route("chat", "m", []), "chat-eu": route("chat-eu", "m", []) },
};

describe("values of a new key that nothing declares", () => {
  it.each([
    ["none given", {}, null],
    ["all declared", { environment: "production", workload: "nightly", labels: ["eu"] }, null],
    ["no workload", { workload: "" }, null],
    ["an environment", { environment: "prodution" }, "environment"],
    ["a workload", { workload: "nightli" }, "workload"],
    ["a declared owner", { owner: "group:payments" }, null],
    ["an owner", { owner: "group:payment" }, "owner"],
    ["the second label", { labels: ["eu", "xx"] }, "labels"],
    ["no exchange", { exchange: null }, null],
    ["an exchange for every route", { exchange: { routes: null } }, null],
    ["an exchange for a route that is there", { exchange: { routes: ["chat-eu"] } }, null],
    [
      "the second route of an exchange",
      { exchange: { routes: ["chat", "chat-uk"] } },
      "exchange.routes",
    ],
  ])("%s: the key %j has the undeclared field %s", (_, key, field) => {
    expect(undeclaredValue(key, table)?.field ?? null).toBe(field);
  });

  it("are never repeated, because a secret may have been pasted", () => {
    for (const key of [
      { environment: "sk-1" },
      { workload: "sk-1" },
      { owner: "sk-1" },
      { labels: ["sk-1"] },
      { exchange: { routes: ["sk-1"] } },
    ]) {
      expect(undeclaredValue(key, table)?.fix).not.toContain("sk-1");
    }
  });

  it("are reported for labels alone where the file has no lists", () => {
    const none = {
      routes: table.routes,
      vocabulary: { environments: [], workloads: [], labels: [] },
    };
    expect(undeclaredValue({ environment: "x", workload: "y", owner: "z" }, none)).toBeNull();
    expect(undeclaredValue({ labels: ["z"] }, none)?.field).toBe("labels");
  });
});
