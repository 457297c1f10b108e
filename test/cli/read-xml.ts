export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: XmlElement[];
  text: string;
}

/** Reads the XML that JUnit reports are made of, and throws at whatever is not well-formed. */
export function readXml(document: string): XmlElement {
  const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n';
  if (!document.startsWith(declaration)) throw new Error("no declaration");
  if (
    !document.isWellFormed() ||
    // eslint-disable-next-line no-control-regex -- what XML 1.0 forbids
    /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/.test(document)
  ) {
    throw new Error("a character that XML cannot hold");
  }
  const root: XmlElement = { name: "", attributes: {}, children: [], text: "" };
  const open = [root];
  const token = /<(\/?)([a-z-]+)((?: [a-z]+="[^"<]*")*)(\/?)>|([^<]+)/gy;
  let end = declaration.length;
  for (token.lastIndex = end; end < document.length; end = token.lastIndex) {
    const found = token.exec(document);
    if (found === null) throw new Error(`not XML at ${document.slice(end, end + 40)}`);
    const [, closing, name = "", attributes = "", empty, text] = found;
    const parent = open.at(-1) ?? root;
    if (text !== undefined) parent.text += unescape(text);
    else if (closing === "/") {
      if (open.pop()?.name !== name) throw new Error(`</${name}> closes nothing`);
    } else {
      const pairs = [...attributes.matchAll(/ ([a-z]+)="([^"]*)"/g)].map(
        ([, key = "", value = ""]) => [key, unescape(value)],
      );
      const element = { name, attributes: Object.fromEntries(pairs), children: [], text: "" };
      parent.children.push(element);
      if (empty === "") open.push(element);
    }
  }
  const [only, ...others] = root.children;
  if (open.length !== 1 || only === undefined || others.length > 0)
    throw new Error("not one element");
  return only;
}

function unescape(text: string): string {
  const named: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', amp: "&" };
  if (/&(?!(?:lt|gt|quot|amp|#\d+);)/.test(text)) throw new Error("a bare ampersand");
  return text
    .replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))
    .replaceAll(/&(lt|gt|quot|amp);/g, (_, name: string) => named[name] ?? "");
}
