import { isMap, isPair, isScalar, isSeq, parseDocument, LineCounter, type Node } from "yaml";
import type { Source } from "../../canon/diagnostic.ts";
import type { Location } from "../codes.ts";
import type { AnnotationFacts } from "../toolchain/protocol.ts";

/** One step into a document: a member's name or an item's index. */
export type Step = string | number;

/**
 * Finds members of a METADATA block in the file. OPA reads the values but drops their positions; so
 * the same lines are read again for their positions only.
 */
export class MetadataPositions {
  readonly #file: string;
  readonly #block: Location;
  readonly #contents: Node | null;
  readonly #lines = new LineCounter();
  /** For each line of the block, the number of characters before its YAML. */
  readonly #margins: readonly number[];
  readonly #firstLine: number;

  constructor(source: Source, block: AnnotationFacts) {
    this.#file = source.path;
    this.#block = { file: source.path, line: block.row, column: block.col };
    this.#firstLine = block.row + 1;
    const lines = source.text.split("\n").slice(block.row, block.end_row);
    this.#margins = lines.map((line) => line.indexOf("#") + 1);
    const text = lines.map((line, index) => line.slice(this.#margins[index])).join("\n");
    this.#contents = parseDocument(text, {
      lineCounter: this.#lines,
      logLevel: "silent",
      // Rego's parser has refused them; comparing each key with all before it takes minutes for a
      // block that fills the file.
      uniqueKeys: false,
    }).contents;
  }

  /**
   * The position of the member, or of the nearest existing one around it; at worst of the block.
   */
  of(path: readonly Step[]): Location {
    let node = this.#contents;
    let offset: number | null = null;
    for (const step of path) {
      const next = child(node, step);
      if (next === null) break;
      offset = next.offset ?? offset;
      node = next.value;
    }
    if (offset === null) return this.#block;
    const { line, col } = this.#lines.linePos(offset);
    return {
      file: this.#file,
      line: this.#firstLine + line - 1,
      column: col + (this.#margins[line - 1] ?? 0),
    };
  }
}

interface Child {
  readonly value: Node | null;
  readonly offset: number | null;
}

/** A map's member begins at its key, a list's item at its value. */
function child(node: Node | null, step: Step): Child | null {
  if (isMap(node)) {
    const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step));
    if (!isPair(pair) || !isScalar(pair.key)) return null;
    return { value: asNode(pair.value), offset: pair.key.range?.[0] ?? null };
  }
  if (isSeq(node) && typeof step === "number") {
    const item = asNode(node.items[step]);
    return item === null ? null : { value: item, offset: item.range?.[0] ?? null };
  }
  return null;
}

function asNode(value: unknown): Node | null {
  return isMap(value) || isSeq(value) || isScalar(value) ? value : null;
}
