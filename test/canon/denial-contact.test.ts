import { expect, it } from "vitest";
import { denialError, withContact } from "../../src/canon/reasons.ts";
import { fakePolicies, table } from "../support/table.ts";

const policies = fakePolicies();
const [{ identity, contract } = { identity: { id: "" }, contract: null }] = policies.policies;
const denial = {
  policy: identity.id,
  revision: "r1",
  mode: "enforce",
  constraint: "near",
  reason: "FAR AWAY&x=1",
  subject: null,
  failing: [],
} as const;
const rows = table();
const linked = {
  ...rows,
  policies: {
    ...rows.policies,
    denialLink: "https://wiki.example/{policy}?r={reason}#{constraint}",
  },
};

it("a denial has title and owners of the enforced policy, and the link of the template, encoded", () => {
  const { title, owners } = contract ?? {};
  expect(withContact(denial, rows, policies).contact).toEqual({ title, owners });
  const { denial: answered } = denialError(withContact(denial, linked, policies));
  expect(answered?.contact).toEqual({
    title,
    owners,
    link: "https://wiki.example/fake?r=FAR%20AWAY%26x%3D1#near",
  });
});

it("a denial by the table has no contact", () => {
  expect(withContact({ ...denial, policy: "approvals" }, linked, policies)).not.toHaveProperty(
    "contact",
  );
});
