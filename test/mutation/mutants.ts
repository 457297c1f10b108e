import { createHash } from "node:crypto";
import { parseAst } from "rolldown/parseAst";

/**
 * One small fault in a source: the characters from `start` to `end` (exclusive) become
 * `replacement`.
 */
export interface Mutant {
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

/** A node of the syntax tree (ESTree with TypeScript); positions are indices into the source. */
interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

const OPERATORS: ReadonlyMap<unknown, string> = new Map([
  ["<", "<="],
  ["<=", "<"],
  [">", ">="],
  [">=", ">"],
  ["===", "!=="],
  ["!==", "==="],
  ["-", "+"],
  ["*", "/"],
  ["/", "*"],
]);

/**
 * Statements that a mutant removes. Declarations stay: without one the module does not run at all.
 */
const REMOVABLE = new Set([
  "ExpressionStatement",
  "ThrowStatement",
  "BreakStatement",
  "ContinueStatement",
]);

/**
 * Every mutant of a TypeScript source, in the order of the source. Types, imports and texts are
 * left as they are. Throws a `SyntaxError` where the source cannot be parsed.
 */
export function mutantsOf(source: string): readonly Mutant[] {
  const mutants: Mutant[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    if (!isNode(value) || isType(value) || value.type === "ImportDeclaration") return;
    mutants.push(...mutantsAt(value, source));
    for (const member of Object.values(value)) visit(member);
  };
  visit(parseAst(source, { lang: "ts" }).body);
  const apart = new Map(
    mutants.map((mutant) => [`${mutant.start} ${mutant.end} ${mutant.replacement}`, mutant]),
  );
  return [...apart.values()].toSorted(
    (one, other) => one.start - other.start || one.end - other.end,
  );
}

export const applyMutant = (source: string, { start, end, replacement }: Mutant): string =>
  source.slice(0, start) + replacement + source.slice(end);

/**
 * `a < b → a <= b`: the text of its lines before and after, at most 160 characters of each; `line`
 * counts from 1.
 */
export function describeMutant(
  source: string,
  mutant: Mutant,
): { readonly line: number; readonly change: string } {
  const first = source.lastIndexOf("\n", mutant.start - 1) + 1;
  const end = source.indexOf("\n", mutant.end);
  const last = end === -1 ? source.length : end;
  const short = (text: string): string => text.replaceAll(/\s+/g, " ").trim().slice(0, 160);
  const after =
    source.slice(first, mutant.start) + mutant.replacement + source.slice(mutant.end, last);
  return {
    line: source.slice(0, first).split("\n").length,
    change: `${short(source.slice(first, last))} → ${short(after)}`,
  };
}

function mutantsAt(node: SyntaxNode, source: string): readonly Mutant[] {
  const [{ start, end }, test, left, right] = [node, node.test, node.left, node.right];
  const textOf = (part: SyntaxNode): string => source.slice(part.start, part.end);
  const replace = (...texts: readonly string[]): readonly Mutant[] =>
    texts.map((replacement) => ({ start, end, replacement }));

  if (node.type === "LogicalExpression" && isNode(left) && isNode(right)) {
    // Without `?? null` the value is undefined instead of null, which few readers distinguish.
    if (node.operator === "??") return textOf(right) === "null" ? [] : replace(textOf(left));
    return replace(textOf(left), textOf(right));
  }
  if (node.type === "BinaryExpression" && isNode(left) && isNode(right)) {
    const operator = OPERATORS.get(node.operator);
    const between = source.slice(left.end, right.start);
    if (operator === undefined) return [];
    return [
      {
        start: left.end,
        end: right.start,
        replacement: between.replace(String(node.operator), operator),
      },
    ];
  }
  const argument = node.argument;
  if (node.type === "UnaryExpression" && node.operator === "!" && isNode(argument))
    return replace(textOf(argument));
  if (node.type === "Literal" && typeof node.value === "boolean")
    return replace(String(!node.value));
  if (node.type === "Literal" && typeof node.value === "number") {
    // One more than a thousand bytes or milliseconds changes nothing that matters; none at all has
    // to.
    return replace(String(node.value < 1_000 ? node.value + 1 : 0));
  }
  const [consequent, alternate] = [node.consequent, node.alternate];
  if (node.type === "ConditionalExpression" && isNode(consequent) && isNode(alternate)) {
    return replace(textOf(consequent), textOf(alternate));
  }
  if (node.type === "IfStatement" && isNode(test)) {
    if (!isNode(alternate)) return replace(";");
    return ["true", "false"].map((replacement) => ({
      start: test.start,
      end: test.end,
      replacement,
    }));
  }
  return REMOVABLE.has(node.type) && !isSuperCall(node) ? replace(";") : [];
}

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === "object" && value !== null && "type" in value && "start" in value;

/**
 * `x as T`, `x satisfies T` and `x!` are expressions at run time; every other TypeScript node is a
 * type.
 */
const isType = ({ type }: SyntaxNode): boolean =>
  type.startsWith("TS") &&
  !["TSAsExpression", "TSSatisfiesExpression", "TSNonNullExpression"].includes(type);

/** A constructor without its `super()` throws wherever the class is used. */
function isSuperCall({ expression }: SyntaxNode): boolean {
  const callee = isNode(expression) ? expression.callee : undefined;
  return isNode(callee) && callee.type === "Super";
}

/**
 * At most `count` of the values, in their order. A seed draws by the text of each value alone: a
 * change elsewhere leaves the draw of the others as it was.
 */
export function sampleOf<T>(
  values: readonly T[],
  textOf: (value: T) => string,
  count: number,
  seed: number,
): readonly T[] {
  const drawn = values.map((value, index) => {
    const order = createHash("sha256")
      .update(`${seed} ${textOf(value)}`)
      .digest("hex");
    return { value, index, order };
  });
  const first = drawn.toSorted((one, other) => (one.order < other.order ? -1 : 1)).slice(0, count);
  return first.toSorted((one, other) => one.index - other.index).map(({ value }) => value);
}
