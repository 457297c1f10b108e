import { describeSafely } from "../../compile/authored/literal-secrets.ts";
import type { ConfigNode, MapNode, Path, Position } from "../../compile/authored/tree.ts";
import type { Findings } from "../../compile/findings/findings.ts";

/** A value of the source, and where it stands. */
export interface Spot {
  readonly path: Path;
  readonly at: Position;
}

export interface Item extends Spot {
  readonly node: ConfigNode;
}

export interface SourceText {
  readonly text: string;
  readonly spot: Spot;
}

/**
 * The members of one mapping of the source. It notes which members were read, so that unread members can be reported: nothing is dropped in
 * silence. A value of the wrong type is a finding, and reads as absent.
 */
export class Fields implements Spot {
  readonly path: Path;
  readonly at: Position;
  readonly #node: MapNode;
  readonly #findings: Findings;
  #read = new Set<string>();

  constructor(node: MapNode, path: Path, findings: Findings) {
    this.#node = node;
    this.path = path;
    this.at = node.at;
    this.#findings = findings;
  }

  /** `null` for what is absent or null. Marks the member as read. */
  item(name: string): Item | null {
    this.#read.add(name);
    const member = this.#node.members.get(name);
    if (member === undefined || isNull(member.node)) return null;
    return { path: [...this.path, name], at: member.keyAt, node: member.node };
  }

  /** Where a member stands; the mapping itself where it is absent. */
  spot(name: string): Spot {
    const member = this.#node.members.get(name);
    return member === undefined ? this : { path: [...this.path, name], at: member.keyAt };
  }

  has(name: string): boolean {
    const member = this.#node.members.get(name);
    return member !== undefined && !isNull(member.node);
  }

  /** A number or a boolean reads as its text, because YAML makes numbers of names such as `2024`. */
  text(name: string): string | null {
    const item = this.item(name);
    if (item === null) return null;
    if (item.node.kind === "scalar") return String(item.node.value);
    this.wrong(item, "text");
    return null;
  }

  number(name: string): number | null {
    const item = this.item(name);
    if (item === null) return null;
    const { node } = item;
    const value = node.kind === "scalar" && typeof node.value !== "boolean" ? Number(node.value) : Number.NaN;
    if (Number.isFinite(value) && (node.kind !== "scalar" || node.value !== "")) return value;
    if (isReference(node)) return null;
    this.wrong(item, "a number");
    return null;
  }

  flag(name: string): boolean | null {
    const item = this.item(name);
    if (item === null) return null;
    const value = item.node.kind === "scalar" ? item.node.value : null;
    if (typeof value === "boolean") return value;
    // PyYAML reads YAML 1.1, where these are booleans too.
    if (typeof value === "string" && /^(?:yes|on|true)$/i.test(value)) return true;
    if (typeof value === "string" && /^(?:no|off|false)$/i.test(value)) return false;
    this.wrong(item, "true or false");
    return null;
  }

  fields(name: string): Fields | null {
    const item = this.item(name);
    return item === null ? null : this.fieldsOf(item);
  }

  fieldsOf(item: Item): Fields | null {
    if (item.node.kind === "map") return new Fields(item.node, item.path, this.#findings);
    this.wrong(item, "a mapping");
    return null;
  }

  /** The items of a list; none where it is absent. */
  items(name: string): readonly Item[] {
    const item = this.item(name);
    return item === null ? [] : this.itemsOf(item);
  }

  itemsOf(item: Item): readonly Item[] {
    if (item.node.kind === "list") return itemsIn(item.path, item.node);
    this.wrong(item, "a list");
    return [];
  }

  /** A list of mappings. */
  rows(name: string): readonly Fields[] {
    return this.items(name).flatMap((item) => this.fieldsOf(item) ?? []);
  }

  /** A list of texts; one text is a list of one. */
  texts(name: string): readonly SourceText[] {
    const item = this.item(name);
    return item === null ? [] : this.textsOf(item);
  }

  textsOf(item: Item): readonly SourceText[] {
    const items = item.node.kind === "scalar" ? [item] : this.itemsOf(item);
    return items.flatMap((one) => {
      if (one.node.kind === "scalar" && one.node.value !== null) return [{ text: String(one.node.value), spot: one }];
      this.wrong(one, "text");
      return [];
    });
  }

  /** Members by name, all marked as read. */
  entries(): readonly (readonly [string, Item])[] {
    return this.#entriesOf([...this.#node.members.keys()]);
  }

  /** Members that have not been read yet and are not empty. */
  unread(): readonly (readonly [string, Item])[] {
    return this.#entriesOf([...this.#node.members.keys()].filter((name) => !this.#read.has(name)));
  }

  #entriesOf(names: readonly string[]): readonly (readonly [string, Item])[] {
    return names.flatMap((name) => {
      const item = this.item(name);
      return item === null ? [] : [[name, item] as const];
    });
  }

  /** These members before those of another mapping. */
  over(other: Fields): Fields {
    const members = new Map([...other.#node.members, ...this.#node.members]);
    const joined = new Fields({ ...this.#node, members }, this.path, this.#findings);
    for (const name of this.#read) joined.#read.add(name);
    return joined;
  }

  /** The same with another text in one member; what is read of either counts for both. */
  with(name: string, value: string): Fields {
    const known = this.#node.members.get(name);
    const keyAt = known?.keyAt ?? this.at;
    const members = new Map(this.#node.members);
    members.set(name, { keyAt, node: { kind: "scalar", at: keyAt, value } });
    const changed = new Fields({ ...this.#node, members }, this.path, this.#findings);
    changed.#read = this.#read;
    return changed;
  }

  wrong({ path, at }: Spot, expected: string): void {
    this.#findings.add("WRONG_TYPE", at, `${describeSafely(path)} must be ${expected}`, "correct it in the source");
  }

  missing(name: string, hint: string): void {
    const message = `${describeSafely([...this.path, name])} is missing`;
    this.#findings.add("MISSING_KEY", this.at, message, hint);
  }
}

/** The items of a list at a path. */
export function itemsIn(path: Path, { items }: ConfigNode & { kind: "list" }): readonly Item[] {
  return items.map((node, index) => ({ path: [...path, index], at: node.at, node }));
}

/** What the source takes from the environment when it starts, which an import does not know. */
export function isReference(node: ConfigNode): boolean {
  return node.kind === "scalar" && typeof node.value === "string" && node.value.startsWith("os.environ/");
}

function isNull(node: ConfigNode): boolean {
  return node.kind === "scalar" && node.value === null;
}
