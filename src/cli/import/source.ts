import { describeSafely, looksLikeSecret } from "../../compile/authored/literal-secrets.ts";
import { readDocument } from "../../compile/authored/document.ts";
import type { ConfigNode, ListNode, MapNode, Path, Position } from "../../compile/authored/tree.ts";
import { decodeText, LARGEST_FILE } from "../../compile/file-tree.ts";
import type { Findings } from "../../compile/findings/findings.ts";
import { readNamedFile } from "../../policy/read-regular-file.ts";

/** A file of another gateway. Positions of its nodes name it. */
export interface ImportedText {
  /** Path for messages. */
  readonly shown: string;
  readonly text: string;
}

/** The imported file. */
export interface ImportedFile extends ImportedText {
  /** On disk, for files that it includes. */
  readonly path: string;
}

/** Reads a file of the command line. @returns the error as a sentence if it cannot be read. */
export async function readImportedText(
  path: string,
  shown: string,
): Promise<ImportedText | string> {
  const bytes = await readNamedFile(path, LARGEST_FILE).catch(() => null);
  if (bytes === null) return "cannot be read; check the path and its permissions";
  if (bytes === "too_large")
    return `has more than ${LARGEST_FILE} bytes; split it, or leave out what is not routing`;
  const text = decodeText(bytes);
  return typeof text === "string" ? { shown, text } : "is not UTF-8 text; convert it";
}

/** The tree of YAML or JSON, which is a subset of YAML; `null` after a reported error. */
export function parseImported(
  { shown, text }: ImportedText,
  findings: Findings,
): ConfigNode | null {
  const lines = text.replace(/^\uFEFF/, "").replaceAll(/\r\n?/g, "\n");
  // The compiler's own hint for an empty file is about routes.yaml.
  if (lines.replaceAll(/^\s*#.*$/gm, "").trim() === "") {
    findings.add(
      "WRONG_TYPE",
      { line: 1, column: 1, file: shown },
      "the file is empty",
      "name the right file",
    );
    return null;
  }
  const tree = readDocument(lines, findings, shown, "1.1");
  return findings.failed ? null : tree;
}

/**
 * The tree of a file that must be a mapping. @param rule the message otherwise. @param fix how to
 * begin it.
 */
export function parseMapping(
  file: ImportedText,
  findings: Findings,
  rule: string,
  fix?: string,
): MapNode | null {
  const tree = parseImported(file, findings);
  if (tree === null || tree.kind === "map") return tree;
  findings.add("WRONG_TYPE", tree.at, rule, fix);
  return null;
}

const MODEL_ID = /^[A-Za-z0-9~@][\w.:~@/+-]{0,255}$/;

/**
 * The ids of a plain list, one a line, `#` before remarks; `null` for any other text. After an id
 * with a maker, a line without an id is an item too: it is reported, instead of broken YAML.
 */
export function modelLines({ shown, text }: ImportedText): readonly Item[] | null {
  const items: Item[] = [];
  let isList = false;
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n?|\n/);
  for (const [index, line] of lines.entries()) {
    const value = line.replace(/(?:^|\s)#.*$/, "").trim();
    if (value === "") continue;
    if (!MODEL_ID.test(value) && !isList) return null;
    isList ||= value.includes("/") && !value.endsWith(":");
    const at = { line: index + 1, column: line.indexOf(value) + 1, file: shown };
    items.push({ path: [items.length], at, node: { kind: "scalar", at, value } });
  }
  return items.length === 0 ? null : items;
}

/** Location of a value in the source. */
export interface Origin {
  readonly path: Path;
  readonly at: Position;
}

export interface Item extends Origin {
  readonly node: ConfigNode;
}

export interface SourceText {
  readonly text: string;
  readonly origin: Origin;
}

/** Outcomes of the values of one source: errors, and lines of the report. */
export interface Reading {
  readonly findings: Findings;
  readonly report: ImportReport;
}

/** LiteLLM's prefix of the name of an environment variable. */
export const REFERENCE = "os.environ/";

/** Whether LiteLLM reads the value from its environment, which an import cannot read. */
export function isReference(node: ConfigNode): boolean {
  return (
    node.kind === "scalar" && typeof node.value === "string" && node.value.startsWith(REFERENCE)
  );
}

/**
 * The members of one mapping of the source; an absent mapping is an empty one. It records which
 * members were read, so that unread members can be reported: nothing is dropped silently. A value
 * of the wrong type is a finding, and reads as absent.
 */
export class Fields implements Origin {
  readonly path: Path;
  readonly at: Position;
  readonly #members: MapNode["members"];
  readonly #reading: Reading;
  #keyStates = new Map<string, "read" | "noted">();

  constructor({ at, members }: Pick<MapNode, "at" | "members">, path: Path, reading: Reading) {
    this.path = path;
    this.at = at;
    this.#members = members;
    this.#reading = reading;
  }

  /** `null` for an absent member and for null. Marks the member as read. */
  item(name: string): Item | null {
    if (!this.#keyStates.has(name)) this.#keyStates.set(name, "read");
    const member = this.#members.get(name);
    if (member === undefined || isNull(member.node)) return null;
    return { ...this.origin(name), node: member.node };
  }

  /** The first present member. */
  first(names: readonly string[]): Item | null {
    const name = names.find((one) => this.has(one));
    return name === undefined ? null : this.item(name);
  }

  /** Location of a member; the mapping's own where it is absent. */
  origin(name: string): Origin {
    const member = this.#members.get(name);
    return member === undefined ? this : { path: [...this.path, name], at: member.keyAt };
  }

  has(name: string): boolean {
    const member = this.#members.get(name);
    return member !== undefined && !isNull(member.node);
  }

  /**
   * `null` for an absent member, for a reference to the environment, and after a finding for a
   * value that `read` rejects.
   */
  #scalar<Value>(
    name: string,
    expected: string,
    read: (value: unknown) => Value | null,
  ): Value | null {
    const item = this.item(name);
    if (item === null) return null;
    const value = item.node.kind === "scalar" ? read(item.node.value) : null;
    if (value === null && !isReference(item.node)) this.#wrongType(item, expected);
    return value;
  }

  /**
   * A number or a boolean reads as its text, because YAML makes numbers of names such as `2024`.
   */
  text(name: string): string | null {
    return this.#scalar(name, "text", String);
  }

  /**
   * Text for routes.yaml; `null` also, with a line of the report, for a reference and for a
   * probable credential.
   *
   * @param noun for the report.
   */
  plain(name: string, noun: string): string | null {
    const item = this.item(name);
    const text = this.text(name);
    if (item === null || text === null) return null;
    if (isReference(item.node))
      this.note(
        "decide",
        name,
        `LiteLLM reads ${noun} from the environment; write its value into routes.yaml`,
      );
    else if (looksLikeSecret(text))
      this.note("decide", name, `${noun} looks like a credential, so it is not carried over`);
    else return text;
    return null;
  }

  number(name: string): number | null {
    return this.#scalar(name, "a number", (value) => {
      const number = typeof value === "boolean" || value === "" ? Number.NaN : Number(value);
      return Number.isFinite(number) ? number : null;
    });
  }

  /** A quoted boolean too, as YAML 1.1 writes them, which PyYAML reads. */
  flag(name: string): boolean | null {
    return this.#scalar(name, "true or false", (value) => {
      const text = String(value).toLowerCase();
      return (
        ["true", "yes", "on"].includes(text) ||
        (["false", "no", "off"].includes(text) ? false : null)
      );
    });
  }

  fields(name: string): Fields {
    const { at } = this;
    const absent = { path: [...this.path, name], at, node: emptyMap(at) };
    return this.fieldsOf(this.item(name) ?? absent);
  }

  fieldsOf({ node, ...origin }: Item): Fields {
    if (node.kind !== "map") this.#wrongType(origin, "a mapping");
    return new Fields(node.kind === "map" ? node : emptyMap(node.at), origin.path, this.#reading);
  }

  /** The items of a list; empty where it is absent. */
  itemsOf(item: Item | null): readonly Item[] {
    if (item === null) return [];
    if (item.node.kind === "list") return itemsIn(item.path, item.node);
    this.#wrongType(item, "a list");
    return [];
  }

  /** A list of mappings. */
  rows(name: string): readonly Fields[] {
    return this.itemsOf(this.item(name)).map((item) => this.fieldsOf(item));
  }

  /** A list of texts; one text is a list of one. */
  texts(name: string): readonly SourceText[] {
    return this.textsOf(this.item(name));
  }

  textsOf(item: Item | null): readonly SourceText[] {
    const items = item?.node.kind === "scalar" ? [item] : this.itemsOf(item);
    return items.flatMap((one) => {
      if (one.node.kind === "scalar" && one.node.value !== null)
        return [{ text: String(one.node.value), origin: one }];
      this.#wrongType(one, "text");
      return [];
    });
  }

  /** All members, marked as read. */
  entries(): readonly (readonly [string, Item])[] {
    return [...this.#members.keys()].flatMap((name) => {
      const item = this.item(name);
      return item === null ? [] : [[name, item] as const];
    });
  }

  /** These members before those of another mapping. */
  over(other: Fields): Fields {
    const members = new Map([...other.#members, ...this.#members]);
    return this.#copy(members, new Map(this.#keyStates));
  }

  /** The same with another text in one member; reading one of the two marks both. */
  with(name: string, value: string): Fields {
    const keyAt = this.#members.get(name)?.keyAt ?? this.at;
    const members = new Map(this.#members);
    members.set(name, { keyAt, node: { kind: "scalar", at: keyAt, value } });
    return this.#copy(members, this.#keyStates);
  }

  #copy(members: MapNode["members"], keyStates: Map<string, "read" | "noted">): Fields {
    const copy = new Fields({ at: this.at, members }, this.path, this.#reading);
    copy.#keyStates = keyStates;
    return copy;
  }

  /** Reports the members that are present, with everything below them. */
  note(outcome: Outcome, names: string | readonly string[], text: string): void {
    for (const name of [names].flat()) {
      const item = this.item(name);
      if (item !== null) this.#reading.report.add(outcome, item, text, "whole");
      this.#keyStates.set(name, "noted");
    }
  }

  /**
   * Reports every member without a line, by the table of its mapping. A value is never repeated.
   *
   * @param others for keys that were not read and are not in the table; by default they are
   * reported as unknown, so that a person looks them up.
   */
  noteRest(rows: readonly KnownKeys[] = [], others: Omit<KnownKeys, "keys"> = UNKNOWN): void {
    for (const [name, { node }] of this.#members) {
      const state = this.#keyStates.get(name);
      const row = rows.find(({ keys }) => keys.includes(name)) ?? others;
      if (state === "noted" || (state === "read" && (row === others || isReference(node))))
        continue;
      this.note(readOutcome(row.outcome), name, row.text);
      if (row === UNKNOWN && node.kind === "scalar" && looksLikeSecret(String(node.value)))
        this.note(
          "decide",
          name,
          "this value looks like a credential: put it into the environment",
        );
    }
  }

  missing(name: string, hint: string): void {
    this.#reading.findings.add(
      "MISSING_KEY",
      this.at,
      `${describeSafely([...this.path, name])} is missing`,
      hint,
    );
  }

  /** A finding about the value of a member. */
  wrong(name: string, message: string, hint: string): void {
    this.#reading.findings.add("WRONG_VALUE", this.origin(name).at, message, hint);
  }

  #wrongType({ path, at }: Origin, expected: string) {
    this.#reading.findings.add(
      "WRONG_TYPE",
      at,
      `${describeSafely(path)} must be ${expected}`,
      "correct it in the source",
    );
  }
}

function emptyMap(at: Position): MapNode {
  return { kind: "map", at, members: new Map(), unread: new Set() };
}

/** The items of a list at a path. */
export function itemsIn(path: Path, { items }: ListNode): readonly Item[] {
  return items.map((node, index) => ({ path: [...path, index], at: node.at, node }));
}

function isNull(node: ConfigNode) {
  return node.kind === "scalar" && node.value === null;
}

/** An own member of a table. `Object.prototype` has none of the names. */
export function rowOf<Row>(
  table: Readonly<Record<string, Row>>,
  name: string | null | undefined,
): Row | undefined {
  return typeof name === "string" && Object.hasOwn(table, name) ? table[name] : undefined;
}

/** Outcomes of a value of the source. */
export const OUTCOMES = ["carried", "changed", "left_out", "decide"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** A row of known-keys.json: outcome and sentence of keys, whatever their values. */
interface KnownKeys {
  /** An {@link Outcome}. */
  readonly outcome: string;
  readonly text: string;
  readonly keys: readonly string[];
}

function readOutcome(text: string): Outcome {
  const outcome = OUTCOMES.find((one) => one === text);
  if (outcome === undefined) throw new Error(`known-keys.json: ${text} is not an outcome`);
  return outcome;
}

const UNKNOWN = {
  outcome: "decide",
  text: "this key is not known to the import: look up what it does, and whether anything has to replace it",
};

interface ReportEntry {
  readonly outcome: Outcome;
  /** Path in the source: `model_list[0].litellm_params.rpm`. */
  readonly source: string;
  readonly file: string;
  readonly line: number;
  /** The counterpart, or the reason for having none. Contains no value that could be a secret. */
  readonly text: string;
}

/** Line for a value without another line, so that the report covers the whole source. */
const REST = "not carried over: the import makes nothing of this value";

function valueKey(path: Path, { file, line, column }: Position) {
  return JSON.stringify([file, line, column, path.at(-1)]);
}

/** The lines of the report: one or more outcomes for each value of the source. */
export class ImportReport {
  readonly #file: string;
  /** By their JSON: an alias shows one value many times. */
  readonly #entries = new Map<string, ReportEntry>();
  /**
   * Values that have a line, by position and name: a value of a merged mapping or a stored
   * credential has several paths.
   */
  readonly #covered = new Map<string, "whole" | "itself">();

  /** @param file of values whose position names none. */
  constructor(file: string) {
    this.#file = file;
  }

  /**
   * @param reach `whole`: the line is also about all members of a mapping, as `left_out` always is.
   */
  add(
    outcome: Outcome,
    { path, at }: Origin,
    text: string,
    reach: "whole" | "itself" = "itself",
  ): void {
    const value = valueKey(path, at);
    if (outcome === "left_out" || reach === "whole") this.#covered.set(value, "whole");
    else if (!this.#covered.has(value)) this.#covered.set(value, "itself");
    const entry = {
      outcome,
      source: describeSafely(path),
      file: at.file ?? this.#file,
      line: at.line,
      text,
    };
    this.#entries.set(JSON.stringify(entry), entry);
  }

  /**
   * Reports each value of the source that has no line yet. A line about a list is about its items.
   *
   * @param path of the tree in the source.
   */
  addRest(tree: ConfigNode, path: Path = [], keyAt: Position = tree.at): void {
    const covered = this.#covered.get(valueKey(path, keyAt));
    if (covered === "whole") return;
    if (tree.kind === "map") {
      for (const [name, { node, keyAt: at }] of tree.members)
        this.addRest(node, [...path, name], at);
    } else if (tree.kind === "list") {
      const isCovered = covered !== undefined && path.length > 0;
      for (const { path: below, node } of itemsIn(path, tree))
        if (!isCovered || node.kind !== "scalar") this.addRest(node, below);
    } else if (tree.value !== null && covered === undefined)
      this.add("decide", { path, at: keyAt }, REST);
  }

  /** Sorted by outcome, the imported file before its includes, and line. */
  list(): readonly ReportEntry[] {
    return [...this.#entries.values()].toSorted(
      (left, right) =>
        OUTCOMES.indexOf(left.outcome) - OUTCOMES.indexOf(right.outcome) ||
        Number(left.file !== this.#file) - Number(right.file !== this.#file) ||
        left.file.localeCompare(right.file, "en") ||
        left.line - right.line,
    );
  }
}
