import type { Operation } from "../../canon/operation.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { readsPath } from "../../policy/policy-set.ts";
import { policyData } from "../../policy/input-schema.ts";
import { formerProviders } from "../renamed-table.ts";
import type { Member } from "../sample-request.ts";
import type { CompiledSide, CompiledSides, SideContent } from "../side-contents.ts";
import type { Job } from "../space/job-space.ts";
import { routeName, rowOf } from "../table-rows.ts";

/**
 * Finds jobs of which both sides are made of the same rows and policies: every request of them is
 * decided alike, without deciding any. Rows are compared whole, also by members that no decision
 * reads.
 */
export class UnchangedJobs {
  readonly #sides: CompiledSides;
  readonly #isSameForAll: boolean;
  readonly #operations = new Map<Operation, boolean>();
  readonly #workspaces = new Map<string, boolean>();
  readonly #routes = new Map<string, boolean>();
  readonly #promoted: readonly string[] | null;

  /**
   * @param promoted policies of head that are taken for promoted, and none of base's; `null`: every
   * candidate.
   */
  constructor(sides: CompiledSides, promoted: readonly string[] | null) {
    this.#sides = sides;
    this.#promoted = promoted;
    const [base, head] = [sides.base.table, sides.head.table].map(factsOfAll);
    this.#isSameForAll = base === head;
  }

  has({ pair, operation }: Job): boolean {
    return (
      this.#isSameForAll &&
      remembered(this.#operations, operation, () => this.#hasSamePolicies(operation)) &&
      pair.members.every((member) => this.#isSame(member))
    );
  }

  /** Requests that name a provider as it was called in base are refused in head. */
  #mayNameFormerProvider(workspace: string, route: string): boolean {
    const { table } = this.#sides.base;
    const names = formerProviders(table).map(([, name]) => name);
    if (names.length === 0) return false;
    const endpoints = rowOf(table.routes, route)?.tiers.flatMap((tier) => tier.endpoints) ?? [];
    const known = [
      ...(rowOf(table.workspaces, workspace)?.approve.providers ?? []),
      ...endpoints.flatMap((id) => rowOf(table.endpoints, id)?.provider ?? []),
    ];
    return names.some((name) => known.includes(name));
  }

  #hasSamePolicies(operation: Operation): boolean {
    const { base, head } = this.#sides;
    const [before, after] = [base, head].map(({ contents }) =>
      contents.filter((content) => applies(content, operation)),
    );
    if (before === undefined || after === undefined || slotsOf(before) !== slotsOf(after))
      return false;
    const isPromoted = ({ slot, contract }: SideContent): boolean =>
      slot === "candidate" && this.#promoted?.includes(contract.id) === true;
    return !after.some(isPromoted) && dataRead(base, before) === dataRead(head, after);
  }

  #isSame(member: Member): boolean {
    const { base, head } = this.#sides;
    const { workspace } = member;
    const [before, route] = [routeName(base.table, member), routeName(head.table, member)];
    return (
      !this.#mayNameFormerProvider(workspace, before) &&
      before === route &&
      remembered(this.#workspaces, workspace, () =>
        isSameText([base, head].map(({ table }) => workspaceFacts(table, workspace))),
      ) &&
      remembered(this.#routes, route, () =>
        isSameText([base, head].map(({ table }) => routeFacts(table, route))),
      )
    );
  }
}

function isSameText(values: readonly unknown[]): boolean {
  return new Set(values.map((value) => JSON.stringify(value))).size === 1;
}

function remembered<Key>(known: Map<Key, boolean>, key: Key, find: () => boolean): boolean {
  const found = known.get(key) ?? find();
  known.set(key, found);
  return found;
}

/** What of a table any decision may look at. */
function factsOfAll({ vocabulary, regionGroups, providers, models }: RoutingTable): string {
  const regions = new Set(Object.values(providers).map(({ region }) => region));
  const lengths = new Set(Object.values(models).flatMap(({ dimensions }) => dimensions));
  return JSON.stringify([
    vocabulary,
    regionGroups,
    [...regions].toSorted(),
    [...lengths].toSorted((a, b) => a - b),
  ]);
}

function workspaceFacts({ workspaces }: RoutingTable, id: string): unknown {
  const row = rowOf(workspaces, id);
  return row === undefined ? null : [row.tier, row.labels, row.approve, row.defaultModerationRoute];
}

function routeFacts(table: RoutingTable, id: string): unknown {
  const route = rowOf(table.routes, id);
  if (route === undefined) return null;
  const endpoints = route.tiers
    .flatMap((tier) => tier.endpoints)
    .map((name) => rowOf(table.endpoints, name));
  return [
    [route.primary, route.tiers, route.onGap, route.emulateSchema, route.operations],
    endpoints.map((endpoint) =>
      endpoint === undefined
        ? null
        : [
            endpoint,
            rowOf(table.models, endpoint.model),
            rowOf(table.providers, endpoint.provider),
          ],
    ),
  ];
}

function applies({ contract }: SideContent, operation: Operation): boolean {
  return contract.operations.includes(operation);
}

function slotsOf(contents: readonly SideContent[]): string {
  return JSON.stringify(contents.map(({ contract, digest, slot }) => [contract.id, digest, slot]));
}

/**
 * The data that policies read besides region groups, of all workspaces: a policy may compare one
 * with another.
 */
function dataRead({ table }: CompiledSide, contents: readonly SideContent[]): string {
  const { approved } = policyData(table);
  const read = Object.entries(approved).filter(([name]) =>
    contents.some(({ rules }) => rules !== null && readsPath(rules, `data.approved.${name}`)),
  );
  return JSON.stringify(read);
}
