import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  API,
  type Checker,
  type Symbol as Declared,
  SymbolFlags,
  type Type,
  TypeFlags,
} from "typescript/unstable/sync";
import type { JsonValue } from "../../../src/canon/json.ts";

/** A smallest value that has one member, alternative or literal of a declaration. */
interface Probe {
  /**
   * The nearest enclosing object that has a `type`, and the members beneath it, such as
   * `<mcp>.filters.names[]`.
   */
  readonly kind: string;
  readonly value: JsonValue;
}

/**
 * Types that are deeper than this in a request are left out; no declaration needs it that does not
 * contain itself.
 */
const MAXIMUM_DEPTH = 12;

/**
 * Smallest texts that schemas and parsers accept where any text is declared, by the member's name.
 */
const TEXTS: readonly (readonly [RegExp, string])[] = [
  [/^model$/, "r"],
  [/^data$/, "AAAA"],
  [/media_type$|mime_?type$/i, "image/png"],
  [/^image_url$/, "data:image/png;base64,AAAA"],
  [/url$/, "https://example.com/a"],
  [/^file_data$/, "data:application/pdf;base64,AAAA"],
  [/^arguments$/, "{}"],
  [/^type$/, "text"],
  [/^role$/, "user"],
];

const NUMBERS: readonly (readonly [RegExp, number])[] = [
  [/budget_tokens$/, 1024],
  [/tokens$/, 2048],
  [/temperature|top_p|penalty|threshold|weight/, 0.5],
];

const valueFor = <Value>(
  rows: readonly (readonly [RegExp, Value])[],
  name: string,
  otherwise: Value,
): Value => rows.find(([pattern]) => pattern.test(name))?.[1] ?? otherwise;

/** Names of members that hold the caller's own JSON, of whatever shape. */
const FREE = /^(parameters|input_schema|output_schema|schema|properties)$/;

const ROOT = fileURLToPath(new URL("request-types.ts", import.meta.url));
const PROJECT = fileURLToPath(new URL("tsconfig.probes.json", import.meta.url));
const SETTINGS = {
  compilerOptions: {
    target: "es2024",
    module: "nodenext",
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    types: [],
  },
  files: [ROOT],
};

/**
 * Probes of every request type that `request-types.ts` exports, by its name. Reads declarations
 * only; takes seconds.
 */
export function sdkProbes(): ReadonlyMap<string, readonly Probe[]> {
  const readFile = (path: string): string | undefined =>
    path === PROJECT
      ? JSON.stringify(SETTINGS)
      : path === ROOT
        ? readFileSync(ROOT, "utf8")
        : undefined;
  const api = new API({ fs: { readFile } });
  try {
    const project = api.updateSnapshot({ openProjects: [PROJECT] }).getProject(PROJECT);
    const file = project?.program.getSourceFile(ROOT);
    const declared = file === undefined ? undefined : project?.checker.getSymbolAtLocation(file);
    if (project === undefined || declared === undefined)
      throw new Error("the request types are not readable");
    const walk = new DeclarationWalk(project.checker);
    return new Map(
      project.checker.getExportsOfModule(declared).map((type) => {
        const probes = walk.probes(
          project.checker.getDeclaredTypeOfSymbol(type),
          type.name,
          "",
          [],
        );
        return [
          type.name,
          [...new Map(probes.map((probe) => [JSON.stringify(probe), probe])).values()],
        ];
      }),
    );
  } finally {
    api.close();
  }
}

class DeclarationWalk {
  readonly #checker: Checker;
  readonly #members = new Map<number, readonly (readonly [Declared, Type])[]>();

  constructor(checker: Checker) {
    this.#checker = checker;
  }

  /**
   * The smallest value first. @param open types around this one: a type within itself is not opened
   * again.
   */
  probes(type: Type, name: string, kind: string, open: readonly number[]): readonly Probe[] {
    const { flags } = type;
    if (open.length > MAXIMUM_DEPTH) return [];
    if (flags & (TypeFlags.Undefined | TypeFlags.Never | TypeFlags.Void)) return [];
    if (flags & TypeFlags.Null) return [{ kind: `${kind}=null`, value: null }];
    if (type.isStringLiteralType() || type.isNumberLiteralType()) {
      return [{ kind: name === "type" ? kind : `${kind}=${type.value}`, value: type.value }];
    }
    if (type.isBooleanLiteralType()) return [{ kind: `${kind}=${type.value}`, value: type.value }];
    // `string & {}` is any text beside listed ones.
    const isText =
      type.isIntersectionType() && type.getTypes().some((part) => part.flags & TypeFlags.String);
    if (isText || flags & (TypeFlags.String | TypeFlags.TemplateLiteral))
      return [{ kind, value: valueFor(TEXTS, name, "a") }];
    if (flags & TypeFlags.Number) return [{ kind, value: valueFor(NUMBERS, name, 1) }];
    if (flags & TypeFlags.Boolean)
      return [true, false].map((value) => ({ kind: `${kind}=${value}`, value }));
    if (flags & (TypeFlags.Any | TypeFlags.Unknown) || FREE.test(name))
      return [{ kind, value: {} }];
    if (type.isUnionType()) return this.#alternatives(type.getTypes(), name, kind, open);
    if (this.#checker.isArrayType(type) && type.isTypeReference()) {
      const [element] = this.#checker.getTypeArguments(type);
      const items =
        element === undefined
          ? []
          : this.probes(element, name.replace(/s$/, ""), `${kind}[]`, open);
      return items.length === 0
        ? [{ kind, value: [] }]
        : items.map((item) => ({ kind: item.kind, value: [item.value] }));
    }
    return this.#object(type, name, kind, open);
  }

  #alternatives(
    types: readonly Type[],
    name: string,
    kind: string,
    open: readonly number[],
  ): readonly Probe[] {
    return types
      .toSorted((one, other) => this.#rank(one) - this.#rank(other))
      .flatMap((one) => this.probes(one, name, kind, open));
  }

  /** The smallest value is a user's text: null says the least, so it stands last. */
  #rank(type: Type): number {
    if (type.isStringLiteralType() && type.value === "user") return -1;
    if (type.flags & TypeFlags.Null) return 1;
    const label = type.flags & TypeFlags.Object ? this.#label(this.#membersOf(type)) : null;
    return label === "<text>" || label === "<input_text>" ? -1 : 0;
  }

  #object(type: Type, name: string, kind: string, open: readonly number[]): readonly Probe[] {
    const members = this.#membersOf(type);
    // Bytes of files are text in JSON.
    if (members.some(([{ name: member }]) => member === "arrayBuffer" || member === "byteLength")) {
      return [{ kind, value: "AAAA" }];
    }
    const index = this.#checker.getIndexInfosOfType(type)[0];
    if (members.length === 0 && index !== undefined) {
      const values = this.probes(index.valueType, name, `${kind}.*`, [...open, type.id]);
      return [
        { kind, value: {} },
        ...values.map((probe) => ({ kind: probe.kind, value: { a: probe.value } })),
      ];
    }
    const isOpen = open.includes(type.id);
    const label = this.#label(members) ?? kind;
    const least: Record<string, JsonValue> = {};
    const more: [string, readonly Probe[]][] = [];
    for (const [member, declared] of members) {
      const isOptional = (member.flags & SymbolFlags.Optional) !== 0;
      if (isOptional && isOpen) continue;
      const found = this.probes(declared, member.name, `${label}.${member.name}`, [
        ...open,
        type.id,
      ]);
      const [smallest] = found;
      if (smallest === undefined) {
        if (isOptional) continue;
        return [];
      }
      if (!isOptional) least[member.name] = smallest.value;
      if (!isOpen) more.push([member.name, isOptional ? found : found.slice(1)]);
    }
    const smallest = { kind: label, value: least };
    return [
      smallest,
      ...more.flatMap(([member, found]) =>
        found.map((probe) => ({ kind: probe.kind, value: { ...least, [member]: probe.value } })),
      ),
    ];
  }

  #membersOf(type: Type): readonly (readonly [Declared, Type])[] {
    const known = this.#members.get(type.id);
    if (known !== undefined) return known;
    const members = this.#checker
      .getPropertiesOfType(type)
      .flatMap((member): (readonly [Declared, Type])[] => {
        const declared = this.#checker.getTypeOfSymbol(member);
        return declared === undefined ? [] : [[member, declared]];
      });
    this.#members.set(type.id, members);
    return members;
  }

  /** `<type>` or `<role>` of an object that says what it is; `null` of any other. */
  #label(members: readonly (readonly [Declared, Type])[]): string | null {
    for (const wanted of ["type", "role"]) {
      const declared = members.find(([{ name }]) => name === wanted)?.[1];
      const literals =
        declared?.isUnionType() === true
          ? declared.getTypes()
          : declared === undefined
            ? []
            : [declared];
      const literal = literals.find((one) => one.isStringLiteralType());
      if (literal?.isStringLiteralType() === true) return `<${literal.value}>`;
    }
    return null;
  }
}
