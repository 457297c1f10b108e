import type { Findings } from "../findings/findings.ts";
import { suggest } from "../findings/suggest.ts";
import { describeSafely } from "../authored/literal-secrets.ts";
import { checkVersion, idOf, isAllowedHere } from "./merge-parts.ts";
import type { ConfigNode, ListNode, MapNode, Member, Path } from "../authored/tree.ts";

/**
 * Lays an overlay over the tree. Mappings merge key by key; any other value replaces the one that is there; `null` removes a key,
 * which has to be there. `endpoints` is a mapping by id in an overlay, since one row of a list could not be named.
 *
 * @param main is changed.
 */
export function mergeOverlay(main: MapNode, overlay: ConfigNode, findings: Findings): void {
  if (overlay.kind !== "map") {
    findings.add(
      "WRONG_TYPE",
      overlay.at,
      "an overlay must be a mapping of sections",
      "begin it with `providers:`, `routes:` or another section",
    );
    return;
  }
  for (const [name, member] of overlay.members) {
    const own = main.members.get(name)?.node;
    if (name === "version") checkVersion(member, findings);
    else if (name === "include") {
      findings.add("INCLUDE_NESTED", member.keyAt, "an overlay cannot include files", "name them all in routes.yaml");
    } else if (name === "endpoints" && own?.kind === "list") overlayEndpoints(own, member, findings);
    else overlayMember(main, name, member, [name], findings);
  }
}

function overlayMember(into: MapNode, name: string, member: Member, path: Path, findings: Findings): void {
  if (!isAllowedHere(path, member, findings)) return;
  const own = into.members.get(name);
  const { node } = member;
  if (isNull(node)) {
    if (own === undefined) reportNothing(path, member, [...into.members.keys()], findings);
    else into.members.delete(name);
  } else if (own?.node.kind === "map" && node.kind === "map") {
    for (const [key, inner] of node.members) overlayMember(own.node, key, inner, [...path, key], findings);
  } else into.members.set(name, member);
}

function overlayEndpoints(own: ListNode, { node }: Member, findings: Findings): void {
  if (node.kind !== "map") {
    findings.add(
      "WRONG_TYPE",
      node.at,
      "endpoints must be a mapping by id in an overlay",
      "write `endpoints: { ID: { price: … } }`",
    );
    return;
  }
  for (const [id, member] of node.members) {
    const index = own.items.findIndex((item) => idOf(item) === id);
    const item = own.items[index];
    if (isNull(member.node)) {
      if (item !== undefined) own.items.splice(index, 1);
      else {
        const ids = own.items.flatMap((one) => idOf(one) ?? []);
        reportNothing(["endpoints", id], member, ids, findings);
      }
    } else if (member.node.kind !== "map") {
      findings.add("WRONG_TYPE", member.node.at, `${describeSafely(["endpoints", id])} must be a mapping, or null`, "");
    } else if (item?.kind === "map") {
      for (const [key, inner] of member.node.members) overlayMember(item, key, inner, ["endpoints", id, key], findings);
    } else {
      const named: ConfigNode = { kind: "scalar", at: member.keyAt, value: id };
      const members = new Map([...member.node.members, ["id", { keyAt: member.keyAt, node: named }] as const]);
      own.items.push({ ...member.node, members });
    }
  }
}

function reportNothing(path: Path, { keyAt }: Member, known: readonly string[], findings: Findings): void {
  const hint = suggest(String(path.at(-1)), known);
  findings.add(
    "OVERLAY_REMOVES_NOTHING",
    keyAt,
    `${describeSafely(path)} does not exist, so null removes nothing`,
    hint,
  );
}

function isNull(node: ConfigNode): boolean {
  return node.kind === "scalar" && node.value === null;
}
