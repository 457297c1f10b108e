import type { ComponentChildren } from "preact";
import { Empty } from "../components/panel.tsx";
import { hasScope } from "../api/session-state.ts";
import { link } from "../router.ts";
import { ConnectPage } from "./connect/connect.tsx";
import { DecisionPage } from "./decisions/decision.tsx";
import { DecisionsPage } from "./decisions/decisions.tsx";
import { KeysPage } from "./keys/keys.tsx";
import { OverviewPage } from "./overview/overview.tsx";
import { PoliciesPage } from "./policies/policies.tsx";
import { PolicyPage } from "./policies/policy.tsx";
import { ReportPage } from "./report/report.tsx";
import { RoutesPage } from "./routes/routes.tsx";
import { SpendPage } from "./spend/spend.tsx";

/** An entry of the navigation. */
interface Section {
  /** First part of the address. */
  readonly path: string;
  readonly title: string;
  /** The entry is shown where the session has one of them. */
  readonly scopes: readonly string[];
}

export const SECTIONS: readonly Section[] = [
  { path: "", title: "Overview", scopes: ["governance:read"] },
  { path: "decisions", title: "Decisions", scopes: ["governance:read"] },
  { path: "policies", title: "Policies", scopes: ["governance:read", "operations:manage"] },
  { path: "spend", title: "Spend", scopes: ["spend:read"] },
  { path: "routes", title: "Routes", scopes: ["catalogue:read"] },
  { path: "connect", title: "Connect", scopes: [] },
  { path: "report", title: "Simulation report", scopes: [] },
  { path: "keys", title: "Keys", scopes: ["operations:manage"] },
];

/** The page of an address. */
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
      return hasScope("governance:read")
        ? { title: "Overview", section: "", render: () => <OverviewPage /> }
        : { title: "Signalbox", section: "", render: () => <Beginning /> };
    case "spend":
      return { title: "Spend", section, render: () => <SpendPage /> };
    case "decisions":
      return id === undefined
        ? { title: "Decisions", section, render: () => <DecisionsPage /> }
        : { title: `Decision ${id}`, section, render: () => <DecisionPage id={id} /> };
    case "policies":
      return id === undefined
        ? { title: "Policies", section, render: () => <PoliciesPage /> }
        : { title: `Policy ${id}`, section, render: () => <PolicyPage id={id} /> };
    case "routes":
      return { title: "Routes", section, render: () => <RoutesPage /> };
    case "connect":
      return { title: "Connect", section, render: () => <ConnectPage /> };
    case "report":
      return { title: "Simulation report", section, render: () => <ReportPage /> };
    case "keys":
      return { title: "Keys", section, render: () => <KeysPage /> };
    default:
      return { title: "No such page", section: "", render: () => <NoSuchPage /> };
  }
}

/** For sessions that may not see the overview. */
function Beginning() {
  return (
    <Empty title="You are signed in">
      Choose a page. What your scopes do not allow is not shown.
    </Empty>
  );
}

function NoSuchPage() {
  return (
    <Empty title="There is no such page">
      <a href={link([])}>Go to the first page.</a>
    </Empty>
  );
}
