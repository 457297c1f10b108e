/**
 * What a browser's tokenizer makes of a page, as far as the pages of `formatHtml` go: strict, so
 * that anything odd throws.
 */
export interface Token {
  readonly kind: "open" | "close" | "text";
  /** The tag, or the text with its character references resolved. */
  readonly value: string;
  readonly attributes: ReadonlyMap<string, string>;
}

const VOID = new Set(["meta", "input", "br", "rect"]);
const RAW = new Set(["style", "script"]);
const REFERENCES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  "#39": "'",
};
const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map();

/**
 * @throws Error on a bare `<` or `&`, an attribute without double quotes, or elements that do not
 * nest.
 */
export function tokenize(page: string): readonly Token[] {
  const tokens: Token[] = [];
  const open: string[] = [];
  let rest = page.replace(/^<!doctype html>/, "");
  const take = (pattern: RegExp): RegExpExecArray | null => {
    const match = pattern.exec(rest);
    if (match !== null) rest = rest.slice(match[0].length);
    return match;
  };
  while (rest !== "") {
    const text = take(/^[^<]+/);
    if (text !== null) {
      tokens.push({ kind: "text", value: resolved(text[0]), attributes: NO_ATTRIBUTES });
      continue;
    }
    const closing = take(/^<\/([a-z][a-z0-9]*)\s*>/);
    if (closing !== null) {
      const [, name = ""] = closing;
      if (open.pop() !== name) throw new Error(`</${name}> closes something else`);
      tokens.push({ kind: "close", value: name, attributes: NO_ATTRIBUTES });
      continue;
    }
    const opening = take(/^<([a-z][a-z0-9]*)((?:\s+[a-zA-Z-]+(?:="[^"]*")?)*)\s*\/?>/);
    if (opening === null) throw new Error(`no tag: ${rest.slice(0, 60)}`);
    const [, name = "", attributes = ""] = opening;
    tokens.push({ kind: "open", value: name, attributes: attributesOf(attributes) });
    if (RAW.has(name)) {
      const end = rest.indexOf(`</${name}`);
      tokens.push({ kind: "text", value: rest.slice(0, end), attributes: NO_ATTRIBUTES });
      rest = rest.slice(end);
    }
    if (!VOID.has(name)) open.push(name);
  }
  if (open.length > 0) throw new Error(`left open: ${open.join(" ")}`);
  return tokens;
}

/** Tags and attribute names alone: what no name of a report may change. */
export function skeletonOf(page: string): string {
  return tokenize(page)
    .filter(({ kind }) => kind !== "text")
    .map(({ kind, value, attributes }) => `${kind} ${value} ${[...attributes.keys()].join(" ")}`)
    .join("\n");
}

/** What a reader sees, in one line, without style and script. */
export function textOf(page: string): string {
  const tokens = tokenize(page);
  return tokens
    .filter(({ kind, value }, index) =>
      kind === "text" ? !RAW.has(tokens[index - 1]?.value ?? "") : value === "br",
    )
    .map(({ kind, value }) => (kind === "text" ? value : " "))
    .join("")
    .replaceAll(/\s+/g, " ");
}

function attributesOf(text: string): ReadonlyMap<string, string> {
  const attributes = new Map<string, string>();
  for (const [, name = "", value = ""] of text.matchAll(/([a-zA-Z-]+)(?:="([^"]*)")?/g)) {
    if (attributes.has(name)) throw new Error(`${name} twice`);
    attributes.set(name, resolved(value));
  }
  return attributes;
}

function resolved(text: string): string {
  return text.replaceAll(/&([^;]{0,8})(;?)/g, (_reference, name: string, end: string) => {
    const character = Object.hasOwn(REFERENCES, name) ? REFERENCES[name] : undefined;
    if (character === undefined || end === "") throw new Error("a bare ampersand");
    return character;
  });
}
