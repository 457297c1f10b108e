import type { RoutingTable } from "../../canon/table.ts";
import { suggest } from "../../compile/findings/suggest.ts";
import type { Question } from "../../decide/decide.ts";
import { regionsNamed } from "../../decide/narrow.ts";
import type { Locations } from "../../simulate/explain/positions.ts";
import { formatLocation } from "./location.ts";
import type { ExplainOptions } from "./flags.ts";

interface Noted {
  readonly table: RoutingTable;
  readonly locations: Locations;
  readonly options: ExplainOptions;
  readonly question: Question;
}

/**
 * For readers of the files only, never for callers: which of the requested names do not exist. Such a request can be sent, so it is
 * decided and not refused as a mistake of the command line.
 */
export function notesOf(noted: Noted): readonly string[] {
  return [...routeNotes(noted), ...preferenceNotes(noted), ...keyNotes(noted)];
}

function routeNotes({ table, locations, options: { sample }, question }: Noted): readonly string[] {
  const workspace = Object.hasOwn(table.workspaces, sample.workspace) ? table.workspaces[sample.workspace] : undefined;
  if (workspace === undefined) {
    return [`there is no workspace with this name; ${suggest(sample.workspace, Object.keys(table.workspaces))}`];
  }
  if (question.model === "") return [];
  if (!Object.hasOwn(table.routes, question.model)) {
    return [`there is no route with this name; ${suggest(question.model, Object.keys(table.routes))}`];
  }
  if (workspace.approve.routes.includes(question.model)) return [];
  const location = formatLocation(locations.approval(workspace.id, "routes"));
  return [`the route exists, but the workspace does not approve it${location === "" ? "" : ` (${location})`}`];
}

function preferenceNotes({ table, question }: Noted): readonly string[] {
  const { preferences } = question;
  if (preferences === null) return [];
  const providers = Object.keys(table.providers);
  const unknown = (["order", "only", "ignore"] as const).flatMap((member) => {
    const name = preferences[member]?.find((provider) => !Object.hasOwn(table.providers, provider));
    return name === undefined ? [] : [`${member} names a provider that does not exist; ${suggest(name, providers)}`];
  });
  const region = preferences.region?.find((name) => regionsNamed(table, name) === null);
  if (region === undefined) return unknown;
  const groups = Object.entries(table.regionGroups).flatMap(([group, regions]) => [group, ...regions]);
  return [...unknown, `region names a region that does not exist; ${suggest(region, groups)}`];
}

/** What the vocabulary does not have, policies cannot see. */
function keyNotes({ table, options: { sample } }: Noted): readonly string[] {
  const { environments, workloads, owners = [], labels } = table.vocabulary;
  const { key } = sample;
  const label = key.labels.find((one) => !labels.includes(one));
  return [
    ...(environments.includes(key.environment)
      ? []
      : [
          `policies see the key's environment as "other": the vocabulary does not have it; ${suggest(key.environment, environments)}`,
        ]),
    ...(key.workload === "" || workloads.includes(key.workload)
      ? []
      : [
          `policies see the key's workload as "other": the vocabulary does not have it; ${suggest(key.workload, workloads)}`,
        ]),
    ...(key.owner === undefined || owners.includes(key.owner)
      ? []
      : [`policies see the key's owner as "other": the vocabulary does not have it; ${suggest(key.owner, owners)}`]),
    ...(label === undefined
      ? []
      : [`policies do not see one of the key's labels: the vocabulary does not have it; ${suggest(label, labels)}`]),
  ].map((note) => note.replace(/; $/, ""));
}
