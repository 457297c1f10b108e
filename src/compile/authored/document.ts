import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseDocument,
  type Range,
  visit,
} from "yaml";
import type { TextFindings } from "../findings/findings.ts";
import type { TextCode } from "../findings/codes.ts";
import { quote } from "./literal-secrets.ts";
import type { ConfigNode, MapNode, Member, Position } from "./tree.ts";

/**
 * UTF-16 code units; far above any table a person can review, far below what could stall the
 * process.
 */
const LARGEST_TEXT = 1_048_576;
/**
 * Nodes after aliases have been written out. A file of a thousand rows has about thirty thousand.
 */
const MOST_NODES = 200_000;
const DEEPEST = 32;

/**
 * The tree of a YAML text with line feeds only; `null` where it cannot be read. The parser's own
 * messages are not used: some of them quote the file.
 *
 * @param file what positions name, where the findings are those of several files.
 * @param version `1.1`: for files of programs that read them so, as PyYAML does: numbers have its
 * forms, and `<<` puts the members of other mappings behind a mapping's own.
 */
export function readDocument(
  text: string,
  findings: TextFindings,
  file?: string,
  version: "1.1" | "1.2" = "1.2",
): ConfigNode | null {
  const of = file === undefined ? {} : { file };
  const start: Position = { line: 1, column: 1, ...of };
  if (text.length > LARGEST_TEXT) {
    findings.add(
      "SOURCE_TOO_LARGE",
      start,
      `the file has ${text.length} characters, more than ${LARGEST_TEXT}`,
      "",
    );
    return null;
  }
  const { document, lines } = parsed(text);
  const position = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col), ...of };
  };
  if (!reportParserErrors(document, position, findings, version)) return null;
  if (document.contents === null) {
    findings.add(
      "WRONG_TYPE",
      start,
      "the file is empty",
      "start with `version: 1`; the file of the same name in the repository is an example",
    );
    return null;
  }
  return convert(document, position, findings, version === "1.1");
}

interface Parsed {
  readonly text: string;
  readonly document: Document;
  readonly lines: LineCounter;
}

/**
 * The texts parsed last. A load reads the same text for its parts, its policies and its table, and
 * a simulation alternates between two trees. Weak: nothing is held between loads.
 */
let last: readonly WeakRef<Parsed>[] = [];
const KEPT_DOCUMENTS = 2;

/** The parser's document. It is never changed: each reading builds its own tree from it. */
function parsed(text: string): Parsed {
  const before = last.map((one) => one.deref()).find((one) => one?.text === text);
  if (before !== undefined) return before;
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    // The parser compares each key with all before it, which takes minutes for a mapping that fills
    // the file; the reader has them in a map.
    uniqueKeys: false,
    resolveKnownTags: false,
    merge: false,
    // "silent" would drop the finding about a second document as well.
    logLevel: "error",
  });
  const latest = { text, document, lines };
  last = [new WeakRef(latest), ...last].slice(0, KEPT_DOCUMENTS);
  return latest;
}

/**
 * Our sentences for what the parser found; anything else is `YAML_SYNTAX` with the general
 * sentence.
 */
const PARSER_FINDINGS: Readonly<Partial<Record<string, readonly [TextCode, string, string]>>> = {
  MULTIPLE_DOCS: [
    "YAML_MULTIPLE_DOCUMENTS",
    "a second YAML document begins here",
    "remove the `---` and merge both",
  ],
  NON_STRING_KEY: ["YAML_KEY", "a list or mapping is used as a key", "use a plain name"],
  TAG_RESOLVE_FAILED: [
    "YAML_TAG",
    "the tag names a type that this file does not use",
    "remove the tag",
  ],
  BAD_ALIAS: ["YAML_ALIAS", "this alias cannot be read", "write the value out"],
  TAB_AS_INDENT: ["YAML_SYNTAX", "a tab is used as indentation", "indent with spaces"],
  BAD_INDENT: [
    "YAML_SYNTAX",
    "the indentation does not match the lines around it",
    "align it with its neighbours, and close every bracket",
  ],
  MISSING_CHAR: [
    "YAML_SYNTAX",
    "a quote, bracket or comma is missing",
    "close what is open on this line or above",
  ],
  BAD_SCALAR_START: [
    "YAML_SYNTAX",
    "a value begins with a character that YAML reserves",
    "put the value in quotes",
  ],
  BAD_DQ_ESCAPE: [
    "YAML_SYNTAX",
    "the backslash sequence is not valid in YAML",
    "double the backslash or use single quotes",
  ],
  BAD_DIRECTIVE: [
    "YAML_SYNTAX",
    "the directive (`%…`) is not valid in YAML 1.2",
    "remove the line",
  ],
};

/** After one of these errors the rest of the tree can still be checked. */
const HARMLESS: ReadonlySet<string> = new Set(["NON_STRING_KEY", "TAG_RESOLVE_FAILED"]);

/** @returns whether the tree is worth reading on. */
function reportParserErrors(
  document: Document,
  position: (offset: number) => Position,
  findings: TextFindings,
  version: "1.1" | "1.2",
): boolean {
  let readable = true;
  for (const problem of [...document.errors, ...document.warnings]) {
    const [code, message, hint] = PARSER_FINDINGS[problem.code] ?? [
      "YAML_SYNTAX",
      "the text is not valid YAML here",
      "look at the indentation, quotes and brackets around this line",
    ];
    findings.add(code, position(problem.pos[0]), message, hint);
    if (!HARMLESS.has(problem.code)) readable = false;
  }
  if (version === "1.2" && document.directives?.yaml.version === "1.1") {
    findings.add(
      "YAML_SYNTAX",
      position(0),
      "the file declares YAML 1.1",
      "remove the %YAML line: `yes` is text in 1.2",
    );
    readable = false;
  }
  return readable;
}

/**
 * The target of each alias: the last node above it with its anchor. One pass for all, because the
 * parser's `resolve` walks the document for each alias.
 */
function aliasTargets(document: Document): ReadonlyMap<Alias, unknown> {
  const anchors = new Map<string, unknown>();
  const targets = new Map<Alias, unknown>();
  visit(document, {
    Node: (_key, node) => {
      if (isAlias(node)) targets.set(node, anchors.get(node.source));
      else if (node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
  return targets;
}

/**
 * Converts the parser's nodes. Aliases are copied, so that a later step can change one use alone.
 *
 * @returns `null` where the text expands to more than any real configuration: nothing of it is
 *   checked.
 */
function convert(
  document: Document,
  position: (offset: number) => Position,
  findings: TextFindings,
  namesFormerKeys: boolean,
): ConfigNode | null {
  const targets = aliasTargets(document);
  const open = new Set<unknown>();
  const duplicates = new Set<unknown>();
  let nodes = 0;
  let isExhausted = false;

  /** `null` stands for what has been reported and must not be looked at again. */
  const read = (node: unknown): ConfigNode | null => {
    const at = position(rangeOf(node)?.[0] ?? 0);
    nodes += 1;
    if (nodes > MOST_NODES || open.size > DEEPEST) {
      if (!isExhausted)
        findings.add(
          "YAML_ALIAS",
          at,
          "the aliases or the nesting here expand to too many values",
          "write a flatter file",
        );
      isExhausted = true;
    }
    if (isExhausted) return null;
    if (isAlias(node)) return readAlias(node, at);
    if (isScalar(node)) {
      const old = namesFormerKeys && node.type === "PLAIN" ? oldScalar(node.source ?? "") : null;
      return { kind: "scalar", at, value: old ?? scalarValue(node.value) };
    }
    if (!isMap(node) && !isSeq(node)) return { kind: "scalar", at, value: null };
    open.add(node);
    const converted: ConfigNode = isMap(node)
      ? readMap(node.items, at)
      : { kind: "list", at, items: node.items.flatMap((item) => read(item) ?? []) };
    open.delete(node);
    return converted;
  };

  const readAlias = (alias: Alias, at: Position): ConfigNode | null => {
    const target = targets.get(alias);
    if (target === undefined || open.has(target)) {
      findings.add(
        "YAML_ALIAS",
        at,
        target === undefined ? "this alias names no anchor above it" : "this alias contains itself",
      );
      return null;
    }
    const node = read(target);
    return node === null ? null : { ...node, at };
  };

  const readMap = (pairs: readonly Pair[], at: Position): MapNode => {
    const members = new Map<string, Member>();
    const unread = new Set<string>();
    const seen = new Set<string>();
    const merged: ConfigNode[] = [];
    for (const { key, value } of pairs) {
      const keyAt = position(rangeOf(key)?.[0] ?? 0);
      const name = isScalar(key) ? key.value : null;
      // The parser has reported these keys itself; `typeof` also keeps a merge key's symbol out.
      if (typeof name !== "string") continue;
      if (seen.has(name)) {
        // Once for each key, however many aliases lead there.
        if (!duplicates.has(key))
          findings.add("YAML_DUPLICATE_KEY", keyAt, "this key is in the same mapping twice");
        duplicates.add(key);
        continue;
      }
      seen.add(name);
      if (name === "<<" && namesFormerKeys) {
        const node = read(value);
        if (node !== null) merged.push(...(node.kind === "list" ? node.items : [node]));
      } else if (name === "<<") {
        unread.add(name);
        findings.add("YAML_MERGE_KEY", keyAt, "merge keys (`<<`) are not read");
      } else if (Object.hasOwn(Object.prototype, name)) {
        findings.add("RESERVED_NAME", keyAt, `${quote(name)} is a reserved name`);
      } else {
        const node = value === null ? { kind: "scalar" as const, at: keyAt, value } : read(value);
        if (node === null) unread.add(name);
        else members.set(name, { keyAt, node });
      }
    }
    for (const node of merged) {
      if (node.kind !== "map") continue;
      for (const [name, member] of node.members) if (!members.has(name)) members.set(name, member);
    }
    return { kind: "map", at, members, unread };
  };

  const tree = read(document.contents);
  return isExhausted ? null : tree;
}

function rangeOf(node: unknown): Range | null {
  if (!isScalar(node) && !isAlias(node) && !isMap(node) && !isSeq(node)) return null;
  return node.range ?? null;
}

/**
 * Forms of numbers in YAML 1.1 (yaml.org/type/int.html and float.html) that are text or another
 * number in 1.2.
 */
const OLD_NUMBER =
  /^([-+]?)(?:0b([01_]+)|0([0-7_]+)|0x([\da-f_]+)|([1-9]\d*(?::[0-5]?\d)+(?:\.\d*)?)|(\d[\d_]*(?:\.[\d_]*)?(?:e[-+]?\d+)?))$/i;

/** `null` where a plain scalar means the same in YAML 1.1 and 1.2. A date stays text. */
function oldScalar(source: string): number | string | null {
  if (/^\d{4}-\d{1,2}-\d{1,2}/.test(source)) return source;
  const [, sign, binary, octal, hexadecimal, sexagesimal, decimal] = OLD_NUMBER.exec(source) ?? [];
  if (sign === undefined) return null;
  const radix = binary === undefined ? (octal === undefined ? 16 : 8) : 2;
  const digits = (binary ?? octal ?? hexadecimal ?? decimal ?? "").replaceAll("_", "");
  const whole = decimal === undefined ? Number.parseInt(digits, radix) : Number(digits);
  const value = sexagesimal?.split(":").reduce((sum, part) => sum * 60 + Number(part), 0) ?? whole;
  return sign === "-" ? -value : value;
}

/**
 * Without tags, the core schema has no other types. A number without a JSON form becomes text, and
 * is rejected as text.
 */
function scalarValue(value: unknown): null | boolean | number | string {
  if (typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "bigint")
    return Number.isFinite(Number(value)) ? Number(value) : String(value);
  return null;
}

/**
 * The same text with line feeds only and without a byte order mark, so that neither can show in a
 * result.
 */
export function normaliseText(text: string): string {
  return text.replace(/^\uFEFF/, "").replaceAll(/\r\n?/g, "\n");
}
