import type { ComponentChildren } from "preact";
import { Empty } from "../components/panel.tsx";
import { link } from "../router.ts";
import { DecisionPage } from "./decisions/decision.tsx";
import { DecisionsPage } from "./decisions/decisions.tsx";
import { KeysPage } from "./keys/keys.tsx";
import { PoliciesPage } from "./policies/policies.tsx";
import { PolicyPage } from "./policies/policy.tsx";

/** The entries of the navigation; one that needs scopes is shown where the session has one of them. */
export const SECTIONS: readonly {
  readonly path: string;
  readonly title: string;
  readonly scopes: readonly string[];
}[] = [{ path: "decisions", title: "Decisions", scopes: ["governance:read"] }];

/** What an address shows. */
interface Page {
  readonly title: string;
  /** Entry of the navigation that it belongs to. */
  readonly section: string;
  readonly render: () => ComponentChildren;
}

export function pageOf(path: readonly string[]): Page {
  const [section = "", id] = path;
  switch (section) {
    case "":
    case "decisions":
      return id === undefined
        ? { title: "Decisions", section: "decisions", render: () => <DecisionsPage /> }
        : { title: `Decision ${id}`, section, render: () => <DecisionPage id={id} /> };
    case "policies":
      return id === undefined
        ? { title: "Policies", section, render: () => <PoliciesPage /> }
        : { title: `Policy ${id}`, section, render: () => <PolicyPage id={id} /> };
    case "keys":
      return { title: "Keys", section, render: () => <KeysPage /> };
    default:
      return { title: "No such page", section: "", render: () => <NoSuchPage /> };
  }
}

function NoSuchPage() {
  return (
    <Empty title="There is no such page">
      <a href={link([])}>Go to the first page.</a>
    </Empty>
  );
}
